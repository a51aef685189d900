/* treegen.c - makes a tree of everything that a copy can get wrong; the same for the same seed.
 *
 *     treegen [--seed N] [--only PART,...] [--without PART,...] [--entries N] [--depth N]
 *             [--links N] [--wide N] [--sparse SIZE] [--large SIZE] [--readable] [--no-owners] DIR
 *
 * DIR is made and must not exist. The fixed parts hold each known trap once; the part "random"
 * combines them by the seed. What needs root is left out for others; what the file system cannot
 * hold is left out with a note on standard error. --readable leaves out what its own owner could
 * not read, for copies by an ordinary user.
 *
 * Nothing of the product is used here, for the reason that treecmp.c gives.
 */
#include "treegen.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "banned.h"

struct knobs knobs = {
    .seed = 1,
    .entries = 400,
    .depth = 250,
    .links = 40,
    .wide = 500,
    .sparse = UINT64_C(64) << 20,
    .wants_owners = true,
};

static struct {
    const char *name;
    void (*make)(const char *dir);
    bool is_wanted;
} parts[] = {
    {"names", section_names, true},   {"types", section_types, true},
    {"modes", section_modes, true},   {"times", section_times, true},
    {"sizes", section_sizes, true},   {"sparse", section_sparse, true},
    {"links", section_links, true},   {"xattrs", section_xattrs, true},
    {"acls", section_acls, true},     {"symlinks", section_symlinks, true},
    {"deep", section_deep, true},     {"wide", section_wide, true},
    {"random", section_random, true},
};
#define PARTS_COUNT (sizeof(parts) / sizeof(parts[0]))

static void want(const char *list, bool is_only)
{
    for (size_t i = 0; i < PARTS_COUNT && is_only; i++)
        parts[i].is_wanted = false;
    for (const char *p = list; *p;) {
        size_t length = strcspn(p, ","), found = PARTS_COUNT;
        for (size_t i = 0; i < PARTS_COUNT; i++)
            if (strlen(parts[i].name) == length && memcmp(parts[i].name, p, length) == 0)
                found = i;
        if (found == PARTS_COUNT)
            errx(2, "there is no part '%.*s'", (int)length, p);
        parts[found].is_wanted = is_only;
        p += length + (p[length] == ',');
    }
}

static uint64_t parse_number(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    static const char units[] = "KMGT";
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (errno || end == text || (*end && !unit) || (unit && end[1]) || value > UINT64_MAX >> shift)
        errx(2, "'%s' is not a number", text);
    return value << shift;
}

static const struct {
    const char *name;
    uint64_t *value;
} numbers[] = {
    {"--seed", &knobs.seed},   {"--entries", &knobs.entries}, {"--depth", &knobs.depth},
    {"--links", &knobs.links}, {"--wide", &knobs.wide},       {"--sparse", &knobs.sparse},
    {"--large", &knobs.large},
};
#define NUMBERS_COUNT (sizeof(numbers) / sizeof(numbers[0]))

static void usage(void)
{
    fputs("usage: treegen [--seed N] [--only PART,...] [--without PART,...] [--entries N]"
          " [--depth N] [--links N]\n       [--wide N] [--sparse SIZE] [--large SIZE] [--readable]"
          " [--no-owners] DIR\nparts:",
          stderr);
    for (size_t i = 0; i < PARTS_COUNT; i++)
        fprintf(stderr, " %s", parts[i].name);
    fputc('\n', stderr);
    exit(2);
}

static const char *parse(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        size_t i = 0;
        bool has_value = at + 1 < argc;
        while (i < NUMBERS_COUNT && strcmp(argv[at], numbers[i].name) != 0)
            i++;
        if (i < NUMBERS_COUNT && has_value)
            *numbers[i].value = parse_number(argv[++at]);
        else if (strcmp(argv[at], "--only") == 0 && has_value)
            want(argv[++at], true);
        else if (strcmp(argv[at], "--without") == 0 && has_value)
            want(argv[++at], false);
        else if (strcmp(argv[at], "--readable") == 0)
            knobs.is_readable = true;
        else if (strcmp(argv[at], "--no-owners") == 0)
            knobs.wants_owners = false;
        else
            usage();
    }
    if (argc - at != 1)
        usage();
    return argv[at];
}

int main(int argc, char **argv)
{
    const char *root = parse(argc, argv);
    knobs.is_root = geteuid() == 0;
    umask(0);
    if (mkdir(root, 0700) != 0 || chdir(root) != 0)
        err(2, "cannot make '%s'", root);
    for (size_t i = 0; i < PARTS_COUNT; i++) {
        if (!parts[i].is_wanted)
            continue;
        make_directory(parts[i].name, plain_meta(0755));
        parts[i].make(parts[i].name);
    }
    finish_directories();
    /* The root, whose name nobody chose, has times of its own as well. */
    struct meta meta = plain_meta(0751);
    put_meta(".", S_IFDIR, meta);
    return 0;
}
