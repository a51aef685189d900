/* record.c - records in bytes: written, signed, taken apart and judged.
 *
 * What is taken apart is compared with nothing but its own form, field by field, in the order of
 * the bytes; each field has one encoding, and the last one ends where the signature begins. So what
 * was taken apart is written again as the same bytes (fuzz_record.c).
 */
#include "record.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

enum {
    AT_MAGIC = 0,
    AT_VERSION = 2,
    AT_KIND = 3,
    AT_KEY = 4,
    AT_SEQUENCE = 36,
    AT_ISSUED = 44,
    AT_EXPIRES = 52,
    AT_REST = 60,
    /* of a name */
    AT_FLAGS = 60,
    AT_TARGET = 61,
    AT_NAME = 93,
    /* of a provider */
    AT_ADDRESS = 60,
    AT_URL = 92,
};
enum { VERSION = 1, FLAG_REMOVAL = 1 };

_Static_assert(AT_NAME + 1 + WEIR__NAME_MAX + WEIR__SIGNATURE_SIZE <= WEIR__RECORD_MAX,
               "every record of a name fits");
_Static_assert(AT_URL + 1 + WEIR__PROVIDER_URL_MAX + 1 + WEIR__REGION_MAX + WEIR__SIGNATURE_SIZE <=
                   WEIR__RECORD_MAX,
               "every record of a provider fits");

static const char magic[2] = {'w', 'r'};
/* Before what is signed, with its NUL: a signature made for something else is none here. */
static const char domain[] = "weir-record-v1";

/* --- bytes --- */

static void put_number(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> (56 - 8 * i));
}

static uint64_t get_number(const unsigned char *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return value;
}

static size_t put_text(unsigned char *at, const char *text, size_t length)
{
    at[0] = (unsigned char)length;
    memcpy(at + 1, text, length);
    return 1 + length;
}

static bool is_zero(const struct weir__address *address)
{
    static const struct weir__address zero;
    return weir__address_is_equal(address, &zero);
}

/* --- what a record may say --- */

static bool is_region(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
              text[i] == '-'))
            return false;
    return length <= WEIR__REGION_MAX;
}

/* Readers of JSON have numbers of 63 bits: what is larger could be kept here, but told to nobody.
 */
static bool has_sequence(const struct weir__record *record)
{
    return record->sequence > 0 && record->sequence <= INT64_MAX;
}

/* Whatever the time is. */
static bool has_times(const struct weir__record *record)
{
    return record->issued_s > 0 && record->expires_s > record->issued_s;
}

static bool lives_too_long(const struct weir__record *record)
{
    return record->expires_s - record->issued_s > WEIR__RECORD_LIFE_MAX_S;
}

static bool is_right(const struct weir__record *record)
{
    struct weir__name name;
    if (!has_sequence(record) || !has_times(record) || lives_too_long(record))
        return false;
    if (record->kind == WEIR__RECORD_NAME)
        return record->name.length <= WEIR__NAME_MAX &&
               weir__name_parse(record->name.text, record->name.length, &name) == 0 &&
               record->is_removal == is_zero(&record->address);
    if (record->kind != WEIR__RECORD_PROVIDER || is_zero(&record->address))
        return false;
    size_t region = strnlen(record->region, sizeof(record->region));
    return strnlen(record->url, sizeof(record->url)) <= WEIR__PROVIDER_URL_MAX &&
           !weir__provider_url_check(record->url) && is_region(record->region, region);
}

/* --- signing --- */

struct message {
    unsigned char bytes[sizeof(domain) + WEIR__RECORD_MAX];
    size_t length;
};

static void make_message(struct message *message, const unsigned char *bytes, size_t length)
{
    memcpy(message->bytes, domain, sizeof(domain));
    memcpy(message->bytes + sizeof(domain), bytes, length);
    message->length = sizeof(domain) + length;
}

static size_t put_fields(unsigned char *bytes, const struct weir__record *record)
{
    memcpy(bytes + AT_MAGIC, magic, sizeof(magic));
    bytes[AT_VERSION] = VERSION;
    bytes[AT_KIND] = (unsigned char)record->kind;
    put_number(bytes + AT_SEQUENCE, record->sequence);
    put_number(bytes + AT_ISSUED, (uint64_t)record->issued_s);
    put_number(bytes + AT_EXPIRES, (uint64_t)record->expires_s);
    if (record->kind == WEIR__RECORD_NAME) {
        bytes[AT_FLAGS] = record->is_removal ? FLAG_REMOVAL : 0;
        memcpy(bytes + AT_TARGET, record->address.bytes, WEIR__ADDRESS_SIZE);
        return AT_NAME + put_text(bytes + AT_NAME, record->name.text, record->name.length);
    }
    memcpy(bytes + AT_ADDRESS, record->address.bytes, WEIR__ADDRESS_SIZE);
    size_t length = AT_URL + put_text(bytes + AT_URL, record->url, strlen(record->url));
    return length + put_text(bytes + length, record->region, strlen(record->region));
}

int weir__record_sign(struct weir__record_bytes *ret_bytes, const struct weir__record *record,
                      const struct weir__key *key)
{
    struct weir__record_bytes made = {.length = 0};
    struct message message;
    if (!is_right(record))
        return -WEIR_E_INVALID;
    size_t length = put_fields(made.bytes, record);
    memcpy(made.bytes + AT_KEY, key->public_key, WEIR__PUBLIC_KEY_SIZE);
    make_message(&message, made.bytes, length);
    weir__key_sign(key, message.bytes, message.length, made.bytes + length);
    made.length = (uint16_t)(length + WEIR__SIGNATURE_SIZE);
    *ret_bytes = made;
    return 0;
}

/* --- reading --- */

/* A text with its length before it, which ends before `end`; where it ends, or 0. */
static size_t get_text(const unsigned char *bytes, size_t at, size_t end, const char **ret_text,
                       size_t *ret_length)
{
    if (at >= end || end - at - 1 < bytes[at])
        return 0;
    *ret_text = (const char *)bytes + at + 1;
    *ret_length = bytes[at];
    return at + 1 + bytes[at];
}

static bool unpack_name(struct weir__record *record, const unsigned char *bytes, size_t end)
{
    const char *text;
    size_t length;
    if (end <= AT_NAME || bytes[AT_FLAGS] > FLAG_REMOVAL ||
        get_text(bytes, AT_NAME, end, &text, &length) != end ||
        weir__name_parse(text, length, &record->name) < 0)
        return false;
    memcpy(record->address.bytes, bytes + AT_TARGET, WEIR__ADDRESS_SIZE);
    record->is_removal = bytes[AT_FLAGS] == FLAG_REMOVAL;
    return record->is_removal == is_zero(&record->address);
}

static bool unpack_provider(struct weir__record *record, const unsigned char *bytes, size_t end)
{
    const char *url, *region;
    size_t url_length, region_length, at;
    if (end <= AT_URL || !(at = get_text(bytes, AT_URL, end, &url, &url_length)) ||
        get_text(bytes, at, end, &region, &region_length) != end ||
        !is_region(region, region_length))
        return false;
    memcpy(record->address.bytes, bytes + AT_ADDRESS, WEIR__ADDRESS_SIZE);
    memcpy(record->url, url, url_length);
    memcpy(record->region, region, region_length);
    /* One with a NUL in it would be shorter here than there. */
    return !is_zero(&record->address) && strlen(record->url) == url_length &&
           !weir__provider_url_check(record->url);
}

int weir__record_unpack(struct weir__record *ret_record, const void *given, size_t length)
{
    const unsigned char *bytes = given;
    struct weir__record record = {.is_removal = false};
    if (length < AT_REST + WEIR__SIGNATURE_SIZE || length > WEIR__RECORD_MAX)
        return -WEIR_E_INVALID;
    size_t end = length - WEIR__SIGNATURE_SIZE;
    uint64_t issued = get_number(bytes + AT_ISSUED), expires = get_number(bytes + AT_EXPIRES);
    if (memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0 || bytes[AT_VERSION] != VERSION ||
        issued > INT64_MAX || expires > INT64_MAX)
        return -WEIR_E_INVALID;
    record.kind = (enum weir__record_kind)bytes[AT_KIND];
    memcpy(record.public_key, bytes + AT_KEY, WEIR__PUBLIC_KEY_SIZE);
    record.sequence = get_number(bytes + AT_SEQUENCE);
    record.issued_s = (int64_t)issued;
    record.expires_s = (int64_t)expires;
    if (!has_sequence(&record) || !has_times(&record))
        return -WEIR_E_INVALID;
    bool is_one = record.kind == WEIR__RECORD_NAME       ? unpack_name(&record, bytes, end)
                  : record.kind == WEIR__RECORD_PROVIDER ? unpack_provider(&record, bytes, end)
                                                         : false;
    if (is_one)
        *ret_record = record;
    return is_one ? 0 : -WEIR_E_INVALID;
}

static bool is_bound(const struct weir__record *record, const struct weir__bindings *bindings)
{
    struct weir__key_id id;
    if (record->kind != WEIR__RECORD_NAME)
        return true;
    weir__key_id_of(record->public_key, &id);
    return weir__name_is_bound(&record->name, bindings, &id);
}

static bool is_signed(const struct weir__record *record, const unsigned char *bytes, size_t length)
{
    struct message message;
    size_t end = length - WEIR__SIGNATURE_SIZE;
    make_message(&message, bytes, end);
    return weir__key_verify(record->public_key, message.bytes, message.length, bytes + end);
}

/* What is cheap comes first, so that strangers cannot make us verify what nobody may say; but what
 * is called expired has a right signature. */
enum weir__record_verdict weir__record_judge(struct weir__record *ret_record, const void *bytes,
                                             size_t length, const struct weir__bindings *bindings,
                                             int64_t now_s)
{
    struct weir__record record;
    if (length > WEIR__RECORD_MAX)
        return WEIR__RECORD_OVERSIZED;
    if (weir__record_unpack(&record, bytes, length) < 0)
        return WEIR__RECORD_MALFORMED;
    if (!is_bound(&record, bindings))
        return WEIR__RECORD_UNBOUND;
    if (!is_signed(&record, bytes, length))
        return WEIR__RECORD_FORGED;
    *ret_record = record;
    bool is_early = record.issued_s - WEIR__RECORD_SKEW_S > now_s;
    return is_early || record.expires_s <= now_s || lives_too_long(&record) ? WEIR__RECORD_EXPIRED
                                                                            : WEIR__RECORD_GOOD;
}

const char *weir__record_time_problem(const struct weir__record *record, int64_t now_s)
{
    if (record->issued_s - WEIR__RECORD_SKEW_S > now_s)
        return "the record was issued in the future: a clock is wrong, here or where it was signed";
    if (record->expires_s <= now_s)
        return "the record has expired; if it is new, a clock is wrong, here or where it was "
               "signed";
    return "the record lives for longer than 400 days";
}

const char *weir__record_verdict_name(enum weir__record_verdict verdict)
{
    static const char *const names[WEIR__RECORD_VERDICTS] = {
        [WEIR__RECORD_GOOD] = "good",           [WEIR__RECORD_OVERSIZED] = "oversized",
        [WEIR__RECORD_MALFORMED] = "malformed", [WEIR__RECORD_FORGED] = "forged",
        [WEIR__RECORD_UNBOUND] = "unbound",     [WEIR__RECORD_EXPIRED] = "expired",
        [WEIR__RECORD_REPLAYED] = "replayed",   [WEIR__RECORD_FOREIGN] = "foreign",
    };
    return (unsigned)verdict < WEIR__RECORD_VERDICTS ? names[verdict] : "unknown";
}

int weir__record_compare(const struct weir__record *a, const struct weir__record_bytes *a_bytes,
                         const struct weir__record *b, const struct weir__record_bytes *b_bytes)
{
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    if (a->expires_s != b->expires_s)
        return a->expires_s < b->expires_s ? -1 : 1;
    size_t least = a_bytes->length < b_bytes->length ? a_bytes->length : b_bytes->length;
    int order = memcmp(a_bytes->bytes, b_bytes->bytes, least);
    return order ? order : (int)a_bytes->length - (int)b_bytes->length;
}

void weir__record_mark_set(struct weir__record_mark *mark, const struct weir__record *record,
                           const struct weir__record_bytes *bytes)
{
    mark->sequence = record->sequence;
    mark->has_record = true;
    mark->record = *record;
    mark->bytes = *bytes;
}

int weir__record_mark_compare(const struct weir__record *record,
                              const struct weir__record_bytes *bytes,
                              const struct weir__record_mark *mark)
{
    if (record->sequence != mark->sequence)
        return record->sequence < mark->sequence ? -1 : 1;
    return mark->has_record ? weir__record_compare(record, bytes, &mark->record, &mark->bytes) : 0;
}
