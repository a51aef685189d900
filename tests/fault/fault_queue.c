/* The one allocation of the queue fails: an error, nothing leaked, and the memory untouched. */
#include "tap.h"

#include <weir/queue.h>

#include "sweep.h"

static void everything(void)
{
    struct weir_queue queue = {0};
    struct weir_queue_options options = {.item_size = 8, .capacity = 512};
    int error = weir_queue_init(&queue, "work", &options);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK_STR(weir_error_detail(), "queue 'work': no memory for 512 items of 8 bytes");
    } else {
        uint64_t item = 1;
        CHECK_EQ(weir_queue_try_send(&queue, &item), 0);
        CHECK_EQ(weir_queue_drain(&queue, NULL, NULL), 1);
    }
    weir_queue_fini(&queue);
}

TEST(survives_every_failing_allocation)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, everything), 1);
}

TAP_MAIN()
