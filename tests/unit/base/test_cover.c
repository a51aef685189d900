/* test_cover.c - what is hidden by its shape, and what is not. */
#include "cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

struct row {
    const char *text, *line, *path, *typed; /* NULL: as it is */
};

/* Cut anywhere, in as many bytes as it needs: a look behind the end is a sanitizer's to see. */
static void check_cut(const char *whole, void cover(char *text))
{
    for (size_t length = 0; length <= strlen(whole); length++) {
        char *text = strndup(whole, length);
        CHECK(text != NULL);
        if (!text)
            return;
        cover(text);
        CHECK_EQ(strlen(text), length);
        free(text);
    }
}

static void cover_path(char *text)
{
    (void)weir__cover_path(text);
}

static void check(const struct row *row)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", row->text);
    weir__cover_line(text);
    CHECK_STR(text, row->line ? row->line : row->text);
    weir__cover_line(text);
    CHECK_STR(text, row->line ? row->line : row->text);
    snprintf(text, sizeof(text), "%s", row->text);
    CHECK_EQ(weir__cover_path(text), row->path != NULL);
    CHECK_STR(text, row->path ? row->path : row->text);
    snprintf(text, sizeof(text), "%s", row->text);
    weir__cover_typed(text);
    CHECK_STR(text, row->typed ? row->typed : row->text);
    weir__cover_typed(text);
    CHECK_STR(text, row->typed ? row->typed : row->text);
    check_cut(row->text, weir__cover_line);
    check_cut(row->text, cover_path);
    check_cut(row->text, weir__cover_typed);
    check_cut(row->text, weir__cover_source);
    check_cut(row->text, weir__cover_words);
    check_cut(row->text, weir__cover_written);
    check_cut(row->text, weir__cover_id);
}

static void check_source(const char *text, const char *hidden)
{
    char line[256];
    snprintf(line, sizeof(line), "%s", text);
    weir__cover_source(line);
    CHECK_STR(line, hidden);
    weir__cover_source(line);
    CHECK_STR(line, hidden);
    check_cut(text, weir__cover_source);
}

TEST(lines_of_programs)
{
    check_source("api_key = \"6Zj4\"; password: \"hunter2\"; t = x",
                 "api_key = \"****\"; password: \"*******\"; t = x");
    check_source("password := hunter2", "password := *******");
    check_source("password := \"hun\\\"ter\" end", "password := \"********\" end");
    check_source("['password' => 'hunter2', 'user' => 'bob']",
                 "['password' => '*******', 'user' => 'bob']");
    check_source("#define PASSWORD \"hunter2\"", "#define PASSWORD \"*******\"");
    check_source("#define PASSWORD 1234", "#define PASSWORD ****");
    check_source("curl -u bob:hunter2 https://h", "curl -u bob:******* https://h");
    check_source("{\\\"secret\\\": \\\"a b\\\", 1}", "{\\\"secret\\\": \\\"***\\\", 1}");
    check_source("password = \"cut", "password = \"***");
    check_source("author = \"bob\"; monkey: banana", "author = \"bob\"; monkey: banana");
    check_source("passwords = [\"a1\", null, 'b2c'] # \"x\"",
                 "passwords = [\"**\", null, '***'] # \"x\"");
    check_source("secret: (\"a1\"), \"x\"", "secret: (\"**\"), \"x\"");
    check_source("token: [\\\"a1\\\", \\\"b2\\\"]", "token: [\\\"**\\\", \\\"**\\\"]");
    check_source("password = [\"cut", "password = [\"***");
    check_source("password == other", "password == other");
    check_source("token = get_token(1); secret = $SECRET",
                 "token = get_token(1); secret = $SECRET");
    check_source("password = null; std::token::x", "password = null; std::token::x");
    check_source("the password is lost, -u bob", "the password is lost, -u bob");
    check_source("password", "password");
    check_source("password=", "password=");
}

/* '^' stands for what is hidden: the same text with "hunter2 x" there is read. */
static void check_form(const char *form, const char *value)
{
    char text[256] = "", hidden[256] = "";
    for (const char *at = form; *at; at++) {
        char one[64];
        snprintf(one, sizeof(one), "%.*s", *at == '^' ? (int)strlen(value) : 1,
                 *at == '^' ? value : at);
        strncat(text, one, sizeof(text) - strlen(text) - 1);
        if (*at == '^')
            memset(one, '*', strlen(value));
        strncat(hidden, one, sizeof(hidden) - strlen(hidden) - 1);
    }
    check_source(text, hidden);
}

TEST(forms_of_programs)
{
    static const char *const quoted[] = {
        "a.password ||= \"^\"; b = \"x\"",
        ("token ?"
         "?= '^'"), /* no trigraph */
        "secret &&= `^`",
        "password <- \"^\"",
        "let key: String = \"^\";",
        "let key: &'static str = \"^\";",
        "pass: str = '^'",
        "val token: String? = \"^\"",
        "var password string = \"^\"",
        "char pass[32] = \"^\";",
        "password ?= \"^\"",
        "password += \"^\"",
        "{ \"token\" -> \"^\" }",
        "if (password == \"^\") x()",
        "if (password !== '^')",
        "password = b\"^\"",
        "password = \"\"\"^\"\"\"",
        "<password>^</password>",
        "user.setPassword(\"^\")",
        "put(\"password\", \"^\")",
        "\"password\", \"^\"",
        "    'db_password', '^',",
        "{\"password\", \"^\"}",
        "{ \"user\", \"bob\" }, { \"password\" , \"^\" },",
        "ENV['PW'] ||= \"^\"",
        "ENV['DB_PASSWORD'] || '^'",
        ("token ?"
         "? \"^\""), /* no trigraph */
        "rootPw = '^'",
        "<add key=\"password\" value=\"^\"/>",
        "name: \"API_TOKEN\", value: \"^\"",
        "ALTER USER x PASSWORD '^'",
        "headers[\"Authorization\"] = \"Bearer ^\"",
        "curl -u \"bob:^\" x",
        "x --user 'bob:^' y",
        "sshpass -p '^' ssh h",
        "password = os.getenv(\"PASSWORD\", \"^\")",
        "token = a() || \"^\"; x(\"y\")",
        "pass = x.y() or '^'",
        "CREATE USER a IDENTIFIED BY '^'",
        "ENV API_TOKEN \"^\"",
        "config[:password] = \"^\"",
        "[\"-u\", \"bob:^\"]",
    };
    static const char *const open[] = {
        "| password | ^ |",
        "ENV API_TOKEN ^",
        "password\t^\tx",
        "machine h login u password ^",
        "Authorization: Bearer ^",
        "curl --user=bob:^ https://h",
        "curl -u bob@h.org:^ x",
        "mysql -uroot -p^ db",
        "f(user=bob,password=^,timeout=5)",
        "x --password ^ y",
        "export PGPASSWORD=^",
        "f(token=^);g(x)",
    };
    for (size_t i = 0; i < sizeof(quoted) / sizeof(*quoted); i++)
        check_form(quoted[i], "hunter2 x");
    for (size_t i = 0; i < sizeof(quoted) / sizeof(*quoted); i++)
        check_form(quoted[i], "hunter2");
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
        check_form(open[i], "hun;ter2,a)b");
}

TEST(what_stays_of_programs)
{
    static const char *const lines[] = {
        "if (key == other) return token;",
        "password = getpass('Password: ')",
        "token = self.token; key = os.environ[\"TOKEN\"]",
        "secret = process.env.SECRET",
        "password = $PASSWORD; token=${TOKEN}; key = $(cat key)",
        "echo %PASSWORD%",
        "docker run -u 1000:1000 x",
        "password: {{ vault }}",
        "getPassword(\"main\")",
        "cat token | base64 | tr -d x",
        "std::string token;",
        "<password></password>",
        "git -u origin main",
        "use --token to say which",
        "the password of bob, the key of all",
        "for (token in tokens) { x(token); }",
        "public static String token(int i)",
        "author: \"bob\", name: \"x\"",
        "fields(\"name\", \"mail\")",
        "token = get_token(\"main\")",
        "by 'hunter2'",
        "password\tof\tbob",
        "key = os.getenv(\"TOKEN\")",
        "tokens->next = x",
        "bool has_key(int x)",
        "password: ${{ secrets.PASSWORD }}",
        "keyboard <- \"us\"",
        "password !~ x",
        "monkey ||= \"banana\"",
        "{\"password\", \"token\", NULL}",
        "\"api_key\", \"password\",",
        "[\"name\", \"password\", \"mail\"]",
        "if (token || other) x();",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        check_source(lines[i], lines[i]);
}

/* Messages, descriptions of rules and subjects of commits. */
TEST(sentences)
{
    static const char *const forms[] = {
        "finds curl -u bob:^ https://h", "as in password=^",
        "as in 'password = ^'",          "password: \"^\"",
        "bad value in 'token: ^'",       "Add password = \"^\"",
        "{\"password\": \"^\"}",         "token ||= \"^\"",
    };
    static const char *const stay[] = {
        "no token: give one",
        "pass.toml:3: not TOML",
        "company.key:12:7: not TOML",
        "cannot read the key: /etc/a1b2c3d4",
        "there is no rule 'token': did you mean it?",
        "use --show-secrets to see",
        "'--token' needs a value: which one",
        "Fix token: use the header",
        "keys: 12 loaded",
        "git's token isn't there",
        "the password = what you typed",
        "secrets: none",
        "3 secrets in 2 files; 1 key: see above",
        "it's the bob's key: not mine",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        char text[256], hidden[256];
        const char *at = strchr(forms[i], '^');
        snprintf(text, sizeof(text), "%.*shunter2%s", (int)(at - forms[i]), forms[i], at + 1);
        snprintf(hidden, sizeof(hidden), "%.*s*******%s", (int)(at - forms[i]), forms[i], at + 1);
        weir__cover_line(text);
        CHECK_STR(text, hidden);
    }
    for (size_t i = 0; i < sizeof(stay) / sizeof(*stay); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s", stay[i]);
        weir__cover_line(text);
        CHECK_STR(text, stay[i]);
    }
}

#define CHECK_ROWS(...)                                                                            \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)                                  \
            check(&rows[i]);                                                                       \
    } while (0)

#define ALL(hidden) hidden, hidden, hidden

TEST(users_of_urls)
{
    CHECK_ROWS({"https://pw@host", ALL("https://**@host")},
               {"ftp://bob:pw@host/x", ALL("ftp://******@host/x")},
               {"https://b:p@w@host/x", ALL("https://*****@host/x")},
               {"https://b:p/w@host/x", "https://*****@host/x", "https://b:*/w@host/x",
                "https://*****@host/x"},
               {"'https://b:p w@host/x'", ALL("'https://*****@host/x'")},
               {"no https://b:p w@host/x", "no https://b:* w@host/x", "no https://*****@host/x",
                "no https://*****@host/x"},
               {"https://b:pw...", ALL("https://b:*****")}, {"https://b:pw", ALL("https://b:**")},
               {"https://host:80/@a/b", NULL, NULL, NULL}, {"https://host/a:b", NULL, NULL, NULL},
               {"https://[::1]:80/a", NULL, NULL, NULL},
               {"https://[::1]:pw/a", ALL("https://[::1]:**/a")},
               {"https://[b:pw", ALL("https://[b:**")}, {"https://", NULL, NULL, NULL},
               {"://", NULL, NULL, NULL});
}

TEST(users_of_hosts)
{
    CHECK_ROWS({"u:pw@host", ALL("u:**@host")}, {"//u:pw@h", ALL("//u:**@h")},
               {"a/u:p@w@h", ALL("a/u:***@h")},
               {"no 'u:p w@h': it", "no 'u:***@h': it", "no 'u:***@h': it", "no 'u:***@h': it"},
               {"u:p/w@h", "u:***@h", NULL, "u:***@h"}, {"a@b:c", NULL, NULL, NULL},
               {"git@host:a/b@2", NULL, NULL, NULL}, {"host:/a/b@2x", NULL, NULL, NULL},
               {"said: a@b", NULL, NULL, NULL}, {":pw@h", NULL, NULL, NULL});
}

TEST(names_of_secrets)
{
    CHECK_ROWS(
        {"password=pw", ALL("password=**")},
        {"a/DB_PassWord=pw/x", "a/DB_PassWord=****", "a/DB_PassWord=**/x", "a/DB_PassWord=****"},
        {"api-key=ab&x=1", "api-key=**&x=1", "api-key=******", "api-key=******"},
        {"api_key:pw", ALL("api_key:**")}, {"PGPASSWORD=pw", ALL("PGPASSWORD=**")},
        {"authToken:pw", ALL("authToken:**")}, {"token_v2=pw", ALL("token_v2=**")},
        {"keys=pw", ALL("keys=**")}, {"MYSQL_PWD=pw", ALL("MYSQL_PWD=**")},
        {"secret_value=pw", ALL("secret_value=**")}, {"token=a=b", ALL("token=***")},
        {"password: pw", NULL, "password: **", "password: **"},
        {"password = pw", NULL, "password = **", "password = **"},
        {"{\"password\":\"pw\"}", "{\"password\":\"**\"}", "{\"password\":*****",
         "{\"password\":*****"},
        {"--password pw", NULL, NULL, "--password **"},
        {"a..--password pw", NULL, NULL, "a..--password **"},
        {"a --token pw x", NULL, NULL, "a --token ****"}, {"password pw", NULL, NULL, NULL},
        {"Authorization: Bearer pw", NULL, "Authorization: *********", "Authorization: *********"},
        {"password=", NULL, NULL, NULL}, {"=a", NULL, NULL, NULL}, {":a", NULL, NULL, NULL},
        {"format=json", NULL, NULL, NULL}, {"tok=a", NULL, NULL, NULL},
        {"author=bob", NULL, NULL, NULL}, {"keyboard=us", NULL, NULL, NULL},
        {"tokenizer:fast", NULL, NULL, NULL}, {"passenger:42", NULL, NULL, NULL},
        {"monkey=1.txt", NULL, NULL, NULL}, {"turkeys=2", NULL, NULL, NULL},
        {"ssh-key=pw", ALL("ssh-key=**")}, {"monkey_key=pw", ALL("monkey_key=**")},
        {"token_count=5", NULL, NULL, NULL}, {"maxTokenLength=5", NULL, NULL, NULL},
        {"token_type.x=pw", ALL("token_type.x=**")}, {"discount_key=pw", ALL("discount_key=**")},
        {"password=None", NULL, NULL, NULL}, {"key=lambda)", NULL, NULL, NULL},
        {"password=Nonesuch", ALL("password=********")},
        {"password=null,x", ALL("password=******")}, {"12:30", NULL, NULL, NULL},
        {"", NULL, NULL, NULL});
}

TEST(lines)
{
    static const struct row rows[] = {
        {"cannot read 'password=p w': no", "cannot read 'password=***': no", NULL, NULL},
        {"token=a secret=b pwd=c cred.x=d auth=e", "token=* secret=* pwd=* cred.x=* auth=*", NULL,
         NULL},
        {"'token=a' x=b 'c'", "'token=*' x=b 'c'", NULL, NULL},
        {"no token: give one", NULL, NULL, NULL},
        {"the token = a", NULL, NULL, NULL},
        {"token 'a'=b", NULL, NULL, NULL},
        {"https://host/@a/b and http://b:pw@host", "https://host/@a/b and http://****@host", NULL,
         NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s", rows[i].text);
        weir__cover_line(text);
        CHECK_STR(text, rows[i].line ? rows[i].line : rows[i].text);
    }
}

/* What is typed, and whether it is hidden: all of it, or nothing. */
static void check_word(const char *word, bool is_hidden)
{
    char text[256], wanted[256];
    snprintf(text, sizeof(text), "'--%s': no", word);
    snprintf(wanted, sizeof(wanted), "'--%s': no", word);
    if (is_hidden)
        memset(wanted + 3, '*', strlen(word));
    weir__cover_words(text);
    CHECK_STR(text, wanted);
}

TEST(words_of_machines)
{
    static const char *const machines[] = {
        "1844674407370955abcd", "a9f3c07e61b24d58", "Zx8Kq2LmNp4Rt7Vw",
        "QZIAQ7W3ERT5YUIOPLKJ", "x7k2m9q4w8e3r6t1", "qrtzpsdfghjklxcvbnm",
        "ABCDEFGHIJKLMNOP",     "aB3-dE5_fG7+hI9=", "123456789012345abcd",
    };
    static const char *const people[] = {
        "maxMemory",          "maxArchiveEntriesInAll",   "some-option-of-small-letters",
        "sha256sum-of-files", "HTTPServerConfiguration",  "README_2026_final",
        "x86_64-linux-gnu",   "18446744073709551616KiB",  "backup-2026-11-16-nightly",
        "parse-html-via-xml", "IntegrationTestRunner",    "a9f3c07e61b24d5", /* one less */
        "----------------",   "UTF8StringBuilderFactory",
    };
    for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
        check_word(machines[i], true);
    for (size_t i = 0; i < sizeof(people) / sizeof(*people); i++)
        check_word(people[i], false);
}

static void check_id(const char *id, const char *hidden)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", id);
    weir__cover_id(text);
    CHECK_STR(text, hidden);
}

TEST(ids)
{
    check_id("acme-a9f3c07e61b24d58", "acme-****************");
    check_id("acme-231637425695-83510349-a9f3c07e61b24d58",
             "acme-************-********-****************");
    check_id("generic-api-key-20261116", "generic-api-key-20261116");
}

/* What was cut may be less of a token. */
TEST(words_that_were_cut)
{
    char text[] = "by ghp_M0XvqZjx... and sometimes...";
    weir__cover_words(text);
    CHECK_STR(text, "by ************... and sometimes...");
    char parts[] = "a9f3c07e61b24d58.cxbm_-SI...";
    weir__cover_words(parts);
    CHECK_STR(parts, "****************.********...");
}

TEST(what_stands_beside_a_word)
{
    static const struct {
        const char *text, *typed;
    } rows[] = {
        {"a9f3c07e61b24d58/x9/b", "****************/**/b"},
        {"x9/y8.a9f3c07e61b24d58", "**/**.****************"},
        {"home/bob/a9f3c07e61b24d58/file.txt", "home/bob/****************/file.txt"},
        {"/a9f3c07e61b24d58", "/****************"},
        {"x9/y8", "x9/y8"},
        {"a9f3c07e61b24d58/w/0DXhDYrOHo/b", "****************/w/**********/b"},
        {"0DXhDYrOHo/w/a9f3c07e61b24d58", "**********/w/****************"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s", rows[i].text);
        weir__cover_typed(text);
        CHECK_STR(text, rows[i].typed);
    }
}

TEST(arguments_are_clipped)
{
    char text[24], given[8192];
    CHECK_STR(weir__cover_clip(text, sizeof(text), "token=pw", 5), "token");
    CHECK_STR(weir__cover_clip(text, sizeof(text), "token=pw", SIZE_MAX), "token=**");
    CHECK_STR(weir__cover_clip(text, sizeof(text), "an argument that is too long", SIZE_MAX),
              "an argument that is ...");
    /* The '@' that would say what is a password is beyond what is looked at. */
    memset(given, 'a', sizeof(given));
    memcpy(given, "x://u:p/", 8);
    given[sizeof(given) - 2] = '@';
    given[sizeof(given) - 1] = '\0';
    CHECK_STR(weir__cover_clip(text, sizeof(text), given, SIZE_MAX), "x*******************...");
}

TAP_MAIN()
