/* Tests of archive.h on archives as real tools make them: every format, nested, encrypted, damaged,
 * and hostile ones. Tools that are not installed are named and left out. */
#include "archive_help.h"

#include "banned.h"

/* f.txt has the planted text; the script makes the archive `a`. */
struct format_case {
    const char *tools;
    const char *script;
    const char *probe;
    const char *path; /* at which the text comes out */
    bool has_sum;     /* libarchive notices damage of its bytes; not so for gzip */
};

#define LINES "head -c 200000 /dev/zero | tr '\\0' '.' | fold -w 79 > big.txt; "
/* Formats for which Debian has no writer, by hand: one file, stored. */
#define BY_HAND                                                                                    \
    "cat > hand.py << 'END'\n"                                                                     \
    "import struct, sys, zlib\n"                                                                   \
    "data, name = open('f.txt', 'rb').read(), b'f.txt'\n"                                          \
    "crc, size = zlib.crc32(data), len(data)\n"                                                    \
    "def rar_block(body, rest=b''):\n"                                                             \
    "    return struct.pack('<H', zlib.crc32(body) & 0xffff) + body + rest\n"                      \
    "def rar5_block(body, rest=b''):\n"                                                            \
    "    body = bytes([len(body)]) + body\n"                                                       \
    "    return struct.pack('<I', zlib.crc32(body)) + body + rest\n"                               \
    "made = {\n"                                                                                   \
    "'rar': b'Rar!\\x1a\\x07\\0' + rar_block(struct.pack('<BHH6x', 0x73, 0, 13)) +\n"              \
    "  rar_block(struct.pack('<BHHIIBIIBBHI', 0x74, 0x8000, 32 + len(name), size, size, 3, crc,\n" \
    "    0, 20, 0x30, len(name), 0o100644) + name, data) +\n"                                      \
    "  rar_block(struct.pack('<BHH', 0x7b, 0x4000, 7)),\n"                                         \
    "'rar5': b'Rar!\\x1a\\x07\\1\\0' + rar5_block(bytes([1, 0, 0])) +\n"                           \
    "  rar5_block(bytes([2, 2, size, 4, size, 0]) + struct.pack('<I', crc) +\n"                    \
    "    bytes([0, 1, len(name)]) + name, data) + rar5_block(bytes([5, 0, 0])),\n"                 \
    "'cab': struct.pack('<4sIIIIIBBHHHHH', b'MSCF', 0, 36 + 8 + 22 + 8 + size, 0, 44, 0, 3, 1,\n"  \
    "    1, 1, 0, 1, 0) + struct.pack('<IHH', 66, 1, 0) +\n"                                       \
    "  struct.pack('<IIHHHH', size, 0, 0, 0x5000, 0, 0x20) + name + b'\\0' +\n"                    \
    "  struct.pack('<IHH', 0, size, size) + data,\n"                                               \
    "}\n"                                                                                          \
    "head = b'-lh0-' + struct.pack('<IIIBBB', size, size, 0x50000000, 0x20, 0, len(name)) + "      \
    "name\n"                                                                                       \
    "sum16 = 0\n"                                                                                  \
    "for byte in data:\n"                                                                          \
    "    sum16 ^= byte\n"                                                                          \
    "    for bit in range(8):\n"                                                                   \
    "        sum16 = sum16 >> 1 ^ (0xa001 if sum16 & 1 else 0)\n"                                  \
    "head += struct.pack('<H', sum16)\n"                                                           \
    "made['lha'] = bytes([len(head), sum(head) & 255]) + head + data + b'\\0'\n"                   \
    "open('a', 'wb').write(made[sys.argv[1]])\n"                                                   \
    "END\n"                                                                                        \
    "python3 hand.py "

static const struct format_case formats[] = {
    {"zip", "zip -q a.zip big.txt f.txt; mv a.zip a", "zip", "a!f.txt", true},
    {"zip", "zip -q0 a.zip f.txt; mv a.zip a", "zip", "a!f.txt", true},
    {"zip", "cat f.txt | zip -q - - > a", "zip", "a!-", true},
    {"zip", "zip -q b.zip f.txt; zip -q a.zip b.zip; mv a.zip a", "zip", "a!b.zip!f.txt", true},
    {"tar", "tar -cf a big.txt f.txt", "tar", "a!f.txt", false},
    {"tar", "tar --format=v7 -cf a f.txt", "tar", "a!f.txt", false},
    {"tar", "tar --format=pax -cf a f.txt", "tar", "a!f.txt", false},
    {"tar", "truncate -s 300K s; cat f.txt >> s; tar -Scf a s", "tar", "a!s", false},
    {"tar", "tar -cf a big.txt; tar -cf b f.txt; cat b >> a", "tar", "a!f.txt", false},
    {"tar gzip", "tar -czf a big.txt f.txt", "gzip", "a!f.txt", false},
    {"tar xz", "tar -cJf a big.txt f.txt", "xz", "a!f.txt", true},
    {"tar bzip2", "tar -cjf a big.txt f.txt", "bzip2", "a!f.txt", true},
    {"tar zstd", "tar --zstd -cf a big.txt f.txt", "zstd", "a!f.txt", false},
    {"gzip", "gzip -c f.txt > a", "gzip", "a!data", false},
    {"gzip", "gzip -c f.txt > f.gz; gzip -c big.txt > a; cat f.gz >> a", "gzip", "a!data", false},
    {"xz", "xz -c f.txt > a", "xz", "a!data", true},
    {"xz", "xz --format=lzma -c f.txt > a", "lzma", "a!data", false},
    {"zstd", "zstd -qc f.txt > a", "zstd", "a!data", true},
    {"bzip2", "bzip2 -c f.txt > a", "bzip2", "a!data", true},
    {"lz4", "lz4 -qc f.txt > a", "lz4", "a!data", true},
    {"bsdtar", "bsdtar --lzip -cf a f.txt", "lzip", "a!f.txt", true},
    {"bsdtar", "bsdtar -cZf a f.txt", "compress", "a!f.txt", false},
    {"7z", "7z a -bd a.7z big.txt f.txt; mv a.7z a", "7z", "a!f.txt", true},
    {"7z", "7z a -bd -m0=ppmd a.7z f.txt; mv a.7z a", "7z", "a!f.txt", true},
    {"cpio", "echo f.txt | cpio -o -H newc > a", "cpio", "a!f.txt", false},
    {"cpio", "echo f.txt | cpio -o -H odc > a", "cpio", "a!f.txt", false},
    {"cpio", "echo f.txt | cpio -o -H bin > a", "cpio", "a!f.txt", false},
    {"cpio zstd",
     "echo big.txt | cpio -o -H newc > a; echo f.txt | cpio -o -H newc | zstd -qc >> a", "cpio",
     "a!f.txt", true},
    {"cpio gzip", "echo f.txt | cpio -o -H newc | gzip > a", "gzip", "a!f.txt", false},
    {"ar", "ar rc a f.txt", "ar", "a!f.txt", false},
    {"genisoimage", "mkdir -p t; cp f.txt t; genisoimage -quiet -R -o a t", "iso", "a!f.txt",
     false},
    {"genisoimage", "mkdir -p t; cp f.txt t; genisoimage -quiet -J -o a t", "iso", "a!f.txt",
     false},
    {"bsdtar", "bsdtar --format=xar -cf a f.txt", "xar", "a!f.txt", true},
    {"python3", BY_HAND "cab", "cab", "a!f.txt", false},
    {"python3", BY_HAND "lha", "lha", "a!f.txt", false},
    {"python3", BY_HAND "rar", "rar", "a!f.txt", false},
    {"python3", BY_HAND "rar5", "rar5", "a!f.txt", false},
    {"python3 zip", BY_HAND "rar; mv a b; zip -q a.zip b; mv a.zip a", "zip", "a!b!f.txt", true},
    {"dpkg-deb",
     "mkdir -p p/DEBIAN p/etc; cp f.txt p/etc; printf 'Package: w\\nVersion: 1\\nArchitecture: all"
     "\\nMaintainer: w <w@w>\\nDescription: w\\n' > p/DEBIAN/control; dpkg-deb -Zxz -b p a.deb; "
     "mv a.deb a",
     "ar", "a!data.tar.xz!./etc/f.txt", false},
    {"dpkg-deb",
     "mkdir -p p/DEBIAN p/etc; cp f.txt p/etc; printf 'Package: w\\nVersion: 1\\nArchitecture: all"
     "\\nMaintainer: w <w@w>\\nDescription: w\\n' > p/DEBIAN/control; dpkg-deb -Zgzip -b p a.deb; "
     "mv a.deb a",
     "ar", "a!data.tar.gz!./etc/f.txt", false},
    {"rpmbuild",
     "printf 'Name: w\\nVersion: 1\\nRelease: 1\\nSummary: s\\nLicense: none\\nBuildArch: noarch\\n"
     "%%description\\nd\\n%%install\\nmkdir -p %%{buildroot}/etc\\ncp '\"$PWD\"'/f.txt "
     "%%{buildroot}/etc/\\n%%files\\n/etc/f.txt\\n' > w.spec; "
     "HOME=$PWD rpmbuild -bb --define \"_topdir $PWD/r\" w.spec; mv r/RPMS/noarch/w-*.rpm a",
     "rpm", "a!./etc/f.txt", false},
    /* Images: layers are named by their digests. */
    {"tar",
     "l=$(printf '%064d' 7); mkdir $l; tar -cf $l/layer.tar f.txt; echo '[]' > manifest.json; "
     "tar -cf a manifest.json $l",
     "tar", "a!layer:0000000000000000000000000000000000000000000000000000000000000007!f.txt",
     false},
    {"tar gzip",
     "l=$(printf '%064d' 8); mkdir -p blobs/sha256; tar -czf blobs/sha256/$l f.txt; "
     "echo '{}' > index.json; tar -cf a index.json blobs",
     "tar", "a!sha256:0000000000000000000000000000000000000000000000000000000000000008!f.txt",
     false},
    /* One in the other, of formats that stream and that do not. */
    {"7z tar gzip", "7z a -bd b.7z f.txt; tar -czf a b.7z", "gzip", "a!b.7z!f.txt", false},
    {"genisoimage zip",
     "mkdir -p t; cp f.txt t; genisoimage -quiet -R -o b t; zip -q a.zip b; "
     "mv a.zip a",
     "zip", "a!b!f.txt", true},
    {"gzip zip", "zip -q b.zip f.txt; gzip -c b.zip > a", "gzip", "a!data!f.txt", false},
    {"cpio zstd zip",
     "echo f.txt | cpio -o -H newc | zstd -qc > b.zst; zip -q a.zip b.zst; "
     "mv a.zip a",
     "zip", "a!b.zst!f.txt", true},
    {"gzip tar", "gzip -c f.txt > f.log.gz; tar -cf a f.log.gz", "tar", "a!f.log.gz!f.log", false},
};
#define FORMATS_COUNT (sizeof(formats) / sizeof(formats[0]))

static bool make(const struct format_case *one)
{
    static char script[4096];
    if (!help_has(one->tools))
        return false;
    snprintf(script, sizeof(script), "rm -rf ./*; printf '%s' > f.txt; %s %s", PLANTED, LINES,
             one->script);
    if (!help_run(script)) {
        printf("# failed: %s\n", one->script);
        tap_fail(__FILE__, __LINE__, "the archive could not be made");
    }
    return true;
}

static size_t load(const char *name, char *bytes, size_t size)
{
    int fd = open(name, O_RDONLY);
    CHECK(fd >= 0);
    ssize_t got = read(fd, bytes, size);
    close(fd);
    CHECK(got >= 0);
    return (size_t)got;
}

static void store(const char *name, const char *bytes, size_t length)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
}

TEST(every_format)
{
    static char head[40000];
    unsigned made = 0;
    help_start();
    for (size_t i = 0; i < FORMATS_COUNT; i++) {
        if (!make(&formats[i]))
            continue;
        made++;
        size_t length = load("a", head, sizeof(head));
        const char *name = weir__archive_probe(head, length);
        if (!name || strcmp(name, formats[i].probe) != 0)
            printf("# %s\n", formats[i].script);
        CHECK_STR(name, formats[i].probe);
        int answer = help_walk("a");
        const struct seen_member *member = seen(formats[i].path);
        if (answer != 0 || !member || !member->has_planted || !member->is_complete || told_count) {
            printf("# %s\n", formats[i].script);
            show();
        }
        CHECK_EQ(answer, 0);
        CHECK(member && member->has_planted && member->is_complete);
        CHECK_EQ(told_count, 0);
    }
    CHECK(made > 20);
    CHECK_EQ(help_walker->restarts_count, 0);
}

TEST(plain_files_are_no_archives)
{
    static char bytes[33000];
    static const char *const texts[] = {"PK is not a zip",
                                        "BZh is a text",
                                        "\x1f\x8b no",
                                        "!<arch> but not quite",
                                        "070707 as a number",
                                        "hello\n",
                                        "",
                                        "Rar",
                                        "7z",
                                        "\x5d\x00\x00"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CHECK(!weir__archive_probe(texts[i], strlen(texts[i])));
    CHECK(!weir__archive_probe(bytes, sizeof(bytes)));
    memset(bytes, 'x', sizeof(bytes));
    for (size_t length = 0; length < sizeof(bytes); length += 61)
        CHECK(!weir__archive_probe(bytes, length));
}

/* What is cut off comes out as far as it is there, and is told. */
TEST(truncated)
{
    static char bytes[1 << 21];
    help_start();
    for (size_t i = 0; i < FORMATS_COUNT; i++) {
        if (!make(&formats[i]))
            continue;
        size_t length = load("a", bytes, sizeof(bytes));
        for (size_t part = 1; part <= 16; part++) {
            size_t kept = part == 16 ? length - 1 : length * part / 16;
            store("a", bytes, kept);
            CHECK_EQ(help_walk("a"), 0);
            const struct seen_member *member = seen_planted();
            /* The old compress has neither an end nor a length. */
            if (strcmp(formats[i].probe, "compress") == 0)
                continue;
            if (!(member && member->is_complete) && told_count == 0) {
                printf("# %zu of %zu: %s\n", kept, length, formats[i].script);
                show();
            }
            CHECK((member && member->is_complete) || told_count > 0);
        }
    }
}

TEST(flipped_bits)
{
    static char bytes[1 << 21];
    unsigned seed = getenv("WEIR_SEED") ? (unsigned)strtoul(getenv("WEIR_SEED"), NULL, 10) : 1;
    unsigned rounds = getenv("WEIR_LONG") ? 400 : 25;
    printf("# WEIR_SEED=%u\n", seed);
    help_start();
    help_options.silence_ns_max = 20 * WEIR_NS_PER_S;
    for (size_t i = 0; i < FORMATS_COUNT; i++) {
        if (!make(&formats[i]))
            continue;
        size_t length = load("a", bytes, sizeof(bytes));
        for (unsigned round = 0; round < rounds; round++) {
            size_t at = (size_t)rand_r(&seed) % length;
            char flip = (char)(1 << rand_r(&seed) % 8);
            bytes[at] = (char)(bytes[at] ^ flip);
            store("a", bytes, length);
            bytes[at] = (char)(bytes[at] ^ flip);
            CHECK_EQ(help_walk("a"), 0);
            const struct seen_member *member = seen_planted();
            if (formats[i].has_sum && !member && told_count == 0) {
                printf("# byte %zu, flip %d: %s\n", at, flip, formats[i].script);
                show();
                tap_fail(__FILE__, __LINE__, "what was broken was not told");
            }
        }
    }
}

/* gz as the outermost and innermost layers, tar between them. */
TEST(depth)
{
    char expected[256];
    help_start();
    CHECK(help_run("rm -rf ./*; mkdir n; printf '" PLANTED "' > n/0"));
    for (unsigned deep = 1; deep <= 10; deep++) {
        char script[256];
        snprintf(script, sizeof(script), "cd n; tar -cf ../next %u; mv ../next %u; cp %u ../a",
                 deep - 1, deep, deep);
        CHECK(help_run(script));
        CHECK_EQ(help_walk("a"), 0);
        size_t length = (size_t)snprintf(expected, sizeof(expected), "a");
        for (unsigned level = 1; level <= deep && level <= 8; level++)
            length +=
                (size_t)snprintf(expected + length, sizeof(expected) - length, "!%u", deep - level);
        const struct seen_member *member = seen(expected);
        /* The text stands in the bytes of the tar that was not looked into. */
        CHECK_SHOW(member && member->has_planted && member->is_complete);
        CHECK_EQ(told_count, deep > 8 ? 1 : 0);
        if (deep > 8)
            CHECK_SHOW(was_told(expected, "nested deeper than 8"));
    }
}

TEST(depth_of_compressions)
{
    help_start();
    CHECK(help_run("rm -rf ./*; printf '" PLANTED "' > a; for i in 1 2 3 4 5 6 7 8; do "
                   "gzip -c a > b; mv b a; done; gzip -c a > nine; cp nine b; for i in $(seq 40); "
                   "do gzip -c b > c; mv c b; done"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(seen_planted() && told_count == 0);
    CHECK_EQ(help_walk("nine"), 0);
    CHECK_SHOW(!seen_planted() && was_told(NULL, "nested deeper than 8"));
    CHECK_EQ(help_walk("b"), 0);
    CHECK_SHOW(!seen_planted() && told_count > 0);
}

TEST(empty)
{
    help_start();
    CHECK(help_run("rm -rf ./*; : > f; gzip -c f > a; tar -cf b f; tar -cf c f a"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(members_count == 0 && told_count == 0);
    CHECK_EQ(help_walk("b"), 0);
    CHECK_SHOW(seen("b!f") && seen("b!f")->is_complete && told_count == 0);
    CHECK_EQ(help_walk("c"), 0);
    CHECK_SHOW(members_count == 1 && told_count == 0);
    CHECK_EQ(help_walk("f"), 0);
    CHECK_SHOW(was_told("f", "broken: the file was cut off"));
    CHECK(help_run("printf '!<arch>\\n' > d; : | cpio -o -H newc > e; printf 'PK\\005\\006' > g; "
                   "head -c 18 /dev/zero >> g; tar -cf h d e g"));
    static const char *const names[] = {"d", "e", "g", "h"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CHECK_EQ(help_walk(names[i]), 0);
        CHECK_SHOW(members_count == 0 && told_count == 0);
    }
}

TEST(encrypted)
{
    help_start();
    CHECK(help_run("rm -rf ./*; printf '" PLANTED "' > f.txt; cp f.txt open.txt"));
    if (help_has("zip")) {
        CHECK(help_run("zip -q -P secret a.zip f.txt; zip -q a.zip open.txt; zip -q b.zip a.zip"));
        CHECK_EQ(help_walk("a.zip"), 0);
        CHECK_SHOW(was_told("a.zip!f.txt", "encrypted") && told_count == 1);
        CHECK_SHOW(seen("a.zip!open.txt") && !seen("a.zip!f.txt"));
        CHECK_EQ(help_walk("b.zip"), 0);
        CHECK_SHOW(was_told("b.zip!a.zip!f.txt", "encrypted") && seen("b.zip!a.zip!open.txt"));
    }
    if (help_has("7z")) {
        CHECK(help_run("7z a -bd -psecret a.7z f.txt; 7z a -bd -psecret -mhe=on b.7z f.txt; "
                       "7z a -bd -tzip -mem=AES256 -psecret c.zip f.txt"));
        CHECK_EQ(help_walk("a.7z"), 0);
        CHECK_SHOW(was_told("a.7z!f.txt", "encrypted"));
        CHECK_EQ(help_walk("b.7z"), 0);
        CHECK_SHOW(was_told("b.7z", "encrypted"));
        CHECK_EQ(help_walk("c.zip"), 0);
        CHECK_SHOW(was_told("c.zip!f.txt", "encrypted"));
    }
}

/* Names are shown as they are; nothing is made anywhere. */
TEST(path_tricks)
{
    help_start();
    CHECK(help_run("rm -rf ./*; mkdir w; cd w; printf '" PLANTED "' > x; ln -s /etc/passwd link; "
                   "mkfifo pipe; printf '" PLANTED "' > 'two\nlines'; printf '" PLANTED "' > "
                   "\"$(printf 'bad\\377name')\"; "
                   "tar -cPf ../a --transform='s,^x$,../../../escaped,' x link pipe; "
                   "tar -rPf ../a --transform='s,^x$,/absolute,' x; tar -rf ../a two* bad*; "
                   "cd ..; : > before; find . ! -name after | sort > before"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(seen("a!../../../escaped") && seen("a!/absolute") && seen("a!two\nlines"));
    CHECK_SHOW(seen("a!bad\377name"));
    CHECK_SHOW(members_count == 4 && told_count == 0);
    CHECK(help_run("find . ! -name after | sort > after; cmp before after; test ! -e /absolute; "
                   "test ! -e ../escaped; "
                   "test ! -e ../../escaped; test ! -e ../../../escaped"));
}

TEST(links_in_a_zip)
{
    help_start();
    if (!help_has("zip"))
        return;
    CHECK(help_run("rm -rf ./*; ln -s \"$(printf '" PLANTED "x')\" link; zip -qy a.zip link"));
    CHECK_EQ(help_walk("a.zip"), 0);
    CHECK_SHOW(seen("a.zip!link") && seen("a.zip!link")->has_planted && told_count == 0);
}

TEST(long_names)
{
    help_start();
    if (!help_has("python3"))
        return;
    CHECK(help_run("rm -rf ./*; python3 -c \"\n"
                   "import tarfile, io\n"
                   "t = tarfile.open('a', 'w', format=tarfile.PAX_FORMAT)\n"
                   "i = tarfile.TarInfo('n' * 100000)\n"
                   "i.size = 5\n"
                   "t.addfile(i, io.BytesIO(b'hello'))\n"
                   "t.close()\""));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(members_count == 1 && members[0].length == 5 && told_count == 0);
    CHECK(strlen(members[0].path) > 1000);
}

TEST(members_behind_a_broken_one)
{
    static char bytes[1 << 20];
    help_start();
    if (!help_has("zip"))
        return;
    CHECK(help_run("rm -rf ./*; printf 'one' > 1; head -c 100000 /dev/urandom > 2; printf '" PLANTED
                   "' > 3; zip -q a.zip 1 2 3"));
    size_t length = load("a.zip", bytes, sizeof(bytes));
    bytes[50000] = (char)(bytes[50000] ^ 1);
    store("a.zip", bytes, length);
    CHECK_EQ(help_walk("a.zip"), 0);
    CHECK_SHOW(seen("a.zip!1") && was_told("a.zip!2", "broken: "));
    CHECK_SHOW(seen("a.zip!2")->length == 100000 && !seen("a.zip!2")->is_complete);
    CHECK_SHOW(seen("a.zip!3") && seen("a.zip!3")->has_planted);
}

/* The members stand before it, and are found without. */
TEST(damaged_directory)
{
    static char bytes[1 << 16];
    help_start();
    if (!help_has("zip"))
        return;
    CHECK(help_run("rm -rf ./*; echo one > 1; printf '" PLANTED "' > 2; echo three > 3; "
                   "zip -q a.zip 1 2 3; cp a.zip b.zip"));
    size_t length = load("a.zip", bytes, sizeof(bytes));
    char *at = memmem(bytes, length, "PK\1\2", 4), *end = memmem(bytes, length, "PK\5\6", 4);
    CHECK(at && end);
    at = memmem(at + 4, length - (size_t)(at + 4 - bytes), "PK\1\2", 4);
    CHECK(at);
    at[1] = 'Q';
    store("a.zip", bytes, length);
    at[1] = 'K';
    end[8] = end[10] = 4;
    store("b.zip", bytes, length);
    CHECK(help_run("tar -cf c a.zip b.zip"));
    CHECK_EQ(help_walk("a.zip"), 0);
    CHECK_SHOW(members_count == 3 && seen_planted() && was_told("a.zip", "broken: "));
    CHECK_EQ(help_walk("b.zip"), 0);
    CHECK_SHOW(members_count == 3 && was_told("b.zip", "broken: 3 of 4 members"));
    CHECK_EQ(help_walk("c"), 0);
    CHECK_SHOW(members_count == 6 && was_told("c!a.zip", "broken: "));
    CHECK_SHOW(seen("c!a.zip!2")->has_planted && was_told("c!b.zip", "broken: "));
}

/* What looks like an archive and is none is read as bytes, and told. */
TEST(false_friends)
{
    help_start();
    CHECK(help_run("rm -rf ./*; { printf '!<arch>\\n'; printf '" PLANTED "'; } > f; "
                   "{ printf 'xar!\\0'; cat f; } > g; tar -cf a f g"));
    CHECK_EQ(help_walk("f"), 0);
    CHECK_SHOW(seen("f") && seen("f")->has_planted && was_told("f", "broken: "));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(seen("a!f") && seen("a!f")->has_planted && was_told("a!f", "broken: "));
    CHECK_SHOW(seen("a!g") && seen("a!g")->has_planted && was_told("a!g", "broken: "));
}

ARCHIVE_MAIN()
