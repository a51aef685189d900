/* masks.h - names of places as a report has them that hides something: "a-ghp_********wxyz.c:r:3".
 *
 * A hidden byte is '*', and lengths stay. So a mask, which has at least WEIR__MASK_STARS asterisks
 * in a row, stands for every name of its length that has the same bytes where there are none. What
 * is hidden in a path may have been found after it: when the same path comes again, it is not known
 * yet what will be hidden there, but the mask fits.
 *
 * Limits: WEIR__MASKS_MAX masks of WEIR__MASKS_BYTES together, TooLarge beyond. Masks are kept by
 * length, rule and line; a name is compared with WEIR__MASKS_TRIES of them at most, and is not
 * known if none of these fits. Reading is safe from many threads as long as nobody adds.
 *
 * Ownership: owns copies of the masks; texts are borrowed for the call.
 */
#ifndef WEIR_SCAN_REPORT_MASKS_H
#define WEIR_SCAN_REPORT_MASKS_H

#include <weir/defs.h>

#define WEIR__MASK_STARS  8u
#define WEIR__MASKS_MAX   (1u << 16)
#define WEIR__MASKS_BYTES (16u << 20)
#define WEIR__MASKS_TRIES 1024u

struct weir__mask;

struct weir__masks {
    struct weir__mask **_heads;
    size_t _count, _bytes;
};

void weir__masks_fini(struct weir__masks *masks);
bool weir__mask_is_one(const char *text, size_t length);
/* "path:rule:line" or "commit:path:rule:line". 0, TooLarge or NoMemory. */
WEIR_MUST_USE int weir__masks_add(struct weir__masks *masks, const char *text, size_t length);
/* Whether a mask fits "path:rule:line", with "commit:" before it if there is one. Without memory to
 * put it together none does. */
bool weir__masks_has(const struct weir__masks *masks, const char *commit, const char *path,
                     const char *rule, uint64_t line);

#endif
