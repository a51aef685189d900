/* fuzz_git_refs.c - any bytes, as packed-refs, as a log, as a name, as a date and as a range.
 *
 * What must hold: names that are given are valid ones, lines are counted up and the end is reached,
 * dates and ranges are understood or refused with a reason.
 */
#include <stdlib.h>

#include "refs_resolve.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_refs", #condition)

static char why[WEIR__GIT_FLAW_MAX];

static void check_packed(const char *bytes, size_t length, size_t id_size)
{
    struct weir__git_packed_ref ref;
    size_t at = 0, line = 0, before = 0;
    int result;
    while ((result = weir__git_packed_ref_next(bytes, length, id_size, &at, &line, &ref, why))) {
        HOLDS(at > before && at <= length);
        before = at;
        HOLDS(ref.name >= bytes && ref.name + ref.name_length <= bytes + length);
        if (result < 0)
            continue;
        HOLDS(weir__git_ref_name_is_valid(ref.name, ref.name_length));
        HOLDS(!memchr(ref.name, '\n', ref.name_length) && !memchr(ref.name, 0, ref.name_length));
    }
    HOLDS(line <= length + 1);
}

static void check_log(const char *bytes, size_t length, size_t id_size)
{
    struct weir__git_id old, new;
    size_t at = 0, before = 0;
    while (weir__git_log_next(bytes, length, id_size, &at, &old, &new) != 0) {
        HOLDS(at > before && at <= length);
        before = at;
    }
}

/* A history of one commit, whatever is asked for. */
static int get_one(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                   struct weir__buffer *bytes)
{
    (void)arg;
    weir__buffer_truncate(bytes, 0);
    if (id->bytes[0] != 1)
        return -WEIR_E_NOT_FOUND;
    *ret_type = WEIR__GIT_COMMIT;
    return weir__buffer_printf(bytes, "tree %040d\nauthor a <b> 1 +0000\ncommitter c <d> 1 +0000\n",
                               1);
}

static size_t begin_with(void *arg, const char *digits, size_t count, struct weir__git_id *ids,
                         size_t max)
{
    (void)arg;
    HOLDS(count >= WEIR__GIT_ABBREV_MIN && strlen(digits) == count && max > 2);
    for (size_t i = 0; i < count; i++)
        HOLDS(weir__git_hex_digit(digits[i]) >= 0);
    ids[0] = (struct weir__git_id){{1}};
    ids[1] = (struct weir__git_id){{2}};
    return count % 3;
}

static void check_text(const char *text)
{
    struct weir__git_refs refs = {0};
    struct weir__git_names names = {&refs, 20, get_one, NULL, begin_with, NULL};
    struct weir__git_rev_range range;
    int64_t time;
    why[0] = '\0';
    int error = weir__git_date_parse(text, 1700000000, &time, why);
    HOLDS(error == 0 || (error == -WEIR_E_INVALID && why[0]));
    why[0] = '\0';
    error = weir__git_resolve_range(&names, text, &range, why);
    HOLDS(error == 0 || (why[0] && (error == -WEIR_E_INVALID || error == -WEIR_E_NOT_FOUND)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t length = size - 1, id_size = data[0] & 1 ? 32 : 20;
    char *bytes = malloc(length ? length : 1), *text = malloc(length + 1);
    HOLDS(bytes && text);
    memcpy(bytes, data + 1, length);
    memcpy(text, data + 1, length);
    text[length] = '\0';
    check_packed(bytes, length, id_size);
    check_log(bytes, length, id_size);
    (void)weir__git_ref_name_is_valid(bytes, length);
    check_text(text);
    free(bytes);
    free(text);
    return 0;
}
