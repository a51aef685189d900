/* masks.c - chains of masks, by a hash of what has no asterisks in it. */
#include "masks.h"

#include <inttypes.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "buffer.h"

#include "banned.h"

#define HEADS          4096u
#define NAME_MAX_BYTES (16u << 20)

struct weir__mask {
    struct weir__mask *next;
    size_t length;
    char text[];
};

void weir__masks_fini(struct weir__masks *masks)
{
    for (size_t i = 0; masks->_heads && i < HEADS; i++)
        for (struct weir__mask *mask = masks->_heads[i]; mask;) {
            struct weir__mask *next = mask->next;
            weir__base_free(mask);
            mask = next;
        }
    weir__base_free(masks->_heads);
    *masks = (struct weir__masks){0};
}

bool weir__mask_is_one(const char *text, size_t length)
{
    static const char stars[] = "********";
    _Static_assert(sizeof(stars) - 1 == WEIR__MASK_STARS, "as the header says");
    return memmem(text, length, stars, sizeof(stars) - 1) != NULL;
}

/* Of the length, and of all from the last colon but one on: rule and line. */
static size_t head_of(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ length;
    size_t at = length;
    for (unsigned colons = 0; at > 0 && colons < 2; at--)
        colons += text[at - 1] == ':';
    for (; at < length; at++)
        hash = (hash ^ (unsigned char)text[at]) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ hash >> 32) % HEADS;
}

int weir__masks_add(struct weir__masks *masks, const char *text, size_t length)
{
    if (masks->_count == WEIR__MASKS_MAX || length > WEIR__MASKS_BYTES - masks->_bytes)
        return -WEIR_E_TOO_LARGE;
    if (!masks->_heads)
        masks->_heads = weir__base_alloc(HEADS, sizeof(masks->_heads[0]));
    struct weir__mask *mask = weir__base_alloc(1, sizeof(*mask) + length);
    if (!masks->_heads || !mask) {
        weir__base_free(mask);
        return -WEIR_E_NO_MEMORY;
    }
    struct weir__mask **head = &masks->_heads[head_of(text, length)];
    mask->length = length;
    memcpy(mask->text, text, length);
    mask->next = *head;
    *head = mask;
    masks->_count++;
    masks->_bytes += length;
    return 0;
}

static bool fits(const struct weir__mask *mask, const char *name, size_t length)
{
    if (mask->length != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (mask->text[i] != name[i] && mask->text[i] != '*')
            return false;
    return true;
}

bool weir__masks_has(const struct weir__masks *masks, const char *commit, const char *path,
                     const char *rule, uint64_t line)
{
    struct weir__buffer buffer;
    bool is_found = false;
    if (masks->_count == 0)
        return false;
    weir__buffer_init(&buffer, NAME_MAX_BYTES);
    if (weir__buffer_printf(&buffer, "%s%s%s:%s:%" PRIu64, commit ? commit : "", commit ? ":" : "",
                            path, rule, line) == 0) {
        const char *name = weir__buffer_text(&buffer);
        size_t length = weir__buffer_length(&buffer);
        const struct weir__mask *mask = masks->_heads[head_of(name, length)];
        for (unsigned i = 0; mask && i < WEIR__MASKS_TRIES && !is_found; i++, mask = mask->next)
            is_found = fits(mask, name, length);
    }
    weir__buffer_fini(&buffer);
    return is_found;
}
