/* versions.c - versions of a file, as one place. */
#include "versions.h"

#include <string.h>

#include "paths.h"

#include "banned.h"

/* Whether it is in another version of the file than the place before it, or in the same one when
 * that came back. */
static bool is_later(const struct weir__found_place *first, const struct weir__found_place *place)
{
    return first->object && place->object && strcmp(first->path, place->path) == 0 &&
           !weir__place_is_of(first, place->object, place->commit);
}

/* Ids are hashes: some digits of one are enough to count with. */
static uint32_t hash_of(const char *object)
{
    uint32_t hash = 1;
    for (size_t i = 0; i < 16 && object[i]; i++)
        hash = hash * 31 + (unsigned char)object[i];
    return hash;
}

void weir__versions_join(struct weir__found *found)
{
    struct weir__found_place *places = found->places;
    size_t kept = 0, first = 0;
    uint32_t last = 0; /* of the object that was counted last */
    for (size_t i = 0; i < found->places_count; i++) {
        struct weir__found_place place = places[i];
        if (kept > 0 && is_later(&places[first], &place)) {
            uint32_t object = hash_of(place.object);
            places[first].versions += object != last;
            last = object;
            weir__paths_join(&places[first], &place);
            weir__place_fini(&place);
            found->places_total--;
            continue;
        }
        bool is_new = kept == 0 || !place.object || !places[first].object ||
                      strcmp(places[first].path, place.path) != 0;
        places[kept] = place;
        if (is_new) {
            first = kept;
            last = place.object ? hash_of(place.object) : 0;
            places[first].versions = place.object != NULL;
        }
        kept++;
    }
    found->places_count = kept;
}
