/* fuzz_cid.c - any text as a CID, and as what stands behind /resolve/.
 *
 * What must hold: an address that was read prints as a CID that is read as the same address; a name
 * or an address that was taken has one text, which is the one that came.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "cid.h"
#include "given.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "cid", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_cid(const char *text, size_t length)
{
    struct weir__address address, again;
    char printed[WEIR__CID_TEXT];
    int error = weir__cid_parse(text, length, &address);
    HOLDS(error == 0 || error == -WEIR_E_INVALID || error == -WEIR_E_NOT_FOUND);
    if (error)
        return;
    weir__cid_print(&address, printed);
    HOLDS(strlen(printed) == WEIR__CID_TEXT - 1);
    HOLDS(weir__cid_parse(printed, strlen(printed), &again) == 0);
    HOLDS(weir__address_is_equal(&address, &again));
}

static void try_question(const char *text, size_t length)
{
    struct weir__question question;
    char printed[WEIR__ADDRESS_TEXT];
    if (weir__given_question(&question, text, length))
        return;
    if (question.kind == WEIR__ASK_PROVIDERS) {
        weir__address_print(&question.address, printed);
        HOLDS(strlen(printed) == length && memcmp(printed, text, length) == 0);
    } else {
        HOLDS(question.name.length == length && memcmp(question.name.text, text, length) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char place[WEIR__MULTIADDR_TEXT];
    try_cid((const char *)data, size);
    try_question((const char *)data, size);
    char *text = malloc(size + 1);
    HOLDS(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (weir__multiaddr_print(text, place) == 0)
        HOLDS(strlen(place) < sizeof(place) && place[0] == '/');
    free(text);
    return 0;
}
