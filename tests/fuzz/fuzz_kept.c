/* fuzz_kept.c - an engine from a cache that somebody has altered, and sealed again.
 *
 * The input is a byte of choices and either changes of what was kept (two bytes of a place, one
 * that is added to the byte there) or all that follows the seal. What must hold whatever it is: it
 * is refused, and the engine is as it was; or it is taken, and then a scan with it ends, stays in
 * its memory, and finds only what is in the text. What was not altered is taken, and finds all.
 */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "hash.h"
#include "parts.h"
#include "require.h"

#include "banned.h"

#define CHOICE_WHOLE     1u /* the input is all there is */
#define CHOICE_CUT       2u /* the first change says where it ends */

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "kept", #condition)

static const char rules_text[] =
    "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"
    "[[rules]]\nid = 'needs'\nregex = 'zz[0-9]{6}zz'\nkeywords = ['tok_', 'kw']\n"
    "[[rules]]\nid = 'digits'\nregex = '\\b[0-9]{2}Q[0-9]{2}\\b'\n"
    "[[rules]]\nid = 'word'\ncontext = ['gizmo']\nvalue = '[a-f0-9]{12}'\n"
    "[[rules]]\nid = 'generic-x'\nregex = 'pass=([a-z0-9_]{6,32})'\n"
    "[[rules]]\nid = 'shape'\nregex = '\\b[A-Z]{2}[0-9]{34}\\b'\n";
static const char text[] =
    "a = tok_abcdef0123456789\nzz123456zz 12Q34 kw\ngizmo = 0123456789ab\npass=tok_abcdef01\n"
    "AB0123456789012345678901234567890123 dG9rX2FiY2RlZjAxMjM0NTY3ODkgaXMgdGhlIHRva2Vu\n";
#define FINDINGS 7u

static char *kept; /* what the engine has put away, with its seal */
static size_t kept_length;
static struct weir__engine *made;

static char *given;
static size_t given_length;
static uint64_t found;

static int get(void *arg, const char *key, char **ret_bytes, size_t *ret_length)
{
    (void)arg, (void)key;
    if (!given)
        return -WEIR_E_NOT_FOUND;
    *ret_bytes = given;
    *ret_length = given_length;
    given = NULL;
    return 0;
}

static void put(void *arg, const char *key, const char *bytes, size_t length)
{
    (void)arg, (void)key;
    kept = weir__base_alloc(1, length);
    HOLDS(kept != NULL);
    memcpy(kept, bytes, length);
    kept_length = length;
}

static const struct weir__engine_cache cache = {.get = get, .put = put};

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    found++;
    HOLDS(finding->place.offset + finding->place.length < sizeof(text));
    HOLDS(finding->encodings_count > 0 ||
          memcmp(text + finding->place.offset, finding->secret, finding->secret_length) == 0);
}

static void scan(const struct weir__engine *engine)
{
    struct weir__object object = {.path = "a", .decode_depth = 2};
    struct weir__sink sink = {.finding = take};
    struct weir__scan_result result;
    struct weir__scanner *scanner = NULL;
    found = 0;
    HOLDS(weir__scanner_new(&scanner, engine, &sink) == 0);
    HOLDS(weir__scanner_begin(scanner, &object) == 0);
    int error = weir__scanner_feed(scanner, text, strlen(text));
    if (error == 0) {
        weir__scanner_settle(scanner);
        error = weir__scanner_end(scanner, &result);
    }
    HOLDS(error == 0 || error == -WEIR_E_INTERNAL);
    weir__scanner_free(scanner);
}

static void seal(char *bytes, size_t length)
{
    struct weir__hash hash;
    unsigned char digest[WEIR__HASH_SIZE];
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes + sizeof(digest), length - sizeof(digest));
    weir__hash_final(&hash, digest);
    memcpy(bytes, digest, sizeof(digest));
}

static void make(void)
{
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    struct weir__engine_options options = {.cache = &cache};
    HOLDS(weir__rules_load(&rules, "test", rules_text, strlen(rules_text), NULL, &error) == 0);
    HOLDS(weir__engine_new(&made, rules, &options, &error) == 0);
    HOLDS(kept && kept_length > WEIR__HASH_SIZE);
    scan(made);
    HOLDS(found == FINDINGS);
}

/* An engine of the same rules, from what is given; like the first one before it was made ready. */
static void use(bool is_unaltered)
{
    struct weir__engine engine = *made;
    size_t size = made->count * sizeof(*made->prepared);
    engine.prepared = weir__base_alloc(1, size);
    HOLDS(engine.prepared != NULL);
    memcpy(engine.prepared, made->prepared, size);
    engine.anchors = NULL;
    engine.anchor_rules = engine.keyword_numbers = NULL;
    memset(engine.databases, 0, sizeof(engine.databases));
    bool is_good = weir__kept_get(&engine, &cache);
    HOLDS(is_good || (!engine.anchors && !engine.anchor_rules && !engine.keyword_numbers));
    HOLDS(is_good || !is_unaltered);
    if (is_good)
        scan(&engine);
    HOLDS(!is_unaltered || found == FINDINGS);
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        hs_free_database(engine.databases[i]);
    weir__base_free(engine.anchors);
    weir__base_free(engine.anchor_rules);
    weir__base_free(engine.keyword_numbers);
    weir__base_free(engine.prepared);
}

static void alter(const uint8_t *data, size_t size, bool is_cut)
{
    size_t room = kept_length - WEIR__HASH_SIZE;
    for (size_t i = 0; i + 3 <= size; i += 3) {
        size_t at = (size_t)(data[i] | data[i + 1] << 8) % room;
        if (is_cut && i == 0)
            given_length = WEIR__HASH_SIZE + at;
        else if (WEIR__HASH_SIZE + at < given_length)
            given[WEIR__HASH_SIZE + at] = (char)(given[WEIR__HASH_SIZE + at] + data[i + 2]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!made)
        make();
    if (size < 1)
        return 0;
    bool is_whole = data[0] & CHOICE_WHOLE;
    given_length = is_whole ? WEIR__HASH_SIZE + size - 1 : kept_length;
    given = weir__base_alloc(1, given_length);
    HOLDS(given != NULL);
    if (is_whole) {
        memcpy(given + WEIR__HASH_SIZE, data + 1, size - 1);
    } else {
        memcpy(given, kept, kept_length);
        alter(data + 1, size - 1, data[0] & CHOICE_CUT);
    }
    seal(given, given_length);
    use(given_length == kept_length && memcmp(given, kept, kept_length) == 0);
    return 0;
}
