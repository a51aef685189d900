/* fuzz_check.c - any bytes as a secret.
 *
 * The input is a byte that chooses a check and the secret. What must hold whatever it is: every
 * check says the same of the same bytes wherever they stand and reads none beyond them; a token
 * with a checksum is refused when one of its characters is another; entropy is from 0 to 8 and not
 * more than the length allows.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "require.h"

#include "banned.h"

#define SECRET_MAX       4096
#define CHANGES_MAX      64

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "check", #condition)

static bool has_sum(const char *name, const char *secret, size_t length)
{
    if (strcmp(name, "github") == 0) /* of the other forms only the shape is checked */
        return length == 40;
    if (strcmp(name, "grafana") == 0)
        return memcmp(secret, "glsa_", 5) == 0;
    return strcmp(name, "npm") == 0 || strcmp(name, "age") == 0 || strcmp(name, "bitcoin-wif") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size - 1 > SECRET_MAX)
        return 0;
    size_t length = size - 1, count = 0;
    char *secret = malloc(length + !length);
    if (!secret)
        return 0;
    memcpy(secret, data + 1, length);
    while (weir__check_name(count))
        count++;
    const char *name = weir__check_name(data[0] % count);
    weir__check *check = weir__check_find(name);
    HOLDS(check);
    bool holds = check(secret, length);
    HOLDS(check((const char *)data + 1, length) == holds);
    if (holds && has_sum(name, secret, length)) {
        for (size_t at = 0; at < length && at < CHANGES_MAX; at++) {
            char kept = secret[at];
            secret[at] = kept == 'Q' ? 'R' : 'Q';
            HOLDS(!check(secret, length));
            secret[at] = kept;
        }
    }
    double entropy = weir__entropy(secret, length);
    HOLDS(entropy >= 0 && entropy <= 8 && (length > 1 || entropy == 0));
    HOLDS(length == 0 || entropy <= (double)length - 1);
    free(secret);
    return 0;
}
