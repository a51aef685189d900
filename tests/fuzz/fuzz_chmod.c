/* fuzz_chmod.c - any bytes as --chmod and --chown: reading them ends, stays in bounds and means one
 * thing.
 *
 * The input up to its first NUL is a --chmod. What must hold: a refusal names a problem; the type
 * of a file never changes; the list means what its items mean one after the other, however it is
 * cut at its commas (X looks back to the beginning, so lists with it are left out there); D and F
 * never touch what they do not name. The rest of the input is an owner; one without a letter is
 * never looked up, so that its meaning is known.
 */
#include "meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banned.h"

#define TEXT_MAX 4096

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_chmod: does not hold: %s\n", #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static const mode_t modes[] = {
    S_IFREG,        S_IFREG | 0644, S_IFREG | 0755,  S_IFREG | 07777, S_IFREG | 04711, S_IFDIR,
    S_IFDIR | 0755, S_IFDIR | 0640, S_IFDIR | 03777, S_IFCHR | 0620,  S_IFIFO | 0421,
};
#define MODES_COUNT (sizeof(modes) / sizeof(modes[0]))
#define UMASK       037

static struct weir__chmod *parse(const char *text)
{
    struct weir__chmod *chmod = NULL;
    const char *problem = NULL;
    int error = weir__chmod_new(&chmod, text, &problem);
    HOLDS(error == 0 || error == -WEIR_E_INVALID);
    HOLDS((error == 0) == (chmod != NULL));
    HOLDS((error != 0) == (problem != NULL && *problem));
    return chmod;
}

/* One item after the other, each in a list of its own and all in one that grows. */
static void cut(const struct weir__chmod *whole, char *text)
{
    mode_t expected[MODES_COUNT];
    struct weir__chmod *grown = NULL;
    const char *problem = NULL;
    memcpy(expected, modes, sizeof(modes));
    for (char *item = text, *comma; item; item = comma ? comma + 1 : NULL) {
        comma = strchr(item, ',');
        if (comma)
            *comma = '\0';
        struct weir__chmod *alone = parse(item);
        HOLDS(alone);
        for (size_t i = 0; i < MODES_COUNT; i++)
            expected[i] = weir__chmod_apply(alone, expected[i], UMASK);
        weir__chmod_free(alone);
        HOLDS((grown ? weir__chmod_add(grown, item, &problem)
                     : weir__chmod_new(&grown, item, &problem)) == 0);
    }
    for (size_t i = 0; i < MODES_COUNT; i++) {
        mode_t mode = weir__chmod_apply(whole, modes[i], UMASK);
        HOLDS(mode == expected[i]);
        HOLDS(mode == weir__chmod_apply(grown, modes[i], UMASK));
    }
    weir__chmod_free(grown);
}

static void try_chmod(char *text)
{
    struct weir__chmod *chmod = parse(text);
    if (!chmod)
        return;
    bool is_for_dirs = true, is_for_files = true;
    for (char *item = text; item; item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL) {
        size_t length = strcspn(item, ",");
        is_for_dirs = is_for_dirs && memchr(item, 'D', length);
        is_for_files = is_for_files && memchr(item, 'F', length);
    }
    for (size_t i = 0; i < MODES_COUNT; i++) {
        mode_t mode = weir__chmod_apply(chmod, modes[i], UMASK);
        HOLDS((mode & S_IFMT) == (modes[i] & S_IFMT));
        if (S_ISDIR(modes[i]) ? is_for_files : is_for_dirs)
            HOLDS(mode == modes[i]);
    }
    if (!strchr(text, 'X'))
        cut(chmod, text);
    weir__chmod_free(chmod);
}

static void try_chown(const char *text)
{
    bool has_uid = false, has_gid = false;
    uid_t uid = 0;
    gid_t gid = 0;
    const char *problem = NULL;
    if (text[strspn(text, "0123456789:")] != '\0')
        return;
    int error = weir__chown_parse(text, &has_uid, &uid, &has_gid, &gid, &problem);
    if (error) {
        HOLDS(problem && *problem && !has_uid && !has_gid);
        return;
    }
    HOLDS(has_uid || has_gid);
    HOLDS(has_uid == (*text != ':'));
    HOLDS(!has_uid || (uid != (uid_t)-1 && uid == strtoul(text, NULL, 10)));
    const char *colon = strchr(text, ':');
    HOLDS(has_gid == (colon && colon[1] != '\0'));
    HOLDS(!has_gid || (gid != (gid_t)-1 && gid == strtoul(colon + 1, NULL, 10)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1];
    if (size > TEXT_MAX)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    size_t length = strlen(text);
    if (length < size)
        try_chown(text + length + 1);
    try_chmod(text);
    return 0;
}
