/* cover_named.c - what a text calls a secret: one reader, and one list of forms, for all texts.
 *
 * A text is read from its beginning to its end. What is known to come before a secret is
 * - a name of one and a sign (the table below), with a type before the '=' if there is one:
 *       password ||= "…"    let key: String = "…"    char pass[32] = "…"    { "token" -> "…" }
 * - a name and blanks: #define NAME …, ENV NAME …, --name …, login … password …, PASSWORD '…',
 *   IDENTIFIED BY '…';
 * - a name with brackets around it: <name>…<, name("…"), put("name", "…"), {"name", "…"},
 *   | name | … |, key="name" value="…"; a line that begins with "name", "…";
 * - "://" of a URL, user: before a host, and options that have a user or a password.
 * How far the secret reaches depends on what is read:
 *
 *     a sentence   in quotes up to the closing one; in what the sentence quotes ('…') to its end;
 *                  else to a blank. A sign with a blank beside it is most often the sentence's own:
 *                  words, numbers and paths behind it stay
 *     a source     in quotes up to the closing one; of a list all that is in quotes; else up to a
 *                  blank, or a mark of the text around it. Calls and variables stay
 *     a path       to the next '/'
 *     an argument  to its end
 */
#include <string.h>
#include <strings.h>

#include "cover.h"
#include "cover_part.h"

#include "banned.h"

#define BLANKS   " \t"
#define QUOTES   "\"'`"
#define TYPE_MAX 40u

enum kind { SENTENCE, SOURCE, PATH, ARGUMENT };

struct reader {
    char *text;
    enum kind kind;
    bool is_quoted; /* within '…' of a sentence */
    bool is_define; /* behind #define, ENV and their like */
    bool is_identified;
    bool is_login; /* behind "login" or "machine", where a blank parts name and value */
    bool is_sshpass, is_mysql;
    bool is_hidden; /* something was */
};

/* What stands behind a name. */
struct named {
    char *value;
    bool is_strict;   /* in quotes alone it is a value */
    bool is_doubtful; /* it may be a word of a sentence */
    bool is_tag;      /* up to the next tag */
    bool is_pair;     /* which may as well be two names of a list */
};

static const struct sign {
    char text[4];
    bool is_strict;
} signs[] = {
    {"===", true},
    {"!==", true},
    {"||=", false},
    {"&&=", false},
    {"?"
     "?=",
     false},
    {"//=", false},
    {"||", true},
    {"?"
     "?",
     true},
    {"==", true},
    {"!=", true},
    {"=~", true},
    {":=", false},
    {"=>", false},
    {"->", true},
    {"<-", false},
    {"?=", false},
    {"+=", false},
    {".=", false},
    {"=", false},
    {":", false},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_quote(char c)
{
    return c != '\0' && strchr(QUOTES, c);
}

static void hide(struct reader *r, char *value, size_t length)
{
    if (length == 0 || weir__cover_is_nothing(value, length))
        return;
    memset(value, '*', length);
    r->is_hidden = true;
}

static void take_quote(struct reader *r, const char *at)
{
    bool is_apostrophe =
        at > r->text && weir__cover_name_length(at - 1) > 0 && weir__cover_name_length(at + 1) > 0;
    if (r->kind == SENTENCE && (r->is_quoted || !is_apostrophe))
        r->is_quoted = !r->is_quoted;
}

/* How far what begins there may reach when nothing closes it. */
static size_t reach_of(const struct reader *r, const char *text)
{
    static const char *const ends[] = {
        [SENTENCE] = BLANKS "\n'\"&", [SOURCE] = BLANKS "\n'\"&", [PATH] = "/", [ARGUMENT] = ""};
    return strcspn(text, r->is_quoted ? "'\n" : ends[r->kind]);
}

/* --- values --- */

/* In quotes; one behind a '\' is a part of it. */
static size_t quoted_length(const char *text, char quote)
{
    size_t length = 0;
    while (text[length] && text[length] != '\n' && text[length] != quote)
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length;
}

/* Whether a mark in a value without quotes is one of the text around it. */
static bool ends_value(const char *mark)
{
    if (*mark == '<')
        return mark[1] == '/';
    if (!strchr(",;)]}", *mark))
        return false;
    const char *next = mark + 1;
    if (*next == '\0' || strchr(BLANKS QUOTES "\n;,.)]}:{", *next))
        return true;
    size_t name = weir__cover_name_length(next);
    return name > 0 && next[name] != '\0' && strchr("=:(", next[name]);
}

static size_t open_length(const char *text)
{
    size_t length = 0;
    while (text[length] && !strchr(BLANKS "\n&" QUOTES, text[length]) && !ends_value(text + length))
        length++;
    while (length > 0 && strchr(",;.)]}>\\", text[length - 1]))
        length--;
    return length;
}

/* "Bearer ", "Basic ": what is sent is behind it. */
static char *behind_scheme(char *text)
{
    static const char *const schemes[] = {"bearer", "basic", "token", "digest", "apikey", NULL};
    size_t length = weir__cover_name_length(text), blanks = strspn(text + length, BLANKS);
    return blanks > 0 && weir__cover_is_one_of(text, length, schemes) ? text + length + blanks
                                                                      : text;
}

/* The quote that opens a value, behind letters that a string may have before it (b"", @""). */
static char *quote_of(char *text)
{
    size_t letters = strspn(text, "bBrRuUfFL@$");
    return letters <= 2 && is_quote(text[letters]) ? text + letters : text;
}

/* Whether the quote closes one around the name: f("password: ") has no value. */
static bool closes(const struct reader *r, const char *quote)
{
    size_t before = 0;
    if (quote[1] != '\0' && !strchr(BLANKS "\n),;]}", quote[1]))
        return false;
    for (const char *at = r->text; at < quote; at++)
        before += *at == *quote;
    return before % 2 == 1;
}

/* Where the value really begins, and how long it is; 0: there is none. */
static size_t value_at(const struct reader *r, const struct named *named, char **ret_value)
{
    char *at = named->value;
    *ret_value = at;
    if (r->kind == PATH || r->kind == ARGUMENT)
        return reach_of(r, at);
    if (named->is_tag)
        return strcspn(at, "<\n");
    if (*at == '\\' && is_quote(at[1])) { /* within a text in quotes */
        *ret_value = behind_scheme(at + 2);
        return strcspn(*ret_value, "\\\"\n");
    }
    at = quote_of(at);
    bool is_quoted = is_quote(*at),
         is_closing = is_quoted && ((*at == '\'' && r->is_quoted) || closes(r, at));
    if (is_quoted && !is_closing) {
        char quote = *at;
        bool is_triple = at[1] == quote && at[2] == quote;
        *ret_value = behind_scheme(at + (is_triple ? 3 : 1));
        size_t length = quoted_length(*ret_value, quote);
        bool is_own = r->kind == SENTENCE && named->is_doubtful && quote == '\'';
        return is_own && !weir__cover_is_odd(*ret_value, length) ? 0 : length;
    }
    *ret_value = at = behind_scheme(named->value);
    if (named->is_strict || is_quote(*at))
        return 0;
    size_t length = r->is_quoted || (r->kind == SENTENCE && !named->is_doubtful) ? reach_of(r, at)
                                                                                 : open_length(at);
    if (named->is_doubtful && !weir__cover_is_odd(at, length))
        return 0;
    return r->kind == SOURCE && weir__cover_is_code(at, length) ? 0 : length;
}

/* All that is in quotes from there on, up to the end of the list; returns where that is. */
static char *cover_list(struct reader *r, char *text)
{
    while (*text && !strchr("])}\n", *text)) {
        struct named named = {.value = text, .is_strict = true};
        char *value = NULL;
        if (!is_quote(*text) && !(*text == '\\' && is_quote(text[1]))) {
            text++;
            continue;
        }
        size_t length = value_at(r, &named, &value);
        hide(r, value, length);
        /* Behind the quote that closes it, if there is one. */
        text = value + length;
        text += strspn(text, "\\");
        text += *text && *text != '\n';
    }
    return text;
}

/* --- what stands between a name and its value --- */

static const struct sign *sign_at(const char *text)
{
    if (strncmp(text, "://", 3) == 0 || strncmp(text, "::", 2) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if (strncmp(text, signs[i].text, strlen(signs[i].text)) == 0)
            return &signs[i];
    return NULL;
}

/* A type and the '=' behind it: how long both are. There are no digits in a type that could be
 * taken for a value, but for those of its width. */
static size_t type_at(const char *text)
{
    size_t length = strspn(text, "&*[]?" BLANKS);
    length += strspn(text + length,
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_<>[]?&'*|:8" BLANKS);
    bool is_assigned =
        text[length] == '=' && !strchr("=>~", text[length + 1] ? text[length + 1] : 'x');
    return length > 0 && length <= TYPE_MAX && is_assigned ? length + 1 : 0;
}

/* "name string = …": a type alone. */
static bool is_type(const char *text)
{
    static const char *const types[] = {"string", "str", "char", "text", "bytes", "byte", NULL};
    text += strspn(text, "[]*");
    return weir__cover_is_one_of(text, weir__cover_name_length(text), types);
}

static bool find_signed(char *behind, struct named *named)
{
    size_t index = *behind == '[' ? 1 + strspn(behind + 1, "0123456789") : 0;
    char *at = behind + (index > 0 && behind[index] == ']' ? index + 1 : 0);
    char *sign_from = at + strspn(at, "\\\"'`])" BLANKS);
    const struct sign *sign = sign_at(sign_from);
    size_t type = 0, length = sign ? strlen(sign->text) : 0;
    if (sign && strcmp(sign->text, ":") == 0)
        type = type_at(sign_from + 1);
    else if (!sign && is_blank(*at) && is_type(at + strspn(at, BLANKS)))
        type = type_at(at);
    if (!sign && type == 0)
        return false;
    char *end = sign ? sign_from + length + type : at + type;
    named->value = end + strspn(end, BLANKS);
    named->is_strict = sign && sign->is_strict;
    named->is_doubtful = named->value > end || (sign_from > at && is_blank(sign_from[-1]));
    return true;
}

/* Functions that ask for something by its name. */
static bool is_question(const char *name, size_t length)
{
    static const char *const asks[] = {"get", "find", "read",  "load",
                                       "has", "is",   "check", "fetch"};
    const char *dot = memrchr(name, '.', length);
    size_t left = dot ? length - (size_t)(dot + 1 - name) : length;
    name = dot ? dot + 1 : name;
    for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
        if (left > strlen(asks[i]) && strncasecmp(name, asks[i], strlen(asks[i])) == 0)
            return true;
    return false;
}

/* The last byte before a name that is neither blank nor the quote around it, or a space. */
static char byte_before(const struct reader *r, const char *name)
{
    while (name > r->text && (is_blank(name[-1]) || is_quote(name[-1])))
        name--;
    return name > r->text ? name[-1] : ' ';
}

/* Whether a name in quotes and what follows its comma may be a pair: an argument each, an entry of
 * a table, or a line of one. Words of a sentence and the fields of a list stand behind commas. */
static bool is_pair(const struct reader *r, char before)
{
    return before == '(' || before == '{' || (before == ' ' && r->kind == SOURCE);
}

/* Brackets, and what else programs have around a name. */
static bool find_enclosed(const struct reader *r, const char *name, size_t length,
                          struct named *named)
{
    char *behind = r->text + (name - r->text) + length, before = byte_before(r, name);
    size_t close = strspn(behind, QUOTES), blanks = strspn(behind + close, BLANKS);
    char *next = behind + close + blanks;
    if (*behind == '>' && before == '<') {
        *named = (struct named){.value = behind + 1, .is_tag = true};
        return true;
    }
    if (*behind == '(' && is_quote(*quote_of(behind + 1)) && !is_question(name, length)) {
        *named = (struct named){.value = behind + 1, .is_strict = true};
        return true;
    }
    if (*next == ',' && close > 0 && is_pair(r, before)) {
        next++;
        *named = (struct named){.value = next + strspn(next, BLANKS), .is_strict = true};
        named->is_pair = before != '(';
        return true;
    }
    if (*next == '|' && before == '|') {
        next++;
        *named = (struct named){.value = next + strspn(next, BLANKS)};
        return true;
    }
    next = behind + close + strspn(behind + close, BLANKS ",;");
    return close > 0 && next > behind + close && strncasecmp(next, "value", 5) == 0 &&
           find_signed(next + 5, named);
}

/* Blanks alone. */
static bool find_apart(const struct reader *r, const char *name, size_t length, struct named *named)
{
    static const char *const bare[] = {"password", "passwd", "by", NULL};
    char *behind = r->text + (name - r->text) + length;
    *named = (struct named){.value = behind + strspn(behind, BLANKS)};
    if (named->value == behind || r->kind == PATH)
        return false;
    bool is_option = *name == '-' || memmem(name, length, "--", 2);
    bool is_bare = weir__cover_is_one_of(name, length, bare);
    if (is_option)
        named->is_doubtful = r->kind != ARGUMENT && !r->is_quoted;
    else if (r->is_define || (is_bare && r->is_login))
        named->is_strict = false;
    else if (*behind == '\t')
        named->is_doubtful = true; /* a table may have it so */
    else
        named->is_strict = true;
    return is_option || (r->kind == SOURCE && (is_bare || !named->is_strict));
}

/* What is taken where there is no other value, up to the end of the statement: a || "…", and the
 * last argument of what asks the environment. */
static void cover_fallbacks(struct reader *r, char *text)
{
    bool is_asked = false;
    for (char *at = text; *at && !strchr(";\n", *at);) {
        size_t name = weir__cover_name_length(at);
        if (name > 0) {
            is_asked = is_asked || weir__cover_has_inside(at, name, "env") ||
                       weir__cover_has_inside(at, name, "get") ||
                       weir__cover_has_inside(at, name, "default") ||
                       weir__cover_has_inside(at, name, "property");
            at += name;
            continue;
        }
        if (!is_quote(*at)) {
            at++;
            continue;
        }
        const char *before = at;
        while (before > text && is_blank(before[-1]))
            before--;
        struct named named = {.value = at, .is_strict = true};
        char *value = NULL;
        size_t length = value_at(r, &named, &value);
        bool is_other = before - text >= 2 &&
                        (memcmp(before - 2, "||", 2) == 0 || memcmp(before - 2, "or", 2) == 0 ||
                         memcmp(before - 2,
                                "?"
                                "?",
                                2) == 0);
        if (is_other || (is_asked && before > text && before[-1] == ','))
            hide(r, value, length);
        at = value + length;
        at += *at != '\0';
    }
}

/* "pass.toml:3: ", "pass.toml:3:7: ": a line of a file, and no value. */
static bool is_place(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    const char *behind = value + digits;
    if (value[-1] != ':' || digits == 0 || *behind != ':')
        return false;
    size_t column = strspn(behind + 1, "0123456789");
    if (column > 0 && behind[1 + column] == ':')
        behind += 1 + column;
    return behind[1] == ' ';
}

/* What the name of a secret stands before; returns where to read on. */
static char *cover_behind(struct reader *r, char *name, size_t length)
{
    struct named named = {.value = NULL};
    char *behind = name + length, *value = NULL;
    bool is_text = r->kind == SENTENCE || r->kind == SOURCE,
         is_signed = find_signed(behind, &named);
    if (!is_signed && (!is_text || !find_enclosed(r, name, length, &named)) &&
        !find_apart(r, name, length, &named))
        return behind;
    for (const char *at = behind; at < named.value; at++)
        if (*at == '\'')
            take_quote(r, at); /* the name was in quotes, and its value is not */
    if (is_signed)
        named.is_doubtful = named.is_doubtful && !r->is_quoted && r->kind == SENTENCE;
    if (r->kind == ARGUMENT)
        named.value += strspn(named.value, BLANKS "=:");
    if (r->kind == SENTENCE && is_place(named.value))
        return named.value;
    bool is_list = r->kind == SOURCE && *named.value && strchr("[({", *named.value);
    if (is_list && named.value[1] != '{')
        return cover_list(r, named.value + 1);
    size_t found = value_at(r, &named, &value);
    if (r->kind == SOURCE && !is_quote(*quote_of(named.value)))
        cover_fallbacks(r, named.value);
    /* key="password": a name, which says what is behind it. */
    bool is_key = named.is_pair || (length == 3 && strncasecmp(name, "key", 3) == 0);
    if (found == 0 ||
        (is_key && weir__cover_is_name(value, found) && !weir__cover_is_odd(value, found)))
        return named.value > behind ? named.value : behind;
    hide(r, value, found);
    return value + found;
}

/* --- users and their passwords --- */

/* At "://": who asks, with the password. */
static char *cover_user(struct reader *r, char *at)
{
    char *host = at + 3;
    size_t reach = reach_of(r, host), from = strcspn(host, "/?#"), until;
    from = until = from < reach ? from : reach; /* with its port */
    weir__text_find_user_before_path(host, reach, &from, &until);
    hide(r, host + from, until - from);
    return host + until;
}

/* user:password@host, where at is the colon. */
static char *cover_before_host(struct reader *r, char *at)
{
    size_t user = 0;
    const char *sign = memrchr(at, '@', reach_of(r, at));
    while (at - user > r->text && !strchr(" \t'\"/@", at[-1 - (long)user]))
        user++;
    bool is_behind_host = at - user > r->text && at[-1 - (long)user] == '@';
    if (!sign || user == 0 || is_behind_host || at[1] == '/' || at[1] == ' ')
        return at + 1;
    hide(r, at + 1, (size_t)(sign - at) - 1);
    return r->text + (sign - r->text);
}

/* -u user:password, --user=…, and -p password of commands that have it so; NULL: none of these. */
static char *cover_option(struct reader *r, char *at)
{
    static const char *const users[] = {"-u", "--user", "--proxy-user", NULL};
    if (*at != '-' || (at > r->text && !strchr(BLANKS QUOTES "([,", at[-1])))
        return NULL;
    bool is_password = (r->is_sshpass || r->is_mysql) && at[1] == 'p';
    size_t name = is_password ? 2 : weir__cover_name_length(at),
           blanks = strspn(at + name, BLANKS "=\"',");
    char *value = at + name + blanks;
    if (!is_password && (!weir__cover_is_one_of(at, name, users) || blanks == 0))
        return NULL;
    if (is_password && (at[2] == '\0' || (r->is_mysql && is_blank(at[2]))))
        return NULL;
    char quote = is_quote(value[-1]) ? value[-1] : '\0';
    if (!is_password) {
        size_t user = strcspn(value, BLANKS QUOTES "\n:/");
        if (user == 0 || value[user] != ':' || value[user + 1] == '/')
            return NULL;
        value += user + 1;
    }
    size_t length = r->kind == ARGUMENT      ? strlen(value)
                    : quote && quote != '\'' ? quoted_length(value, quote)
                    : quote || r->is_quoted  ? strcspn(value, "'\n")
                                             : strcspn(value, BLANKS QUOTES "\n");
    if (strspn(value, "0123456789") < length && !weir__cover_is_code(value, length))
        hide(r, value, length);
    return value + length;
}

/* --- the reader --- */

/* What a word says about what comes behind it. */
static void take_word(struct reader *r, const char *word, size_t length)
{
    static const char *const logins[] = {"login", "machine", NULL};
    static const char *const clients[] = {"mysql", "mysqldump", "mysqladmin", "mariadb", NULL};
    static const char *const definers[] = {"env", "setx", "setenv", NULL};
    bool is_define = length == 6 && memcmp(word, "define", 6) == 0;
    r->is_define = (is_define && word > r->text && word[-1] == '#') ||
                   (is_blank(word[length]) && weir__cover_is_one_of(word, length, definers));
    r->is_identified = length == 10 && strncasecmp(word, "identified", 10) == 0;
    r->is_login = r->is_login || weir__cover_is_one_of(word, length, logins);
    r->is_mysql = r->is_mysql || weir__cover_is_one_of(word, length, clients);
    r->is_sshpass = r->is_sshpass || (length == 7 && memcmp(word, "sshpass", 7) == 0);
}

static void read_on(struct reader *r, char *at)
{
    while (*at) {
        size_t name = weir__cover_name_length(at);
        char *behind = r->kind == PATH ? NULL : cover_option(r, at);
        if (behind) {
            at = behind;
        } else if (name > 0) {
            bool is_by = r->is_identified && name == 2 && strncasecmp(at, "by", 2) == 0;
            bool is_secret = is_by || weir__cover_is_name(at, name);
            behind = is_secret ? cover_behind(r, at, name) : at + name;
            take_word(r, at, name);
            at = behind;
        } else if (strncmp(at, "://", 3) == 0) {
            at = cover_user(r, at);
        } else if (*at == ':') {
            at = cover_before_host(r, at);
        } else {
            if (*at == '\'')
                take_quote(r, at);
            at++;
        }
    }
}

static struct reader read_as(char *text, enum kind kind)
{
    struct reader r = {.text = text, .kind = kind};
    read_on(&r, text);
    return r;
}

void weir__cover_line(char *line)
{
    (void)read_as(line, SENTENCE);
}

void weir__cover_written(char *text)
{
    (void)read_as(text, SENTENCE);
    weir__cover_words(text);
}

bool weir__cover_path(char *path)
{
    return strpbrk(path, "=:") && read_as(path, PATH).is_hidden;
}

void weir__cover_source(char *line)
{
    (void)read_as(line, SOURCE);
}

void weir__cover_typed(char *text)
{
    (void)read_as(text, ARGUMENT);
    weir__cover_words(text);
}
