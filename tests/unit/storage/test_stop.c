/* The end of the service that its own program asks for, without a signal. */
#include "running.h"

TEST(whoever_has_it_can_end_it)
{
    start(in_memory);
    CHECK_EQ(weir__storage_wait(storage, WEIR_NS_PER_MS), -WEIR_E_TIMEOUT);
    weir__storage_ask_to_stop(storage);
    CHECK_EQ(weir__storage_wait(storage, 60 * WEIR_NS_PER_S), -WEIR_E_CANCELED);
    struct weir_crew *crew = storage->crew;
    CHECK_EQ(weir_crew_state(crew), WEIR_CREW_RUNNING);
    CHECK_EQ(weir__storage_drain(storage, NULL), 0);
    CHECK_EQ(weir_crew_state(crew), WEIR_CREW_STOPPED);
    CHECK_EQ(kind_of("get").ended, kind_of("get").spawned);
    weir__storage_free(storage);
    weir__config_unref(config);
}

TAP_MAIN()
