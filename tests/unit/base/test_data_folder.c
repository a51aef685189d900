/* Tests of where a storage keeps what is its own. */
#include <weir/error.h>

#include "data_folder.h"
#include "tap.h"

static char path[WEIR__DATA_PATH_SIZE];

TEST(by_who_asks_and_what_is_set)
{
    CHECK_EQ(weir__data_default_of(path, "storage", true, "/x", "/root"), 0);
    CHECK_STR(path, "/var/lib/weir/storage");
    CHECK_EQ(weir__data_default_of(path, "storage", false, "/x", "/h/me"), 0);
    CHECK_STR(path, "/x/weir/storage");
    CHECK_EQ(weir__data_default_of(path, "storage", false, NULL, "/h/me"), 0);
    CHECK_STR(path, "/h/me/.local/share/weir/storage");
    CHECK_EQ(weir__data_default_of(path, "storage", false, "relative", "/h/me"), 0);
    CHECK_STR(path, "/h/me/.local/share/weir/storage");
}

TEST(without_a_home)
{
    CHECK_EQ(weir__data_default_of(path, "storage", false, NULL, NULL), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__data_default_of(path, "storage", false, "", "home"), -WEIR_E_NOT_FOUND);
}

TEST(a_home_that_is_too_long)
{
    static char home[WEIR__DATA_PATH_SIZE];
    memset(home, 'x', sizeof(home) - 1);
    home[0] = '/';
    CHECK_EQ(weir__data_default_of(path, "storage", false, NULL, home), -WEIR_E_TOO_LARGE);
}

TAP_MAIN()
