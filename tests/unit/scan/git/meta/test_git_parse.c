/* test_git_parse.c - commits, tags and trees, against git and against those who mean no good. */
#include "git_meta_help.h"

#include "message.h"
#include "tag_object.h"
#include "tree_entry.h"

#define TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
#define GOOD                                                                                       \
    "tree " TREE "\nparent " TREE "\nparent " TREE "\nauthor A B <a@b> 12 +0130\n"                 \
    "committer C <c> 13 -0100\nencoding latin1\ngpgsig x\n y\n z\n\nhello\nworld\n"

static char why[WEIR__GIT_FLAW_MAX];

static void check_range(const char *bytes, struct weir__git_range range, const char *wanted)
{
    char text[256];
    CHECK(range.length < sizeof(text));
    memcpy(text, bytes + range.offset, range.length);
    text[range.length] = '\0';
    CHECK_STR(text, wanted);
}

TEST(a_commit_is_taken_apart)
{
    struct weir__git_commit commit;
    CHECK_EQ(weir__git_commit_parse(&commit, GOOD, strlen(GOOD), 20, why), 0);
    struct weir__git_id id = id_of(TREE, 20), parent = weir__git_commit_parent(&commit, 1);
    CHECK(weir__git_id_is_equal(&commit.tree, &id) && weir__git_id_is_equal(&parent, &id));
    CHECK_EQ(commit.parents_count, 2);
    check_range(GOOD, commit.author.name, "A B");
    check_range(GOOD, commit.author.mail, "a@b");
    CHECK(commit.author.has_time && commit.author.time == 12);
    CHECK_EQ(commit.author.zone_minutes, 90);
    CHECK_EQ(commit.committer.zone_minutes, -60);
    CHECK_EQ(commit.committer.time, 13);
    check_range(GOOD, commit.encoding, "latin1");
    check_range(GOOD, commit.message, "hello\nworld\n");
    char date[WEIR__GIT_DATE_SIZE];
    CHECK_STR(weir__git_person_date(&commit.author, date), "1970-01-01T01:30:12+01:30");
    CHECK_STR(weir__git_person_date(&commit.committer, date), "1969-12-31T23:00:13-01:00");
}

/* Cut anywhere: an error or the same links, and nothing beyond the end is read. */
TEST(a_commit_may_be_cut_anywhere)
{
    const size_t least = (size_t)(strstr(GOOD, "committer") - GOOD) + strlen("committer");
    for (size_t length = 0; length <= strlen(GOOD); length++) {
        struct weir__git_commit commit = {0}, links = {0};
        char *exact = malloc(length ? length : 1);
        memcpy(exact, GOOD, length);
        int error = weir__git_commit_parse(&commit, exact, length, 20, why);
        CHECK(error == 0 || error == -WEIR_E_CORRUPT);
        CHECK_EQ(weir__git_commit_parse_links(&links, exact, length, 20, why), error);
        if (error == 0)
            CHECK(links.parents_count == commit.parents_count &&
                  links.committer.time == commit.committer.time);
        CHECK_EQ(error, length >= least ? 0 : -WEIR_E_CORRUPT);
        free(exact);
    }
}

TEST(bad_commits_are_refused_by_line)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "line 1"},
        {"tree 12\n", "line 1"},
        {"tree " TREE "x\n", "line 1"},
        {"tree zz825dc642cb6eb9a060e54bf8d69288fbee4904\n", "line 1"},
        {"tree " TREE "\nparent 12\nauthor a\ncommitter c\n", "line 2"},
        {"tree " TREE "\nparent " TREE "\nparent x\nauthor a\n", "line 3"},
        {"tree " TREE "\ncommitter c\n", "no 'author'"},
        {"tree " TREE "\nauthor a\n\nx", "no 'committer'"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weir__git_commit commit;
        CHECK_EQ(weir__git_commit_parse(&commit, bad[i].text, strlen(bad[i].text), 20, why),
                 -WEIR_E_CORRUPT);
        CHECK_HAS(why, bad[i].why);
    }
}

TEST(people_may_be_odd)
{
    static const struct {
        const char *value, *name, *mail;
        int64_t time;
        int zone;
        bool has_time;
    } odd[] = {
        {"A <b> 5 +0000", "A", "b", 5, 0, true},
        {"", "", "", 0, 0, false},
        {"A", "A", "", 0, 0, false},
        {"<b> 5", "", "b", 5, 0, true},
        {"A <b", "A", "", 0, 0, false},
        {"A <b<c>> 5 -1200", "A", "b<c", 5, -720, true},
        {"A <b> -5 +0100", "A", "b", -5, 60, true},
        {"A <b> x", "A", "b", 0, 0, false},
        {"A <b> 99999999999999999999 +0000", "A", "b", 0, 0, false},
        {"A <b> 5 +99999999", "A", "b", 5, 0, true},
        {"A <b> 5 nonsense", "A", "b", 5, 0, true},
        {"> 5 +0000", ">", "", 5, 0, true},
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct weir__git_person person;
        struct weir__git_range value = {0, strlen(odd[i].value)};
        weir__git_person_parse(&person, odd[i].value, &value);
        check_range(odd[i].value, person.name, odd[i].name);
        check_range(odd[i].value, person.mail, odd[i].mail);
        CHECK_EQ(person.time, odd[i].time);
        CHECK_EQ(person.zone_minutes, odd[i].zone);
        CHECK_EQ(person.has_time, odd[i].has_time);
        char date[WEIR__GIT_DATE_SIZE];
        CHECK_EQ(weir__git_person_date(&person, date)[0] != '\0', odd[i].has_time);
    }
    struct weir__git_person far = {.has_time = true, .time = INT64_MAX};
    char date[WEIR__GIT_DATE_SIZE];
    CHECK_STR(weir__git_person_date(&far, date), "");
}

TEST(a_commit_may_have_a_million_parents)
{
    const size_t count = 1000000, line = 48;
    char *bytes = malloc(45 + 1 + count * line + 100);
    size_t at = (size_t)sprintf(bytes, "tree " TREE "\n");
    for (size_t i = 0; i < count; i++, at += line)
        memcpy(bytes + at, "parent " TREE "\n", line);
    at += (size_t)sprintf(bytes + at, "author a <b> 1 +0000\ncommitter c <d> 2 +0000\n\n");
    struct weir__git_commit commit;
    CHECK_EQ(weir__git_commit_parse(&commit, bytes, at, 20, why), 0);
    CHECK_EQ(commit.parents_count, count);
    struct weir__git_id last = weir__git_commit_parent(&commit, count - 1),
                        wanted = id_of(TREE, 20);
    CHECK(weir__git_id_is_equal(&last, &wanted));
    free(bytes);
}

#define TAG "object " TREE "\ntype tree\ntag v1\ntagger T <t@t> 7 +0000\n\nmessage\n"

TEST(a_tag_is_taken_apart)
{
    struct weir__git_tag tag;
    CHECK_EQ(weir__git_tag_parse(&tag, TAG, strlen(TAG), 20, why), 0);
    CHECK_EQ(tag.target_type, WEIR__GIT_TREE);
    check_range(TAG, tag.name, "v1");
    check_range(TAG, tag.tagger.mail, "t@t");
    check_range(TAG, tag.message, "message\n");
    for (size_t length = 0; length < strlen(TAG); length++) {
        char *exact = malloc(length ? length : 1);
        memcpy(exact, TAG, length);
        int error = weir__git_tag_parse(&tag, exact, length, 20, why);
        CHECK(error == 0 || error == -WEIR_E_CORRUPT);
        free(exact);
    }
    CHECK_EQ(weir__git_tag_parse(&tag, "object " TREE "\ntype thing\ntag x\n\n", 66, 20, why),
             -WEIR_E_CORRUPT);
    CHECK_HAS(why, "line 2");
}

/* A store in which every object is a tag of the next, and the last one of the first. */
static int get_ring(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                    struct weir__buffer *bytes)
{
    unsigned count = *(unsigned *)arg;
    struct weir__git_id next = *id;
    char hex[WEIR__GIT_HEX_SIZE];
    next.bytes[0] = (uint8_t)((id->bytes[0] + 1) % count);
    weir__buffer_truncate(bytes, 0);
    *ret_type = WEIR__GIT_TAG;
    return weir__buffer_printf(bytes, "object %s\ntype tag\ntag x\n\n",
                               weir__git_id_hex(&next, 20, hex));
}

TEST(tags_of_tags_end)
{
    struct weir__buffer bytes;
    struct weir__git_id id = {{0}}, found;
    enum weir__git_type type;
    weir__buffer_init(&bytes, 1000);
    for (unsigned count = 1; count < 200; count += 66) {
        CHECK_EQ(weir__git_peel(get_ring, &count, 20, &id, &found, &type, &bytes, why),
                 -WEIR_E_TOO_LARGE);
        CHECK_HAS(why, "more than 64 tags of tags");
    }
    weir__buffer_fini(&bytes);
}

TEST(trees_may_be_odd)
{
    /* A slash, dots, twice the same, out of order, a mode of nonsense: all are given. */
    static const char bytes[] = "100644 b/c\0AAAAAAAAAAAAAAAAAAAA40000 ..\0BBBBBBBBBBBBBBBBBBBB"
                                "100644 b/c\0CCCCCCCCCCCCCCCCCCCC7 /abs\0DDDDDDDDDDDDDDDDDDDD";
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    unsigned count = 0;
    weir__git_tree_init(&tree, bytes, sizeof(bytes) - 1, 20);
    while (weir__git_tree_next(&tree, &entry, why) > 0) {
        CHECK_EQ(entry.id.bytes[19], 'A' + count);
        count++;
    }
    CHECK_EQ(count, 4);
    CHECK(entry.mode == 7 && entry.name_length == 4 && memcmp(entry.name, "/abs", 4) == 0);
    for (size_t length = 0; length < sizeof(bytes) - 1; length++) {
        char *exact = malloc(length ? length : 1);
        int result;
        memcpy(exact, bytes, length);
        weir__git_tree_init(&tree, exact, length, 20);
        while ((result = weir__git_tree_next(&tree, &entry, why)) > 0)
            ;
        if (result == 0)
            CHECK(length == 0 || length == 31 || length == 60 || length == 91);
        else
            CHECK_HAS(why, "entry ");
        CHECK_EQ(weir__git_tree_next(&tree, &entry, why), 0); /* it is over */
        free(exact);
    }
    static const char *const bad[] = {"x a", "100644", "99999999999 a", "9 a", "100644 ", " a"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        weir__git_tree_init(&tree, bad[i], strlen(bad[i]) + 1, 20);
        CHECK_EQ(weir__git_tree_next(&tree, &entry, why), -WEIR_E_CORRUPT);
        CHECK_HAS(why, "entry 1 at byte 0");
    }
}

TEST(a_name_may_not_be_empty)
{
    static const char bytes[] = "100644 \0AAAAAAAAAAAAAAAAAAAA100644 b\0BBBBBBBBBBBBBBBBBBBB";
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    weir__git_tree_init(&tree, bytes, sizeof(bytes) - 1, 20);
    CHECK_EQ(weir__git_tree_next(&tree, &entry, why), -WEIR_E_CORRUPT);
    CHECK_STR(why, "entry 1 at byte 0: the name is empty");
}

TEST(a_name_may_be_long)
{
    size_t length = 1u << 20;
    char *bytes = malloc(length + 64);
    memcpy(bytes, "100644 ", 7);
    memset(bytes + 7, 'n', length);
    memset(bytes + 7 + length, 0, 21);
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    weir__git_tree_init(&tree, bytes, length + 28, 20);
    CHECK_EQ(weir__git_tree_next(&tree, &entry, why), 1);
    CHECK_EQ(entry.name_length, length);
    CHECK_EQ(weir__git_tree_next(&tree, &entry, why), 0);
    free(bytes);
}

static void check_part(const char *bytes, struct weir__git_message *message, const char *wanted)
{
    struct weir__git_range part;
    if (!wanted) {
        CHECK_EQ(weir__git_message_next(message, &part), 0);
        return;
    }
    CHECK_EQ(weir__git_message_next(message, &part), 1);
    check_range(bytes, part, wanted);
}

TEST(messages_have_names_and_parts)
{
    static const char merge[] = "tree " TREE "\nauthor a\ncommitter b\nmergetag object x\n tag v\n"
                                " \n secret\ngpgsig abc\n def\n\nmessage";
    struct weir__git_message message;
    struct weir__git_id id = id_of(TREE, 20);
    char name[WEIR__GIT_MESSAGE_NAME_MAX];
    weir__git_message_init(&message, WEIR__GIT_COMMIT, merge, strlen(merge));
    check_part(merge, &message, "object x\n tag v\n \n secret");
    check_part(merge, &message, "message");
    check_part(merge, &message, NULL);
    weir__git_message_init(&message, WEIR__GIT_TAG, TAG, strlen(TAG));
    check_part(TAG, &message, "message\n");
    check_part(TAG, &message, NULL);
    weir__git_message_init(&message, WEIR__GIT_COMMIT, "no commit at all", 16);
    check_part("no commit at all", &message, "no commit at all");
    weir__git_message_init(&message, WEIR__GIT_COMMIT, "", 0);
    check_part("", &message, NULL);
    weir__git_message_name(WEIR__GIT_COMMIT, &id, 20, merge, strlen(merge), name);
    CHECK_STR(name, "commit:" TREE);
    weir__git_message_name(WEIR__GIT_TAG, &id, 20, TAG, strlen(TAG), name);
    CHECK_STR(name, "tag:v1");
    weir__git_message_name(WEIR__GIT_TAG, &id, 20, "broken", 6, name);
    CHECK_STR(name, "tag:" TREE);
    char *large = malloc(2000);
    int length = snprintf(large, 2000, "object " TREE "\ntype tree\ntag %0999d\n\nx", 7);
    weir__git_message_name(WEIR__GIT_TAG, &id, 20, large, (size_t)length, name);
    CHECK(strlen(name) == WEIR__GIT_MESSAGE_NAME_MAX - 1 && strstr(name, "..."));
    free(large);
}

static void check_header(const char *bytes, struct weir__git_message *message, const char *wanted)
{
    struct weir__git_range part;
    CHECK_EQ(weir__git_message_header(message, &part), wanted != NULL);
    if (wanted)
        check_range(bytes, part, wanted);
}

TEST(headers_are_parts_too)
{
    static const char merge[] = "tree " TREE "\nparent " TREE "\nauthor a\ncommitter b\n"
                                "mergetag object x\n tag v\nmergetag object y\n"
                                "gpgsig abc\n def\ntree " TREE "\n\nmessage";
    static const char odd[] = "tree ghp\nparent " TREE "\n\nmessage";
    static const char bare[] = "tree " TREE "\nparent " TREE;
    struct weir__git_message message;
    struct weir__git_range part;
    struct weir__git_id id = id_of(TREE, 20);
    char name[WEIR__GIT_MESSAGE_NAME_MAX];
    weir__git_message_init(&message, WEIR__GIT_COMMIT, merge, strlen(merge));
    CHECK_EQ(weir__git_message_next(&message, &part), 1); /* neither disturbs the other */
    check_header(merge, &message, "author a\ncommitter b\n");
    /* One that comes later may be anything. */
    check_header(merge, &message, "gpgsig abc\n def\ntree " TREE "\n");
    check_header(merge, &message, NULL);
    check_part(merge, &message, "object y");
    check_part(merge, &message, "message");
    check_header(merge, &message, NULL);
    weir__git_message_init(&message, WEIR__GIT_COMMIT, odd, strlen(odd));
    check_header(odd, &message, "tree ghp\nparent " TREE "\n");
    weir__git_message_init(&message, WEIR__GIT_COMMIT, bare, strlen(bare));
    check_header(bare, &message, NULL);
    weir__git_message_init(&message, WEIR__GIT_COMMIT, "no commit at all", 16);
    check_header("", &message, NULL);
    weir__git_message_init(&message, WEIR__GIT_TAG, TAG, strlen(TAG));
    CHECK_EQ(weir__git_message_header(&message, &part), 1);
    CHECK(part.offset == strlen("object " TREE "\n") &&
          memcmp(&TAG[part.offset], "type ", 5) == 0 && TAG[part.offset + part.length] == '\n');
    weir__git_header_name(WEIR__GIT_COMMIT, &id, 20, name);
    CHECK_STR(name, "commit-header:" TREE);
    weir__git_header_name(WEIR__GIT_TAG, &id, 20, name);
    CHECK_STR(name, "tag-header:" TREE);
}

/* --- against git --- */

static void check_commit(struct cat *cat, const char *dir, const char *hex)
{
    struct weir__git_id id = id_of(hex, cat->id_size);
    struct weir__buffer bytes;
    struct weir__git_commit c;
    enum weir__git_type type;
    char tree[WEIR__GIT_HEX_SIZE], parent[WEIR__GIT_HEX_SIZE], date[2][WEIR__GIT_DATE_SIZE];
    char ours[4096], parents[1024] = "";
    weir__buffer_init(&bytes, 1u << 20);
    CHECK_EQ(cat_get(cat, &id, &type, &bytes), 0);
    const char *text = weir__buffer_text(&bytes);
    CHECK_EQ(weir__git_commit_parse(&c, text, weir__buffer_length(&bytes), cat->id_size, why), 0);
    for (size_t i = 0; i < c.parents_count; i++) {
        struct weir__git_id p = weir__git_commit_parent(&c, i);
        size_t used = strlen(parents);
        snprintf(parents + used, sizeof(parents) - used, "%s%s", i ? " " : "",
                 weir__git_id_hex(&p, cat->id_size, parent));
    }
    snprintf(ours, sizeof(ours), "%s|%s|%.*s|%.*s|%lld|%s|%.*s|%.*s|%lld|%s|%.*s",
             weir__git_id_hex(&c.tree, cat->id_size, tree), parents, (int)c.author.name.length,
             text + c.author.name.offset, (int)c.author.mail.length, text + c.author.mail.offset,
             (long long)c.author.time, weir__git_person_date(&c.author, date[0]),
             (int)c.committer.name.length, text + c.committer.name.offset,
             (int)c.committer.mail.length, text + c.committer.mail.offset,
             (long long)c.committer.time, weir__git_person_date(&c.committer, date[1]),
             (int)c.message.length, text + c.message.offset);
    char *theirs = heard("git -C %s log --no-walk --encoding=none "
                         "--format='%%T|%%P|%%an|%%ae|%%at|%%aI|%%cn|%%ce|%%ct|%%cI|%%B' %s | "
                         "head -c -1",
                         dir, hex);
    CHECK_STR(ours, theirs);
    free(theirs);
    weir__buffer_fini(&bytes);
}

static void check_tree(struct cat *cat, const char *dir, const char *hex)
{
    struct weir__git_id id = id_of(hex, cat->id_size);
    struct weir__buffer bytes;
    struct weir__git_tree tree;
    struct weir__git_tree_entry entry;
    struct lines ours = {0},
                 theirs = lines_of(heard("git -C %s ls-tree -z %s | tr '\\0' '\\n'", dir, hex));
    enum weir__git_type type;
    char line[4096], name[WEIR__GIT_HEX_SIZE];
    weir__buffer_init(&bytes, 1u << 20);
    CHECK_EQ(cat_get(cat, &id, &type, &bytes), 0);
    weir__git_tree_init(&tree, weir__buffer_text(&bytes), weir__buffer_length(&bytes),
                        cat->id_size);
    while (weir__git_tree_next(&tree, &entry, why) > 0) {
        snprintf(line, sizeof(line), "%06o %s %s\t%.*s", entry.mode,
                 weir__git_mode_is_tree(entry.mode)        ? "tree"
                 : weir__git_mode_is_submodule(entry.mode) ? "commit"
                                                           : "blob",
                 weir__git_id_hex(&entry.id, cat->id_size, name), (int)entry.name_length,
                 entry.name);
        lines_add(&ours, line);
    }
    same_lines("tree", &ours, &theirs);
    weir__buffer_fini(&bytes);
}

TEST(everything_is_as_git_says)
{
    meta_begin();
    for (unsigned round = 0; round < 2; round++) {
        const char *format = round ? "sha256" : "sha1", *dir = round ? "p256" : "p1";
        size_t id_size = round ? 32 : 20;
        struct cat cat;
        sh("git init -q --object-format=%s %s && cd %s && mkdir d && echo a >a && echo b >d/b && "
           "ln -s a l && chmod +x a && git add . && git commit -q -m one && "
           "git -c user.name='Ümläut <x' -c i18n.commitEncoding=ISO-8859-1 commit -q "
           "--allow-empty -m $'two\\n\\nbody\\n' --date='2001-02-03T04:05:06-0730' && "
           "git checkout -q -b side HEAD~1 && echo c >c && git add c && git commit -q -m side && "
           "git checkout -q master && git merge -q --no-ff side -m merge && "
           "git tag -a -m 'tag message' v1 && git tag -a -m 'tag of tag' v2 v1",
           format, dir, dir);
        cat_begin(&cat, dir, id_size);
        struct lines commits = lines_of(heard("git -C %s rev-list --all", dir));
        CHECK_EQ(commits.count, 4);
        for (size_t i = 0; i < commits.count; i++) {
            char *tree = heard("git -C %s rev-parse %s^{tree}", dir, commits.list[i]);
            check_commit(&cat, dir, commits.list[i]);
            tree[2 * id_size] = '\0';
            check_tree(&cat, dir, tree);
            free(tree);
        }
        lines_free(&commits);
        struct weir__git_id tag = rev(dir, "v2", id_size), head = rev(dir, "HEAD", id_size), found;
        enum weir__git_type type;
        struct weir__buffer bytes;
        weir__buffer_init(&bytes, 1u << 20);
        CHECK_EQ(weir__git_peel(cat_get, &cat, id_size, &tag, &found, &type, &bytes, why), 0);
        CHECK(weir__git_id_is_equal(&found, &head) && type == WEIR__GIT_COMMIT);
        weir__buffer_fini(&bytes);
        cat_end(&cat);
    }
}

/* --- sets of ids --- */

TEST(a_set_numbers_its_ids)
{
    struct weir__git_set set;
    uint32_t number;
    weir__git_set_init(&set, 20, 8, 0);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 20000; i++) {
            struct weir__git_id id = {{0}};
            memcpy(id.bytes + 12, &i, sizeof(i)); /* the first bytes are all the same */
            CHECK_EQ(weir__git_set_add(&set, &id, &number), round == 0);
            CHECK_EQ(number, i);
            if (round == 0)
                *(uint32_t *)weir__git_set_extra(&set, i) = i * 3;
            CHECK_EQ(*(uint32_t *)weir__git_set_extra(&set, i), i * 3);
            struct weir__git_id back = weir__git_set_id(&set, i);
            CHECK(weir__git_id_is_equal(&back, &id));
        }
    }
    CHECK(weir__git_set_bytes(&set) <= weir__git_set_needs(20000, 20, 8));
    weir__git_set_clear(&set);
    struct weir__git_id id = {{0}};
    CHECK_EQ(weir__git_set_find(&set, &id), WEIR__GIT_SET_NONE);
    weir__git_set_fini(&set);
}

TEST(a_set_keeps_to_its_limit)
{
    struct weir__git_set set;
    uint32_t number, count = 0;
    const uint64_t most = weir__git_set_needs(10000, 32, 4);
    int result = 0;
    weir__git_set_init(&set, 32, 4, most);
    while (result >= 0) {
        struct weir__git_id id = {{0}};
        memcpy(id.bytes, &count, sizeof(count));
        result = weir__git_set_add(&set, &id, &number);
        CHECK(weir__git_set_bytes(&set) <= most);
        count += result > 0;
    }
    CHECK_EQ(result, -WEIR_E_TOO_LARGE);
    CHECK(count >= 10000); /* what needs() says is enough */
    CHECK_EQ(weir__git_set_count(&set), count);
    weir__git_set_fini(&set);
    /* The figure that the header names. */
    CHECK(weir__git_history_needs(10000000, 20, false) < UINT64_C(600) * 1000 * 1000);
}

TAP_MAIN()
