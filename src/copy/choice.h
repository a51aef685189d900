/* choice.h - which way data goes between two file systems: measured, remembered, shared by a run.
 *
 * A mover asks before each stretch of bytes which way it shall go, and tells afterwards how long it
 * took. At first every way that is allowed gets WEIR__CHOICE_TRIES stretches; then the one with the
 * fewest nanoseconds for a byte is taken, and one stretch in WEIR__CHOICE_RETRY goes to another,
 * because what was slow may have become fast. A way that the kernel refuses is not taken again for
 * that pair. Stretches below WEIR__CHOICE_BYTES_MIN say too little: they go the best known way and
 * are not counted.
 *
 * Any thread may call any of these; nothing here waits or does input or output.
 *
 * Limits: WEIR__DATA_PAIRS_MAX pairs; what comes later shares the last one, which costs speed where
 * they differ and nothing else, since a way that is refused falls back by itself.
 *
 * Ownership: the choice belongs to the run and outlives its movers.
 */
#ifndef WEIR_COPY_CHOICE_H
#define WEIR_COPY_CHOICE_H

#include "data.h"

#define WEIR__CHOICE_TRIES     2u
#define WEIR__CHOICE_RETRY     64u
#define WEIR__CHOICE_BYTES_MIN (UINT64_C(4) << 20)
#define WEIR__CHOICE_BYTES_TRY (UINT64_C(8) << 20) /* of a stretch that tries a way */

enum weir__way { WEIR__WAY_RANGE, WEIR__WAY_RING, WEIR__WAY_PLAIN };
#define WEIR__WAYS 3u

/* What to do with the next stretch. */
struct weir__choice_stretch {
    enum weir__way way;
    uint64_t bytes;   /* how long it is at most */
    bool is_measured; /* weir__choice_note() wants its time */
};

/* The number of the pair, for the calls below. */
unsigned weir__choice_pair(struct weir__data_choice *choice, dev_t in, dev_t out);

/* What the next stretch of up to bytes shall be. allowed has 1u << way for each way that can do
 * it; plain always can. A forced path is taken if it is allowed and was not refused, or else
 * plain. */
void weir__choice_take(struct weir__data_choice *choice, unsigned pair, unsigned allowed,
                       uint64_t bytes, struct weir__choice_stretch *ret_stretch);

/* A measured stretch went this far in that time. Short ones are left out. */
void weir__choice_note(struct weir__data_choice *choice, unsigned pair, enum weir__way way,
                       uint64_t bytes, uint64_t ns);

/* The kernel does not do it between these two. Plain cannot be refused. */
void weir__choice_refuse(struct weir__data_choice *choice, unsigned pair, enum weir__way way);

/* Whether sharing blocks was refused between these two. */
bool weir__choice_is_unshared(struct weir__data_choice *choice, unsigned pair);
void weir__choice_unshare(struct weir__data_choice *choice, unsigned pair);

/* The path that was asked for when the choice was made. */
enum weir__data_path weir__choice_path(const struct weir__data_choice *choice);

#endif
