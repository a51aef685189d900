/* archive_name.c - how members are called. */
#include <stdio.h>
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define DIGEST_LENGTH 64u

int weir__archive_name_add(struct weir__archive_level *level, const char *name)
{
    static const char cut[] = "...";
    struct weir__buffer *path = &level->trip->path;
    size_t length = strnlen(name, WEIR__ARCHIVE_NAME_MAX + 1);
    bool is_cut = length > WEIR__ARCHIVE_NAME_MAX;
    weir__buffer_truncate(path, level->path_length);
    int error = level->path_length > 0 ? weir__buffer_putc(path, '!') : 0;
    if (!error)
        error = weir__buffer_append(path, name, is_cut ? WEIR__ARCHIVE_NAME_MAX - 3 : length);
    if (!error && is_cut)
        error = weir__buffer_puts(path, cut);
    return error;
}

static bool is_digest(const char *text)
{
    return strspn(text, "0123456789abcdef") == DIGEST_LENGTH;
}

/* Images by docker have ID/layer.tar, by podman DIGEST.tar, those of OCI blobs/sha256/DIGEST. What
 * docker calls its layer is no digest of it. */
static const char *digest_in(const char *name, const char **ret_scheme)
{
    static const char blobs[] = "blobs/sha256/";
    if (strncmp(name, "./", 2) == 0)
        name += 2;
    bool is_blob = strncmp(name, blobs, sizeof(blobs) - 1) == 0;
    if (is_blob)
        name += sizeof(blobs) - 1;
    if (!is_digest(name))
        return NULL;
    const char *behind = name + DIGEST_LENGTH;
    bool is_own = strcmp(behind, "/layer.tar") == 0;
    *ret_scheme = is_own ? "layer:" : "sha256:";
    if (is_blob)
        return *behind ? NULL : name;
    return is_own || strcmp(behind, ".tar") == 0 ? name : NULL;
}

void weir__archive_name_layer(struct weir__archive_level *level)
{
    char name[sizeof("sha256:") + DIGEST_LENGTH];
    const char *scheme = NULL;
    struct weir__buffer *path = &level->trip->path;
    size_t at = level->path_length ? level->path_length + 1 : 0;
    if (level->format->id != WEIR__ARCHIVE_TAR && level->format->way != WEIR__ARCHIVE_PACKED)
        return;
    const char *found = digest_in(weir__buffer_text(path) + at, &scheme);
    if (!found)
        return;
    snprintf(name, sizeof(name), "%s%.*s", scheme, (int)DIGEST_LENGTH, found);
    /* No longer than what was there: the path is whole or, without memory, ends early. */
    weir__buffer_truncate(path, at);
    if (weir__buffer_puts(path, name) != 0)
        level->trip->is_stopped = true;
}

/* The name of what a compressed stream holds: that of the stream without its ending. */
int weir__archive_name_unpacked(struct weir__archive_level *level)
{
    static const char *const endings[] = {".gz", ".xz", ".zst",  ".bz2", ".lz4",
                                          ".Z",  ".lz", ".lzma", ".gzip"};
    char name[WEIR__ARCHIVE_NAME_MAX + 1];
    const char *own =
        level->path_length > 0 ? weir__buffer_text(&level->trip->path) : level->trip->command->hint;
    size_t length = level->path_length > 0 ? level->path_length : strlen(own);
    size_t begin = length;
    while (begin > 0 && own[begin - 1] != '/' && own[begin - 1] != '!')
        begin--;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i]);
        if (length - begin <= ending || length - begin > WEIR__ARCHIVE_NAME_MAX ||
            memcmp(own + length - ending, endings[i], ending) != 0)
            continue;
        memcpy(name, own + begin, length - begin - ending);
        name[length - begin - ending] = '\0';
        return weir__archive_name_add(level, name);
    }
    return weir__archive_name_add(level, "data");
}
