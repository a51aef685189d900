/* recent.c - two tables in which each has one place. */
#include "recent.h"

#include <string.h>

#include "banned.h"

static size_t spread(uint64_t bits, size_t slots)
{
    bits *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(bits >> 32) % slots;
}

/* Up to eight bytes. */
static uint64_t bits_of(const char *bytes, size_t length)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, length < sizeof(bits) ? length : sizeof(bits));
    return bits;
}

/* By its ends: what is in between is compared. */
static size_t slot_of(const struct weir__finding *finding)
{
    size_t length = finding->secret_length, tail = length < 8 ? length : 8;
    uint64_t first = bits_of(finding->secret, length),
             last = bits_of(finding->secret + length - tail, tail);
    uint64_t rule = (uint64_t)(uintptr_t)finding->rule;
    return spread(first ^ last << 7 ^ last >> 57 ^ rule << 3 ^ length, WEIR__RECENT_SECRETS);
}

void weir__recent_object(struct weir__recent *recent, const char *path, const char *commit,
                         struct weir__digest *ret_digest)
{
    const char *of = commit ? commit : "";
    size_t length = strlen(path), of_length = strlen(of), tail = length < 8 ? length : 8;
    uint64_t last = bits_of(path + length - tail, tail);
    struct weir__recent_object *object =
        &recent->_objects[spread(last ^ length, WEIR__RECENT_OBJECTS)];
    if (object->is_set && strcmp(object->path, path) == 0 && strcmp(object->commit, of) == 0) {
        *ret_digest = object->digest;
        return;
    }
    weir__object_digest(path, commit, ret_digest);
    if (length >= sizeof(object->path) || of_length >= sizeof(object->commit))
        return;
    memcpy(object->path, path, length + 1);
    memcpy(object->commit, of, of_length + 1);
    object->digest = *ret_digest;
    object->is_set = true;
}

struct weir__record *weir__recent_find(const struct weir__recent *recent,
                                       const struct weir__finding *finding, struct weir__ends ends)
{
    const struct weir__recent_secret *secret = &recent->_secrets[slot_of(finding)];
    bool is_it = secret->rule == finding->rule && secret->length == finding->secret_length &&
                 secret->ends.first == ends.first && secret->ends.last == ends.last &&
                 memcmp(secret->bytes, finding->secret, secret->length) == 0;
    return is_it ? secret->record : NULL;
}

void weir__recent_keep(struct weir__recent *recent, const struct weir__finding *finding,
                       struct weir__ends ends, struct weir__record *record)
{
    struct weir__recent_secret *secret = &recent->_secrets[slot_of(finding)];
    if (finding->secret_length > sizeof(secret->bytes))
        return;
    secret->rule = finding->rule;
    secret->record = record;
    secret->ends = ends;
    secret->length = finding->secret_length;
    memcpy(secret->bytes, finding->secret, finding->secret_length);
}

void weir__recent_forget(struct weir__recent *recent)
{
    explicit_bzero(recent, sizeof(*recent));
}
