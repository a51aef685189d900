/* The one allocation of the bus fails: an error, nothing leaked, and the memory untouched. */
#include "tap.h"

#include <weir/bus.h>

#include "sweep.h"

static void everything(void)
{
    struct weir_bus bus = {0};
    struct weir_bus_subscriber subscriber = {0};
    struct weir_bus_options options = {.message_size = 8};
    int error = weir_bus_init(&bus, "events", &options);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK_STR(weir_error_detail(), "bus 'events': no memory for 1024 messages of 8 bytes");
    } else {
        uint64_t message = 1;
        CHECK_EQ(weir_bus_subscribe(&bus, &subscriber, "audit"), 0);
        CHECK_EQ(weir_bus_publish(&bus, &message), 0);
        CHECK_EQ(weir_bus_try_recv(&subscriber, &message), 0);
    }
    weir_bus_unsubscribe(&subscriber);
    weir_bus_fini(&bus);
}

TEST(survives_every_failing_allocation)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, everything), 1);
}

TAP_MAIN()
