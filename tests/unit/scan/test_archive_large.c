/* Tests of what archive.h does with archives that are large: those that are mapped, and those in
 * others that have to be sought in. And of where the decoders' program is looked for. */
#include "archive_help.h"

#include <signal.h>

#include "archive_find.h"

#include "banned.h"

#define MIB (UINT64_C(1) << 20)

static int spill_open(void)
{
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        fd = open("spill", O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0600);
        unlink("spill");
    }
    CHECK(fd >= 0);
    return fd;
}

static off_t size_of(int fd)
{
    struct stat st;
    CHECK(fstat(fd, &st) == 0);
    return st.st_size;
}

/* A walker whose memory is too small for a member of 40 MB. */
static void start_small(int spill)
{
    help_start();
    help_options.memory_max = 128 * MIB;
    help_options.ratio_max = 100000;
    CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    weir__archive_walker_spill(help_walker, spill);
}

static const char make_nested[] =
    "rm -rf ./*; head -c 40000000 /dev/urandom > r; printf '" PLANTED "' > f; "
    "7z a -bd -mx=0 b.7z r f; zip -q0 c.zip r f; zip -q0 d.zip b.7z; "
    "tar -cf a b.7z c.zip f; tar -cf e d.zip; gzip -1 -c a > g.gz";

TEST(what_does_not_fit_is_spilled)
{
    help_start();
    if (!help_has("7z zip tar gzip"))
        return;
    CHECK(help_run(make_nested));
    start_small(-1);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 1 && was_told("a!b.7z", "nested archive too large to look into "
                                                     "without a temporary file"));
    CHECK_SHOW(!seen("a!b.7z!f"));
    int spill = spill_open();
    start_small(spill);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 0 && members_count == 5);
    CHECK_SHOW(seen("a!b.7z!f")->has_planted && seen("a!c.zip!f")->has_planted);
    CHECK_SHOW(seen("a!b.7z!r")->length == 40000000 && seen("a!b.7z!r")->is_complete);
    /* One after the other in the same place. */
    CHECK(size_of(spill) >= 40000000 && size_of(spill) < 60000000);
    CHECK_EQ(help_walk("g.gz"), 0);
    CHECK_SHOW(told_count == 0 && seen("g.gz!b.7z!f")->has_planted);
    /* One in the other: one above the other. */
    CHECK_EQ(help_walk("e"), 0);
    CHECK_SHOW(told_count == 0 && seen("e!d.zip!b.7z!f")->has_planted);
    CHECK(size_of(spill) > 80000000);
    help_start();
    close(spill);
}

TEST(a_spill_that_is_full)
{
    help_start();
    if (!help_has("7z zip tar gzip"))
        return;
    CHECK(help_run(make_nested));
    int spill = spill_open();
    help_start();
    help_options.memory_max = 128 * MIB;
    help_options.spill_bytes_max = 35 * MIB;
    CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    weir__archive_walker_spill(help_walker, spill);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 1 && was_told("a!b.7z", "nested archive too large to look into"));
    /* Its bytes came all the same, from the file and from behind. */
    CHECK_SHOW(seen("a!b.7z") && seen("a!b.7z")->length > 40000000 && seen("a!b.7z")->has_planted);
    CHECK_SHOW(seen("a!c.zip!f")->has_planted && seen("a!f"));
    CHECK(size_of(spill) <= (off_t)(35 * MIB));
    help_start();
    close(spill);
}

/* Broken, it is given as bytes, which come from the file. */
TEST(what_was_spilled_comes_again)
{
    help_start();
    if (!help_has("7z tar"))
        return;
    CHECK(help_run("rm -rf ./*; head -c 40000000 /dev/urandom > r; 7z a -bd -mx=0 b.7z r; "
                   "truncate -s -200 b.7z; printf '" PLANTED "' >> b.7z; head -c 300 /dev/zero >> "
                   "b.7z; tar -cf a b.7z"));
    int spill = spill_open();
    start_small(spill);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 1 && was_told("a!b.7z", "broken: "));
    CHECK_SHOW(seen("a!b.7z") && seen("a!b.7z")->has_planted && seen("a!b.7z")->length > 40000000);
    help_start();
    close(spill);
}

/* Mapped or not, the same comes out. */
TEST(mapped_archives)
{
    static const char *const names[] = {"a.tar", "a.tgz", "a.zip", "a.7z", "a.iso", "a.raw"};
    help_start();
    if (!help_has("7z zip tar gzip genisoimage"))
        return;
    CHECK(help_run(
        "rm -rf ./*; mkdir t; head -c 20000000 /dev/urandom > t/r; "
        "printf '" PLANTED "' > t/z; tar -cf a.tar -C t r z; tar -czf a.tgz -C t r z; "
        "(cd t; zip -q0 ../a.zip r z; 7z a -bd -mx=0 ../a.7z r z); "
        "genisoimage -quiet -R -o a.iso t; { printf '!<arch>\\n'; cat t/r t/z; } > a.raw"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t bytes[2];
        size_t members_of[2];
        for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
            help_start();
            help_options.map_from = is_mapped ? WEIR__ARCHIVE_MAP_FROM : UINT64_MAX;
            CHECK_EQ(help_walk(names[i]), 0);
            CHECK_SHOW(seen_planted() && seen_planted()->is_complete);
            bytes[is_mapped] = bytes_count;
            members_of[is_mapped] = members_count;
            CHECK_SHOW(bytes_count >= 20000000);
        }
        CHECK_EQ(bytes[0], bytes[1]);
        CHECK_EQ(members_of[0], members_of[1]);
    }
}

static unsigned cuts_left;

static int cut_file(void)
{
    if (cuts_left > 0) {
        cuts_left--;
        CHECK(truncate("a", 1000000) == 0);
    }
    return 0;
}

/* The child dies of it and nobody else; the rest is told, with or without a mapping. */
TEST(a_mapped_file_that_shrinks)
{
    help_start();
    CHECK(help_run("rm -rf ./*; head -c 6000000 /dev/urandom > 0; for i in 1 2 3 4; do cp 0 $i; "
                   "done; tar -cf b 0 1 2 3 4"));
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        help_start();
        help_options.map_from = is_mapped ? 1 : UINT64_MAX;
        CHECK(help_run("cp b a"));
        cuts_left = 1;
        on_bytes = cut_file;
        CHECK_EQ(help_walk("a"), 0);
        CHECK_SHOW(seen("a!0") && told_count > 0 && was_told(NULL, "broken: "));
        /* What was mapped was on its way into a page that is not there any more. */
        CHECK_EQ(help_walker->restarts_count, is_mapped);
        if (is_mapped && !WEIR__ARCHIVE_IS_SANITIZED)
            CHECK_EQ(help_walker->died_of, SIGBUS);
        on_bytes = NULL;
        CHECK_EQ(help_walk("b"), 0);
        CHECK_SHOW(told_count == 0 && members_count == 5);
    }
}

TEST(the_program_is_looked_for)
{
    struct weir__buffer path;
    char was[4096];
    help_start();
    snprintf(was, sizeof(was), "%s", getenv("WEIR_LIBEXEC"));
    CHECK_EQ(weir__archive_find(&path), 0);
    CHECK(strncmp(weir__buffer_text(&path), was, strlen(was)) == 0);
    weir__buffer_fini(&path);
    CHECK(help_run("rm -rf ./*; mkdir d e; : > d/weir-unpack; printf '" PLANTED "' > f; "
                   "tar -cf a f"));
    /* One that cannot be run is none, and what the user names is not looked for elsewhere. */
    static const char *const folders[] = {"no-such-folder", "d", "e", "a"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        setenv("WEIR_LIBEXEC", folders[i], 1);
        CHECK_EQ(weir__archive_find(&path), -WEIR_E_NOT_FOUND);
        weir__buffer_fini(&path);
        help_start();
        CHECK_EQ(help_walk("a"), -WEIR_E_NOT_FOUND);
        CHECK_EQ(members_count + told_count, 0);
    }
    /* One that is something else. */
    CHECK(help_run("printf '#!/bin/sh\\nexit 0\\n' > e/weir-unpack; chmod 755 e/weir-unpack"));
    setenv("WEIR_LIBEXEC", "e", 1);
    help_start();
    CHECK_EQ(help_walk("a"), -WEIR_E_EXHAUSTED);
    setenv("WEIR_LIBEXEC", was, 1);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(seen("a!f")->has_planted);
}

ARCHIVE_MAIN()
