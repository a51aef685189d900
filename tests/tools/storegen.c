/* storegen.c - makes a store from a seed, holds one open, or damages one.
 *
 *     storegen fill DIR SEED COUNT DELETE   COUNT chunks, of which every DELETE-th is deleted (0:
 * none) storegen crash DIR SEED COUNT DELETE  the same, and dies without closing it storegen hold
 * DIR                     has it open until standard input ends; prints "open" storegen damage DIR
 * bytes|head N      changes a byte of the N-th chunk, by address; prints its address, segment and
 * offset
 *
 * A fill of the same seed makes the same chunks, of 0 to 40,000 bytes, in segments of 4 MiB.
 *
 * Ownership: what it makes is the caller's to remove.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "segments.h"
#include "store.h"

#include "banned.h"

#define LENGTH_MAX 40000u

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "storegen: %s: %s\n", what, why);
    exit(3);
}

static struct weir__store *open_store(const char *folder, bool is_read_only)
{
    struct weir__store_options options = {.folder = folder,
                                          .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                          .is_read_only = is_read_only,
                                          .is_offline = true};
    struct weir__store *store;
    if (weir__store_open(&store, &options, NULL))
        die(folder, weir__store_why());
    return store;
}

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void fill(struct weir__store *store, uint64_t seed, uint64_t count, uint64_t every)
{
    static unsigned char bytes[LENGTH_MAX];
    for (uint64_t n = 1; n <= count; n++) {
        uint64_t random =
            (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ n * UINT64_C(0xBF58476D1CE4E5B9);
        struct weir__address address;
        struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
        random |= 1;
        uint32_t length = (uint32_t)(next(&random) % (LENGTH_MAX + 1));
        for (uint32_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)(next(&random) >> 32);
        weir__address_of(bytes, length, &address);
        int error = weir__store_put(store, &address, bytes, length, &deadline);
        if (error >= 0 && every > 0 && n % every == 0)
            error = weir__store_delete(store, &address, &deadline);
        if (error < 0)
            die("write", weir_error_text(error));
    }
}

struct pick {
    uint64_t left;
    struct weir__address address;
};

static int pick(void *arg, const struct weir__address *address, uint32_t length, uint32_t time_s)
{
    struct pick *self = arg;
    (void)time_s;
    if (length == 0 || self->left-- > 1)
        return 0;
    self->address = *address;
    return 1;
}

static void flip(const char *folder, uint32_t segment, uint64_t at)
{
    char name[WEIR__SEGMENT_NAME], path[4096];
    unsigned char byte;
    weir__segment_name(segment, name);
    snprintf(path, sizeof(path), "%s/segments/%s", folder, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || pread(fd, &byte, 1, (off_t)at) != 1)
        die(path, strerror(errno));
    byte ^= 0x40;
    if (pwrite(fd, &byte, 1, (off_t)at) != 1)
        die(path, strerror(errno));
    close(fd);
}

static void damage(const char *folder, const char *kind, uint64_t n)
{
    struct weir__store *store = open_store(folder, true);
    struct weir__store_reader reader;
    struct weir__chunk chunk;
    struct pick self = {.left = n};
    char text[WEIR__ADDRESS_TEXT];
    if (weir__store_walk(store, NULL, pick, &self) != 1)
        die(folder, "there are fewer chunks");
    if (weir__store_reader_init(&reader) || weir__store_get(store, &reader, &self.address, &chunk))
        die(folder, "cannot read the chunk");
    uint32_t segment = chunk._segment->id;
    uint64_t offset = chunk.offset - WEIR__RECORD_HEAD, length = chunk.length;
    weir__chunk_release(store, &chunk);
    weir__store_reader_fini(&reader);
    weir__store_close(store);
    flip(folder, segment, strcmp(kind, "head") == 0 ? offset + 8 : offset + 64 + length / 2);
    weir__address_print(&self.address, text);
    printf("%s %08x.seg %" PRIu64 "\n", text, segment, offset);
}

static void hold(struct weir__store *store)
{
    char byte;
    printf("open\n");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    weir__store_close(store);
}

int main(int argc, char **argv)
{
    const char *action = argc > 1 ? argv[1] : "";
    bool crashes = strcmp(action, "crash") == 0;
    if (argc == 6 && (crashes || strcmp(action, "fill") == 0)) {
        struct weir__store *store = open_store(argv[2], false);
        fill(store, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
             strtoull(argv[5], NULL, 10));
        if (crashes)
            _exit(0);
        weir__store_close(store);
    } else if (argc == 3 && strcmp(action, "hold") == 0) {
        hold(open_store(argv[2], false));
    } else if (argc == 5 && strcmp(action, "damage") == 0) {
        damage(argv[2], argv[3], strtoull(argv[4], NULL, 10));
    } else {
        fprintf(stderr, "usage: storegen fill|crash DIR SEED COUNT DELETE, hold DIR, damage DIR "
                        "bytes|head N\n");
        return 2;
    }
    return 0;
}
