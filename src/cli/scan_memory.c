/* scan_memory.c - the arithmetic of --max-memory. */
#include "scan_memory.h"

#include <inttypes.h>

#include <weir/error.h>

#include "log.h"
#include "resources.h"

#include "banned.h"

#define FIXED_BYTES    WEIR__SCAN_FIXED_BYTES
#define THREAD_BYTES   WEIR__SCAN_THREAD_BYTES
#define FINDINGS_BYTES WEIR__SCAN_FINDINGS_BYTES
/* What an archive takes: its decoder, and members of it in work. */
#define DECODER_MIN (WEIR__ARCHIVE_MEMORY_MIN + WEIR__SCAN_MEMBERS_BYTES)
#define DECODER_MAX (WEIR__ARCHIVE_MEMORY_DEFAULT + WEIR__SCAN_MEMBERS_BYTES)
/* What one that has nothing to do may hold. */
#define DECODER_IDLE (UINT64_C(8) << 20)
/* Findings take this, and an eighth of what is left beside it; a quarter where no archive is
 * opened, since then nobody else could use it. */
#define FINDINGS_FIRST             (UINT64_C(17) << 20)
#define FINDINGS_SHARE             8u
#define FINDINGS_SHARE_NO_ARCHIVES 4u
/* As the help says. */
#define MEMORY_OPENS (UINT64_C(200) << 20)
_Static_assert((MEMORY_OPENS - FIXED_BYTES - FINDINGS_FIRST) / FINDINGS_SHARE *
                       (FINDINGS_SHARE - 1) >=
                   THREAD_BYTES + DECODER_MIN,
               "it fits");
/* Histories take HISTORY_BYTES, a tenth of what there is beside the least up to HISTORY_GROWS,
 * where it is of more use for a second thread and archives, and half of what there is beyond.
 * Findings then get less. */
#define HISTORY_BYTES          WEIR__SCAN_HISTORY_BYTES
#define HISTORY_LEAST          (WEIR__SCAN_MEMORY_MIN + WEIR__SCAN_HAND_BYTES + HISTORY_BYTES)
#define HISTORY_GROWS          (UINT64_C(256) << 20)
#define HISTORY_AT_GROWS       (HISTORY_BYTES + (HISTORY_GROWS - HISTORY_LEAST) / 10)
#define FINDINGS_SHARE_HISTORY 16u
_Static_assert(MEMORY_OPENS - FIXED_BYTES - FINDINGS_BYTES -
                       (HISTORY_BYTES + (MEMORY_OPENS - HISTORY_LEAST) / 10) >=
                   THREAD_BYTES + WEIR__SCAN_HAND_BYTES + DECODER_MIN,
               "archives are opened beside a history, too");
/* A text that is read as a whole, of all. */
#define TEXT_SHARE 4u

uint64_t weir__scan_text_bytes(uint64_t memory)
{
    return memory / TEXT_SHARE;
}

/* A decoder for each thread if that leaves each enough to work with, else fewer. */
static void limit_decoders(struct weir__scan_options *o, uint64_t bytes, uint64_t threads)
{
    if (o->ring_bytes > 0 && o->ring_bytes < bytes) {
        bytes = o->ring_bytes;
        o->archives.memory_ring = WEIR__SCAN_MEMBERS_BYTES + (threads - 1) * DECODER_IDLE;
    }
    uint64_t each = bytes / threads;
    if (each > DECODER_MAX)
        each = DECODER_MAX;
    if (each < DECODER_MIN)
        each = DECODER_MIN;
    o->archives.memory_max = each - WEIR__SCAN_MEMBERS_BYTES;
    o->archives_bytes = bytes > 0 ? bytes : 1; /* with too few, archives are told */
}

static uint64_t mebibytes(uint64_t bytes)
{
    return (bytes + (1u << 20) - 1) >> 20;
}

static int refuse(uint64_t known)
{
    weir__log(WEIR__LOG_ERROR,
              "what is known from ignore files and the baseline takes %" PRIu64
              " MiB: set --max-memory=%" PRIu64 "M or more, or take out what is mended",
              mebibytes(known), mebibytes(WEIR__SCAN_MEMORY_MIN + known));
    return -WEIR_E_USAGE;
}

static int refuse_history(uint64_t least)
{
    weir__log(WEIR__LOG_ERROR,
              "with the history of a git repository it takes more: set --max-memory=%" PRIu64
              "M or more, or leave the history out by --history=no",
              mebibytes(least));
    return -WEIR_E_USAGE;
}

/* Takes the share of histories from the memory. */
static int share_history(uint64_t *memory, uint64_t known, struct weir__scan_options *o)
{
    uint64_t given = *memory - known;
    if (*memory < HISTORY_LEAST + known)
        return refuse_history(HISTORY_LEAST + known);
    o->history_bytes = given > HISTORY_GROWS ? HISTORY_AT_GROWS + (given - HISTORY_GROWS) / 2
                                             : HISTORY_BYTES + (given - HISTORY_LEAST) / 10;
    o->history_besides = HISTORY_GROWS + known - 2 * HISTORY_AT_GROWS;
    *memory -= o->history_bytes;
    return 0;
}

/* What findings may take of the rest, which is enough for one thread as well. */
static uint64_t share_findings(uint64_t rest, uint64_t thread, unsigned share)
{
    uint64_t findings = FINDINGS_FIRST + (rest - FINDINGS_FIRST) / share;
    if (findings < FINDINGS_BYTES)
        findings = FINDINGS_BYTES;
    return findings > rest - thread ? rest - thread : findings;
}

int weir__scan_share_memory(uint64_t memory, uint64_t known, struct weir__scan_options *o,
                            uint64_t *ret_findings)
{
    uint64_t wanted = o->threads ? o->threads : weir__resources_cores();
    if (memory > 0 && memory < WEIR__SCAN_MEMORY_MIN + known)
        return refuse(known);
    bool has_history = o->history != WEIR__SCAN_NO_HISTORY;
    uint64_t thread = THREAD_BYTES + (has_history ? WEIR__SCAN_HAND_BYTES : 0);
    *ret_findings = 0;
    /* Enough for a decoder of a given size is that size, this, and the share of findings. */
    o->archives.memory_besides = FIXED_BYTES + FINDINGS_FIRST + known +
                                 (has_history ? HISTORY_AT_GROWS : 0) +
                                 (wanted * (thread + DECODER_IDLE) + WEIR__SCAN_MEMBERS_BYTES) /
                                     (FINDINGS_SHARE - 1) * FINDINGS_SHARE;
    o->archives.memory_threads = (uint32_t)wanted;
    o->archives.memory_half = has_history ? HISTORY_GROWS + known : 0;
    if (memory == 0) {
        if (o->ring_bytes > 0)
            limit_decoders(o, UINT64_MAX, wanted);
        return 0;
    }
    o->archives_least = MEMORY_OPENS + known;
    bool opens = o->archives.depth_max > 0 && memory - known >= MEMORY_OPENS;
    if (has_history && share_history(&memory, known, o) < 0)
        return -WEIR_E_USAGE;
    uint64_t rest = memory - FIXED_BYTES - known; /* for one thread and findings at least */
    uint64_t findings = share_findings(rest, thread,
                                       has_history ? FINDINGS_SHARE_HISTORY
                                       : opens     ? FINDINGS_SHARE
                                                   : FINDINGS_SHARE_NO_ARCHIVES);
    *ret_findings = findings;
    rest -= findings;
    /* One decoder at least, where it fits beside one thread. */
    uint64_t decoder = o->archives.depth_max == 0 || rest < thread + DECODER_MIN ? 0 : DECODER_MIN;
    uint64_t threads = (rest - decoder) / thread;
    o->threads = (unsigned)(threads < wanted ? threads : wanted);
    o->bytes_max = (uint64_t)o->threads * WEIR__SCAN_READ_SIZE;
    limit_decoders(o, rest - o->threads * thread, o->threads);
    return 0;
}
