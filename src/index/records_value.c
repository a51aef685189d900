/* records_value.c - keys and values of the tables. */
#include <string.h>

#include "hash.h"
#include "records_part.h"

#include "banned.h"

int weir__records_error(int rc)
{
    switch (rc) {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return -WEIR_E_NOT_FOUND;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
        return -WEIR_E_NO_SPACE;
    case MDB_READERS_FULL:
        return -WEIR_E_BUSY;
    case MDB_PANIC:
        /* A write of the page that leads to all others has failed before. */
        return -WEIR_E_IO;
    default:
        /* Whatever else LMDB says of itself, it says of a file that is not what it wrote. */
        return rc > 0 ? weir_error_from_errno(rc) : -WEIR_E_CORRUPT;
    }
}

void weir__records_seal(enum weir__records_table table, const MDB_val *key, const void *bytes,
                        size_t length, unsigned char seal[WEIR__SEAL])
{
    const unsigned char head[2] = {(unsigned char)table, (unsigned char)key->mv_size};
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, head, sizeof(head));
    weir__hash_update(&hash, key->mv_data, key->mv_size);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, digest);
    memcpy(seal, digest, WEIR__SEAL);
}

int weir__records_unseal(enum weir__records_table table, const MDB_val *key, MDB_val *value)
{
    unsigned char seal[WEIR__SEAL];
    const unsigned char *bytes = value->mv_data;
    if (value->mv_size <= WEIR__SEAL ||
        value->mv_size > WEIR__SEAL + WEIR__SEEN_HEAD + WEIR__RECORD_MAX)
        return -WEIR_E_CORRUPT;
    size_t length = value->mv_size - WEIR__SEAL;
    weir__records_seal(table, key, bytes + WEIR__SEAL, length, seal);
    if (memcmp(seal, bytes, WEIR__SEAL) != 0)
        return -WEIR_E_CORRUPT;
    *value = (MDB_val){length, (unsigned char *)value->mv_data + WEIR__SEAL};
    return 0;
}

/* Whether the record is the one of that key. */
static bool is_of_key(enum weir__records_table table, const MDB_val *key,
                      const struct weir__record *record)
{
    unsigned char bytes[WEIR__PROVIDER_KEY];
    if (table == WEIR__TABLE_NAMES)
        return record->kind == WEIR__RECORD_NAME && record->name.length == key->mv_size &&
               memcmp(record->name.text, key->mv_data, key->mv_size) == 0;
    if (record->kind != WEIR__RECORD_PROVIDER || key->mv_size != sizeof(bytes))
        return false;
    weir__records_provider_key(record, bytes);
    return memcmp(bytes, key->mv_data, sizeof(bytes)) == 0;
}

int weir__records_seen_get(const MDB_val *key, MDB_val value,
                           struct weir__records_sequence *ret_sequence)
{
    struct weir__records_sequence seen = {.was_held = false};
    struct weir__record_mark *mark = &seen.mark;
    if (weir__records_unseal(WEIR__TABLE_SEEN, key, &value) < 0)
        return -WEIR_E_CORRUPT;
    const unsigned char *at = value.mv_data;
    if (value.mv_size == WEIR__SEEN_BARE) {
        mark->sequence = weir__be64_get(at);
        seen.was_held = at[8] != 0;
        *ret_sequence = seen;
        return 0;
    }
    size_t length = value.mv_size - WEIR__SEEN_HEAD;
    if (weir__record_unpack(&mark->record, at + WEIR__SEEN_HEAD, length) < 0 ||
        !is_of_key(WEIR__TABLE_NAMES, key, &mark->record))
        return -WEIR_E_CORRUPT;
    mark->sequence = mark->record.sequence;
    mark->has_record = true;
    mark->bytes.length = (uint16_t)length;
    memcpy(mark->bytes.bytes, at + WEIR__SEEN_HEAD, length);
    seen.was_held = at[0] != 0;
    *ret_sequence = seen;
    return 0;
}

bool weir__records_is_bound(const struct weir__records *records, const struct weir__record *record)
{
    struct weir__key_id id;
    weir__key_id_of(record->public_key, &id);
    return weir__name_is_bound(&record->name, records->bindings, &id);
}

/* A key that may not speak for the name any more would otherwise forbid it to those who may. Of
 * what an older file has seen, and has no record of, nobody knows who signed it: that counts. */
void weir__records_seen_settle(const struct weir__records *records,
                               struct weir__records_sequence *seen, const struct weir__record *here,
                               const struct weir__record_bytes *here_bytes)
{
    bool is_bound = here && weir__records_is_bound(records, here);
    const struct weir__record *signer = seen->mark.has_record ? &seen->mark.record
                                        : here && here->sequence == seen->mark.sequence ? here
                                                                                        : NULL;
    if (signer && !weir__records_is_bound(records, signer))
        *seen = (struct weir__records_sequence){.was_held = false};
    if (!is_bound || weir__record_mark_compare(here, here_bytes, &seen->mark) < 0)
        return;
    weir__record_mark_set(&seen->mark, here, here_bytes);
    seen->was_held = true;
}

int weir__records_record_get(enum weir__records_table table, const MDB_val *key, MDB_val value,
                             struct weir__record *ret_record, struct weir__record_bytes *ret_bytes)
{
    struct weir__record record;
    if (weir__records_unseal(table, key, &value) < 0 ||
        weir__record_unpack(&record, value.mv_data, value.mv_size) < 0 ||
        !is_of_key(table, key, &record))
        return -WEIR_E_CORRUPT;
    *ret_record = record;
    ret_bytes->length = (uint16_t)value.mv_size;
    memcpy(ret_bytes->bytes, value.mv_data, value.mv_size);
    return 0;
}

int weir__records_pin_get(const MDB_val *key, MDB_val value, struct weir__question *ret_question)
{
    struct weir__question question = {.kind = WEIR__ASK_NAME};
    if (weir__records_unseal(WEIR__TABLE_PINS, key, &value) < 0)
        return -WEIR_E_CORRUPT;
    const unsigned char *at = value.mv_data;
    size_t length = value.mv_size - 1;
    if (at[0] == WEIR__ASK_NAME &&
        weir__name_parse((const char *)at + 1, length, &question.name) < 0)
        return -WEIR_E_CORRUPT;
    if (at[0] != WEIR__ASK_NAME) {
        if (at[0] != WEIR__ASK_PROVIDERS || length != WEIR__ADDRESS_SIZE)
            return -WEIR_E_CORRUPT;
        question.kind = WEIR__ASK_PROVIDERS;
        memcpy(question.address.bytes, at + 1, WEIR__ADDRESS_SIZE);
    }
    *ret_question = question;
    return 0;
}

void weir__records_provider_key(const struct weir__record *record,
                                unsigned char key[WEIR__PROVIDER_KEY])
{
    struct weir__key_id id;
    weir__key_id_of(record->public_key, &id);
    memcpy(key, record->address.bytes, WEIR__ADDRESS_SIZE);
    memcpy(key + WEIR__ADDRESS_SIZE, id.bytes, WEIR__KEYID_BYTES);
}

_Static_assert(WEIR__EXPIRY_HEAD + WEIR__NAME_MAX <= WEIR__TABLE_KEY_MAX, "every key fits");

size_t weir__records_expiry_key(int64_t expires_s, enum weir__records_table table,
                                const MDB_val *key, unsigned char bytes[WEIR__TABLE_KEY_MAX])
{
    weir__be64_put(bytes, (uint64_t)expires_s);
    bytes[8] = (unsigned char)table;
    memcpy(bytes + WEIR__EXPIRY_HEAD, key->mv_data, key->mv_size);
    return WEIR__EXPIRY_HEAD + key->mv_size;
}
