/* fuzz_record.c - any bytes as a record, and as the text of one.
 *
 * The first byte says whether the signature and the key are made right, since nobody guesses them.
 * What must hold: what is taken is written again as the same bytes, what is good is signed, and
 * there is one text for each record.
 */
#include <string.h>

#include "record.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "record", #condition)
#define NOW              INT64_C(1800000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct weir__key key;

static void load(void)
{
    static const unsigned char seed[32] = {1};
    static bool is_loaded;
    if (is_loaded)
        return;
    HOLDS(!weir__key_load_library());
    weir__key_from_seed(&key, seed);
    is_loaded = true;
}

static void mend(unsigned char *bytes, size_t length)
{
    static const char domain[] = "weir-record-v1";
    unsigned char message[sizeof(domain) + WEIR__RECORD_MAX];
    if (length < 100 || length > WEIR__RECORD_MAX)
        return;
    memcpy(bytes + 4, key.public_key, 32);
    memcpy(message, domain, sizeof(domain));
    memcpy(message + sizeof(domain), bytes, length - 64);
    weir__key_sign(&key, message, sizeof(domain) + length - 64, bytes + length - 64);
}

static void try_bytes(const unsigned char *bytes, size_t length, bool is_mended)
{
    struct weir__record record, again;
    struct weir__record_bytes made;
    int error = weir__record_unpack(&record, bytes, length);
    enum weir__record_verdict verdict = weir__record_judge(&again, bytes, length, NULL, NOW);
    HOLDS(verdict < WEIR__RECORD_REPLAYED);
    HOLDS((length > WEIR__RECORD_MAX) == (verdict == WEIR__RECORD_OVERSIZED));
    HOLDS((error != 0) == (verdict == WEIR__RECORD_OVERSIZED || verdict == WEIR__RECORD_MALFORMED));
    HOLDS(!is_mended || verdict != WEIR__RECORD_FORGED);
    if (error)
        return;
    HOLDS(record.sequence > 0 && record.issued_s > 0 && record.expires_s > record.issued_s);
    HOLDS(record.kind != WEIR__RECORD_PROVIDER || !weir__provider_url_check(record.url));
    HOLDS(strlen(record.url) <= WEIR__PROVIDER_URL_MAX &&
          strlen(record.region) <= WEIR__REGION_MAX);
    if (verdict == WEIR__RECORD_GOOD)
        HOLDS(record.expires_s > NOW && record.issued_s <= NOW + WEIR__RECORD_SKEW_S);
    if (weir__record_sign(&made, &record, &key) < 0) {
        HOLDS(record.expires_s - record.issued_s > WEIR__RECORD_LIFE_MAX_S);
        return;
    }
    HOLDS(made.length == length && memcmp(made.bytes, bytes, 4) == 0);
    HOLDS(memcmp(made.bytes + 36, bytes + 36, length - 64 - 36) == 0);
    HOLDS(!is_mended || memcmp(made.bytes, bytes, length) == 0);
}

static void try_text(const char *text, size_t length)
{
    struct weir__record_bytes bytes;
    char again[WEIR__RECORD_TEXT];
    if (weir__record_parse(text, length, &bytes) < 0)
        return;
    HOLDS(bytes.length > 0 && bytes.length <= WEIR__RECORD_MAX);
    weir__record_print(&bytes, again);
    HOLDS(strlen(again) == length && memcmp(again, text, length) == 0);
    try_bytes(bytes.bytes, bytes.length, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[WEIR__RECORD_MAX + 300];
    load();
    if (size < 1 || size > sizeof(bytes))
        return 0;
    memcpy(bytes, data + 1, size - 1);
    bool is_mended = data[0] & 1 && size - 1 >= 100 && size - 1 <= WEIR__RECORD_MAX;
    if (is_mended)
        mend(bytes, size - 1);
    if (data[0] & 2)
        try_text((const char *)bytes, size - 1);
    else
        try_bytes(bytes, size - 1, is_mended);
    return 0;
}
