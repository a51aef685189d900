/* The one allocation of the watch fails: an error, nothing leaked, and the memory untouched. */
#include "tap.h"

#include <weir/watch.h>

#include "sweep.h"

static void everything(void)
{
    struct weir_watch watch = {0};
    uint64_t value = 1;
    int error = weir_watch_init(&watch, "config", sizeof(value), &value);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK_STR(weir_error_detail(), "watch 'config': no memory for a value of 8 bytes");
    } else {
        CHECK_EQ(weir_watch_set(&watch, &value), 0);
        weir_watch_get(&watch, &value, NULL);
    }
    weir_watch_fini(&watch);
}

TEST(survives_every_failing_allocation)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, everything), 1);
}

TAP_MAIN()
