/* beside.c - which places in containers are those of members. */
#include "beside.h"

#include <string.h>

#include "banned.h"

/* Whether the place is in something that the container holds. */
static bool is_inside(const struct weir__found_place *place, const char *container, size_t length)
{
    return strncmp(place->path, container, length) == 0 && place->path[length] == '!';
}

bool weir__beside_is_told(const struct weir__found *found, const struct weir__found_place *place)
{
    size_t length = strlen(place->path);
    for (size_t i = 0; place->is_beside && i < found->places_count; i++) {
        const struct weir__found_place *other = &found->places[i];
        if (is_inside(other, place->path, length) ||
            ((other->is_beside || other->is_around) && weir__place_compare(other, place) == 0))
            return true;
    }
    return false;
}

/* In order, what is inside of a container comes soon behind it: before that are only names which go
 * on with a byte below '!'. */
static bool is_told_later(const struct weir__found *found, size_t index)
{
    const struct weir__found_place *place = &found->places[index];
    size_t length = strlen(place->path);
    for (size_t i = index + 1; i < found->places_count; i++) {
        const char *path = found->places[i].path;
        if (is_inside(&found->places[i], place->path, length))
            return true;
        if (strncmp(path, place->path, length) != 0 || (unsigned char)path[length] > '!')
            return false;
    }
    return false;
}

/* Behind the last place of the same path. */
static size_t end_of_path(const struct weir__found *found, size_t from)
{
    size_t until = from + 1;
    while (until < found->places_count &&
           strcmp(found->places[until].path, found->places[from].path) == 0)
        until++;
    return until;
}

/* One path after the other, since many places of a secret may be in one file. */
void weir__beside_settle(struct weir__found *found)
{
    size_t kept = 0, count = found->places_count;
    for (size_t i = 0, until; i < count; i = until) {
        until = end_of_path(found, i);
        bool is_told = is_told_later(found, until - 1);
        for (size_t at = i; at < until; at++) {
            struct weir__found_place *place = &found->places[at];
            if (is_told && (place->is_beside || place->is_around)) {
                weir__place_fini(place);
                found->places_total--;
            } else {
                found->places[kept++] = *place;
            }
        }
    }
    found->places_count = kept;
}
