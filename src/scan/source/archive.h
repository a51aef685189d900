/* archive.h - what is in an archive, member by member, nested, read where it can do no harm.
 *
 * Known by content, not by name: zip (jar, whl, apk, docx…), tar, gz, xz, zst, bz2, lz4, 7z, rar,
 * cpio, ar (.deb, .a), rpm, iso, and what libarchive reads besides. The decoders run in a child
 * process that has no file system, no network, no new processes (seccomp), and a bounded memory.
 * The archive's descriptor goes to it through a socket, members come back through it as frames. A
 * child that dies costs the member at which it died; a new one goes on behind it where that is
 * possible, else the rest of that archive is told as unscanned.
 *
 * The child is a program of its own, weir-unpack, so that nobody else pays for loading the
 * decoders; archive_find.h says where it is looked for.
 *
 * A large archive is read by mapping it, a window at a time and in the child: when the file shrinks
 * or its disk fails, the signal ends the child and nothing else, and the next one reads it plainly.
 *
 * A member that is an archive itself is walked in the same way, to depth_max; names are joined by
 * '!': "a.zip!b/c.tar!d". In the tar of a docker or OCI image, layers are named by their digest.
 *
 * A member that must be sought in (zip, 7z, iso) is held in the child's memory, or in a temporary
 * file if there is leave for one.
 *
 * What a container has beside its members (comments, extended headers, scripts, targets of links,
 * bytes around the members) is given as well, as far as it is text: archive_own.h. Entries of a zip
 * that its directory does not list, and zips that stand before another one in the same file, are
 * members of it.
 *
 * Limits: options. At each of them the walk goes on with the next member where there can be one,
 * and what was left out is told as unscanned with the limit's name. What looks like an archive and
 * cannot be walked is given as a member of plain bytes as well as told.
 *
 * Nothing is ever written to a path of an archive: names are only shown.
 *
 * Ownership: the walker owns the child; descriptors, hooks and texts stay the caller's. That of
 * weir__archive_walker_spill() must stay open until another is set or the walker is freed.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_H
#define WEIR_SCAN_SOURCE_ARCHIVE_H

#include <weir/deadline.h>

#define WEIR__ARCHIVE_DEPTH_MAX      12u
#define WEIR__ARCHIVE_MEMORY_DEFAULT (UINT64_C(256) << 20)
#define WEIR__ARCHIVE_MEMORY_MIN     (UINT64_C(64) << 20)
#define WEIR__ARCHIVE_MAP_FROM       (UINT64_C(8) << 20)

struct weir__archive_options {
    unsigned depth_max;         /* 8; at most WEIR__ARCHIVE_DEPTH_MAX */
    uint64_t entries_max;       /* of one archive, nested ones included; 1,000,000 */
    uint64_t entry_bytes_max;   /* unpacked; 1 GiB */
    uint64_t archive_bytes_max; /* unpacked, all members; 10 GiB */
    unsigned ratio_max;         /* unpacked to packed, judged from 1 MiB on; 1000 */
    uint64_t memory_max;        /* that the child may write to; at least WEIR__ARCHIVE_MEMORY_MIN */
    uint64_t memory_besides;    /* what a limit of memory is to have beside a decoder's, so that the
                                   right one can be named; 0: it is not */
    uint32_t memory_threads;    /* for so many threads that is */
    uint64_t memory_half; /* beyond this half of such a limit is for others; 0: all of it is ours */
    uint64_t
        memory_ring; /* where --scan-ring is the limit: what it is to have beside; 0: it is not */
    uint64_t spill_bytes_max; /* of the temporary file, if there is one; 10 GiB */
    uint64_t map_from;        /* files of so many bytes are mapped; WEIR__ARCHIVE_MAP_FROM */
    uint64_t silence_ns_max;  /* a decoder that says nothing for so long has died; 60 s */
    bool may_run_unconfined;  /* where there is no seccomp; else that is Unsupported. false */
};
void weir__archive_options_init(struct weir__archive_options *options);

/* The bytes at the beginning of a file that are needed to know it. */
#define WEIR__ARCHIVE_PROBE 1024u
/* (tar has its magic at 257, iso at 32769: the latter only with as many bytes.) */
#define WEIR__ARCHIVE_PROBE_ALL 32774u
/* The format's name, or NULL: none. */
const char *weir__archive_probe(const char *bytes, size_t length);

/* Bytes that are not given, and the lines that end in them: the last one, if there is any, so many
 * bytes before the end of them all. */
struct weir__archive_skip {
    uint64_t length, lines, behind;
};

/* Called in the caller's thread, in order. Anything but 0 ends the walk with that answer. */
struct weir__archive_hooks {
    /* A member begins; its name is shown as it is, joined to those around it. */
    int (*begin)(void *arg, const char *path);
    int (*bytes)(void *arg, const char *bytes, size_t length);
    int (*end)(void *arg, bool is_complete);
    /* Something was not read: encrypted, broken, or beyond a limit. */
    void (*unscanned)(void *arg, const char *path, const char *reason);
    void *arg;
    /* Between members, once at most: a decoder needs more memory than it may have. There is no
     * child now. How much the next one may have; no more than before: what needs it is told. NULL:
     * that is so. May wait. */
    uint64_t (*grow)(void *arg);
    /* In the place of a begin, between members: what follows is of the container at that path
     * itself, beside its members; when these are done, or while they come. More than once for one
     * container, with bytes that may come again. NULL: such bytes are dropped. */
    int (*own)(void *arg, const char *path);
    /* These bytes of it are no text, or were given as a member's; or of a member are a hole. NULL:
     * of a member that is not said. */
    int (*skip)(void *arg, const struct weir__archive_skip *skip);
};

struct weir__archive_walker; /* has the child; one thread at a time */

WEIR_MUST_USE int weir__archive_walker_new(struct weir__archive_walker **ret_walker,
                                           const struct weir__archive_options *options);
void weir__archive_walker_free(struct weir__archive_walker *walker);

/* From now on, members that must be sought in and do not fit into the child's memory are kept in
 * this file while they are walked; its content is lost. -1: they are told. */
void weir__archive_walker_spill(struct weir__archive_walker *walker, int fd);

/* The words for an error that a walk has answered; valid until the next one. Accepts NULL. */
const char *weir__archive_walker_why(const struct weir__archive_walker *walker, int error);

/* Walks the archive in the regular file that is open for reading at fd, from its beginning and
 * without moving the descriptor's position. path is what member names begin with. 0 when it was
 * walked to its end, whatever had to be left out and was told; a negative error when nothing could
 * be done: NotFound without weir-unpack, Unsupported when it cannot confine itself, what else kept
 * it from starting, the deadline, or what a hook said.
 */
WEIR_MUST_USE int weir__archive_walk(struct weir__archive_walker *walker, int fd, const char *path,
                                     const struct weir__archive_hooks *hooks,
                                     const struct weir_deadline *deadline);

#endif
