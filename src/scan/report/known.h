/* known.h - a set of digests: which findings were told before and are not to be told again.
 *
 * What is in it came from ignore files and baselines. A finding can be named in four ways, so an
 * entry is a digest of the way and of what it is made of; the texts themselves, which may be
 * secrets of a baseline in plain text, are not kept.
 *
 * Limits: WEIR__KNOWN_MAX entries, TooLarge beyond. Constant time for each question. Reading is
 * safe from many threads as long as nobody adds.
 *
 * Ownership: the set owns its table; names are borrowed for the call.
 */
#ifndef WEIR_SCAN_REPORT_KNOWN_H
#define WEIR_SCAN_REPORT_KNOWN_H

#include <sys/types.h>

#include "hash.h"
#include "masks.h"

#define WEIR__KNOWN_MAX   (1u << 20)
#define WEIR__DIGEST_SIZE 16

struct weir__digest {
    unsigned char bytes[WEIR__DIGEST_SIZE];
};

/* Fields cannot run into each other: each is preceded by its length. */
void weir__digest_begin(struct weir__hash *hash, char kind);
void weir__digest_field(struct weir__hash *hash, const void *bytes, size_t length);
void weir__digest_end(const struct weir__hash *hash, struct weir__digest *ret_digest);

/* The same in one piece, which is faster. */
struct weir__known_part {
    const char *text;
    size_t length;
};
void weir__digest_parts(char kind, const struct weir__known_part *parts, size_t count,
                        struct weir__digest *ret_digest);

/* "./a" and "a" are the same file. */
const char *weir__path_plain(const char *path);
/* Of a path how much a fingerprint is made of: a message is called after its commit, and a blob
 * that has no path after itself, which change when nothing is done about the secret in them. */
size_t weir__path_lasting(const char *path);

enum weir__known_kind {
    WEIR__KNOWN_FINGERPRINT, /* ours */
    WEIR__KNOWN_LINE_NAME,   /* "commit:path:rule:line" or "path:rule:line" */
    WEIR__KNOWN_SECRET,      /* rule, path, secret */
    WEIR__KNOWN_PLACE,       /* rule, path, line */
    WEIR__KNOWN_KINDS
};

struct weir__known {
    struct weir__digest *_slots; /* all zero: empty */
    size_t _count, _capacity;
    unsigned _kinds;          /* 1u << kind of what is in it */
    uint64_t _short_commits;  /* 1 << digits, of commits in names that may be the first digits */
    struct weir__masks masks; /* of names and places that have something hidden in them */
};

void weir__known_fini(struct weir__known *known);

/* Three parts for secrets and places (rule, path, and the secret or the line in decimal), one for
 * the other kinds. 0, TooLarge or NoMemory. Twice is once. */
WEIR_MUST_USE int weir__known_add(struct weir__known *known, enum weir__known_kind kind,
                                  const struct weir__known_part *parts, size_t count);
bool weir__known_has(const struct weir__known *known, enum weir__known_kind kind,
                     const struct weir__known_part *parts, size_t count);
/* The form "path:rule:line", with "commit:" before it if there is one, without putting it together
 * first. Names may have the first seven digits and more of the commit alone. */
bool weir__known_has_line_name(const struct weir__known *known, const char *commit,
                               const char *path, const char *rule, uint64_t line);

/* The lines of an ignore file. Good lines are taken even when others are bad. */
WEIR_MUST_USE int weir__known_read(struct weir__known *known, const char *text, size_t length,
                                   unsigned *ret_line);

/* Where a report comes from, piece by piece: as many bytes as there are up to size, 0 at the end,
 * or a negative code, which is handed on. */
struct weir__report_in {
    ssize_t (*read)(void *arg, char *bytes, size_t size);
    void *arg;
};
/* A report; Invalid with a reason for people. Of its text WEIR__REPORT_WINDOW bytes are in memory
 * at a time, and one finding of it, which may take WEIR__REPORT_VALUE_COST. */
#define WEIR__REPORT_WINDOW     65536u
#define WEIR__REPORT_VALUE_COST (UINT64_C(32) << 20)
WEIR_MUST_USE int weir__known_read_report(struct weir__known *known,
                                          const struct weir__report_in *in, char *ret_reason,
                                          size_t reason_size);

/* What it has allocated. */
uint64_t weir__known_bytes(const struct weir__known *known);

#endif
