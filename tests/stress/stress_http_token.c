/* Capabilities under real threads: one ring, and everybody mints, narrows and verifies with it. */
#include "stress.h"

#include <weir/error.h>

#include "atomic.h"
#include "capability_help.h"

#define THREADS 6

struct shared {
    struct weir__keyring *ring;
    struct weir__keyring *other; /* the same id with another key */
    char token[WEIR__TOKEN_SIZE];
    uint64_t allowed, refused;
};

static void check_one(struct shared *shared, const char *token, bool is_get, uint64_t dice)
{
    struct weir__token_grant grant;
    struct weir__token_request request = {.method = dice & 1 ? "GET" : "PUT",
                                          .path = dice & 2 ? "/o/x" : "/p",
                                          .path_length = dice & 2 ? 4 : 2,
                                          .scope = WEIR__SCOPE_READ,
                                          .now_s = NOW_S};
    const char *why = NULL;
    bool is_other = (dice & 12) == 0;
    int wanted = is_other                                 ? -WEIR_E_UNAUTHORIZED
                 : !(dice & 2) || (is_get && !(dice & 1)) ? -WEIR_E_FORBIDDEN
                                                          : 0;
    int result = weir__token_verify(&grant, is_other ? shared->other : shared->ring, token,
                                    strlen(token), &request, &why);
    CHECK_EQ(result, wanted);
    if (result == 0)
        CHECK_STR(grant.key_id, KEY_ID);
    weir__count(result == 0 ? &shared->allowed : &shared->refused, 1);
}

static void use(struct stress_thread *thread)
{
    static const char *const under[] = {"path under /o"}, *const get_alone[] = {"method in GET"};
    struct shared *shared = thread->shared;
    while (stress_goes_on(thread)) {
        char token[WEIR__TOKEN_SIZE], narrowed[WEIR__TOKEN_SIZE];
        check_one(shared, shared->token, false, stress_random(thread));
        CHECK_EQ(weir__token_mint(token, shared->ring, under, 1), 0);
        CHECK_EQ(weir__token_narrow(narrowed, token, strlen(token), get_alone, 1), 0);
        check_one(shared, token, false, stress_random(thread));
        check_one(shared, narrowed, true, stress_random(thread));
    }
}

TEST(one_ring_for_all)
{
    static const char *const under[] = {"path under /o"};
    static struct shared shared;
    CHECK(!weir__token_load());
    shared.ring = one_key(KEY_ID, 1);
    shared.other = one_key(KEY_ID, 2);
    CHECK_EQ(weir__token_mint(shared.token, shared.ring, under, 1), 0);
    stress_run(THREADS, &shared, use);
    CHECK(shared.allowed > 0 && shared.refused > 0);
    weir__keyring_free(shared.ring);
    weir__keyring_free(shared.other);
}

TAP_MAIN()
