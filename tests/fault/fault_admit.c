/* Admission takes its memory at the start or not at all. */
#include "tap.h"

#include <weir/admit.h>

#include "sweep.h"

static void come_and_go(void)
{
    struct weir_admit admit = {0};
    struct weir_admit_options options = {.keys_max = 8, .per_s = 5};
    int error = weir_admit_init(&admit, "clients", &options);
    if (error) {
        CHECK_EQ(error, -WEIR_E_NO_MEMORY);
        CHECK_STR(weir_error_detail(), "admit 'clients': no memory for a table of 8 keys");
        CHECK(!admit._entries);
        weir_admit_fini(&admit);
        return;
    }
    for (uint32_t key = 0; key < 20; key++) {
        struct weir_admit_ticket ticket = WEIR_ADMIT_TICKET_NONE;
        if (weir_admit_try(&admit, &key, sizeof(key), &ticket) == 0)
            weir_admit_release(&ticket);
    }
    weir_admit_fini(&admit);
}

TEST(survives_every_allocation_that_fails)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, come_and_go), 3);
}

TAP_MAIN()
