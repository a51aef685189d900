/* treegen_parts.c - the fixed parts of a generated tree: each known trap once, with a name that
 * tells which it is. */
#include "treegen.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "banned.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *const odd_names[] = {
    "new\nline",
    "\n",
    "-rf",
    "--delete",
    "-",
    " ",
    " begins",
    "ends ",
    "tab\t",
    "\r",
    "*",
    "?",
    "[a-z]",
    "[",
    "{a,b}",
    "back\\slash",
    "\\",
    "\\n",
    "'",
    "\"",
    "$HOME",
    "`id`",
    "$(id)",
    ";",
    "&",
    "|",
    "#comment",
    "~",
    "!",
    "...",
    "..a",
    ".hidden",
    "a:b",
    "host:path",
    "::module",
    "\x01\x02\x7f",
    "\xff\xfe",
    "\xc3\x28",
    "\xed\xa0\x80",
    "caf\xc3\xa9",
    "cafe\xcc\x81",
    "\xe2\x80\xaertl",
    "\x1b[31mred",
    "%s%n",
    "%2F",
    "name.tmp",
    ".name.AbC123",
    "a,b",
    "=",
    "+ rule",
    "- rule",
    "core",
    "lost+found",
};

size_t odd_names_count(void)
{
    return COUNT(odd_names);
}

const char *random_name(void)
{
    static char name[NAME_MAX + 1];
    if (random_one_in(3)) {
        const char *odd = odd_names[random_below(COUNT(odd_names))];
        snprintf(name, sizeof(name), "%s%u", odd, (unsigned)random_below(100000));
        return name;
    }
    size_t length = random_one_in(10) ? NAME_MAX : 4 + (size_t)random_below(28);
    bool is_wild = random_one_in(3);
    for (size_t i = 0; i < length; i++) {
        unsigned char c =
            is_wild ? (unsigned char)(1 + random_below(255))
                    : (unsigned char)("abcdefghijklmnopqrstuvwxyz0123456789._-"[random_below(39)]);
        name[i] = (char)(c == '/' ? '_' : c);
    }
    name[length] = '\0';
    return name;
}

void section_names(const char *dir)
{
    for (size_t i = 0; i < COUNT(odd_names); i++) {
        make_directory(path_of("%s/%zu", dir, i), plain_meta(0755));
        make_random_file(path_of("%s/%zu/%s", dir, i, odd_names[i]), plain_meta(0644), 100 + i);
        make_directory(path_of("%s/%s", dir, odd_names[i]), plain_meta(0755));
        make_random_file(path_of("%s/%s/%s", dir, odd_names[i], odd_names[i]), plain_meta(0644), i);
        make_symlink(path_of("%s/%s/to", dir, odd_names[i]), plain_meta(0), odd_names[i]);
    }
    char longest[NAME_MAX + 1];
    memset(longest, 'n', NAME_MAX);
    longest[NAME_MAX] = '\0';
    make_random_file(path_of("%s/%s", dir, longest), plain_meta(0644), 255);
    memset(longest, 0xfe, NAME_MAX);
    make_directory(path_of("%s/%s", dir, longest), plain_meta(0755));
    make_random_file(path_of("%s/%s/%s", dir, longest, longest), plain_meta(0600), 510);
    memset(longest, '*', NAME_MAX);
    make_symlink(path_of("%s/%s", dir, longest), plain_meta(0), longest);
    memset(longest, 'f', NAME_MAX);
    make_node(path_of("%s/%s", dir, longest), plain_meta(0644), S_IFIFO, 0);
}

void section_types(const char *dir)
{
    make_file(path_of("%s/file", dir), plain_meta(0644), "file\n", 5);
    make_directory(path_of("%s/empty", dir), plain_meta(0755));
    make_symlink(path_of("%s/symlink", dir), plain_meta(0), "file");
    make_node(path_of("%s/fifo", dir), plain_meta(0640), S_IFIFO, 0);
    make_node(path_of("%s/fifo-none", dir), plain_meta(0000), S_IFIFO, 0);
    make_node(path_of("%s/socket", dir), plain_meta(0755), S_IFSOCK, 0);
    static const unsigned devices[][2] = {{1, 3},     {0, 0},          {5, 1},
                                          {255, 255}, {4095, 1048575}, {10, 256}};
    for (size_t i = 0; i < COUNT(devices); i++) {
        dev_t device = makedev(devices[i][0], devices[i][1]);
        make_node(path_of("%s/char-%zu", dir, i), random_meta(S_IFCHR), S_IFCHR, device);
        make_node(path_of("%s/block-%zu", dir, i), random_meta(S_IFBLK), S_IFBLK, device);
    }
    for (size_t i = 0; i < 8; i++) {
        make_node(path_of("%s/fifo-%zu", dir, i), random_meta(S_IFIFO), S_IFIFO, 0);
        make_node(path_of("%s/socket-%zu", dir, i), random_meta(S_IFSOCK), S_IFSOCK, 0);
    }
}

void section_modes(const char *dir)
{
    static const mode_t modes[] = {0000,  0400,  0200,  0100,  0444,  0644,  0777,
                                   0111,  04755, 04644, 02755, 02644, 06755, 01644,
                                   01777, 07777, 0555,  0500,  0300};
    for (size_t i = 0; i < COUNT(modes); i++) {
        struct meta meta = plain_meta(modes[i]);
        make_random_file(path_of("%s/file-%04o", dir, modes[i]), meta, 50);
        make_directory(path_of("%s/dir-%04o", dir, modes[i]), meta);
        make_random_file(path_of("%s/dir-%04o/file", dir, modes[i]), plain_meta(0644), 60);
        make_directory(path_of("%s/dir-%04o/dir", dir, modes[i]), meta);
        if (!knobs.is_root || !knobs.wants_owners)
            continue;
        /* A change of owner takes setuid and setgid away: what copies must know the order. */
        meta.uid = 1000 + (uid_t)i;
        meta.gid = 2000 + (gid_t)i;
        make_random_file(path_of("%s/owned-%04o", dir, modes[i]), meta, 70);
        make_directory(path_of("%s/owned-dir-%04o", dir, modes[i]), meta);
    }
}

void section_times(const char *dir)
{
    static const int64_t seconds[] = {-2147483648, -2147483647, -1000000000, -86400,
                                      -1,          0,           1,           2147483647,
                                      2147483648,  4102444800,  4294967295,  4294967296};
    static const long nanos[] = {0, 1, 999, 123456789, 999999999};
    for (size_t i = 0; i < COUNT(seconds); i++) {
        for (size_t j = 0; j < COUNT(nanos); j++) {
            struct meta meta = plain_meta(0644);
            meta.mtime = (struct timespec){.tv_sec = seconds[i], .tv_nsec = nanos[j]};
            make_file(path_of("%s/file-%zu-%zu", dir, i, j), meta, "time", 4);
            make_symlink(path_of("%s/symlink-%zu-%zu", dir, i, j), meta, "nowhere");
            make_node(path_of("%s/fifo-%zu-%zu", dir, i, j), meta, S_IFIFO, 0);
            meta.mode = 0755;
            make_directory(path_of("%s/dir-%zu-%zu", dir, i, j), meta);
        }
        make_file(path_of("%s/dir-%zu-1/inside", dir, i), plain_meta(0644), "", 0);
    }
}

void section_sizes(const char *dir)
{
    static const uint64_t edges[] = {1,     512,    4096,   8192,   16384,
                                     65536, 131072, 262144, 524288, 1048576};
    make_random_file(path_of("%s/0", dir), plain_meta(0644), 0);
    for (size_t i = 0; i < COUNT(edges); i++)
        for (uint64_t size = edges[i] - 1; size <= edges[i] + 1; size++)
            if (size)
                make_random_file(path_of("%s/%zu-%llu", dir, i, (unsigned long long)size),
                                 random_one_in(2) ? plain_meta(0644) : random_meta(S_IFREG), size);
    if (knobs.large)
        make_random_file(path_of("%s/large", dir), plain_meta(0600), knobs.large);
    if (knobs.large > 1)
        make_random_file(path_of("%s/large-less", dir), plain_meta(0600), knobs.large / 2 - 1);
}

void section_links(const char *dir)
{
    for (unsigned i = 0; i < 5; i++)
        make_directory(path_of("%s/%u", dir, i), plain_meta(0755));
    const char *first = keep(path_of("%s/2/many", dir));
    make_random_file(first, plain_meta(0644), 5000);
    for (uint64_t i = 1; i < knobs.links; i++)
        if (!make_link(first,
                       path_of("%s/%u/many-%llu", dir, (unsigned)(i % 5), (unsigned long long)i)))
            break;
    for (unsigned i = 0; i < 40; i++) {
        const char *from = keep(path_of("%s/%u/group-%u", dir, i % 5, i));
        struct meta meta = random_meta(S_IFREG);
        make_random_file(from, meta, random_below(3) * 4096 + i);
        for (unsigned j = 0; j <= i % 4; j++)
            make_link(from, path_of("%s/%u/group-%u-%u", dir, (i + 3 * j) % 5, i, j));
    }
    static const struct {
        const char *name;
        mode_t type;
        unsigned device;
    } nodes[] = {{"fifo", S_IFIFO, 0},
                 {"socket", S_IFSOCK, 0},
                 {"char", S_IFCHR, 0x0103},
                 {"block", S_IFBLK, 0x0701}};
    for (size_t i = 0; i < COUNT(nodes); i++) {
        const char *from = keep(path_of("%s/4/%s", dir, nodes[i].name));
        make_node(from, random_meta(nodes[i].type), nodes[i].type, nodes[i].device);
        make_link(from, path_of("%s/0/%s-too", dir, nodes[i].name));
        make_link(from, path_of("%s/4/%s-three", dir, nodes[i].name));
    }
    const char *symlink_path = keep(path_of("%s/3/symlink", dir));
    make_symlink(symlink_path, random_meta(S_IFLNK), "../2/many");
    make_link(symlink_path, path_of("%s/1/symlink-too", dir));
    /* Same content and same times, yet not one file: they must not become one. */
    struct meta twin = plain_meta(0644);
    for (unsigned i = 0; i < 5; i++)
        make_file(path_of("%s/%u/twin", dir, i), twin, "twin", 4);
}

static void many_attributes(const char *path)
{
    char value[300];
    for (unsigned i = 0; i < 24; i++) {
        for (size_t j = 0; j < sizeof(value); j++)
            value[j] = (char)random_next();
        if (!put_attribute(path, path_of("user.number-%u", i), value, random_below(90)))
            break;
    }
}

void section_xattrs(const char *dir)
{
    static char value[60000], name[NAME_MAX + 1];
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = (char)random_next();
    snprintf(name, sizeof(name), "user.%0250d", 7);
    static const mode_t modes[] = {0644, 0444, 0400, 0755, 04755, 0000};
    for (size_t i = 0; i < COUNT(modes); i++) {
        struct meta meta = plain_meta(0600);
        const char *file = keep(path_of("%s/file-%04o", dir, modes[i]));
        make_random_file(file, meta, 30);
        put_attribute(file, "user.simple", "value", 5);
        put_attribute(file, "user.empty", "", 0);
        put_attribute(file, "user.zeros", "a\0b\0", 4);
        put_attribute(file, "user.\xff\n odd", "odd", 3);
        put_attribute(file, name, "x", 1);
        if (knobs.is_root)
            put_attribute(file, "trusted.root", "secret", 6);
        meta.mode = modes[i];
        put_meta(file, S_IFREG, meta);
    }
    const char *many = keep(path_of("%s/many", dir));
    make_random_file(many, plain_meta(0644), 10);
    many_attributes(many);
    const char *big = keep(path_of("%s/big", dir));
    make_random_file(big, plain_meta(0644), 10);
    for (size_t size = sizeof(value); size && !put_attribute(big, "user.big", value, size);)
        size /= 2;
    const char *inner = keep(path_of("%s/dir", dir));
    make_directory(inner, plain_meta(0555));
    put_attribute(inner, "user.of-dir", "dir", 3);
    make_file(path_of("%s/none", inner), plain_meta(0644), "none", 4);
    if (!knobs.is_root)
        return;
    struct meta meta = plain_meta(0755);
    for (unsigned i = 0; i < 3; i++) {
        meta.uid = meta.gid = knobs.wants_owners ? 1000 * i : 0;
        const char *able = keep(path_of("%s/capable-%u", dir, i));
        make_random_file(able, meta, 40);
        put_capability(able);
    }
    make_symlink(path_of("%s/symlink", dir), meta, "none");
    make_node(path_of("%s/fifo", dir), meta, S_IFIFO, 0);
    make_node(path_of("%s/char", dir), meta, S_IFCHR, makedev(1, 3));
    put_attribute(path_of("%s/symlink", dir), "trusted.of-symlink", "s", 1);
    put_attribute(path_of("%s/fifo", dir), "trusted.of-fifo", "f", 1);
    put_attribute(path_of("%s/char", dir), "trusted.of-device", "d", 1);
    put_attribute(inner, "trusted.of-dir", "t", 1);
}

void section_acls(const char *dir)
{
    static const unsigned rights[][3] = {{6, 4, 6}, {7, 7, 5}, {6, 6, 0}, {4, 2, 7}, {0, 4, 4}};
    for (size_t i = 0; i < COUNT(rights); i++) {
        unsigned owner = rights[i][0] | (knobs.is_readable ? 4 : 0);
        struct meta meta = plain_meta(0640);
        const char *file = keep(path_of("%s/file-%zu", dir, i));
        make_random_file(file, meta, 20);
        put_acl(file, owner, rights[i][1], rights[i][2], false);
        put_times(file, meta);

        meta.mode = 0750;
        const char *inner = keep(path_of("%s/dir-%zu", dir, i));
        make_directory(inner, meta);
        put_acl(inner, 7, rights[i][1], rights[i][2], true);
        /* What is made below inherits the default ACL; these shall have none, or another. */
        make_random_file(path_of("%s/bare", inner), plain_meta(0604), 20);
        drop_acl(path_of("%s/bare", inner));
        make_random_file(path_of("%s/inherited", inner), plain_meta(0640), 20);
        make_directory(path_of("%s/dir", inner), plain_meta(0700));
        drop_acl(path_of("%s/dir", inner));
        make_node(path_of("%s/fifo", inner), plain_meta(0600), S_IFIFO, 0);
        make_symlink(path_of("%s/symlink", inner), plain_meta(0), "bare");
    }
    struct meta meta = plain_meta((mode_t)-1);
    const char *both = keep(path_of("%s/both", dir));
    make_directory(both, meta);
    put_acl(both, 7, 5, 7, false);
    put_acl(both, 7, 1, 3, true);
}

void section_symlinks(const char *dir)
{
    static const char *const targets[] = {"nowhere",
                                          "/",
                                          "/nonexistent/absolute",
                                          ".",
                                          "..",
                                          "../types/file",
                                          "self",
                                          "dir",
                                          "dir/",
                                          "dir/../dir/file",
                                          "new\nline",
                                          "\xff\xfe",
                                          " ",
                                          "-rf",
                                          "a//b///c",
                                          "x"};
    make_directory(path_of("%s/dir", dir), plain_meta(0755));
    make_file(path_of("%s/dir/file", dir), plain_meta(0644), "behind", 6);
    make_symlink(path_of("%s/self", dir), plain_meta(0), "self");
    for (size_t i = 0; i < COUNT(targets); i++)
        make_symlink(path_of("%s/%zu", dir, i), random_meta(S_IFLNK), targets[i]);
    char target[PATH_MAX];
    static const size_t lengths[] = {59, 60, 61, 255, 1023, 1024, 4094, 4095};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        memset(target, 't', lengths[i]);
        target[lengths[i]] = '\0';
        /* xfs ends at 1023 bytes. */
        const char *path = path_of("%s/length-%zu", dir, lengths[i]);
        if (symlink(target, path) == 0)
            put_meta(path, S_IFLNK, plain_meta(0));
        else if (errno != ENAMETOOLONG)
            err(2, "cannot make the symlink '%s'", path);
    }
}

void section_wide(const char *dir)
{
    struct meta meta = plain_meta(0644);
    for (uint64_t i = 0; i < knobs.wide; i++)
        make_file(path_of("%s/%07llu", dir, (unsigned long long)i), meta, "wide", i % 16 ? 0 : 4);
}
