/* Whose value it is, in the forms that settings and code have: what a name without a value is
 * followed by is another's, and what stands in a section, a pair, a call or alone is not.
 *
 * In a text the name ends at '^', and the value is in guillemets. */
#include "binding.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "tap.h"

#include "banned.h"

#define OPEN_MARK  "\xc2\xab"
#define CLOSE_MARK "\xc2\xbb"
#define TEXT_MAX   512u
#define V          OPEN_MARK "8e2f40c1d7" CLOSE_MARK
#define LONG       "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

struct marked {
    char text[TEXT_MAX];
    size_t length, mark, value, value_end;
};

static void read_marks(const char *from, struct marked *ret_marked)
{
    *ret_marked = (struct marked){0};
    for (; *from; from++) {
        CHECK(ret_marked->length < TEXT_MAX);
        if (*from == '^') {
            ret_marked->mark = ret_marked->length;
        } else if (strncmp(from, OPEN_MARK, 2) == 0) {
            ret_marked->value = ret_marked->length;
            from++;
        } else if (strncmp(from, CLOSE_MARK, 2) == 0) {
            ret_marked->value_end = ret_marked->length;
            from++;
        } else {
            ret_marked->text[ret_marked->length++] = *from;
        }
    }
    CHECK(ret_marked->mark > 0 && ret_marked->value > ret_marked->mark &&
          ret_marked->value_end > ret_marked->value);
}

static bool is_other(const char *text)
{
    struct marked marked;
    read_marks(text, &marked);
    return weir__binding_is_other(marked.text, marked.mark, marked.value, marked.value_end);
}

/* The value has the second name. */
static const char *const others[] = {
    /* nothing behind the sign */
    "TOKEN^=\nCACHE=" V,
    "TOK^EN=\r\nCACHE=" V,
    "TOKEN^=\n\n# of the cache\nCACHE=" V,
    "TOKEN^= # yours\nCACHE=" V,
    "TOKEN^ =\nCACHE = " V,
    "export TOKEN^=\nexport CACHE=" V,
    "ENV TOKEN^=\nENV CACHE=" V,
    "    - TOKEN^=\n    - CACHE=" V,
    "TOKEN^= CACHE=" V " cmd",
    "TOKEN^= " OPEN_MARK "CACHE=8e2f40c1d7" CLOSE_MARK,
    "TOKEN^=\n" OPEN_MARK "CACHE=/8e2f40c1d7" CLOSE_MARK,
    "TOKEN^=\n" OPEN_MARK "CACHE=+8e2f40c1d7" CLOSE_MARK,
    "docker run -e TOKEN^= -e CACHE=" V,
    "docker run -e TOKEN^= \\\n  -e CACHE=" V,
    "\"TOKEN^=\\nCACHE=" V "\"",
    "?token^=&cache=" V,
    "set TOKEN^=& set CACHE=" V,
    "token^:\ncache: " V,
    "  snyk_token^:\n  cache: " V,
    "- snyk_token^:\n  cache: " V,
    "  snyk_token^:\n cache: " V,
    "snyk_token^:\n  url: a.io\n  cache: " V,
    "snyk^:\ncache: " V,
    "snyk_token^:\nsecret: " V,
    "snyk^: str = \"\"\ncache: str = \"" V "\"",
    "snyk^: \"{{ vault }}\"\ncache: " V,
    "snyk^ = \"$SNYK\"\ncache = " V,
    "snyk^:\n  token:\n  cache: " V,
    "snyk^:\n  token: \"\"\n  cache: " V,
    "\"snyk^\": {\"token\": \"\", \"cache\": \"" V "\"}",
    "\"snyk^\": {\n  \"token\": null,\n  \"cache\": \"" V "\"\n}",
    /* an empty value */
    "TOKEN^=\"\"\nCACHE=\"" V "\"",
    "TOKEN^='' CACHE='" V "' cmd",
    "TOKEN^=\" \"\nCACHE=" V,
    "{\"token^\": \"\", \"cache\": \"" V "\"}",
    "{\\\"token^\\\": \\\"\\\", \\\"cache\\\": \\\"" V "\\\"}",
    "'token^' => '',\n'cache' => '" V "',",
    "token^: ~\ncache: " V,
    "token^: null\ncache: " V,
    "token^ = None\ncache = \"" V "\"",
    "token^: nil, cache: \"" V "\"",
    "token^: {}\ncache: " V,
    "token^: str = \"\"\ncache: str = \"" V "\"",
    "token^: Optional[str] = None\ncache: str = \"" V "\"",
    "var token^ string = \"\"\nvar cache string = \"" V "\"",
    "token^ := \"\"\ncache := \"" V "\"",
    "token^ <- ''\ncache <- '" V "'",
    /* a reference */
    "TOKEN^=${TOKEN}\nCACHE=" V,
    "TOKEN=${TOKEN^}\nCACHE=" V,
    "TOKEN^=$TOKEN\nCACHE=" V,
    "TOKEN=$TOKEN^\nCACHE=" V,
    "TOKEN^=$(cat token)\nCACHE=" V,
    "TOKEN^=\"$(cat token)\"\nCACHE=" V,
    "TOKEN^=%TOKEN%\nCACHE=" V,
    "token^: {{ vault_token }}\ncache: " V,
    "token^: \"{{ vault_token }}\"\ncache: " V,
    "  TOKEN^: ${{ secrets.TOKEN }}\n  CACHE: " V,
    "  TOKEN: ${{ secrets.TOKEN^ }}\n  CACHE: " V,
    "token^ = os.environ[\"TOKEN\"]\ncache = \"" V "\"",
    "token = os.environ[\"TOKEN^\"]\ncache = \"" V "\"",
    "token = os.getenv('TOKEN^')\ncache = '" V "'",
    "token: process.env.TOKEN^,\ncache: '" V "',",
    "token^: process.env.TOKEN, cache: '" V "'",
    "token^ = ENV['TOKEN']\ncache = '" V "'",
    "token = var.token^\ncache = \"" V "\"",
    "token^ = getToken()\ncache = \"" V "\"",
    "Token^: !Ref Token\nCache: " V,
    "token^: <token>\ncache: " V,
    "TOKEN^=<your token>\nCACHE=" V,
    /* something that stands for a value, or a value */
    "TOKEN^=your-token-here\nCACHE=" V,
    "TOKEN^=changeme\nCACHE=" V,
    "TOKEN^=abc\nCACHE=" V,
    "token^ = \"abc\"\ncache = \"" V "\"",
    /* elements */
    "<token^></token>\n<cache>" V "</cache>",
    "<token></token^>\n<cache>" V "</cache>",
    "<token^/><cache>" V "</cache>",
    "<token^ /><cache>" V "</cache>",
    "<ns:token^></ns:token><ns:cache>" V "</ns:cache>",
    "<token^>\n</token>\n<cache>" V "</cache>",
    "<token^>${token}</token>\n<cache>" V "</cache>",
    "<add key=\"token^\" value=\"\"/>\n<add key=\"cache\" value=\"" V "\"/>",
    "<string name=\"token^\"></string>\n<string name=\"cache\">" V "</string>",
    /* pairs */
    "- name: TOKEN^\n  value: \"\"\n- name: CACHE\n  value: " V,
    "- name: TOKEN^\n- name: CACHE\n  value: " V,
    "- name: TOKEN^\n  value: $(TOKEN)\n- name: CACHE\n  value: " V,
    "- name: TOKEN^\n  valueFrom:\n    secretKeyRef:\n- name: CACHE\n  value: " V,
    "[{\"name\": \"TOKEN^\", \"value\": \"\"}, {\"name\": \"CACHE\", \"value\": \"" V "\"}]",
    "[{\"name\":\"TOKEN^\"},{\"name\":\"CACHE\",\"value\":\"" V "\"}]",
    "{\"ParameterKey\":\"Token^\",\"ParameterValue\":\"\"},{\"ParameterKey\":\"Cache\","
    "\"ParameterValue\":\"" V "\"}",
    /* declared without one */
    "ARG TOKEN^\nARG CACHE=" V,
    "export TOKEN^\nexport CACHE=" V,
    "    - TOKEN^\n    - CACHE=" V,
    "docker run -e TOKEN^ -e CACHE=" V,
    "unset TOKEN^; CACHE=" V,
    "unset TOKEN^ && export CACHE=" V,
    "unset TOKEN^ || true && CACHE=" V,
    "#define TOKEN^ \"\"\n#define CACHE \"" V "\"",
    /* another statement of the line */
    "test -z \"$TOKEN^\" && exit 1; CACHE=" V,
    "test -z \"$TOKEN^\" && CACHE=" V,
    "[ -n \"$TOKEN^\" ] || CACHE=" V,
    "if (!process.env.TOKEN^) throw 1; const cache = \"" V "\";",
    "delete process.env.TOKEN^; const cache = \"" V "\"",
    "check(token^); const cache = '" V "';",
    "assert token^; cache = \"" V "\"",
    "unset TOKEN^; git checkout " V,
    "echo $TOKEN^ && git reset --hard " V,
    "let k = env::var(\"TOKEN^\")?;\nlet cache = \"" V "\";",
    "let k = env::var(\"TOKEN^\").unwrap();\nlet cache = \"" V "\";",
    "let k = env::var(\"TOKEN^\").expect(\"it is set\").trim();\nlet cache = \"" V "\";",
    "token = os.getenv('TOKEN^').strip()\ncache = '" V "'",
    "  TOKEN^: ${{ secrets.TOKEN }}\n- uses: actions/checkout@" V,
    "  TOKEN: ${{ secrets.TOKEN^ }}\n- uses: actions/checkout@" V,
    "token^=\nbuild.sha=" V,
    "token^=\n" OPEN_MARK "build.sha=8e2f40c1d7" CLOSE_MARK,
    /* what is no conditional expression, no lambda, no pattern */
    "{token^: null, cache: \"" V "\"}",
    "{token^?: null, cache: \"" V "\"}",
    "x ? y : z; token^ = null; cache: \"" V "\"",
    "token^ => null, :cache => '" V "'",
    "token^ => undef,\n  cache => '" V "'",
    "'token^' => $x,\n'cache' => '" V "',",
    /* types */
    "struct S { token^: &str, }\nconst CACHE: &str = \"" V "\"",
    "const TOKEN^: &str = \"\";\nconst CACHE: &str = \"" V "\"",
    "const token^: []const u8 = \"\";\nconst cache: []const u8 = \"" V "\"",
    /* an element below that with the name */
    "<property name=\"token^\"><value></value></property><property name=\"cache\"><value>" V,
    "<property name=\"token^\"><value>${token}</value></property>\n<cache>" V "</cache>",
    "<property name=\"token^\"><value/></property><property name=\"cache\"><value>" V,
};

/* The value has the first name, a part of it, or none of its own. */
static const char *const own[] = {
    "TOKEN^=" V,
    "TOK^EN_2=" V,
    "TOKEN^ = \"" V "\"",
    "\"token^\": \"" V "\"",
    "\\\"token^\\\": \\\"" V "\\\"",
    "'token^' => '" V "'",
    "token^: str = \"" V "\"",
    "var token^ string = \"" V "\"",
    "token^ := b\"" V "\"",
    "Token^: Bearer " V,
    "<token^>" V "</token>",
    "<token^>\n  " V "\n</token>",
    "<string name=\"token^\" translatable=\"false\">" V "</string>",
    "the token^ is " V,
    "# token^\n" V,
    /* alone in the next line */
    "token^:\n  " V,
    "token^=\n" V,
    "token^ = (\n    \"" V "\"\n)",
    "token^ = \\\n  \"" V "\"",
    "const token^ =\n  '" V "';",
    "token^: |\n  " V,
    "token^: >-\n  " V,
    "token^:\n  - " V,
    /* a section and what it has */
    "snyk^:\n  token: " V,
    "snyk^:\n  org: " V,
    "snyk^:\ntoken: " V,
    "snyk^:\n  url: https://a.io\n  token: " V,
    "snyk^:\n  token:\n    value: " V,
    "snyk^:\n  routing_key: \"\"\n  token: " V,
    "token^: " OPEN_MARK "SG.q4=j96arb5lm6" CLOSE_MARK,
    "snyk_host^ = \"a.snyk.io\"\napi = \"" V "\"",
    "SNYK_HOST^=a.snyk.io\nAPI=" V,
    "ikey^=abc\nskey=" V,
    "\"snyk^\": {\n  \"token\": \"" V "\"",
    "snyk^ = {\n  token = \"" V "\"",
    "snyk^ = {token: '" V "'",
    "const snyk^ =\n  { token: '" V "' }",
    "[snyk^]\ntoken=" V,
    "# snyk^\nTOKEN=" V,
    "snyk_token^:\n  value: " V,
    "snyk_token^:\n  default: \"" V "\"",
    "snyk_token^:\n  secret: " V,
    "config[\"snyk^\"][\"token\"] = \"" V "\"",
    "snyk^.configure({ token: '" V "' })",
    "snyk^ = Client(token=\"" V "\")",
    "snyk^ = Client(\n    token=\"" V "\"",
    "- id: snyk^\n  token: " V,
    /* pairs */
    "- name: TOKEN^\n  value: " V,
    "- name: TOKEN^\n  value: \"" V "\"",
    "- name: TOKEN^\n  description: of snyk\n  value: " V,
    "{\"name\": \"TOKEN^\", \"value\": \"" V "\"}",
    "{\"key\":\"TOKEN^\",\"type\":\"x\",\"value\":\"" V "\"}",
    "<add key=\"token^\" value=\"" V "\"/>",
    "setenv(\"TOKEN^\", \"" V "\")",
    /* fallbacks */
    "TOKEN=${TOKEN^:-" V "}",
    "TOKEN^=${TOKEN:-" V "}",
    "token^ = os.environ.get(\"TOKEN\", \"" V "\")",
    "token = os.environ.get(\"TOKEN^\", \"" V "\")",
    "token^ = os.environ.get(\"TOKEN\") or \"" V "\"",
    "token = process.env.TOKEN^ || '" V "'",
    "token^: process.env.TOKEN || '" V "'",
    "token^ = prod ? \"\" : \"" V "\"",
    "let token = env::var(\"TOKEN^\").unwrap_or(\"" V "\".into());",
    "let token = env::var(\"TOKEN^\")\n    .unwrap_or(\"" V "\".into());",
    "test -n TOKEN^ && send " V,
    "test -n \"$TOKEN^\" || key=" V,
    "test -n \"$TOKEN^\"; send " V,
    "snyk^; key = \"" V "\"",
    "Host=snyk^.io;sig=" V,
    /* conditional expressions */
    "const token^ = isDev ? null : \"" V "\";",
    "const token^ = isDev ? undefined : \"" V "\";",
    "const token^ = isDev ? override : \"" V "\";",
    "const token^ = isDev ? f(a, b) : \"" V "\";",
    "const token^ = isDev?a:\"" V "\";",
    "const token^ = process.env.X ? process.env.X : \"" V "\";",
    "const k = process.env.TOKEN^ ? process.env.TOKEN : \"" V "\";",
    "String token^ = k != null ? k : \"" V "\";",
    "const char *token^ = getenv(\"X\") ? getenv(\"X\") : \"" V "\";",
    "'token^' => $x ? $y : '" V "'",
    "$token^ = isset($_ENV['X']) ? $_ENV['X'] : '" V "';",
    "token^ = cond\n  ? undefined\n  : \"" V "\"",
    "val token^ = override ?: \"" V "\"",
    "val token^ = System.getenv(\"X\") ?: \"" V "\"",
    /* lambdas and patterns */
    "val token^ = x match { case None => \"" V "\" }",
    "val token^ = opt match\n  case None => \"" V "\"",
    "val token^ = load() match\n  case Failure(_) => \"" V "\"",
    "let token^ = match env { Ok(v) => v, Err(_) => \"" V "\" }",
    "let token^ = match region { \"eu\" => \"" V "\" }",
    "let token^ = match env::var(\"X\") { Ok(v) => v, Err(_) => \"" V "\" }",
    "const getToken^ = async (env) => \"" V "\"",
    "const getToken^ = (env) => \"" V "\"",
    "const getToken^ = env => \"" V "\"",
    "token^ = lambda env: \"" V "\"",
    "token^ = lambda: \"" V "\"",
    /* types that begin with a mark */
    "const TOKEN^: &str = \"" V "\"",
    "static TOKEN^: &'static str = \"" V "\"",
    "const TOKEN^: &[u8] = b\"" V "\"",
    "const TOKEN^: [u8; 10] = *b\"" V "\"",
    "let token^: *const u8 = \"" V "\"",
    "const token^: []const u8 = \"" V "\"",
    /* a name in an attribute, its value in an element */
    "<property name=\"token^\"><value>" V "</value></property>",
    "<property name=\"token^\">\n  <value>" V "</value>\n</property>",
    "<setting name=\"token^\" serializeAs=\"String\"><value>" V "</value></setting>",
    "<entry key=\"token^\"><value>" V "</value></entry>",
    "<entry key=\"token^\"><value type=\"x\">" V "</value></entry>",
    /* several, below the name of a secret */
    "snyk_token^:\n  eu: " V,
    "snyk_token^:\n  # of the cluster\n  eu: " V,
    "  snyk_tokens^:\n    bob: \"" V "\"",
    "snyk_token^:\n  - eu: " V,
    "snyk_tokens^:\n  # of the cluster\n  - eu: \"" V "\"",
    "snyk^:\n  tokens:\n    eu: " V,
    /* the same name again */
    "TOKEN^=\nTOKEN=" V,
    "local token^; token=" V,
    /* three quotes are one */
    "token^ = \"\"\"" V "\"\"\"",
    "token^ = \"\"\"\ncache=" V,
    /* base64 ends like a name with a sign */
    "token^= " OPEN_MARK "c2VjcmV0dG9rZW4=" CLOSE_MARK,
};

TEST(what_has_another_name)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!is_other(others[i]))
            tap_fail(__FILE__, __LINE__, "taken for the value of the name: %s", others[i]);
}

TEST(what_is_its_own)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (is_other(own[i]))
            tap_fail(__FILE__, __LINE__, "taken for the value of another: %s", own[i]);
}

/* Nothing is looked at outside of what was given: sanitizers would tell. */
TEST(any_part_of_a_text)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct marked marked;
        read_marks(others[i], &marked);
        for (size_t from = 0; from <= marked.mark; from++) {
            size_t length = marked.value_end - from;
            char *exact = weir__base_alloc(1, length);
            CHECK(exact);
            memcpy(exact, marked.text + from, length);
            (void)weir__binding_is_other(exact, marked.mark - from, marked.value - from, length);
            (void)weir__binding_is_public(exact, marked.mark - from, length, marked.value - from,
                                          length);
            weir__base_free(exact);
        }
    }
}

/* A name, a sign and a value. */
static bool is_public(const char *text)
{
    size_t name = strcspn(text, "="), length = strlen(text);
    return weir__binding_is_public(text, name - 3, name, name + (text[name] == '='), length);
}

TEST(names_of_what_may_be_seen)
{
    static const char *const open[] = {
        "PUBLIC_KEY",
        "publicKey",
        "public.key",
        "rsapublickey",
        "PUBLIC_TOKEN",
        "SITE_KEY",
        "siteKey",
        "sitekey",
        "RECAPTCHA_SITE_KEY",
        "PUBLISHABLE_KEY",
        "STRIPE_PUBLISHABLE_TOKEN_KEY",
        "cache-key",
        "Sec-WebSocket-Key",
        "EXT-X-KEY",
        "i18nKey",
        "ssh_host_key",
        /* of a table, if the value is */
        "PrimaryKey=cart",
        "PrimaryKey=3f0c9a52-7d41-4e85-8a36-cd90be17f2a4",
        "MESSAGE_KEY=order.confirmation.subject",
        "sort_key=0f9c2b7d41e85a36cd90be17f2a4438c",
        "issueKey=0f9c2b7d41e85a36cd90be17f2a4438c11223344",
        "etag_key=0f9c2b7d41e85a36cd90be17f2a4438c",
        "DIGEST_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "commitKey=0f9c2b7d41e85a36cd90be17f2a4438c11223344",
        "node_key=3f0c9a52-7d41-4e85-8a36-cd90be17f2a4",
        /* several of them */
        "public_keys",
        "sitekeys",
        "PUBLIC_TOKENS",
    };
    static const char *const closed[] = {
        "API_KEY",
        "KEY",
        "token",
        "WEBSITE_KEY",
        "ONSITE_KEY",
        "websitekey",
        "SITE_SECRET",
        "CACHE_TOKEN",
        "PUBLIC_API_KEY",
        "GROUP_TOKEN",
        "throwKey",
        "republic_of_KEY",
        "PUBLIC_SECRET",
        "is_public",
        "hubKey",
        "REPUBLIC_KEY",
        "republicKey",
        "X_KEY",
        "MAX_KEY",
        /* the value is none of a table */
        "AZURE_PRIMARY_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "HASH_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "SIGNATURE_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "node_key=0f9c2b7d41e85a36cd90be17f2a4438c",
        "GROUP_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "REGISTRY_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "projectKey=0f9c2b7d41e85a36cd90be17f2a4438c",
        "MESSAGE_KEY=0f9c2b7d41e85a36cd90be17f2a4438c",
        "api_keys",
        "keys",
        "primaryKey=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9oQ1iXtNvB5k0=",
        "SIGNATURE_KEY=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9o",
        "COOKIE_HASH_KEY=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9o",
        "GROUP_KEY=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9o",
        "NODE_KEY=0f9c2b7d41e85a36cd90be17f2a4438c0f9c2b7d41e85a36cd90be17f2a4438c",
        "REGISTRY_KEY=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9o",
        "PROJECT_KEY=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9o",
        "MESSAGE_KEY=Zq4TnWb8xKpV2mLsR7cYdJ3hGfE6uA9o",
    };
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        if (!is_public(open[i]))
            tap_fail(__FILE__, __LINE__, "not public: %s", open[i]);
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        if (is_public(closed[i]))
            tap_fail(__FILE__, __LINE__, "public: %s", closed[i]);
}

/* A name and a value that are as far apart as can be, and a line that never ends. */
TEST(long_ones)
{
    CHECK(is_other("TOKEN^=\n" LONG "=" V));
    CHECK(!is_other("TOKEN^" LONG "=" V));
    CHECK(is_other(LONG LONG "TOKEN^=\nCACHE=" V));
}

TAP_MAIN()
