/* engine_stamp.c - runs while Weir is built: names the engine by its sources.
 *
 *     engine-stamp OUT.h OUT.d FOLDER
 *
 * A compiled engine that is kept in a cache fits the program that made it. So its name has a hash
 * of every source and header of the engine in it: whatever changes there, nothing that an earlier
 * program left is found. OUT.d tells the build which files those were.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "hash.h"

#include "banned.h"

#define PATH_SIZE 4096

static int is_source(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 2 && (strcmp(entry->d_name + length - 2, ".c") == 0 ||
                          strcmp(entry->d_name + length - 2, ".h") == 0);
}

/* Its name and its bytes. */
static int add_file(struct weir__hash *hash, const char *path, const char *name)
{
    char block[65536];
    FILE *file = fopen(path, "re");
    size_t count;
    if (!file)
        return -WEIR_E_NOT_FOUND;
    weir__hash_update(hash, name, strlen(name) + 1);
    while ((count = fread(block, 1, sizeof(block), file)) > 0)
        weir__hash_update(hash, block, count);
    int result = ferror(file) ? -WEIR_E_IO : 0;
    fclose(file);
    return result;
}

static int stamp(const char *folder, FILE *list, struct weir__hash *hash)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_source, alphasort);
    int result = count > 0 ? 0 : -WEIR_E_NOT_FOUND;
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (result == 0 && (length < 0 || length >= PATH_SIZE))
            result = -WEIR_E_OVERFLOW;
        if (result == 0)
            result = add_file(hash, path, entries[i]->d_name);
        fprintf(list, " %s", path);
        weir__base_free(entries[i]); /* of the same malloc */
    }
    weir__base_free(entries);
    return result;
}

static int print(const char *path, const struct weir__hash *hash)
{
    unsigned char digest[WEIR__HASH_SIZE];
    FILE *out = fopen(path, "we");
    if (!out)
        return -WEIR_E_IO;
    weir__hash_final(hash, digest);
    fputs("/* Made by engine-stamp. */\n#define WEIR__ENGINE_STAMP \"weir engine ", out);
    for (size_t i = 0; i < sizeof(digest); i++)
        fprintf(out, "%02x", digest[i]);
    fputs("\"\n", out);
    bool is_bad = ferror(out);
    return fclose(out) != 0 || is_bad ? -WEIR_E_IO : 0;
}

int main(int argc, char **argv)
{
    struct weir__hash hash;
    FILE *list = argc == 4 ? fopen(argv[2], "we") : NULL;
    int result = list ? 0 : argc == 4 ? -WEIR_E_IO : -WEIR_E_USAGE;
    weir__hash_init(&hash);
    if (list) {
        fprintf(list, "%s:", argv[1]);
        result = stamp(argv[3], list, &hash);
        fputs("\n", list);
        if (fclose(list) != 0 && result == 0)
            result = -WEIR_E_IO;
    }
    if (result == 0)
        result = print(argv[1], &hash);
    if (result < 0)
        fprintf(stderr, "engine-stamp: %s\n", weir_error_text(result));
    return weir_error_exit(result);
}
