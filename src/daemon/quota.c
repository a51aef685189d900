/* quota.c - a hash table with open places, and a file of text.
 *
 *     weir-quotas 1
 *     0123456789abcdef 1048576 12      id, bytes, objects
 *     ...
 *     end 1                            how many lines
 *
 * The table is never more than half full and nothing is removed from it but when it is made anew:
 * larger, or without those who have nothing.
 */
#include "quota.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "alloc.h"
#include "buffer.h"
#include "disk.h"
#include "log.h"
#include "sys.h"

#include "banned.h"

#define HEAD         "weir-quotas 1\n"
#define PLACES_FIRST 64u
#define LINE_MAX     80u
#define FILE_MAX     ((size_t)(WEIR__QUOTA_TOKENS_MAX + 2) * LINE_MAX)

/* Below the locks of the store, above those of the service, though none is held with it. */
const struct weir_lock_class weir__quota_class = {"quota", 340};

struct entry {
    char id[WEIR__TOKEN_ID_SIZE]; /* "": a free place */
    struct weir__quota_usage usage;
};

struct weir__quota {
    int folder;            /* -1: none */
    struct weir_lock lock; /* guards what follows */
    struct entry *places;
    size_t places_count; /* a power of two */
    size_t used;
    size_t idle;      /* of these: have nothing, and could go */
    uint64_t changes; /* since the start */
    uint64_t saved;   /* of these */
};

/* --- the table, under the lock --- */

static size_t hash(const char *id)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * UINT64_C(1099511628211);
    return (size_t)(h ^ h >> 32);
}

/* Its place, or the free one where it would be. */
static struct entry *find(struct entry *places, size_t count, const char *id)
{
    size_t at = hash(id) & (count - 1);
    while (places[at].id[0] && strcmp(places[at].id, id) != 0)
        at = (at + 1) & (count - 1);
    return &places[at];
}

static struct entry *find_known(struct weir__quota *quota, const char *id)
{
    struct entry *entry = quota->places ? find(quota->places, quota->places_count, id) : NULL;
    return entry && entry->id[0] ? entry : NULL;
}

static bool has_any(const struct entry *entry)
{
    const struct weir__quota_usage *usage = &entry->usage;
    return usage->bytes || usage->objects || usage->held_bytes || usage->held_objects;
}

/* Into a new table of at least that size, without those who have nothing. */
static int make_anew(struct weir__quota *quota, size_t count)
{
    struct entry *places = weir__base_alloc(count, sizeof(*places));
    size_t used = 0;
    if (!places)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < quota->places_count; i++)
        if (quota->places[i].id[0] && has_any(&quota->places[i])) {
            *find(places, count, quota->places[i].id) = quota->places[i];
            used++;
        }
    weir__base_free(quota->places);
    quota->places = places;
    quota->places_count = count;
    quota->used = used;
    quota->idle = 0;
    return 0;
}

/* The entry of the id, made if there is none. Overflow: there are too many. */
static int enter(struct weir__quota *quota, const char *id, struct entry **ret_entry)
{
    *ret_entry = find_known(quota, id);
    if (*ret_entry)
        return 0;
    int error = 0;
    if (quota->used >= WEIR__QUOTA_TOKENS_MAX && quota->idle == 0)
        return -WEIR_E_OVERFLOW;
    if (!quota->places)
        error = make_anew(quota, PLACES_FIRST);
    else if (2 * (quota->used + 1) > quota->places_count)
        error = make_anew(quota, quota->used < WEIR__QUOTA_TOKENS_MAX ? 2 * quota->places_count
                                                                      : quota->places_count);
    if (error)
        return error;
    *ret_entry = find(quota->places, quota->places_count, id);
    snprintf((*ret_entry)->id, sizeof((*ret_entry)->id), "%s", id);
    quota->used++;
    quota->idle++;
    return 0;
}

/* --- reservations --- */

static bool exceeds(uint64_t used, uint64_t held, uint64_t more, uint64_t limit)
{
    return limit && (used > limit || held > limit - used || more > limit - used - held);
}

static int refuse(const struct weir__quota_usage *usage, const struct weir__quota_limits *limits,
                  enum weir__quota_reason reason, uint64_t more, char why[WEIR__QUOTA_WHY])
{
    bool is_bytes = reason == WEIR__QUOTA_BYTES;
    int length = snprintf(
        why, WEIR__QUOTA_WHY, "the quota of this token is used up: %" PRIu64 " of %" PRIu64 " %s",
        is_bytes ? usage->bytes + usage->held_bytes : usage->objects + usage->held_objects,
        is_bytes ? limits->bytes : limits->objects, is_bytes ? "bytes" : "objects");
    /* What is packed, or comes in chunks, may become as large as a chunk can be. */
    if (is_bytes)
        snprintf(why + length, WEIR__QUOTA_WHY - (size_t)length,
                 ", and the upload may need %" PRIu64, more);
    return -WEIR_E_FORBIDDEN;
}

int weir__quota_reserve(struct weir__quota *quota, const char *id,
                        const struct weir__quota_limits *limits, uint64_t bytes,
                        struct weir__quota_hold *hold, enum weir__quota_reason *ret_reason,
                        char why[WEIR__QUOTA_WHY])
{
    struct weir__quota_usage usage = {0};
    struct entry *entry;
    enum weir__quota_reason reason = WEIR__QUOTA_TOKENS;
    weir_lock_acquire(&quota->lock);
    int error = enter(quota, id, &entry);
    if (!error) {
        usage = entry->usage;
        if (exceeds(usage.bytes, usage.held_bytes, bytes, limits->bytes))
            reason = WEIR__QUOTA_BYTES;
        else if (exceeds(usage.objects, usage.held_objects, 1, limits->objects))
            reason = WEIR__QUOTA_OBJECTS;
        else
            reason = WEIR__QUOTA_REASONS;
    }
    if (!error && reason == WEIR__QUOTA_REASONS) {
        quota->idle -= !has_any(entry);
        entry->usage.held_bytes += bytes;
        entry->usage.held_objects++;
    }
    weir_lock_release(&quota->lock);
    if (error && error != -WEIR_E_OVERFLOW)
        return error;
    if (reason != WEIR__QUOTA_REASONS)
        *ret_reason = reason;
    if (reason == WEIR__QUOTA_TOKENS) {
        snprintf(why, WEIR__QUOTA_WHY, "no quota is left for a new token: %u are in use",
                 WEIR__QUOTA_TOKENS_MAX);
        return -WEIR_E_FORBIDDEN;
    }
    if (reason != WEIR__QUOTA_REASONS)
        return refuse(&usage, limits, reason, bytes, why);
    *hold = (struct weir__quota_hold){._quota = quota, ._bytes = bytes};
    snprintf(hold->_id, sizeof(hold->_id), "%s", id);
    return 0;
}

static void settle(struct weir__quota_hold *hold, uint64_t bytes, uint64_t objects)
{
    struct weir__quota *quota = hold->_quota;
    if (!quota)
        return;
    weir_lock_acquire(&quota->lock);
    struct entry *entry = find_known(quota, hold->_id); /* it is there while it holds anything */
    entry->usage.held_bytes -= hold->_bytes;
    entry->usage.held_objects--;
    entry->usage.bytes += bytes;
    entry->usage.objects += objects;
    quota->changes += objects;
    quota->idle += !has_any(entry);
    weir_lock_release(&quota->lock);
    *hold = (struct weir__quota_hold){0};
}

void weir__quota_keep(struct weir__quota_hold *hold, uint64_t bytes)
{
    settle(hold, bytes, 1);
}

void weir__quota_give(struct weir__quota_hold *hold)
{
    settle(hold, 0, 0);
}

void weir__quota_move(struct weir__quota_hold *to, struct weir__quota_hold *from)
{
    *to = *from;
    *from = (struct weir__quota_hold){0};
}

/* --- the file --- */

static bool parse_number(const char **at, char end, uint64_t *ret_number)
{
    const char *begin = *at;
    uint64_t number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(**at - '0'), &number))
            return false;
    *ret_number = number;
    return *at > begin && *(*at)++ == end;
}

static int parse_line(struct weir__quota *quota, const char **at)
{
    char id[WEIR__TOKEN_ID_SIZE] = "";
    size_t length = strspn(*at, "0123456789abcdef");
    struct weir__quota_usage usage = {0};
    struct entry *entry;
    if (length != sizeof(id) - 1 || (*at)[length] != ' ')
        return -WEIR_E_CORRUPT;
    memcpy(id, *at, length);
    *at += length + 1;
    if (!parse_number(at, ' ', &usage.bytes) || !parse_number(at, '\n', &usage.objects) ||
        find_known(quota, id))
        return -WEIR_E_CORRUPT;
    int error = enter(quota, id, &entry);
    if (!error) {
        entry->usage = usage;
        quota->idle -= has_any(entry);
    }
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_CORRUPT : error;
}

/* The text is ended by NUL, and has no other. */
static int parse(struct weir__quota *quota, const char *text, size_t length)
{
    const char *at = text + strlen(HEAD);
    uint64_t lines = 0, said;
    if (strlen(text) != length || strncmp(text, HEAD, strlen(HEAD)) != 0)
        return -WEIR_E_CORRUPT;
    while (strncmp(at, "end ", 4) != 0) {
        int error = parse_line(quota, &at);
        if (error)
            return error;
        lines++;
    }
    at += 4;
    return parse_number(&at, '\n', &said) && said == lines && *at == '\0' ? 0 : -WEIR_E_CORRUPT;
}

/* Opening anything else may wait for somebody. */
static bool is_strange(struct weir__quota *quota)
{
    struct stat st;
    return weir__sys_fstatat(quota->folder, WEIR__QUOTA_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISREG(st.st_mode);
}

static int load(struct weir__quota *quota, const char *folder, char why[WEIR__QUOTA_WHY])
{
    size_t length = 0;
    if (is_strange(quota)) {
        snprintf(why, WEIR__QUOTA_WHY,
                 "'" WEIR__QUOTA_FILE "' in '%.100s' is not a file: take it away", folder);
        return -WEIR_E_INVALID;
    }
    char *text = weir__base_alloc(1, FILE_MAX + 1);
    int error = text ? weir__disk_read(quota->folder, WEIR__QUOTA_FILE, text, FILE_MAX, &length)
                     : -WEIR_E_NO_MEMORY;
    if (!error)
        error = length < FILE_MAX ? parse(quota, text, length) : -WEIR_E_CORRUPT;
    else if (text && errno == ENOENT)
        error = 0;
    weir__base_free(text);
    if (error == -WEIR_E_CORRUPT)
        snprintf(why, WEIR__QUOTA_WHY,
                 "the file '" WEIR__QUOTA_FILE "' in '%.100s' is damaged: bring back a copy, or "
                 "remove it to count from zero",
                 folder);
    else if (error)
        snprintf(why, WEIR__QUOTA_WHY, "cannot read '" WEIR__QUOTA_FILE "' in '%.100s': %s", folder,
                 weir_error_text(error));
    return error;
}

int weir__quota_open(struct weir__quota **ret_quota, const char *folder, char why[WEIR__QUOTA_WHY])
{
    struct weir__quota *quota = weir__base_alloc(1, sizeof(*quota));
    if (!quota) {
        snprintf(why, WEIR__QUOTA_WHY, "%s", weir_error_text(WEIR_E_NO_MEMORY));
        return -WEIR_E_NO_MEMORY;
    }
    int error = 0;
    quota->folder = -1;
    weir_lock_init(&quota->lock, &weir__quota_class);
    if (folder) {
        quota->folder = weir__sys_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
        error = quota->folder < 0 ? weir_error_from_errno(errno) : 0;
        if (error)
            snprintf(why, WEIR__QUOTA_WHY, "cannot open '%.100s': %s", folder,
                     weir__log_reason(errno));
        else
            error = load(quota, folder, why);
    }
    if (error) {
        weir__quota_free(quota);
        return error;
    }
    *ret_quota = quota;
    return 0;
}

void weir__quota_free(struct weir__quota *quota)
{
    if (!quota)
        return;
    weir__sys_close(quota->folder);
    weir_lock_fini(&quota->lock);
    weir__base_free(quota->places);
    weir__base_free(quota);
}

/* What is kept now, as text. The room was made before, so that nothing is allocated here. */
static int print_all(struct weir__quota *quota, struct weir__buffer *text, uint64_t *ret_changes)
{
    uint64_t lines = 0;
    int error = weir__buffer_puts(text, HEAD);
    weir_lock_acquire(&quota->lock);
    for (size_t i = 0; !error && i < quota->places_count; i++) {
        const struct entry *entry = &quota->places[i];
        if (!entry->id[0] || (!entry->usage.bytes && !entry->usage.objects))
            continue;
        error = weir__buffer_printf(text, "%s %" PRIu64 " %" PRIu64 "\n", entry->id,
                                    entry->usage.bytes, entry->usage.objects);
        lines++;
    }
    *ret_changes = quota->changes;
    weir_lock_release(&quota->lock);
    return error ? error : weir__buffer_printf(text, "end %" PRIu64 "\n", lines);
}

int weir__quota_save(struct weir__quota *quota)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    uint64_t changes;
    weir__buffer_init(&text, FILE_MAX);
    weir_lock_acquire(&quota->lock);
    bool has_changed = quota->changes != quota->saved;
    size_t used = quota->used;
    weir_lock_release(&quota->lock);
    if (!has_changed || quota->folder < 0)
        return 0;
    int error = weir__buffer_reserve(&text, (used + 2) * LINE_MAX);
    if (!error)
        error = print_all(quota, &text, &changes);
    if (!error)
        error = weir__disk_replace(quota->folder, WEIR__QUOTA_FILE, weir__buffer_text(&text),
                                   weir__buffer_length(&text));
    if (error)
        return error;
    weir_lock_acquire(&quota->lock);
    quota->saved = changes;
    weir_lock_release(&quota->lock);
    return 0;
}

bool weir__quota_read(struct weir__quota *quota, const char *id,
                      struct weir__quota_usage *ret_usage)
{
    weir_lock_acquire(&quota->lock);
    const struct entry *entry = find_known(quota, id);
    if (entry)
        *ret_usage = entry->usage;
    weir_lock_release(&quota->lock);
    return entry != NULL;
}

uint64_t weir__quota_tokens(struct weir__quota *quota)
{
    weir_lock_acquire(&quota->lock);
    uint64_t used = quota->used;
    weir_lock_release(&quota->lock);
    return used;
}
