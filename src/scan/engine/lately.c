/* lately.c - what was found out about the secret that was judged last.
 *
 * Several rules take the same value: of `password: …` in a line of its own two or three do, and one
 * of them is told in the end. Its entropy, its check and most allow lists ask for its bytes and for
 * nothing else, so that the second rule has the answers of the first.
 */
#include <string.h>

#include "check.h"
#include "parts.h"

#include "banned.h"

struct weir__lately *weir__lately_of(struct weir__scanner *scanner, const char *secret,
                                     size_t length)
{
    struct weir__lately *lately = &scanner->lately;
    if (length == 0 || length > WEIR__LATELY_MAX)
        return NULL;
    if (lately->length != length || memcmp(lately->secret, secret, length) != 0) {
        memcpy(lately->secret, secret, length);
        lately->length = length;
        lately->entropy = weir__entropy(secret, length);
        lately->check = NULL;
        lately->asked = lately->allowed = 0;
    }
    return lately;
}

double weir__lately_entropy(struct weir__scanner *scanner, const char *secret, size_t length)
{
    const struct weir__lately *lately = weir__lately_of(scanner, secret, length);
    return lately ? lately->entropy : weir__entropy(secret, length);
}

bool weir__lately_check(struct weir__scanner *scanner, weir__check *check, const char *secret,
                        size_t length)
{
    struct weir__lately *lately = weir__lately_of(scanner, secret, length);
    if (!lately)
        return check(secret, length);
    if (lately->check != check) {
        lately->holds = check(secret, length);
        lately->check = check;
    }
    return lately->holds;
}
