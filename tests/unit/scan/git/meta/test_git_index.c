/* test_git_index.c - the index, against git ls-files. */
#include "git_meta_help.h"

#include "index_file.h"
#include "refs_file.h"

static char why[WEIR__GIT_FLAW_MAX];

struct listing {
    struct lines lines;
    size_t id_size;
    unsigned intended, stop_at;
};

static int on_entry(void *arg, const struct weir__git_index_entry *entry)
{
    struct listing *listing = arg;
    char hex[WEIR__GIT_HEX_SIZE], *line;
    CHECK(asprintf(&line, "%06o %s %u\t%s", entry->mode,
                   weir__git_id_hex(&entry->id, listing->id_size, hex), entry->stage,
                   entry->path) > 0);
    CHECK_EQ(strlen(entry->path), entry->path_length);
    lines_add(&listing->lines, line);
    free(line);
    listing->intended += entry->is_intent_to_add;
    return listing->lines.count == listing->stop_at ? 77 : 0;
}

static int read_index(const char *gitdir, struct listing *listing)
{
    int fd;
    CHECK_EQ(weir__git_folder_open(gitdir, &fd), 0);
    int error = weir__git_index_read(fd, "index", listing->id_size, 0, on_entry, listing, why);
    close(fd);
    return error;
}

static unsigned check_index(const char *dir, size_t id_size, unsigned version)
{
    struct listing ours = {.id_size = id_size};
    char gitdir[256];
    snprintf(gitdir, sizeof(gitdir), "%s/.git", dir);
    int error = read_index(gitdir, &ours);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s: %d %s", dir, error, why);
    if (version) {
        char *said = heard("head -c 8 %s/index | od -An -tu1 -j7", gitdir);
        CHECK_EQ(strtoul(said, NULL, 10), version);
        free(said);
    }
    struct lines theirs = lines_of(heard("git -C %s ls-files -s -z | tr '\\0' '\\n'", dir));
    CHECK(theirs.count > 0);
    same_lines(dir, &ours.lines, &theirs);
    return ours.intended;
}

static void check_versions(const char *format, const char *dir, size_t id_size)
{
    meta_begin();
    sh("git init -q --object-format=%s %s && cd %s && mkdir -p a/b/c && for i in $(seq 50); do "
       "echo $i >a/f$i; echo $i >a/b/g$i; echo x$i >a/b/c/$(printf '%%0*d' $i $i); done; ln -s a "
       "l; "
       "chmod +x a/f1; git add .; n=$(printf '%%0200d' 1); long=$n; for i in $(seq 24); do "
       "long=$long/$n; done; git update-index --add --cacheinfo 100644,$(git hash-object -w a/f1),"
       "$long && git update-index --add --cacheinfo 100644,$(git hash-object -w a/f2),$long.x",
       format, dir, dir);
    check_index(dir, id_size, 2);
    sh("cd %s && echo n >new && git add -N new", dir);
    CHECK_EQ(check_index(dir, id_size, 3), 1);
    sh("cd %s && git update-index --index-version 4", dir);
    CHECK_EQ(check_index(dir, id_size, 4), 1);
    sh("cd %s && git update-index --skip-worktree a/f2 && git rm -q --cached a/f3 a/b/g7", dir);
    CHECK_EQ(check_index(dir, id_size, 4), 1);
}

TEST(all_versions)
{
    check_versions("sha1", "i1", 20);
}

TEST(all_versions_with_sha256)
{
    check_versions("sha256", "i256", 32);
}

TEST(a_split_index_is_put_together)
{
    meta_begin();
    for (unsigned version = 2; version <= 4; version += 2) {
        char dir[16];
        snprintf(dir, sizeof(dir), "split%u", version);
        sh("git init -q %s && cd %s && git config splitIndex.maxPercentChange 100 && "
           "for i in $(seq 300); do echo $i >f$i; done && git add . && "
           "git update-index --index-version %u && git update-index --split-index && "
           "ls .git/sharedindex.* >/dev/null",
           dir, dir, version);
        check_index(dir, 20, 0);
        /* Replaced, gone, and new ones; runs of all three. */
        sh("cd %s && for i in 1 2 3 100 150 299 300; do echo new$i >f$i; done && git add . && "
           "git rm -q --cached f7 f8 f9 f200 && for i in $(seq 130 140); do git rm -q --cached "
           "f$i; "
           "done; echo n >g && git add g && echo h >h && git add -N h",
           dir);
        CHECK_EQ(check_index(dir, 20, 0), 1);
        sh("cd %s && git rm -q -r --cached . && echo last >last && git add last", dir);
        check_index(dir, 20, 0);
    }
}

TEST(a_shared_file_that_is_missing_is_told)
{
    struct listing ours = {.id_size = 20};
    meta_begin();
    sh("git init -q lost && cd lost && echo 1 >f && git add f && git update-index --split-index && "
       "rm .git/sharedindex.*");
    CHECK_EQ(read_index("lost/.git", &ours), -WEIR_E_CORRUPT);
    CHECK_HAS(why, "sharedindex.");
    lines_free(&ours.lines);
}

TEST(conflicts_have_stages)
{
    meta_begin();
    sh("git init -q conflict && cd conflict && echo 1 >f && git add f && git commit -q -m 1 && "
       "git checkout -q -b side && echo 2 >f && git commit -q -a -m 2 && git checkout -q master && "
       "echo 3 >f && git commit -q -a -m 3 && ! git merge side >/dev/null");
    check_index("conflict", 20, 2);
}

TEST(a_sparse_index_has_folders)
{
    struct listing ours = {.id_size = 20};
    meta_begin();
    sh("git init -q sparse && cd sparse && mkdir -p in out/deep && echo 1 >in/a && echo 2 >out/b "
       "&& "
       "echo 3 >out/deep/c && git add . && git commit -q -m 1 && "
       "git sparse-checkout set --cone --sparse-index in");
    CHECK_EQ(read_index("sparse/.git", &ours), 0);
    bool has_folder = false;
    for (size_t i = 0; i < ours.lines.count; i++)
        has_folder |=
            strncmp(ours.lines.list[i], "040000 ", 7) == 0 && strstr(ours.lines.list[i], "\tout/");
    CHECK(has_folder);
    lines_free(&ours.lines);
}

TEST(no_index_is_not_found)
{
    struct listing ours = {.id_size = 20};
    meta_begin();
    sh("git init -q none");
    CHECK_EQ(read_index("none/.git", &ours), -WEIR_E_NOT_FOUND);
}

TEST(who_has_enough_may_say_so)
{
    struct listing ours = {.id_size = 20, .stop_at = 3};
    meta_begin();
    sh("git init -q enough && cd enough && for i in 1 2 3 4 5; do echo $i >$i; done && git add .");
    CHECK_EQ(read_index("enough/.git", &ours), 77);
    CHECK_EQ(ours.lines.count, 3);
    lines_free(&ours.lines);
}

/* Cut, and with each byte changed: an error or entries, and nothing beyond the end. */
TEST(any_bytes_will_do)
{
    meta_begin();
    for (unsigned version = 2; version <= 4; version++) {
        char dir[32], path[64];
        struct weir__buffer file;
        int fd;
        snprintf(dir, sizeof(dir), "any%u", version);
        snprintf(path, sizeof(path), "%s/.git", dir);
        sh("git init -q %s && cd %s && for i in 1 2 3; do echo $i >$i; done && git add . && "
           "git update-index --index-version %u",
           dir, dir, version);
        weir__buffer_init(&file, 1u << 20);
        CHECK_EQ(weir__git_folder_open(path, &fd), 0);
        CHECK_EQ(weir__git_file_read(fd, "index", &file), 0);
        close(fd);
        size_t length = weir__buffer_length(&file);
        for (size_t i = 0; i < length; i++) {
            char *exact = malloc(i ? i : 1), *changed = malloc(length);
            struct listing ours = {.id_size = 20};
            memcpy(exact, weir__buffer_text(&file), i);
            int error = weir__git_index_parse(exact, i, NULL, 20, on_entry, &ours, NULL, why);
            CHECK(error < 0 || i + 1 > 12 + 20);
            for (unsigned bit = 0; bit < 8; bit++) {
                memcpy(changed, weir__buffer_text(&file), length);
                changed[i] = (char)(changed[i] ^ 1 << bit);
                error =
                    weir__git_index_parse(changed, length, NULL, 20, on_entry, &ours, NULL, why);
                CHECK(error <= 0);
            }
            lines_free(&ours.lines);
            free(exact);
            free(changed);
        }
        weir__buffer_fini(&file);
    }
}

TAP_MAIN()
