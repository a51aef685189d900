/* event.c - the itemised line of rsync: what was done, to what, and what about it differed.
 *
 *     YXcstpoguax    Y  > data moved, c made, h hard link, . metadata alone, * a message
 *                    X  f file, d directory, L symlink, D device, S fifo or socket
 *                    cstpoguax  one place for each thing that can differ: its letter, a dot when
 *                    it is the same, a plus in all places of something new
 *
 * Where nothing differs at all, dots say nothing and become blanks, as they do there.
 */
#include "event.h"

#include <string.h>

#include "banned.h"

/* In the order of the places, which begin after Y and X. */
static const struct {
    unsigned change;
    char letter;
} places[] = {
    {WEIR__CHANGE_CONTENT, 'c'}, {WEIR__CHANGE_SIZE, 's'},  {WEIR__CHANGE_TIME, 't'},
    {WEIR__CHANGE_MODE, 'p'},    {WEIR__CHANGE_OWNER, 'o'}, {WEIR__CHANGE_GROUP, 'g'},
    {WEIR__CHANGE_ATIME, 'u'},   {WEIR__CHANGE_ACL, 'a'},   {WEIR__CHANGE_XATTR, 'x'},
};

#define PLACES     (sizeof(places) / sizeof(places[0]))
#define PLACE_TIME 2

_Static_assert(2 + PLACES + 1 == WEIR__ITEMIZED_SIZE, "a place for each change, and the NUL");

void weir__copy_itemize(const struct weir__copy_event *event, char text[WEIR__ITEMIZED_SIZE])
{
    if (event->kind == WEIR__EVENT_DELETED || event->update == '*') {
        memcpy(text, "*deleting  ", WEIR__ITEMIZED_SIZE);
        return;
    }
    text[0] = event->update != '\0' ? event->update : '.';
    text[1] = event->type != '\0' ? event->type : 'f';
    bool differs = event->changes != 0;
    for (size_t i = 0; i < PLACES; i++) {
        char same = differs ? '.' : ' ';
        text[2 + i] = (event->changes & places[i].change) != 0 ? places[i].letter : same;
    }
    if ((event->changes & WEIR__CHANGE_TIME_NOW) != 0)
        text[2 + PLACE_TIME] = 'T';
    /* Data that moved with nothing else to tell (-I) keep their dots. */
    if (event->is_new)
        memset(text + 2, '+', PLACES);
    else if (!differs && (event->update == '>' || (event->update == 'c' && event->type != 'f')))
        memset(text + 2, '.', PLACES);
    text[2 + PLACES] = '\0';
}
