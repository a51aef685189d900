/* self_random.c - random small programs: the explorer finds exactly the results that are possible.
 *
 * The explorer leaves out executions that cannot differ from others (no point before a release,
 * none for a buffered store, stores that arrive only when somebody looks). That nothing is lost by
 * it is checked here against a machine of the plainest kind: a state, all of its next states,
 * stores that arrive at any moment; no fibres, no bound, nothing left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "lock.h"
#include "self.h"
#include "tap.h"
#include "xp.h"

#define THREADS     3
#define STEPS_MAX   6
#define RESULTS_MAX 4096
#define STATES_MAX  (1u << 16)

enum kind { LOAD, STORE, STORE_SEQ, XCHG, ACQUIRE, RELEASE };

struct step {
    uint8_t kind;
    uint8_t variable;
    uint8_t value;
};
struct program {
    struct step step[THREADS][STEPS_MAX];
    uint8_t steps[THREADS];
};
static struct program program;

/* Results as one number: four bits for each value read and for each variable at the end. */
struct results {
    uint64_t result[RESULTS_MAX];
    size_t count;
};

static void results_add(struct results *results, uint64_t result)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->result[i] == result)
            return;
    CHECK(results->count < RESULTS_MAX);
    results->result[results->count++] = result;
}

/* --- the explorer's answer ------------------------------------------------------------------ */

static const struct weir_lock_class random_class = {"random", 1};
static struct {
    uint32_t variable[2];
    uint64_t reads;
    struct weir_lock lock;
} s;
static struct results found;

static void setup(void)
{
    weir_lock_init(&s.lock, &random_class);
}

static void run_step(const struct step *step, unsigned shift)
{
    uint32_t *variable = &s.variable[step->variable];
    uint64_t read = 0;
    switch (step->kind) {
    case LOAD:
        read = weir__load32(variable);
        break;
    case STORE:
        weir__store32(variable, step->value);
        break;
    case STORE_SEQ:
        weir__store32_seq(variable, step->value);
        break;
    case XCHG:
        read = weir__xchg32(variable, step->value);
        break;
    case ACQUIRE:
        weir_lock_acquire(&s.lock);
        break;
    default:
        weir_lock_release(&s.lock);
        break;
    }
    s.reads |= read << shift;
}

static void run_thread(void)
{
    unsigned me = (unsigned)xp_thread_index();
    unsigned reads = 0;
    for (unsigned i = 0; i < program.steps[me]; i++) {
        const struct step *step = &program.step[me][i];
        run_step(step, 4 * (4 * me + reads));
        reads += step->kind == LOAD || step->kind == XCHG;
    }
}

static void note_result(void)
{
    results_add(&found, s.reads | (uint64_t)s.variable[0] << 48 | (uint64_t)s.variable[1] << 52);
}

/* --- the plain machine's answer ------------------------------------------------------------- */

struct state {
    uint64_t reads;
    uint8_t variable[2];
    uint8_t holder; /* of the lock; 0 is nobody */
    uint8_t at[THREADS];
    uint8_t read_count[THREADS];
    uint8_t buffered[THREADS];
    struct step buffer[THREADS][STEPS_MAX];
};
static struct state *states;
static uint32_t states_count;
static struct results possible;
static bool is_tso;

static bool is_new(const struct state *state)
{
    for (uint32_t i = 0; i < states_count; i++)
        if (memcmp(&states[i], state, sizeof(*state)) == 0)
            return false;
    CHECK(states_count < STATES_MAX);
    states[states_count++] = *state;
    return true;
}

static void machine_drain(struct state *state, unsigned thread)
{
    struct step *buffer = state->buffer[thread];
    state->variable[buffer[0].variable] = buffer[0].value;
    memmove(buffer, buffer + 1, (STEPS_MAX - 1) * sizeof(*buffer));
    buffer[STEPS_MAX - 1] = (struct step){0, 0, 0};
    state->buffered[thread]--;
}

static uint8_t machine_read(const struct state *state, unsigned thread, uint8_t variable)
{
    for (unsigned i = state->buffered[thread]; i-- > 0;)
        if (state->buffer[thread][i].variable == variable)
            return state->buffer[thread][i].value;
    return state->variable[variable];
}

/* False when the thread cannot go on in this state. */
static bool machine_step(struct state *state, unsigned thread)
{
    if (state->at[thread] == program.steps[thread])
        return false;
    const struct step *step = &program.step[thread][state->at[thread]];
    bool is_ordered = step->kind != LOAD && step->kind != STORE;
    if (is_ordered && state->buffered[thread] > 0)
        return false;
    if (step->kind == ACQUIRE && state->holder)
        return false;
    if (step->kind == LOAD || step->kind == XCHG)
        state->reads |= (uint64_t)machine_read(state, thread, step->variable)
                        << 4 * (4 * thread + state->read_count[thread]++);
    if (step->kind == STORE && is_tso)
        state->buffer[thread][state->buffered[thread]++] = *step;
    else if (step->kind == STORE || step->kind == STORE_SEQ || step->kind == XCHG)
        state->variable[step->variable] = step->value;
    else if (step->kind != LOAD)
        state->holder = step->kind == ACQUIRE ? (uint8_t)(thread + 1) : 0;
    state->at[thread]++;
    return true;
}

static void machine_run(const struct state *state)
{
    if (!is_new(state))
        return;
    bool is_end = true;
    for (unsigned i = 0; i < THREADS; i++) {
        struct state next = *state;
        if (machine_step(&next, i)) {
            is_end = false;
            machine_run(&next);
        }
        if (state->buffered[i] > 0) {
            is_end = false;
            next = *state;
            machine_drain(&next, i);
            machine_run(&next);
        }
    }
    if (is_end)
        results_add(&possible, state->reads | (uint64_t)state->variable[0] << 48 |
                                   (uint64_t)state->variable[1] << 52);
}

/* --- the comparison ------------------------------------------------------------------------- */

static uint64_t seed;

static unsigned random_below(unsigned limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % limit;
}

/* Two or three threads of up to four accesses, some of them under the lock. */
static void make_program(void)
{
    memset(&program, 0, sizeof(program));
    unsigned threads = 2 + random_below(2);
    for (unsigned i = 0; i < threads; i++) {
        unsigned accesses = threads == 2 ? 3 + random_below(2) : 2, at = 0;
        bool is_locked = random_below(3) == 0;
        unsigned first = random_below(accesses), last = first + random_below(accesses - first);
        for (unsigned j = 0; j < accesses; j++) {
            if (is_locked && j == first)
                program.step[i][at++].kind = ACQUIRE;
            program.step[i][at++] = (struct step){
                (uint8_t)(random_below(8) < 7 ? random_below(2) : 2 + random_below(2)),
                (uint8_t)random_below(2), (uint8_t)(1 + 4 * i + j)};
            if (is_locked && j == last)
                program.step[i][at++].kind = RELEASE;
        }
        program.steps[i] = (uint8_t)at;
    }
}

static void compare(unsigned number)
{
    static const struct xp_scenario scenario = {XP_STATE(s), .setup = setup,
                                                .threads = {run_thread, run_thread, run_thread},
                                                .check = note_result};
    static struct state start;
    found.count = possible.count = 0;
    states_count = 0;
    machine_run(&start);
    must_hold(&scenario, is_tso, 8);
    if (found.count != possible.count)
        printf("# program %u: %zu results found, %zu possible\n", number, found.count,
               possible.count);
    size_t found_count = found.count;
    for (size_t i = 0; i < possible.count; i++)
        results_add(&found, possible.result[i]);
    CHECK_EQ(found_count, found.count);
    CHECK_EQ(found.count, possible.count);
}

static void compare_many(bool tso, unsigned count)
{
    is_tso = tso;
    seed = 2024;
    states = malloc(STATES_MAX * sizeof(*states));
    CHECK(states);
    for (unsigned i = 0; i < count; i++) {
        make_program();
        compare(i);
    }
    free(states);
}

TEST(random_programs_have_all_their_results)
{
    compare_many(false, 150);
}

TEST(random_programs_have_all_their_results_with_tso)
{
    compare_many(true, 150);
}
