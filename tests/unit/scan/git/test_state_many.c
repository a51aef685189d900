/* test_state_many.c - several processes and threads at one folder of states, and writers that are
 * killed. */
#include "state_help.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* What each writer saves can be told apart: as many ids as its number says. */
#define WRITERS 3u
#define EACH    3000u

static _Noreturn void write_for_ever(unsigned number)
{
    struct weir__git_states states;
    struct weir__git_state_about about = help_about("r", 20);
    char here[300];
    if (!getcwd(here, sizeof(here)) || weir__git_states_open(&states, here, NULL, 0, why) < 0)
        _exit(2);
    for (;;)
        if (help_save(&states, &about, NULL, EACH * number, number) < 0)
            _exit(3);
}

static pid_t start_writer(unsigned number)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        write_for_ever(number);
    CHECK(child > 0);
    return child;
}

/* It must still have been at work. */
static void kill_writer(pid_t child)
{
    int status;
    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* One of the states that are written, whole; how many writers' worth. */
static unsigned check_one(const struct weir__git_states *states)
{
    struct weir__git_state_about about = help_about("r", 20);
    struct weir__git_state *state = help_load(states, &about);
    unsigned number = (unsigned)(weir__git_state_count(state) / EACH);
    CHECK(number >= 1 && number <= WRITERS);
    help_check(state, 20, (uint64_t)EACH * number, number);
    weir__git_state_free(state);
    return number;
}

TEST(the_last_writer_wins_and_no_file_is_torn)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    pid_t writers[WRITERS];
    CHECK_EQ(help_save(&states, &about, NULL, EACH, 1), 0);
    for (unsigned i = 0; i < WRITERS; i++)
        writers[i] = start_writer(i + 1);
    for (unsigned i = 0; i < 100; i++)
        check_one(&states);
    for (unsigned i = 0; i < WRITERS; i++)
        kill_writer(writers[i]);
    check_one(&states);
    weir__git_states_close(&states);
}

static unsigned count_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;
    CHECK(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

TEST(a_writer_that_is_killed_leaves_the_last_state)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    CHECK_EQ(help_save(&states, &about, NULL, EACH, 1), 0);
    for (unsigned i = 0; i < 60; i++) {
        pid_t writer = start_writer(2 + i % 2);
        /* Anywhere in its work. */
        for (unsigned k = 0; k < i % 20; k++)
            check_one(&states);
        kill_writer(writer);
        check_one(&states);
    }
    /* A file has a name of its own for the moment between two system calls only. */
    CHECK(count_entries("weir/scan") <= 3);
    weir__git_states_close(&states);
}

struct worker {
    struct weir__git_states *states;
    const struct weir__git_state *shared;
    char name[20];
    const char *flaw;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct weir__git_state_about about = help_about(worker->name, 20);
    for (uint64_t round = 1; round <= 20; round++) {
        char flaw[WEIR__GIT_FLAW_MAX];
        struct weir__git_state *old = NULL;
        struct weir__git_state_ids ids;
        int error = weir__git_state_load(&old, worker->states, &about, flaw);
        if (error != (round == 1 ? -WEIR_E_NOT_FOUND : 0) ||
            (old && weir__git_state_count(old) != 100 * (round - 1)))
            worker->flaw = "not loaded";
        weir__git_state_ids_init(&ids, 20, 0);
        for (uint64_t i = 0; i < 100; i++) {
            struct weir__git_id id = help_id(100 * round + i, 20);
            if (weir__git_state_ids_add(&ids, &id, 1) < 0)
                worker->flaw = "not added";
            if (weir__git_state_has(worker->shared, &id) != (100 * round + i < 1000))
                worker->flaw = "found wrongly";
        }
        struct weir__git_state_new made = {.old = old, .ids = &ids};
        if (weir__git_state_save(worker->states, &about, &made, flaw) < 0)
            worker->flaw = "not saved";
        weir__git_state_ids_fini(&ids);
        weir__git_state_free(old);
    }
    return NULL;
}

TEST(threads_share_a_folder_and_a_state)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("shared", 20);
    struct worker workers[4];
    pthread_t threads[4];
    CHECK_EQ(help_save(&states, &about, NULL, 1000, 0), 0);
    struct weir__git_state *shared = help_load(&states, &about);
    for (size_t i = 0; i < 4; i++) {
        workers[i] = (struct worker){.states = &states, .shared = shared};
        snprintf(workers[i].name, sizeof(workers[i].name), "%zu", i);
        CHECK_EQ(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < 4; i++)
        if (workers[i].flaw)
            tap_fail(__FILE__, __LINE__, "%s", workers[i].flaw);
    weir__git_state_free(shared);
    weir__git_states_close(&states);
}

TAP_MAIN()
