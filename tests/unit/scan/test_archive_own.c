/* Tests of what containers have beside their members: texts in any pieces, packed blocks, stored
 * members that are not given again, much text, entries that no directory lists. */
#include "archive_help.h"

#include <signal.h>

#include "archive_own.h"

#include "banned.h"

/* --- texts --- */

#define INPUT 4000u

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

static char emitted[INPUT];
static bool is_emitted[INPUT];

static void note_text(void *arg, uint64_t at, const struct weir__archive_lines *before,
                      const char *bytes, size_t length)
{
    const char *all = arg;
    uint64_t lines = 0, start = 0;
    for (uint64_t i = 0; all && i < at; i++)
        if (all[i] == '\n') {
            lines++;
            start = i + 1;
        }
    if (all) {
        CHECK_EQ(before->count, lines);
        CHECK_EQ(before->start, start);
    }
    for (size_t i = 0; i < length; i++) {
        CHECK(at + i < INPUT && !is_emitted[at + i]);
        emitted[at + i] = bytes[i];
        is_emitted[at + i] = true;
    }
}

static bool is_typed(char c)
{
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
}

/* Bytes of which some are text, in rows of all lengths. */
static void fill(char *bytes)
{
    for (size_t i = 0; i < INPUT;) {
        uint64_t kind = random_below(4), row = 1 + random_below(40);
        for (; row > 0 && i < INPUT; row--, i++)
            bytes[i] = kind == 0   ? '\0'
                       : kind == 1 ? (char)random_below(256)
                       : kind == 2 ? (char)(i % 2   ? '\0'
                                            : i % 5 ? 'u'
                                                    : '\n')
                                   : (char)(random_below(20) ? 'a' + random_below(26) : '\n');
    }
}

TEST(texts_are_the_same_in_any_pieces)
{
    static char bytes[INPUT];
    static bool whole[INPUT];
    const struct weir__archive_text_sink sink = {note_text, bytes};
    random_state = 7;
    for (int round = 0; round < 300; round++) {
        struct weir__archive_text text = {0};
        fill(bytes);
        memset(is_emitted, 0, sizeof(is_emitted));
        weir__archive_text_feed(&text, bytes, INPUT, &sink);
        memcpy(whole, is_emitted, sizeof(whole));
        for (size_t i = 0, row = 0; i < INPUT; i++) {
            CHECK(!is_emitted[i] || emitted[i] == bytes[i]);
            row = is_typed(bytes[i]) ? row + 1 : 0;
            for (size_t back = 0; row >= WEIR__ARCHIVE_TEXT_MIN && back < row; back++)
                CHECK(is_emitted[i - back]);
        }
        memset(is_emitted, 0, sizeof(is_emitted));
        text = (struct weir__archive_text){0};
        for (size_t at = 0, part; at < INPUT; at += part) {
            part = (size_t)random_below(round % 2 ? 20 : 300);
            part = part < INPUT - at ? part : INPUT - at;
            weir__archive_text_feed(&text, bytes + at, part, &sink);
        }
        CHECK(memcmp(whole, is_emitted, sizeof(whole)) == 0);
    }
}

TEST(random_bytes_have_next_to_no_text)
{
    static char bytes[INPUT];
    const struct weir__archive_text_sink sink = {note_text, NULL};
    struct weir__archive_text text = {0};
    size_t count = 0;
    random_state = 11;
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < INPUT; i++)
            bytes[i] = (char)random_below(256);
        memset(is_emitted, 0, sizeof(is_emitted));
        text = (struct weir__archive_text){0};
        weir__archive_text_feed(&text, bytes, INPUT, &sink);
        for (size_t i = 0; i < INPUT; i++)
            count += is_emitted[i];
    }
    CHECK(count < 100 * INPUT / 100);
}

/* --- packed blocks --- */

TEST(packed_blocks_are_known)
{
    /* A frame of zstd with one block of 5 bytes and a checksum, one to skip, one of lz4. */
    static const char zstd[] = "\x28\xb5\x2f\xfd\x24\x05\x29\0\0AAAAAsumm"
                               "S*M\x18\x03\0\0\0own"
                               "\x04\x22\x4d\x18\x74\x40\xbd\x04\0\0\0BBBBblks\0\0\0\0summ"
                               "behind";
    for (size_t step = 1; step < sizeof(zstd); step++) {
        struct weir__archive_blocks blocks = {0};
        char packed[sizeof(zstd)] = {0};
        size_t count = 0;
        for (size_t at = 0, part; at < sizeof(zstd) - 1; at += part) {
            bool is_packed;
            size_t left = sizeof(zstd) - 1 - at;
            part = weir__archive_blocks_next(&blocks, zstd + at, left < step ? left : step,
                                             &is_packed);
            CHECK(part > 0);
            for (size_t i = 0; i < part && is_packed; i++)
                packed[count++] = zstd[at + i];
        }
        CHECK_STR(packed, "AAAAABBBBblks");
    }
}

/* --- walks --- */

#define IMAGE (4u << 20)

static char own_text[IMAGE]; /* of all objects, each ended with NUL */
static size_t own_length, own_objects;
static uint64_t own_at, planted_at; /* in the object, of the last planted text that began a run */
static uint64_t own_lines, own_line_start, planted_line, planted_column;
static char own_path[256], planted_path[256];
static bool is_in_own;
static int kill_at;

static int own_begin(void *arg, const char *path)
{
    (void)arg;
    own_objects++;
    own_at = own_lines = own_line_start = 0;
    is_in_own = true;
    snprintf(own_path, sizeof(own_path), "%s", path);
    return 0;
}

static int own_skip(void *arg, const struct weir__archive_skip *skip)
{
    (void)arg;
    CHECK(is_in_own && skip->length > 0);
    if (skip->lines > 0) {
        own_lines += skip->lines;
        own_line_start = own_at + skip->length - skip->behind;
    }
    own_at += skip->length;
    own_text[own_length++] = '\0';
    return 0;
}

static int own_bytes(void *arg, const char *bytes, size_t length)
{
    if (!is_in_own)
        return seen_bytes(arg, bytes, length);
    CHECK(own_length + length + 2 < IMAGE);
    memcpy(own_text + own_length, bytes, length);
    own_length += length;
    uint64_t lines = own_lines, start = own_line_start;
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == '\n') {
            own_lines++;
            own_line_start = own_at + i + 1;
        }
    own_at += length;
    const char *found = memmem(own_text, own_length, PLANTED, sizeof(PLANTED) - 1);
    if (found && !planted_path[0]) {
        planted_at = own_at - (uint64_t)(own_text + own_length - found);
        snprintf(planted_path, sizeof(planted_path), "%s", own_path);
        for (size_t i = 0; i < length && own_at - length + i < planted_at; i++)
            if (bytes[i] == '\n') {
                lines++;
                start = own_at - length + i + 1;
            }
        planted_line = lines + 1;
        planted_column = planted_at - start + 1;
    }
    return 0;
}

static int own_end(void *arg, bool is_complete)
{
    if (!is_in_own) {
        int answer = seen_end(arg, is_complete);
        if (kill_at > 0 && members_count == (size_t)kill_at && help_walker->process.child.pid > 0)
            kill(help_walker->process.child.pid, SIGKILL);
        return answer;
    }
    own_text[own_length++] = '\0';
    is_in_own = false;
    return 0;
}

static int walk_own(const char *name)
{
    static const struct weir__archive_hooks hooks = {
        .begin = seen_begin,
        .bytes = own_bytes,
        .end = own_end,
        .unscanned = seen_unscanned,
        .own = own_begin,
        .skip = own_skip,
    };
    struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    members_count = told_count = 0;
    own_length = own_objects = 0;
    planted_path[0] = '\0';
    if (!help_walker)
        CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    int answer = weir__archive_walk(help_walker, fd, name, &hooks, &deadline);
    close(fd);
    return answer;
}

static bool is_in_own_text(const char *text)
{
    return memmem(own_text, own_length, text, strlen(text)) != NULL;
}

#define LINES                                                                                      \
    "python3 -c \"[print('line', i, 'of a text', i * i) for i in range(40000)]\" > big.txt; "

static const struct {
    const char *tools, *script;
} stored[] = {
    {"tar", "tar -cf a big.txt big.txt"},
    {"tar gzip", "tar -cf - big.txt big.txt | gzip > a"},
    {"tar", "tar -cf b.tar big.txt; tar -cf a b.tar"},
    {"zip", "zip -q0 a.zip big.txt; mv a.zip a"},
    {"cpio", "echo big.txt | cpio -o -H newc --quiet > a"},
    {"genisoimage", "rm -rf t; mkdir t; cp big.txt t; genisoimage -quiet -R -o a t"},
    {"lz4", "lz4 -qc big.txt > a"},
    {"zstd", "zstd -qc --fast=9 big.txt > a"},
    {"lz4 tar", "lz4 -qc big.txt > b.lz4; tar -cf a b.lz4"},
};

TEST(what_is_stored_is_not_given_again)
{
    help_start();
    CHECK(help_run(LINES));
    for (size_t i = 0; i < sizeof(stored) / sizeof(stored[0]); i++) {
        if (!help_has(stored[i].tools))
            continue;
        CHECK(help_run(stored[i].script));
        CHECK_EQ(walk_own("a"), 0);
        CHECK_SHOW(told_count == 0 && members_count > 0 && own_objects > 0);
        if (own_length > 70000 || is_in_own_text("line 20000 of a text"))
            tap_fail(__FILE__, __LINE__, "%s: %zu bytes", stored[i].script, own_length);
    }
}

/* Bytes in which lines end, in front of a text: as members that are stored, packed, or neither; as
 * a file, in another archive, in memory and as they pass by. */
static const struct {
    const char *tools, *script, *path;
    const char *front; /* all before the text */
} fronts[] = {
    {"zip", "zip -q0 b.zip r; cp b.zip front; cat front p > a", "a", "front"},
    {"zip", "zip -q b.zip r; cat r b.zip > front; cat front p > a", "a", "front"},
    {"zip tar", "zip -q0 b.zip r; cat b.zip p > c; tar -cf a c", "a!c", "b.zip"},
    {"tar", "tar -cf b.tar r; head -c 512 /dev/zero >> b.tar; cat b.tar p > a", "a", "b.tar"},
    {"tar gzip", "tar -cf b.tar r r; head -c 512 /dev/zero >> b.tar; cat b.tar p | gzip > a", "a",
     "b.tar"},
    {"gzip", "gzip -c r > b.gz; cat b.gz p > a", "a", "b.gz"},
    {"zstd",
     "zstd -qc r > b.zst; printf 'P*M\\30\\100\\0\\0\\0' >> b.zst; "
     "{ cat b.zst p; head -c 64 /dev/zero; } > a",
     "a", "b.zst"},
    {"zip", "{ cat r p; head -c 500 /dev/urandom; } > f; zip -q c.zip r; cat f c.zip > a", "a",
     "r"},
};

static void check_place(const char *path, const char *front)
{
    static char bytes[2 * IMAGE];
    uint64_t lines = 0, start = 0;
    FILE *file = fopen(front, "rb");
    CHECK(file != NULL);
    size_t length = fread(bytes, 1, sizeof(bytes), file);
    CHECK(length > 0 && length < sizeof(bytes));
    fclose(file);
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == '\n') {
            lines++;
            start = i + 1;
        }
    CHECK_STR(planted_path, path);
    CHECK_EQ(planted_at, length);
    CHECK_EQ(planted_line, lines + 1);
    CHECK_EQ(planted_column, length - start + 1);
}

TEST(places_are_those_in_the_container)
{
    help_start();
    CHECK(help_run("{ head -c 3000 /dev/urandom; seq 20000; head -c 90000 /dev/urandom; "
                   "printf '\\n\\1\\2\\3\\4\\5'; } > r; printf '" PLANTED "' > p"));
    for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
        if (!help_has(fronts[i].tools))
            continue;
        CHECK(help_run("rm -f a b.* c c.*"));
        CHECK(help_run(fronts[i].script));
        printf("# %s\n", fronts[i].script);
        CHECK_EQ(walk_own("a"), 0);
        check_place(fronts[i].path, fronts[i].front);
    }
}

/* Text behind a compressed file is no damage, whether that is a file or passes by in another one.
 */
TEST(text_behind_a_compressed_file)
{
    static const char *const tools[] = {"gzip", "bzip2", "xz", "zstd", "lz4", "lzip"};
    static const char *const ways[] = {"cp c a", "tar -cf a c", "tar -czf a c",
                                       "rm -f a; zip -q a.zip c; mv a.zip a"};
    help_start();
    CHECK(help_run("seq 100 > r; printf '" PLANTED "' > p"));
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        for (size_t k = 0; help_has(tools[i]) && k < sizeof(ways) / sizeof(ways[0]); k++) {
            char script[128];
            snprintf(script, sizeof(script), "{ %s -c r; cat p; } > c; %s", tools[i], ways[k]);
            CHECK(help_run(script));
            printf("# %s\n", script);
            CHECK_EQ(walk_own("a"), 0);
            CHECK_SHOW(told_count == 0 && members_count == 1 && members[0].length == 292);
            CHECK(is_in_own_text("weir-planted-0123456789"));
        }
}

/* A frame, or what is none, begins before the edge of a block, at it, and behind it. */
TEST(frames_across_blocks_that_pass_by)
{
    help_start();
    if (!help_has("zstd"))
        return;
    CHECK(help_run("seq 100 | zstd -qc > z; printf '" PLANTED "' > p; cat > m.py << 'END'\n"
                   "import io, sys, tarfile\n"
                   "frame, text = open('z', 'rb').read(), open('p', 'rb').read()\n"
                   "skip = 65536 - 512 - int(sys.argv[1]) - len(frame) - 8\n"
                   "head = frame + b'P*M\\x18' + skip.to_bytes(4, 'little') + bytes(skip)\n"
                   "bytes = head + (frame if sys.argv[2] == '2' else b'') + text\n"
                   "with tarfile.open('a', 'w') as t:\n"
                   "    one = tarfile.TarInfo('c')\n"
                   "    one.size = len(bytes)\n"
                   "    t.addfile(one, io.BytesIO(bytes))\n"
                   "END"));
    for (int before = -2; before <= 6; before++)
        for (int frames = 1; frames <= 2; frames++) {
            char script[64];
            snprintf(script, sizeof(script), "python3 m.py %d %d", before, frames);
            CHECK(help_run(script));
            CHECK_EQ(walk_own("a"), 0);
            CHECK_SHOW(told_count == 0 && members_count == 1);
            CHECK_EQ(members[0].length, 292u * (unsigned)frames);
            CHECK(is_in_own_text("weir-planted-0123456789"));
        }
}

/* More than is kept, between two members that are read as they pass by: in several objects, and
 * what stands where one ends is whole in the next. */
TEST(much_text_is_given_in_parts)
{
    help_start();
    CHECK(help_run("cat > m.py << 'END'\n"
                   "import io, tarfile\n"
                   "text = ''.join('mark%06d ' % i for i in range(80000))\n"
                   "with tarfile.open('a', 'w:gz', format=tarfile.PAX_FORMAT) as t:\n"
                   "    for i in range(3):\n"
                   "        one = tarfile.TarInfo('f%d' % i)\n"
                   "        one.size = 4\n"
                   "        one.pax_headers = {'comment': text} if i == 1 else {}\n"
                   "        t.addfile(one, io.BytesIO(b'abcd'))\n"
                   "END\npython3 m.py"));
    CHECK_EQ(walk_own("a"), 0);
    CHECK_SHOW(members_count == 3 && told_count == 0);
    CHECK(own_objects > 2);
    for (int i = 0; i < 80000; i++) {
        char mark[16];
        snprintf(mark, sizeof(mark), "mark%06d ", i);
        if (!is_in_own_text(mark))
            tap_fail(__FILE__, __LINE__, "no %s", mark);
    }
}

TEST(text_that_cannot_be_kept_is_told)
{
    help_start();
    CHECK(help_run(LINES "python3 -c \"import gzip; open('b.gz', 'wb').write("
                         "gzip.compress(open('big.txt', 'rb').read(), 0))\"; tar -cf a b.gz"));
    CHECK_EQ(walk_own("a"), 0);
    CHECK_SHOW(was_told("a!b.gz", "there is more text beside its members than is looked at"));
    CHECK_SHOW(seen("a!b.gz!b") && seen("a!b.gz!b")->is_complete);
}

TEST(a_death_loses_nothing_beside)
{
    help_start();
    CHECK(help_run("for i in 1 2 3 4; do echo \"the text of $i\" > $i; done; printf '" PLANTED
                   "' > p; ln -sf ../\"$(cat p)\"/x l; tar -cf - 1 l 2 3 4 | gzip > a"));
    for (kill_at = 1; kill_at <= 4; kill_at++) {
        CHECK_EQ(walk_own("a"), 0);
        CHECK_SHOW(members_count >= 3);
        CHECK(is_in_own_text("weir-planted-0123456789"));
    }
    kill_at = 0;
}

#define HIDDEN                                                                                     \
    "cat > z.py << 'END'\n"                                                                        \
    "import sys, zipfile\n"                                                                        \
    "count = int(sys.argv[1])\n"                                                                   \
    "with zipfile.ZipFile('a', 'w', zipfile.ZIP_DEFLATED) as z:\n"                                 \
    "    for i in range(count):\n"                                                                 \
    "        z.writestr('gone%d' % i, 'a hidden text %d' % i)\n"                                   \
    "        z.writestr('kept%d' % i, 'a listed text %d' % i)\n"                                   \
    "    z.filelist = [one for one in z.filelist if one.filename[0] == 'k']\n"                     \
    "END\n"                                                                                        \
    "python3 z.py "

TEST(entries_that_are_not_listed)
{
    help_start();
    CHECK(help_run(HIDDEN "5"));
    CHECK_EQ(walk_own("a"), 0);
    CHECK_SHOW(members_count == 10 && told_count == 0);
    for (int i = 0; i < 5; i++) {
        char path[32], text[32];
        snprintf(path, sizeof(path), "a!gone%d", i);
        snprintf(text, sizeof(text), "a hidden text %d", i);
        CHECK_SHOW(seen(path) && strcmp(seen(path)->head, text) == 0);
    }
    /* More than that is told. */
    CHECK(help_run(HIDDEN "70"));
    CHECK_EQ(walk_own("a"), 0);
    CHECK_SHOW(members_count == 70 + 64 && told_count == 1);
    CHECK_SHOW(was_told("a", "more entries that its directory does not list"));
}

TEST(zips_before_each_other)
{
    help_start();
    if (!help_has("zip"))
        return;
    CHECK(help_run("rm -f a *.zip; for i in $(seq 10); do echo \"number $i\" > $i; zip -q $i.zip "
                   "$i; cat $i.zip >> a; done"));
    CHECK_EQ(walk_own("a"), 0);
    CHECK_SHOW(members_count == 10 && told_count == 0);
    CHECK_SHOW(seen("a!1") && strcmp(seen("a!1")->head, "number 1\n") == 0);
    CHECK(help_run("for i in $(seq 70); do cat 1.zip; done > a"));
    CHECK_EQ(walk_own("a"), 0);
    CHECK_SHOW(members_count == 65 && told_count == 1);
}

ARCHIVE_MAIN()
