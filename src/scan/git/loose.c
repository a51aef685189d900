/* loose.c - files of one object each.
 *
 * Small files, nearly all of them, are inflated at once into memory that is a guess. Where it was
 * too little, the head says how much is needed.
 */
#include "loose.h"

#include <errno.h>
#include <stdio.h>

#include <weir/clock.h>

#include "alloc.h"
#include "store_part.h"
#include "sys.h"

#include "banned.h"

/* "commit 18446744073709551615" and its NUL. */
#define HEAD_MAX    32u
#define NAME_SIZE   (WEIR__GIT_HEX_SIZE + 2)
#define PIECE       65536u
#define DIGITS_MAX  19u
#define GUESS_MAX   (1u << 18)
#define GUESS_RATIO 8u
#define FANS        256u

static const char a_lie[] = "it claims a size that so few bytes cannot unpack to";

static void name_of(const struct weir__git_id *id, size_t id_size, char name[NAME_SIZE])
{
    char hex[WEIR__GIT_HEX_SIZE];
    weir__git_id_hex(id, id_size, hex);
    snprintf(name, NAME_SIZE, "%.2s/%s", hex, hex + 2);
}

int weir__git_loose_is_there(int objects, const struct weir__git_id *id, size_t id_size)
{
    char name[NAME_SIZE];
    struct stat st;
    name_of(id, id_size, name);
    if (weir__sys_fstatat(objects, name, &st, 0) < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? -WEIR_E_NOT_FOUND
                                                                     : weir_error_from_errno(errno);
    return S_ISREG(st.st_mode) ? 0 : -WEIR_E_NOT_FOUND;
}

/* The head's length with its NUL, 0 when it is not one. */
static size_t parse_head(const uint8_t *bytes, size_t length, enum weir__git_type *ret_type,
                         uint64_t *ret_size)
{
    const uint8_t *space = memchr(bytes, ' ', length < HEAD_MAX ? length : HEAD_MAX);
    if (!space)
        return 0;
    size_t at = (size_t)(space - bytes);
    enum weir__git_type type = weir__git_type_of((const char *)bytes, at);
    uint64_t size = 0;
    size_t digits = 0;
    for (at++; at < length && bytes[at] >= '0' && bytes[at] <= '9'; at++, digits++)
        size = digits < DIGITS_MAX ? size * 10 + (uint64_t)(bytes[at] - '0') : size;
    bool is_padded = digits > 1 && bytes[at - digits] == '0';
    if (!type || digits == 0 || digits >= DIGITS_MAX || is_padded || at == length ||
        bytes[at] != '\0')
        return 0;
    *ret_type = type;
    *ret_size = size;
    return at + 1;
}

/* --- whole --- */

static int read_file(int fd, uint64_t max, uint8_t **ret_bytes, size_t *ret_length,
                     const char **ret_why)
{
    struct stat st;
    *ret_why = "it cannot be read";
    if (weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
        *ret_why = "it is empty, or not a file";
        return -WEIR_E_CORRUPT;
    }
    if ((uint64_t)st.st_size > max)
        return -WEIR_E_TOO_LARGE;
    size_t length = 0, size = (size_t)st.st_size;
    uint8_t *bytes = weir__base_realloc(NULL, size, 1);
    if (!bytes)
        return -WEIR_E_NO_MEMORY;
    ssize_t count = 1;
    while (length < size && (count = weir__sys_read(fd, bytes + length, size - length)) > 0)
        length += (size_t)count;
    if (count < 0) {
        int result = weir_error_from_errno(errno);
        weir__base_free(bytes);
        return result;
    }
    *ret_bytes = bytes;
    *ret_length = length;
    return 0;
}

static int inflate_head(struct weir__git_inflater *inflater, const uint8_t *packed, size_t length,
                        struct weir__git_loose *loose, uint64_t *ret_size, size_t *ret_head)
{
    uint8_t head[HEAD_MAX];
    size_t used, made;
    int result = weir__git_inflate_begin(inflater);
    if (result == 0)
        result = weir__git_inflate_more(inflater, packed, length, &used, head, sizeof(head), &made);
    if (result < 0)
        return result;
    *ret_head = parse_head(head, made, &loose->type, ret_size);
    return *ret_head ? 0 : -WEIR_E_CORRUPT;
}

/* Without a look at the head first: most objects are small. TooLarge when the guess was. */
static int inflate_small(struct weir__git_inflater *inflater, const uint8_t *packed, size_t length,
                         uint64_t max, struct weir__git_loose *ret_loose)
{
    size_t room = length < GUESS_MAX / GUESS_RATIO ? length * GUESS_RATIO + 4096 : 0, made = 0;
    if (room == 0 || room > max)
        return -WEIR_E_TOO_LARGE;
    struct weir__git_loose loose = {.memory = weir__base_realloc(NULL, room, 1)};
    if (!loose.memory)
        return -WEIR_E_NO_MEMORY;
    int result = weir__git_inflate_upto(inflater, packed, length, loose.memory, room, &made);
    uint64_t size = 0;
    size_t head = result == 0 ? parse_head(loose.memory, made, &loose.type, &size) : 0;
    if (result == 0 && (head == 0 || size != made - head))
        result = -WEIR_E_CORRUPT;
    if (result < 0) {
        weir__base_free(loose.memory);
        return result;
    }
    loose.bytes = loose.memory + head;
    loose.length = (size_t)size;
    *ret_loose = loose;
    return 0;
}

int weir__git_loose_of_bytes(const uint8_t *packed, size_t length, uint64_t max,
                             struct weir__git_inflater *inflater, struct weir__git_loose *ret_loose,
                             const char **ret_why)
{
    struct weir__git_loose loose = {.memory = NULL};
    uint64_t size = 0;
    size_t head = 0;
    *ret_why = "it is damaged";
    int result = inflate_small(inflater, packed, length, max, ret_loose);
    if (result != -WEIR_E_TOO_LARGE)
        return result;
    *ret_why = "its head is damaged";
    result = inflate_head(inflater, packed, length, &loose, &size, &head);
    if (result < 0)
        return result;
    if (size > weir__git_inflate_max(length)) {
        *ret_why = a_lie;
        return -WEIR_E_CORRUPT;
    }
    if (size > max) {
        loose.length = (size_t)size;
        *ret_loose = loose;
        *ret_why = "it is larger than the limit on objects";
        return -WEIR_E_TOO_LARGE;
    }
    *ret_why = "it cannot be unpacked, or not to the size that it claims";
    loose.memory = weir__base_realloc(NULL, head + (size_t)size + 1, 1);
    if (!loose.memory)
        return -WEIR_E_NO_MEMORY;
    result = weir__git_inflate(inflater, packed, length, loose.memory, head + (size_t)size);
    if (result < 0) {
        weir__base_free(loose.memory);
        return result;
    }
    loose.bytes = loose.memory + head;
    loose.length = (size_t)size;
    *ret_loose = loose;
    return 0;
}

static int open_object(int objects, const struct weir__git_id *id, size_t id_size,
                       const char **ret_why)
{
    char name[NAME_SIZE];
    name_of(id, id_size, name);
    int fd = weir__sys_openat(objects, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd >= 0)
        return fd;
    *ret_why = errno == ENOENT ? "it was removed before it was read" : "it cannot be opened";
    return weir_error_from_errno(errno);
}

/* How large it is, for what is too large to be read whole. */
static int read_size(int fd, struct weir__git_inflater *inflater, struct weir__git_loose *ret_loose,
                     const char **ret_why)
{
    uint8_t begin[512];
    uint64_t size = 0;
    size_t head;
    struct weir__git_loose loose = {.memory = NULL};
    struct stat st;
    ssize_t count = weir__sys_pread(fd, begin, sizeof(begin), 0);
    *ret_why = "it cannot be read";
    if (count < 0 || weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    *ret_why = "its head is damaged";
    int result = inflate_head(inflater, begin, (size_t)count, &loose, &size, &head);
    if (result < 0)
        return result;
    if (size > weir__git_inflate_max((uint64_t)st.st_size)) {
        *ret_why = a_lie;
        return -WEIR_E_CORRUPT;
    }
    *ret_why = "it is larger than the limit on objects";
    loose.length = (size_t)size;
    *ret_loose = loose;
    return -WEIR_E_TOO_LARGE;
}

int weir__git_loose_read(int objects, const struct weir__git_id *id, size_t id_size, uint64_t max,
                         uint64_t memory_max, struct weir__git_inflater *inflater,
                         struct weir__git_loose *ret_loose, const char **ret_why)
{
    uint8_t *packed = NULL;
    size_t length = 0;
    int fd = open_object(objects, id, id_size, ret_why);
    if (fd < 0)
        return fd;
    /* What cannot be packed grows a little. */
    uint64_t packed_max = max < UINT64_MAX / 2 ? max + max / 512 + 1024 : max;
    if (packed_max > memory_max)
        packed_max = memory_max;
    int result = read_file(fd, packed_max, &packed, &length, ret_why);
    if (result == -WEIR_E_TOO_LARGE)
        result = read_size(fd, inflater, ret_loose, ret_why);
    else if (result == 0)
        result = weir__git_loose_of_bytes(packed, length,
                                          max < memory_max - length ? max : memory_max - length,
                                          inflater, ret_loose, ret_why);
    weir__base_free(packed);
    weir__sys_close(fd);
    return result;
}

/* --- in pieces --- */

struct pieces {
    int (*piece)(void *arg, const void *bytes, size_t length);
    void *arg;
    uint64_t size;
    uint64_t given;
    bool has_head;
    int answer; /* of a piece */
    uint8_t in[PIECE], out[PIECE];
};

/* What was inflated goes on, without the head. 0, Corrupt, or the piece's answer. */
static int give(struct pieces *pieces, size_t made)
{
    size_t skip = 0;
    if (!pieces->has_head) {
        enum weir__git_type type;
        skip = parse_head(pieces->out, made, &type, &pieces->size);
        if (skip == 0)
            return -WEIR_E_CORRUPT;
        pieces->has_head = true;
    }
    size_t count = made - skip;
    if (count > pieces->size - pieces->given)
        return -WEIR_E_CORRUPT;
    pieces->given += count;
    if (count > 0)
        pieces->answer = pieces->piece(pieces->arg, pieces->out + skip, count);
    return pieces->answer;
}

static int inflate_pieces(int fd, struct weir__git_inflater *inflater, struct pieces *pieces)
{
    size_t in_at = 0, in_length = 0;
    for (int is_over = 0; !is_over;) {
        if (in_at == in_length) {
            ssize_t count = weir__sys_read(fd, pieces->in, PIECE);
            if (count <= 0)
                return count < 0 ? weir_error_from_errno(errno) : -WEIR_E_CORRUPT;
            in_at = 0;
            in_length = (size_t)count;
        }
        size_t used, made, filled = 0;
        /* The head in one piece: it is short, and comes with what is behind it. */
        do {
            is_over = weir__git_inflate_more(inflater, pieces->in + in_at, in_length - in_at, &used,
                                             pieces->out + filled, PIECE - filled, &made);
            if (is_over < 0)
                return is_over;
            if (!is_over && used == 0 && made == 0)
                return -WEIR_E_CORRUPT;
            in_at += used;
            filled += made;
        } while (!is_over && in_at < in_length && filled < PIECE);
        int result = filled > 0 ? give(pieces, filled) : 0;
        if (result != 0)
            return result;
    }
    return pieces->has_head && pieces->given == pieces->size ? 0 : -WEIR_E_CORRUPT;
}

int weir__git_loose_stream(int objects, const struct weir__git_id *id, size_t id_size,
                           struct weir__git_inflater *inflater,
                           int (*piece)(void *arg, const void *bytes, size_t length), void *arg,
                           const char **ret_why)
{
    int fd = open_object(objects, id, id_size, ret_why);
    if (fd < 0)
        return fd;
    struct pieces *pieces = weir__base_alloc(1, sizeof(*pieces));
    int result = pieces ? weir__git_inflate_begin(inflater) : -WEIR_E_NO_MEMORY;
    if (result == 0) {
        pieces->piece = piece;
        pieces->arg = arg;
        *ret_why = "it cannot be unpacked, or not to the size that it claims";
        result = inflate_pieces(fd, inflater, pieces);
    }
    weir__base_free(pieces);
    weir__sys_close(fd);
    return result;
}

/* --- all of them --- */

struct each {
    struct weir__git_store *store;
    const struct weir__git_folder *folder;
    const struct weir__git_wish *wish;
    const struct weir__git_visitor *visitor;
    struct weir__git_walk_totals *totals;
    const struct weir_deadline *deadline;
    uint64_t memory_max;
    const struct weir__git_spill *spill;
    char fan[3];
    bool is_fan[FANS]; /* folders that are there */
    int answer;        /* that ends it */
};

static int tell(struct each *each, const struct weir__git_id *id, int code, const char *why)
{
    struct weir__git_trouble trouble = {code, *id, 0, each->folder->path, why};
    each->totals->troubles++;
    return each->visitor->trouble(each->visitor->arg, &trouble);
}

/* Of what may not be opened or read: the system says why. */
static int tell_unread(struct each *each, const struct weir__git_id *id, int code, const char *why)
{
    char text[128];
    if (code != WEIR_E_DENIED && code != WEIR_E_IO)
        return tell(each, id, code, why);
    snprintf(text, sizeof(text), "%s: %s", why, weir_error_text(-code));
    return tell(each, id, code, text);
}

static int tell_folder(struct each *each, int code)
{
    char why[128];
    snprintf(why, sizeof(why), "the loose objects in its folder '%s' cannot be listed: %s",
             each->fan, weir_error_text(-code));
    return tell(each, &(struct weir__git_id){{0}}, code, why);
}

/* As bytes, or as a file. */
static int hand_out(struct each *each, const struct weir__git_id *id,
                    const struct weir__git_loose *loose, int file)
{
    const struct weir__git_visitor *visitor = each->visitor;
    struct weir__git_object object = {.id = *id,
                                      .type = loose->type,
                                      .is_file = file >= 0,
                                      .file = file,
                                      .bytes = loose->bytes,
                                      .length = loose->length};
    each->totals->objects++;
    each->totals->bytes += loose->length;
    each->totals->made += loose->length;
    if (file < 0 && loose->length > each->totals->alive_max)
        each->totals->alive_max = loose->length;
    int result = visitor->enter(visitor->arg, &object);
    if (visitor->leave)
        visitor->leave(visitor->arg, 0);
    return result;
}

/* --- too large for memory --- */

struct filing {
    const struct weir_deadline *deadline;
    int file;
    uint64_t written;
    int error; /* of the file */
    int ended; /* what the deadline said */
};

static int write_piece(void *arg, const void *bytes, size_t length)
{
    struct filing *filing = arg;
    filing->error = weir__git_spill_write(filing->file, bytes, length, filing->written);
    filing->written += length;
    if (filing->error == 0 && filing->deadline)
        filing->ended = weir_deadline_check(filing->deadline);
    return filing->error < 0 ? filing->error : filing->ended;
}

/* Writes it to a file and hands that out. */
static int visit_file(struct each *each, const struct weir__git_id *id,
                      const struct weir__git_loose *loose)
{
    const char *why = "";
    struct filing filing = {.deadline = each->deadline,
                            .file = each->spill->open(each->spill->arg)};
    if (filing.file < 0)
        return tell(each, id, WEIR_E_IO, weir__git_spill_unopened); /* the object is there */
    int result = weir__git_loose_stream(each->folder->fd, id, each->store->id_size,
                                        &each->store->inflater, write_piece, &filing, &why);
    if (result == 0)
        result = filing.error = weir__git_spill_end(filing.file, filing.written);
    if (result == 0) {
        each->totals->spilled++;
        each->totals->spilled_bytes += loose->length;
        result = hand_out(each, id, loose, filing.file);
    } else if (filing.ended == 0) {
        if (filing.error < 0)
            why = weir__git_spill_why();
        result = tell(each, id, -result, why);
    }
    weir__sys_close(filing.file);
    return result;
}

static int visit_large(struct each *each, const struct weir__git_id *id,
                       const struct weir__git_loose *loose)
{
    if (each->spill && loose->length <= each->spill->bytes_max)
        return visit_file(each, id, loose);
    if (!each->visitor->too_large)
        return tell(each, id, WEIR_E_TOO_LARGE, "it is larger than the limit on objects");
    each->totals->too_large++;
    return each->visitor->too_large(each->visitor->arg, id, loose->type, loose->length);
}

static uint64_t time_of(const struct each *each, const struct weir__git_id *id)
{
    char name[NAME_SIZE];
    struct stat st;
    name_of(id, each->store->id_size, name);
    if (weir__sys_fstatat(each->folder->fd, name, &st, 0) < 0)
        return 0;
    return (uint64_t)st.st_ctim.tv_sec * WEIR_NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
}

static int visit(struct each *each, const struct weir__git_id *id)
{
    struct weir__git_loose loose = {.memory = NULL};
    const char *why = "";
    if (each->wish->on_file)
        each->wish->on_file(each->wish->arg, id, time_of(each, id));
    if (each->wish->is_wanted &&
        !each->wish->is_wanted(each->wish->arg, id, (enum weir__git_type)0))
        return 0;
    int result = weir__git_loose_read(each->folder->fd, id, each->store->id_size, each->memory_max,
                                      each->memory_max, &each->store->inflater, &loose, &why);
    bool is_type = loose.type && each->wish->types >> loose.type & 1;
    if (result == 0) {
        result = is_type ? hand_out(each, id, &loose, -1) : 0;
        weir__base_free(loose.memory);
    } else if (result == -WEIR_E_TOO_LARGE && loose.type) {
        result = is_type ? visit_large(each, id, &loose) : 0;
    } else {
        result = tell_unread(each, id, -result, why);
    }
    return result;
}

static int see(void *arg, const char *name)
{
    struct each *each = arg;
    size_t digits = 2 * each->store->id_size - 2;
    char hex[WEIR__GIT_HEX_SIZE], canonical[WEIR__GIT_HEX_SIZE];
    struct weir__git_id id;
    if (strlen(name) != digits)
        return 0;
    snprintf(hex, sizeof(hex), "%s%s", each->fan, name);
    if (weir__git_id_from_hex(&id, hex, each->store->id_size) < 0 ||
        strcmp(weir__git_id_hex(&id, each->store->id_size, canonical), hex) != 0)
        return 0;
    each->answer = each->deadline ? weir_deadline_check(each->deadline) : 0;
    if (each->answer == 0)
        each->answer = visit(each, &id);
    return each->answer;
}

static int see_fan(void *arg, const char *name)
{
    static const char digits[] = "0123456789abcdef";
    struct each *each = arg;
    const char *high = strchr(digits, name[0]), *low = name[0] ? strchr(digits, name[1]) : NULL;
    if (high && low && *high && *low && name[2] == '\0')
        each->is_fan[(high - digits) * 16 + (low - digits)] = true;
    return 0;
}

/* Most repositories have few of these folders, and each shard asks for its own. One that may not be
 * listed may still be searched: then all of them are tried. */
static void list_fans(struct each *each)
{
    memset(each->is_fan, 0, sizeof(each->is_fan));
    if (weir__git_list_folder(each->folder->fd, ".", see_fan, each) < 0)
        memset(each->is_fan, 1, sizeof(each->is_fan));
}

/* Fans are numbered through all folders of objects; a part has the same ones in each. */
static unsigned after(unsigned at, unsigned step)
{
    unsigned fan = at % FANS + step;
    return fan < FANS ? at + step : (at / FANS + 1) * FANS + fan % step;
}

int weir__git_loose_each(struct weir__git_store *store, const struct weir__git_wish *wish,
                         const struct weir__git_visitor *visitor, uint64_t memory_max,
                         const struct weir__git_spill *spill,
                         struct weir__git_walk_totals *ret_totals,
                         const struct weir_deadline *deadline)
{
    struct each each = {.store = store,
                        .wish = wish,
                        .visitor = visitor,
                        .totals = ret_totals,
                        .deadline = deadline,
                        .memory_max = memory_max,
                        .spill = spill};
    unsigned step = wish->parts ? wish->parts : 1, end = store->folders_count * FANS;
    int result = 0;
    for (unsigned at = wish->part; at < end && result == 0; at = after(at, step)) {
        if (each.folder && visitor->is_over && visitor->is_over(visitor->arg)) {
            ret_totals->is_left = true;
            ret_totals->next = at;
            return 0;
        }
        if (each.folder != &store->folders[at / FANS]) {
            each.folder = &store->folders[at / FANS];
            list_fans(&each);
        }
        if (!each.is_fan[at % FANS])
            continue;
        snprintf(each.fan, sizeof(each.fan), "%02x", at % FANS);
        result = weir__git_list_folder(each.folder->fd, each.fan, see, &each);
        if (result != 0 && each.answer == 0)
            result = tell_folder(&each, -result);
    }
    return result;
}

/* --- how many --- */

struct about {
    uint64_t count, max;
};

static int count_name(void *arg, const char *name)
{
    struct about *about = arg;
    about->count += name[0] != '.';
    return about->count >= about->max;
}

/* Ids are spread evenly: one folder stands for all, as for git gc --auto, which takes the same. */
uint64_t weir__git_loose_about(const struct weir__git_store *store, uint64_t max)
{
    struct about about = {.max = (max + FANS - 1) / FANS};
    int result = 0; /* whoever reads the folder tells what is wrong with it */
    for (unsigned i = 0; i < store->folders_count && result <= 0; i++)
        result = weir__git_list_folder(store->folders[i].fd, "17", count_name, &about);
    return about.count * FANS;
}
