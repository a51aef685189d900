/* Tests of key rings: made, loaded, rotated, and refused when others could get at them. */
#include <dirent.h>
#include <fcntl.h>

#include <weir/error.h>

#include "capability_help.h"

static char folder[512], why[WEIR__KEY_WHY];

static void fresh(void)
{
    static char above[256];
    snprintf(above, sizeof(above), "%s/weir-keys-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(above));
    snprintf(folder, sizeof(folder), "%s/keys", above);
    why[0] = '\0';
}

static void clean(void)
{
    char line[1100];
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(line, sizeof(line), "%s/%s", folder, entry->d_name);
        unlink(line);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
    *strrchr(folder, '/') = '\0';
    CHECK_EQ(rmdir(folder), 0);
}

static const char *path_of(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), (long long)strlen(text));
    CHECK_EQ(fchmod(fd, mode), 0);
    close(fd);
}

static int load(struct weir__keyring **ret_ring)
{
    return weir__keyring_load(ret_ring, folder, why);
}

static void refuses(int wanted, const char *reason)
{
    struct weir__keyring *ring = NULL;
    why[0] = '\0';
    CHECK_EQ(load(&ring), wanted);
    CHECK(!ring);
    CHECK_HAS(why, reason);
    CHECK_HAS(why, folder);
}

#define DIGITS "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

TEST(keys_are_added_and_the_newest_mints)
{
    char ids[3][WEIR__KEY_ID_SIZE];
    struct weir__keyring *ring;
    struct stat st;
    fresh();
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(weir__keyring_add(folder, ids[i], why), 0);
        CHECK(weir__key_id_is_one(ids[i], strlen(ids[i])));
        CHECK(i == 0 || strcmp(ids[i - 1], ids[i]) < 0); /* within one second, too */
        CHECK_EQ(stat(path_of(ids[i]), &st), 0);
        CHECK_EQ(st.st_mode & 07777, 0600);
        CHECK_EQ(st.st_size, 65);
    }
    CHECK_EQ(stat(folder, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0700);
    CHECK_EQ(load(&ring), 0);
    CHECK_EQ(weir__keyring_count(ring), 3);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR(weir__keyring_id(ring, i), ids[i]);
        CHECK(weir__keyring_find(ring, ids[i]));
    }
    CHECK(memcmp(weir__keyring_find(ring, ids[0]), weir__keyring_find(ring, ids[1]),
                 WEIR__KEY_SIZE) != 0);
    CHECK(!weir__keyring_find(ring, KEY_ID));
    weir__keyring_free(ring);
    clean();
}

TEST(what_a_file_says_is_the_key)
{
    struct weir__keyring *ring;
    fresh();
    CHECK_EQ(mkdir(folder, 0700), 0);
    put(KEY_ID, DIGITS "\n", 0600);
    put(".20261117T150652Z-000000.new", "half", 0600); /* somebody is writing it */
    CHECK_EQ(load(&ring), 0);
    CHECK_EQ(weir__keyring_count(ring), 1);
    const unsigned char *key = weir__keyring_find(ring, KEY_ID);
    for (unsigned i = 0; i < WEIR__KEY_SIZE; i++)
        CHECK_EQ(key[i], i);
    weir__keyring_free(ring);
    clean();
}

TEST(a_new_key_is_behind_one_of_the_future)
{
    char id[WEIR__KEY_ID_SIZE];
    struct weir__keyring *ring;
    fresh();
    CHECK_EQ(mkdir(folder, 0700), 0);
    put("90001231T235959Z-ffffff", DIGITS "\n", 0400);
    CHECK_EQ(weir__keyring_add(folder, id, why), 0);
    CHECK(strncmp(id, "90010101T000000Z-", 17) == 0);
    CHECK_EQ(load(&ring), 0);
    CHECK_STR(weir__keyring_id(ring, 1), id);
    weir__keyring_free(ring);
    clean();
}

TEST(nothing_there)
{
    fresh();
    refuses(-WEIR_E_NOT_FOUND, "no such folder");
    CHECK_EQ(mkdir(folder, 0700), 0);
    refuses(-WEIR_E_NOT_FOUND, "no key");
    clean();
}

TEST(what_others_could_get_at_is_refused)
{
    fresh();
    CHECK_EQ(mkdir(folder, 0700), 0);
    put(KEY_ID, DIGITS "\n", 0600);
    static const mode_t open_to_others[] = {0640, 0620, 0610, 0604, 0602, 0601};
    for (size_t i = 0; i < sizeof(open_to_others) / sizeof(open_to_others[0]); i++) {
        CHECK_EQ(chmod(path_of(KEY_ID), open_to_others[i]), 0);
        refuses(-WEIR_E_DENIED, "chmod 600");
    }
    CHECK_EQ(chmod(path_of(KEY_ID), 0600), 0);
    CHECK_EQ(chmod(folder, 0770), 0);
    refuses(-WEIR_E_DENIED, "chmod 700");
    char id[WEIR__KEY_ID_SIZE];
    CHECK_EQ(weir__keyring_add(folder, id, why), -WEIR_E_DENIED);
    CHECK_EQ(chmod(folder, 0755), 0);
    struct weir__keyring *ring;
    CHECK_EQ(load(&ring), 0);
    weir__keyring_free(ring);
    if (geteuid() == 0) {
        CHECK_EQ(chown(path_of(KEY_ID), 12345, 12345), 0);
        refuses(-WEIR_E_DENIED, "not that of the folder above");
        CHECK_EQ(chown(path_of(KEY_ID), 0, 0), 0);
        CHECK_EQ(chown(folder, 12345, 12345), 0);
        refuses(-WEIR_E_DENIED, "not that of the folder above");
        CHECK_EQ(chown(folder, 0, 0), 0);
    }
    clean();
}

/* Of the service's user, as the folder that the keys' is in. */
TEST(root_looks_after_the_keys_of_a_service)
{
    char id[WEIR__KEY_ID_SIZE], above[512];
    struct weir__keyring *ring;
    struct stat st;
    if (geteuid() != 0) {
        printf("# only root can be root\n");
        return;
    }
    fresh();
    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(folder, '/') - folder), folder);
    CHECK_EQ(chown(above, 12345, 23456), 0);
    CHECK_EQ(weir__keyring_add(folder, id, why), 0);
    CHECK_EQ(stat(folder, &st), 0);
    CHECK(st.st_uid == 12345 && st.st_gid == 23456);
    CHECK_EQ(st.st_mode & 07777, 0700);
    CHECK_EQ(stat(path_of(id), &st), 0);
    CHECK(st.st_uid == 12345 && st.st_gid == 23456);
    CHECK_EQ(st.st_mode & 07777, 0600);
    CHECK_EQ(load(&ring), 0);
    weir__keyring_free(ring);
    /* Whoever else could read it is refused as ever. */
    CHECK_EQ(chmod(path_of(id), 0640), 0);
    refuses(-WEIR_E_DENIED, "chmod 600");
    CHECK_EQ(chmod(path_of(id), 0600), 0);
    CHECK_EQ(chown(path_of(id), 54321, 54321), 0);
    refuses(-WEIR_E_DENIED, "not that of the folder above");
    /* The service itself reads its own and those of root alone. */
    CHECK_EQ(chown(path_of(id), 12345, 23456), 0);
    CHECK_EQ(seteuid(12345), 0);
    CHECK_EQ(load(&ring), 0);
    weir__keyring_free(ring);
    CHECK_EQ(seteuid(0), 0);
    CHECK_EQ(chown(folder, 54321, 54321), 0);
    CHECK_EQ(chmod(folder, 0755), 0);
    CHECK_EQ(seteuid(12345), 0);
    refuses(-WEIR_E_DENIED, "run this as its owner, or as root");
    CHECK_EQ(seteuid(0), 0);
    clean();
}

TEST(a_folder_is_made_however_it_is_written)
{
    char id[WEIR__KEY_ID_SIZE], written[600];
    fresh();
    snprintf(written, sizeof(written), "%s//", folder);
    CHECK_EQ(weir__keyring_add(written, id, why), 0);
    CHECK_EQ(access(path_of(id), F_OK), 0);
    clean();
}

TEST(what_is_no_folder_is_told)
{
    struct weir__keyring *ring = NULL;
    CHECK_EQ(weir__keyring_load(&ring, "/dev/null", why), -WEIR_E_INVALID);
    CHECK_HAS(why, "'/dev/null': it is not a folder");
}

TEST(what_is_no_key_is_refused)
{
    static const char *const texts[] = {
        "",
        "\n",
        DIGITS,
        DIGITS "\n\n",
        DIGITS " ",
        ("x" DIGITS),
        "0001020304050607080900000c0d0e0f101112131415161718191A1B1C1D1E1F\n",
        "g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"};
    fresh();
    CHECK_EQ(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        put(KEY_ID, texts[i], 0600);
        refuses(-WEIR_E_CORRUPT, "64 hexadecimal digits");
        CHECK_EQ(unlink(path_of(KEY_ID)), 0);
    }
    CHECK_EQ(mkfifo(path_of(KEY_ID), 0600), 0);
    refuses(-WEIR_E_DENIED, "not a file");
    CHECK_EQ(unlink(path_of(KEY_ID)), 0);
    CHECK_EQ(symlink("/dev/zero", path_of(KEY_ID)), 0);
    struct weir__keyring *ring = NULL;
    CHECK(load(&ring) < 0);
    CHECK_HAS(why, "symlink");
    CHECK_EQ(unlink(path_of(KEY_ID)), 0);
    static const char *const names[] = {"README", KEY_ID "~", "20261117T150652Z-9f3c2",
                                        "20261117T150652Z-9F3C21", "20261117t150652z-9f3c21"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        put(names[i], DIGITS "\n", 0600);
        refuses(-WEIR_E_CORRUPT, names[i]);
        CHECK_EQ(unlink(path_of(names[i])), 0);
    }
    clean();
}

TEST(a_folder_is_not_found_by_a_link)
{
    char real[600], id[WEIR__KEY_ID_SIZE];
    struct weir__keyring *ring = NULL;
    fresh();
    snprintf(real, sizeof(real), "%s.real", folder);
    CHECK_EQ(mkdir(real, 0700), 0);
    CHECK_EQ(symlink(real, folder), 0);
    refuses(-WEIR_E_INVALID, "it is a symlink: name the folder");
    CHECK_EQ(weir__keyring_add(folder, id, why), -WEIR_E_INVALID);
    CHECK_HAS(why, "it is a symlink: name the folder");
    snprintf(real, sizeof(real), "%s//", folder);
    CHECK_EQ(weir__keyring_add(real, id, why), -WEIR_E_INVALID);
    CHECK_EQ(weir__keyring_load(&ring, real, why), -WEIR_E_INVALID);
    snprintf(real, sizeof(real), "%s.real", folder);
    CHECK_EQ(rmdir(real), 0); /* nothing was written there */
    CHECK(weir__keyring_add(folder, id, why) < 0);
    CHECK_EQ(unlink(folder), 0);
    clean();
}

TEST(sixty_four_are_the_most)
{
    char id[WEIR__KEY_ID_SIZE];
    struct weir__keyring *ring;
    fresh();
    for (unsigned i = 0; i < WEIR__KEYS_MAX; i++)
        CHECK_EQ(weir__keyring_add(folder, id, why), 0);
    CHECK_EQ(load(&ring), 0);
    CHECK_EQ(weir__keyring_count(ring), WEIR__KEYS_MAX);
    weir__keyring_free(ring);
    CHECK_EQ(weir__keyring_add(folder, id, why), -WEIR_E_TOO_LARGE);
    CHECK_HAS(why, "remove the oldest");
    put(KEY_ID, DIGITS "\n", 0600);
    refuses(-WEIR_E_TOO_LARGE, "more than 64");
    clean();
}

TEST(a_ring_without_a_folder)
{
    unsigned char key[WEIR__KEY_SIZE] = {1};
    struct weir__keyring *ring = NULL;
    CHECK_EQ(weir__keyring_new(&ring, "x", key), -WEIR_E_INVALID);
    CHECK(!ring);
    weir__keyring_free(one_key(KEY_ID, 1));
    weir__keyring_free(NULL);
}

TAP_MAIN()
