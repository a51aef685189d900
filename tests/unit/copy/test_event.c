/* test_event.c - the itemised lines, each as rsync 3 prints it for the same thing. */
#include "event.h"

#include "copy.h"

#include "tap.h"

static char text[WEIR__ITEMIZED_SIZE];

static const char *itemized(struct weir__copy_event event)
{
    memset(text, 'Z', sizeof(text));
    weir__copy_itemize(&event, text);
    return text;
}

#define ITEM(...) itemized((struct weir__copy_event){__VA_ARGS__})

TEST(new_things_have_plus_signs)
{
    CHECK_STR(ITEM(.update = '>', .type = 'f', .is_new = true), ">f+++++++++");
    CHECK_STR(ITEM(.update = 'c', .type = 'd', .is_new = true), "cd+++++++++");
    CHECK_STR(ITEM(.update = 'c', .type = 'L', .is_new = true), "cL+++++++++");
    CHECK_STR(ITEM(.update = 'c', .type = 'D', .is_new = true), "cD+++++++++");
    CHECK_STR(ITEM(.update = 'c', .type = 'S', .is_new = true), "cS+++++++++");
    CHECK_STR(ITEM(.update = 'h', .type = 'f', .is_new = true, .target = "a"), "hf+++++++++");
    /* Whatever differs from nothing is not told. */
    CHECK_STR(ITEM(.update = '>', .type = 'f', .is_new = true,
                   .changes = WEIR__CHANGE_SIZE | WEIR__CHANGE_TIME_NOW),
              ">f+++++++++");
}

TEST(every_change_has_its_place)
{
    static const struct {
        unsigned change;
        const char *wanted;
    } all[] = {
        {WEIR__CHANGE_CONTENT, ">fc........"}, {WEIR__CHANGE_SIZE, ">f.s......."},
        {WEIR__CHANGE_TIME, ">f..t......"},    {WEIR__CHANGE_MODE, ">f...p....."},
        {WEIR__CHANGE_OWNER, ">f....o...."},   {WEIR__CHANGE_GROUP, ">f.....g..."},
        {WEIR__CHANGE_ATIME, ">f......u.."},   {WEIR__CHANGE_ACL, ">f.......a."},
        {WEIR__CHANGE_XATTR, ">f........x"},   {WEIR__CHANGE_TIME_NOW, ">f..T......"},
        {(1u << 9) - 1, ">fcstpoguax"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        CHECK_STR(ITEM(.update = '>', .type = 'f', .changes = all[i].change), all[i].wanted);
    CHECK_STR(ITEM(.update = '>', .type = 'f', .changes = WEIR__CHANGE_SIZE | WEIR__CHANGE_TIME),
              ">f.st......");
    CHECK_STR(ITEM(.update = '>', .type = 'f',
                   .changes = WEIR__CHANGE_SIZE | WEIR__CHANGE_TIME | WEIR__CHANGE_TIME_NOW),
              ">f.sT......");
}

TEST(metadata_alone)
{
    CHECK_STR(ITEM(.update = '.', .type = 'd', .changes = WEIR__CHANGE_TIME), ".d..t......");
    CHECK_STR(ITEM(.update = '.', .type = 'S', .changes = WEIR__CHANGE_TIME | WEIR__CHANGE_MODE),
              ".S..tp.....");
    CHECK_STR(ITEM(.update = 'c', .type = 'L', .changes = WEIR__CHANGE_CONTENT), "cLc........");
}

TEST(nothing_to_tell)
{
    CHECK_STR(ITEM(.kind = WEIR__EVENT_SAME, .update = '.', .type = 'f'), ".f         ");
    CHECK_STR(ITEM(.kind = WEIR__EVENT_SAME, .type = 'd'), ".d         ");
    CHECK_STR(ITEM(.update = 'h', .type = 'f'), "hf         ");
    /* With --ignore-times data move although nothing differs. */
    CHECK_STR(ITEM(.update = '>', .type = 'f'), ">f.........");
}

TEST(deletions)
{
    CHECK_STR(ITEM(.kind = WEIR__EVENT_DELETED, .type = 'd'), "*deleting  ");
    CHECK_STR(ITEM(.update = '*', .type = 'f'), "*deleting  ");
}

TEST(defaults_of_a_copy)
{
    struct weir__copy_options options;
    memset(&options, 0xff, sizeof(options));
    weir__copy_options_init(&options);
    CHECK(options.recursive && options.links && options.perms && options.times);
    CHECK(options.owner && options.group && options.devices && options.specials);
    CHECK(!options.hard_links && !options.acls && !options.xattrs && !options.atimes);
    CHECK_EQ(options.sparse, WEIR__SPARSE_KEEP);
    CHECK(options.size_max == UINT64_MAX && options.size_min == 0);
    CHECK(options.delete_max == UINT64_MAX && options.delete_when == WEIR__DELETE_NEVER);
    CHECK(options.files_max == 0 && options.bytes_max == WEIR__COPY_BYTES_DEFAULT);
    CHECK(!options.filter && !options.chmod && !options.files_from);
}

TAP_MAIN()
