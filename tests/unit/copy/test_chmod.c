/* test_chmod.c - --chmod against a table and against rsync, --chown and its names. */
#include "meta.h"

#include <pwd.h>

#include "alloc.h"
#include "meta_help.h"
#include "tap.h"

#define UMASK 027

/* The mode that one --chmod makes of another, with the type kept; aborts the test if refused. */
static mode_t changed(const char *text, mode_t mode)
{
    struct weir__chmod *chmod = NULL;
    const char *problem = "none";
    if (weir__chmod_new(&chmod, text, &problem) != 0)
        tap_fail(__FILE__, __LINE__, "'%s' was refused: %s", text, problem);
    mode_t result = weir__chmod_apply(chmod, mode, UMASK);
    weir__chmod_free(chmod);
    return result;
}

TEST(changes_modes)
{
    static const struct {
        const char *text;
        mode_t from, to;
    } cases[] = {
        {"644", S_IFREG | 07777, S_IFREG | 0644},
        {"00755", S_IFREG, S_IFREG | 0755},
        {"D755,F644", S_IFREG | 0777, S_IFREG | 0644},
        {"D755,F644", S_IFDIR | 0700, S_IFDIR | 0755},
        {"D2775,F664", S_IFDIR, S_IFDIR | 02775},
        {"u+w", S_IFREG | 0444, S_IFREG | 0644},
        {"go-rwx", S_IFREG | 0777, S_IFREG | 0700},
        {"a=r", S_IFREG | 07777, S_IFREG | 07444},
        {"a=rs", S_IFREG | 07777, S_IFREG | 07444},
        {"u=t", S_IFREG | 07777, S_IFREG | 03077},
        {"+s", S_IFREG | 0755, S_IFREG | 04755},
        {"g+s", S_IFDIR | 0755, S_IFDIR | 02755},
        {"a+s", S_IFREG | 0755, S_IFREG | 06755},
        {"o+s", S_IFREG | 0755, S_IFREG | 04755},
        {"+t", S_IFDIR | 0777, S_IFDIR | 01777},
        {"+w", S_IFREG | 0444, S_IFREG | 0644},
        {"a+w", S_IFREG | 0444, S_IFREG | 0666},
        {"=rwx", S_IFREG, S_IFREG | 0750},
        {"+X", S_IFREG | 0644, S_IFREG | 0644},
        {"a+X", S_IFREG | 0744, S_IFREG | 0755},
        {"a+X", S_IFDIR | 0644, S_IFDIR | 0755},
        {"u+x,a+X", S_IFREG | 0644, S_IFREG | 0744},
        {"a-x,a+X", S_IFREG | 0744, S_IFREG | 0755},
        {"a+xX", S_IFREG | 0644, S_IFREG | 0644},
        {"a-X", S_IFREG | 0755, S_IFREG | 0644},
        {"g=u", S_IFREG | 0742, S_IFREG | 0772},
        {"g=u", S_IFREG | 07742, S_IFREG | 05772},
        {"o+g", S_IFREG | 0762, S_IFREG | 0766},
        {"g-o", S_IFREG | 0775, S_IFREG | 0725},
        {"g=u,o=", S_IFREG | 0746, S_IFREG | 0770},
        {"=u", S_IFREG | 07700, S_IFREG | 0750},
        {"Dg+s,ug+w,Fo-w,+X", S_IFREG | 0446, S_IFREG | 0664},
        {"Dg+s,ug+w,Fo-w,+X", S_IFDIR | 0446, S_IFDIR | 02776},
        {"uD+r", S_IFDIR, S_IFDIR | 0400},
        {"u+", S_IFREG | 0123, S_IFREG | 0123},
        {"a=", S_IFREG | 0777, S_IFREG},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mode_t got = changed(cases[i].text, cases[i].from);
        if (got != cases[i].to)
            tap_fail(__FILE__, __LINE__, "%s of %o is %o, not %o", cases[i].text, cases[i].from,
                     got, cases[i].to);
    }
}

TEST(refuses_what_it_does_not_understand)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "is missing"},         {",", "is missing"},
        {"u", "is missing"},        {"D", "is missing"},
        {"u+r,", "is missing"},     {",u+r", "is missing"},
        {"u+r,,g+r", "is missing"}, {"8", "stand the letters ugoa"},
        {"ux+r", "stand the"},      {" u+r", "stand the"},
        {"u+r ", "rwxXst"},         {"u+r-w", "rwxXst"},
        {"+644", "rwxXst"},         {"g=a", "rwxXst"},
        {"u+D", "rwxXst"},          {"g=ur", "stands alone"},
        {"g=uo", "stands alone"},   {"g=ru", "rwxXst"},
        {"u644", "takes no u"},     {"DF755", "exclude"},
        {"FuD+x", "exclude"},       {"17777", "7777"},
        {"99999999999", "ugoa"},    {"77777777777777777777777", "7777"},
        {"6448", "digits 0 to 7"},  {"644x", "digits 0 to 7"},
        {"u+\xff", "rwxXst"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir__chmod *chmod = NULL;
        const char *problem = NULL;
        CHECK_EQ(weir__chmod_new(&chmod, cases[i].text, &problem), -WEIR_E_INVALID);
        CHECK(!chmod);
        CHECK_HAS(problem, cases[i].problem);
    }
}

TEST(adds_all_or_nothing)
{
    struct weir__chmod *chmod;
    const char *problem;
    CHECK_EQ(weir__chmod_new(&chmod, "u=rw", &problem), 0);
    CHECK_EQ(weir__chmod_add(chmod, "g=r,o=r", &problem), 0);
    CHECK_EQ(weir__chmod_apply(chmod, S_IFREG | 0777, 0), S_IFREG | 0644);
    CHECK_EQ(weir__chmod_add(chmod, "a+x,q", &problem), -WEIR_E_INVALID);
    CHECK_EQ(weir__chmod_apply(chmod, S_IFREG | 0777, 0), S_IFREG | 0644);
    weir__chmod_free(chmod);
    weir__chmod_free(NULL);
}

TEST(stops_at_its_limit)
{
    struct weir__chmod *chmod;
    const char *problem = NULL;
    CHECK_EQ(weir__chmod_new(&chmod, "a=", &problem), 0);
    for (int i = 1; i < 1024; i++)
        CHECK_EQ(weir__chmod_add(chmod, i % 2 ? "u+r" : "g+w", &problem), 0);
    CHECK_EQ(weir__chmod_add(chmod, "o+x", &problem), -WEIR_E_INVALID);
    CHECK_HAS(problem, "1024");
    CHECK_EQ(weir__chmod_apply(chmod, S_IFREG | 0777, 0), S_IFREG | 0420);
    weir__chmod_free(chmod);
}

/* Modes of files and of directories, as rsync lists them. */
static const mode_t modes[] = {0,     0644, 0755, 04711, 02750, 01777,
                               07777, 0600, 0111, 0421,  06070, 03007};
#define MODES_COUNT (sizeof(modes) / sizeof(modes[0]))

static mode_t mode_of_text(const char *text)
{
    mode_t mode = text[0] == 'd' ? S_IFDIR : S_IFREG;
    for (int i = 0; i < 9; i++)
        if (strchr("rwxst", text[i + 1]))
            mode |= 0400u >> i;
    mode |= strchr("sS", text[3]) ? S_ISUID : 0;
    mode |= strchr("sS", text[6]) ? S_ISGID : 0;
    mode |= strchr("tT", text[9]) ? S_ISVTX : 0;
    return mode;
}

/* Ours and rsync's answer to one text, for each of the modes; both may refuse it. */
static void compare(const char *text)
{
    char command[512], line[512];
    struct weir__chmod *chmod = NULL;
    const char *problem = NULL;
    bool is_refused = weir__chmod_new(&chmod, text, &problem) != 0;
    snprintf(command, sizeof(command),
             "umask %03o; rsync --list-only -r --chmod='%s' modes/ 2>/dev/null", UMASK, text);
    FILE *pipe = popen(command, "r");
    CHECK(pipe);
    size_t count = 0;
    while (fgets(line, sizeof(line), pipe)) {
        char *name = strrchr(line, ' ');
        char path[64];
        struct stat st;
        if (!name || (name[1] != 'f' && name[1] != 'd'))
            continue;
        name[strcspn(name, "\n")] = '\0';
        snprintf(path, sizeof(path), "modes/%.16s", name + 1);
        CHECK_EQ(lstat(path, &st), 0);
        CHECK(!is_refused);
        mode_t from = st.st_mode;
        mode_t theirs = mode_of_text(line), ours = weir__chmod_apply(chmod, from, UMASK);
        if (ours != theirs)
            tap_fail(__FILE__, __LINE__, "'%s' of %o is %o, rsync says %o", text, from, ours,
                     theirs);
        count++;
    }
    bool is_refused_there = pclose(pipe) != 0;
    if (is_refused != is_refused_there)
        tap_fail(__FILE__, __LINE__, "'%s' is %s, by rsync %s", text,
                 is_refused ? "refused" : "taken", is_refused_there ? "refused" : "taken");
    CHECK_EQ(count, is_refused ? 0 : 2 * MODES_COUNT);
    weir__chmod_free(chmod);
}

static uint64_t random_state = 7;

static unsigned dice(unsigned sides)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % sides;
}

/* Mostly well-formed. */
static void make_text(char *text, size_t size)
{
    size_t length = 0;
    unsigned items = 1 + dice(3);
    for (unsigned item = 0; item < items && length + 24 < size; item++) {
        if (item > 0)
            text[length++] = ',';
        if (dice(4) == 0)
            text[length++] = "DF"[dice(2)];
        if (dice(5) == 0) {
            length += (size_t)snprintf(text + length, size - length, "%o", dice(010000));
            continue;
        }
        for (unsigned i = dice(3); i > 0; i--)
            text[length++] = "ugoa"[dice(4)];
        text[length++] = "+-="[dice(3)];
        if (dice(4) == 0)
            text[length++] = "ugo"[dice(3)];
        else
            for (unsigned i = 0, some = dice(64); i < 6; i++)
                if (some & (1u << i)) /* in this order: rsync forgets a t before an s */
                    text[length++] = "rwxXst"[i];
        if (dice(30) == 0)
            text[length++] = "u+8D,a"[dice(6)];
    }
    text[length] = '\0';
}

TEST(says_what_rsync_says)
{
    static const char *const texts[] = {
        "",       "644",    "D755", "F0",    "DF7",     "+r",      "=r",  "=",   "a=s",
        "u=t",    "=t",     "a=t",  "+X",    "=X",      "-X",      "+xX", "g=u", "=u",
        "-u",     "a=u",    "u=u",  "ug=o",  "g=ur",    "u+r-w",   "+s",  "o+s", "oa+s",
        "=rwxst", "u+rwst", "a-s",  "17777", "g=u,o=g", "u+x,a+X",
    };
    char text[256];
    if (!has_rsync())
        return;
    enter_folder();
    mkdir("modes", 0755);
    for (unsigned i = 0; i < MODES_COUNT; i++)
        shell("touch modes/f%u && mkdir modes/d%u && chmod %o modes/f%u modes/d%u", i, i,
              (unsigned)modes[i], i, i);
    if (geteuid() != 0)
        shell("chmod u+rx modes/d*");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        compare(texts[i]);
    const char *more = getenv("WEIR_LONG");
    for (int i = 0; i < (more && *more ? 500 : 40); i++) {
        make_text(text, sizeof(text));
        compare(text);
    }
}

/* What a text is taken for: "1:2", "1:", ":2", or the problem. */
static const char *owner(const char *text)
{
    static char result[256];
    bool has_uid = false, has_gid = false;
    uid_t uid = 77;
    gid_t gid = 77;
    const char *problem = NULL;
    int error = weir__chown_parse(text, &has_uid, &uid, &has_gid, &gid, &problem);
    if (error) {
        CHECK(!has_uid && !has_gid && uid == 77 && gid == 77);
        snprintf(result, sizeof(result), "%s: %s", weir_error_name(error), problem);
        return result;
    }
    CHECK(has_uid || uid == 77);
    CHECK(has_gid || gid == 77);
    int length = has_uid ? snprintf(result, sizeof(result), "%u:", uid)
                         : snprintf(result, sizeof(result), ":");
    if (has_gid)
        snprintf(result + length, sizeof(result) - (size_t)length, "%u", gid);
    return result;
}

TEST(owners_are_numbers_or_names)
{
    CHECK_STR(owner("1:2"), "1:2");
    CHECK_STR(owner("1:"), "1:");
    CHECK_STR(owner("1"), "1:");
    CHECK_STR(owner(":2"), ":2");
    CHECK_STR(owner("0:0"), "0:0");
    CHECK_STR(owner("4294967294:4294967294"), "4294967294:4294967294");
    CHECK_STR(owner("root:root"), "0:0");
    CHECK_STR(owner("root"), "0:");
    CHECK_STR(owner(":root"), ":0");
    CHECK_STR(owner("0:root"), "0:0");
}

TEST(refuses_owners_that_are_none)
{
    char name[400];
    CHECK_STR(owner(""), "Invalid: neither a user nor a group is named");
    CHECK_STR(owner(":"), "Invalid: neither a user nor a group is named");
    CHECK_STR(owner("4294967295"), "Invalid: the largest number is 4294967294");
    CHECK_STR(owner(":4294967296"), "Invalid: the largest number is 4294967294");
    CHECK_STR(owner("99999999999999999999999999"), "Invalid: the largest number is 4294967294");
    CHECK_STR(owner("-1"), "NotFound: there is no such user");
    CHECK_STR(owner("root.root"), "NotFound: there is no such user");
    CHECK_STR(owner("no-such-user-here"), "NotFound: there is no such user");
    CHECK_STR(owner("root:no-such-group-here"), "NotFound: there is no such group");
    CHECK_STR(owner("1:2:3"), "NotFound: there is no such group");
    CHECK_STR(owner("0x1"), "NotFound: there is no such user");
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK_STR(owner(name), "Invalid: the name is longer than 255 bytes");
    name[255] = '\0';
    CHECK_STR(owner(name), "NotFound: there is no such user");
}

TEST(every_user_is_found)
{
    setpwent();
    for (int i = 0; i < 50; i++) {
        const struct passwd *user = getpwent();
        if (!user)
            break;
        char wanted[32], name[256];
        snprintf(name, sizeof(name), "%s", user->pw_name);
        snprintf(wanted, sizeof(wanted), "%u:", user->pw_uid);
        CHECK_STR(owner(name), wanted);
    }
    endpwent();
}

TAP_MAIN()
