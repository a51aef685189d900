/* store_part.h - what the files of the store share.
 *
 * Ownership: everything belongs to the store.
 */
#ifndef WEIR_SCAN_GIT_STORE_PART_H
#define WEIR_SCAN_GIT_STORE_PART_H

#include <sys/types.h>
#include <time.h>

#include "store.h"
#include "store_cache.h"

#define WEIR__GIT_FOLDERS_MAX (1 + WEIR__GIT_ALTERNATES_MAX)
/* Of a path in a flaw: two folders with one beginning have two lines. */
#define WEIR__GIT_FLAW_PATH 200u

struct weir__git_folder { /* objects/, of the repository or of an alternate */
    int fd;
    dev_t device;
    ino_t inode;
    char *path;                /* for messages and for alternates of it */
    struct timespec pack_time; /* of pack/ when it was listed */
    int list_error;            /* that kept pack/ from being listed then, or 0 */
    struct weir__mapped midx_map;
    struct weir__git_midx midx;
    uint32_t *midx_rows;  /* which row each of its packs is; NULL: no multi-pack-index */
    bool is_midx_refused; /* it said what the index of a pack does not say */
};

struct weir__git_row { /* a pack */
    size_t stem_at;    /* in names */
    uint64_t pack_bytes;
    uint64_t idx_bytes;
    uint64_t pack_time_ns, idx_time_ns;
    uint64_t pack_inode, idx_inode;
    uint8_t folder;
    bool is_promisor;
    bool is_in_midx;
};

struct weir__git_opened {
    struct weir__git_pack pack;
    uint32_t row; /* WEIR__GIT_NONE: free */
    uint64_t used;
};

struct weir__git_known { /* a row of the table of lookups, sorted */
    uint64_t prefix;     /* of the id, big-endian */
    uint32_t row;
    uint32_t idx_at;
};

struct weir__git_bare { /* a pack without an index, or an index without its pack, in this list
                           and in all before it */
    size_t stem_at;
    unsigned folder;
};

struct weir__git_bares { /* in the order of folders and stems */
    struct weir__git_bare *list;
    size_t room;
    uint32_t count;
};

struct weir__git_list {
    struct weir__buffer names;
    struct weir__git_row *rows;
    size_t rows_room;
    uint32_t rows_count;
    struct weir__git_bares packs;   /* without an index */
    struct weir__git_bares indexes; /* without a pack */
    uint32_t unread;
};

struct weir__git_link { /* a step of a chain */
    uint32_t row;
    bool is_crossing; /* its base is in another pack, or loose */
    uint64_t offset;
};

struct weir__git_store {
    struct weir__git_store_options options;
    size_t id_size;
    char *gitdir, *commondir;
    struct weir__git_folder folders[WEIR__GIT_FOLDERS_MAX];
    unsigned folders_count;
    unsigned folders_unusable;
    struct weir__buffer flaws; /* of these and others: lines, each ended with NUL */
    bool is_shallow, is_partial;
    bool has_wrong_midx;
    struct weir__git_list list;
    int64_t listed_s;                /* by the wall clock */
    uint64_t lists_made;             /* numbers of rows are those of the last one */
    struct weir__git_opened *opened; /* open_max of them */
    uint64_t clock;                  /* of uses */
    struct weir__git_known *known;
    size_t known_count;
    bool is_known_tried;         /* to be made, since the packs were listed */
    bool has_unknown;            /* packs that could not be listed, an index that could not be
                                    read, or something borrowed that could not be used: nobody
                                    knows what is in there */
    uint32_t last_row;           /* where the last object was found */
    struct weir__git_set places; /* where others were, with a row each */
    bool has_new_places;         /* that nobody has said */
    uint32_t others_asked;       /* for copies of what is damaged, since packs were listed */
    struct weir__git_inflater inflater;
    struct weir__git_cache cache;
    struct weir__git_link *links;
    size_t links_room;
    char problem[WEIR__GIT_PROBLEM_SIZE];
};

/* Where an object is. */
struct weir__git_place {
    bool is_loose;
    unsigned folder; /* of a loose one */
    uint32_t row;
    uint64_t offset;
};

/* Writes the problem and returns the negative code. */
__attribute__((format(printf, 3, 4))) int weir__git_store_fail(struct weir__git_store *store,
                                                               int code, const char *format, ...);

/* A line more of what cannot be read; nobody knows what is there. NoMemory. */
__attribute__((format(printf, 2, 3))) WEIR_MUST_USE int
weir__git_store_add_flaw(struct weir__git_store *store, const char *format, ...);

/* The whole of a small file in an open folder, ended by a NUL that does not count; at most 1 MiB.
 * The buffer is initialised in any case. */
WEIR_MUST_USE int weir__git_read_file(int folder, const char *name, struct weir__buffer *ret_text);

/* Calls fn with each name in the folder `name` of an open one, "." and ".." left out; one that is
 * not there has none. Anything but 0 ends it with that answer. */
WEIR_MUST_USE int weir__git_list_folder(int folder, const char *name,
                                        int (*fn)(void *arg, const char *entry), void *arg);

/* store_find.c: gitdir and commondir. */
WEIR_MUST_USE int weir__git_store_find(struct weir__git_store *store, const char *path);
/* store_config.c: id_size and is_partial. */
WEIR_MUST_USE int weir__git_store_config(struct weir__git_store *store);
/* store_alternates.c: folders. */
WEIR_MUST_USE int weir__git_store_folders(struct weir__git_store *store);
/* store_packs.c */
const char *weir__git_store_stem(const struct weir__git_store *store, uint32_t row);
void weir__git_list_fini(struct weir__git_list *list);
/* An open pack, valid until the next call. */
WEIR_MUST_USE int weir__git_store_opened(struct weir__git_store *store, uint32_t row,
                                         const struct weir__git_pack **ret_pack);
void weir__git_store_close_packs(struct weir__git_store *store);
/* store_places.c */
bool weir__git_store_has_place(const struct weir__git_store *store, const struct weir__git_id *id,
                               uint32_t *ret_row);
void weir__git_store_found(struct weir__git_store *store, const struct weir__git_id *id,
                           uint32_t row);
/* store_lookup.c */
void weir__git_store_forget(struct weir__git_store *store); /* indexes of packs listed before */
void weir__git_store_open_midx(struct weir__git_store *store);
/* Its packs are asked themselves from now on, also when they are listed anew. */
void weir__git_store_refuse_midx(struct weir__git_store *store, struct weir__git_folder *folder);
/* An index that cannot be read was met. */
void weir__git_store_note_unknown(struct weir__git_store *store, uint32_t row);
/* The next copy of an object behind this place, in packs and then loose; NotFound. */
WEIR_MUST_USE int weir__git_store_locate_other(struct weir__git_store *store,
                                               const struct weir__git_id *id,
                                               struct weir__git_place *place);
WEIR_MUST_USE int weir__git_store_locate(struct weir__git_store *store,
                                         const struct weir__git_id *id,
                                         struct weir__git_place *ret_place);

#endif
