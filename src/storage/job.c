/* job.c - what a job of the storage has besides what every job has: chunks that it holds, a file
 * that is being sent, a hold on a quota; and what a member of a pool works with.
 *
 * What is being sent belongs to the request between two steps, and to the job of a step while that
 * is under way: one of them frees it, whoever comes to its end last.
 */
#include <weir/error.h>

#include "errand_mutants.h"
#include "storage_part.h"

#include "banned.h"

static struct weir__ask *of(struct weir__daemon_ask *head)
{
    return (struct weir__ask *)head;
}

void weir__job_init(struct weir__errand *errand, const struct weir__daemon_ask *head)
{
    struct weir__job *job = weir__job_of(errand);
    job->address = ((const struct weir__ask *)head)->address;
    job->chunk.fd = -1;
}

void weir__job_fini(struct weir__errand *errand)
{
    struct weir__job *job = weir__job_of(errand);
    weir__quota_give(&job->hold);
    weir__chunk_release(weir__job_storage(job)->store, &job->chunk);
    weir__file_answer_free(job->file);
}

void weir__job_lend(struct weir__errand *errand, struct weir__daemon_ask *head)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__ask *ask = of(head);
    job->chunk = ask->chunk;
    job->file = ask->file;
    ask->chunk = (struct weir__chunk){.fd = -1};
    if (!WEIR__ERRAND_MUTANT(ERRAND_STEP_SHARES))
        ask->file = NULL;
}

void weir__job_take_back(struct weir__errand *errand, struct weir__daemon_ask *head)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__ask *ask = of(head);
    ask->chunk = job->chunk;
    ask->file = job->file;
    job->chunk = (struct weir__chunk){.fd = -1};
    job->file = NULL;
}
