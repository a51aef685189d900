/* write_wait.c - writes for who can wait: handed in, and waited for. */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"
#include "store_part.h"

#include "banned.h"

/* A write with all that it needs, which outlives a caller that gives up. */
struct waited {
    struct weir__store_write write;
    struct weir__store *store;
    struct weir_budget gate; /* open when it is done */
    struct weir_permit shut;
    bool is_abandoned; /* guarded by the store's lock */
    unsigned char bytes[];
};

static void waited_free(struct waited *waited)
{
    weir_budget_fini(&waited->gate);
    weir__base_free(waited);
}

static void waited_done(struct weir__store_write *write)
{
    struct waited *waited = write->arg;
    struct weir__store *store = waited->store;
    weir_lock_acquire(&store->lock);
    bool is_abandoned = waited->is_abandoned;
    weir_permit_release(&waited->shut);
    weir_lock_release(&store->lock);
    if (is_abandoned)
        waited_free(waited);
}

static int waited_new(struct waited **ret_waited, struct weir__store *store,
                      const struct weir__store_write *write)
{
    struct waited *waited = weir__base_alloc(1, sizeof(*waited) + write->length);
    if (!waited)
        return -WEIR_E_NO_MEMORY;
    waited->store = store;
    waited->write = *write;
    waited->write.bytes = waited->bytes;
    waited->write.done = waited_done;
    waited->write.arg = waited;
    if (write->length > 0)
        memcpy(waited->bytes, write->bytes, write->length);
    int error = weir_budget_init(&waited->gate, "store-write", 1);
    if (!error)
        error = weir_budget_try(&waited->gate, 1, &waited->shut);
    WEIR__REQUIRE(!error, "budget", "store-write", "a new one has room");
    *ret_waited = waited;
    return 0;
}

int weir__store_write_and_wait(struct weir__store *store, struct weir__store_write *write,
                               const struct weir_deadline *deadline)
{
    struct waited *waited;
    struct weir_permit open = WEIR_PERMIT_NONE;
    int error = waited_new(&waited, store, write);
    if (error)
        return error;
    error = weir__store_submit(store, &waited->write);
    if (error) {
        weir_permit_release(&waited->shut);
        waited_free(waited);
        return error;
    }
    error = weir_budget_acquire(&waited->gate, 1, &open, deadline);
    if (error) {
        weir_lock_acquire(&store->lock);
        waited->is_abandoned = weir_budget_try(&waited->gate, 1, &open) != 0;
        weir_lock_release(&store->lock);
        if (!weir_permit_is_held(&open))
            return error;
    }
    write->result = waited->write.result;
    write->sequence = waited->write.sequence;
    weir_permit_release(&open);
    waited_free(waited);
    return write->result;
}
