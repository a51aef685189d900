/* test_cover.c - what is hidden by its shape, and what is not. */
#include "cover.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

struct row {
    const char *text, *named, *typed; /* NULL: as it is, or as named */
};

static void check(const struct row *row)
{
    char text[256];
    const char *named = row->named ? row->named : row->text;
    const char *typed = row->typed ? row->typed : named;
    snprintf(text, sizeof(text), "%s", row->text);
    weir__cover_named(text);
    CHECK_STR(text, named);
    snprintf(text, sizeof(text), "%s", row->text);
    weir__cover_typed(text);
    CHECK_STR(text, typed);
    weir__cover_typed(text);
    CHECK_STR(text, typed);
}

TEST(users_of_urls)
{
    static const struct row rows[] = {
        {"no 'ftp://bob:pw@host/x': it", "no 'ftp://******@host/x': it", NULL},
        {"no 'https://pw@host'", "no 'https://**@host'", NULL},
        {"https://b:p@w@host/x", "https://*****@host/x", NULL},
        {"https://b:p/w@host/x", "https://*****@host/x", NULL},
        {"'https://b:p w@host/x'", "'https://*****@host/x'", NULL},
        {"https://b:p w@host/x", "https://b:* w@host/x", NULL},
        {"https://b:pw...", "https://b:*****", NULL},
        {"https://b:pw", "https://b:**", NULL},
        {"https://host:80/@a/b", NULL, NULL},
        {"https://host/@a/b and http://b:pw@host", "https://host/@a/b and http://****@host", NULL},
        {"https://host/a:b", NULL, NULL},
        {"https://[::1]:80/a", NULL, NULL},
        {"https://[::1]:pw/a", "https://[::1]:**/a", NULL},
        {"https://[b:pw", "https://[b:**", NULL},
        {"https://", NULL, NULL},
        {"://", NULL, NULL},
        {"a@b:c", NULL, NULL},
        {"git@host:a/b", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check(&rows[i]);
}

TEST(names_of_secrets)
{
    static const struct row rows[] = {
        {"cannot read 'password=pw': no", "cannot read 'password=**': no", NULL},
        {"cannot read 'a/DB_PassWord=p w/x': no", "cannot read 'a/DB_PassWord=*****': no", NULL},
        {"api-key=ab&x=1 b", "api-key=**&x=1 b", NULL},
        {"token=a secret=b pwd=c cred.x=d auth=e", "token=* secret=* pwd=* cred.x=* auth=*", NULL},
        {"token=a=b", "token=***", NULL},
        {"'token=a' x=b 'c'", "'token=*' x=b 'c'", NULL},
        {"password=", NULL, NULL},
        {"=a", NULL, NULL},
        {"format=json", NULL, NULL},
        {"the token = a", NULL, NULL},
        {"token 'a'=b", NULL, NULL},
        {"tok=a", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check(&rows[i]);
}

TEST(words_as_machines_make_them)
{
    static const struct row rows[] = {
        {"'abcdefghijklmno1'", NULL, "'****************'"},
        {"'abcdefghijklmn1'", NULL, NULL}, /* one less */
        {"'--abcdefghijklmno1': no", NULL, "'--****************': no"},
        {"'abcdefghijklmnoP'", NULL, "'****************'"},
        {"'ab_cd-ef+gh=ijk1'", NULL, "'****************'"},
        {"ab1 abcdefghijklmno1 x1", NULL, "ab1 **************** x1"},
        {"'--respect-gitignore-and-more': no", NULL, NULL},
        {"'18446744073709551616KiB' is no size", NULL, NULL},
        {"'1844674407370955abcd'", NULL, "'********************'"},
        {"----------------", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check(&rows[i]);
}

TAP_MAIN()
