/* SPDX-License-Identifier: Apache-2.0 */
/* Facts on the batches of a training: who fetches them, and whether they are ready in time. */
#include <string.h>

#include "analysis/steps/steady_time.h"
#include "analysis/training/training_facts.h"

static bool has_payload(const struct ss_model *model, const struct ss_model_range *range,
                        int64_t *number)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    *number = payload->integer;
    return range->payload != 0 && (payload->type == SS_VALUE_INT || payload->type == SS_VALUE_UINT);
}

/* Sums over all batches of all workers. */
struct worker_sums {
    uint64_t ns, collate_ns;
    uint64_t in_steps_ns; /* the part within steady-state steps */
};

/* `cursor`: of the worker's trainer. */
static void add_worker_range(struct ss_training_facts *facts, struct ss_steady_cursor *cursor,
                             const struct ss_model_range *range, struct worker_sums *workers)
{
    const char *name = ss_training_range_name(facts->model, range);
    bool is_fetch = strcmp(name, "fetch") == 0, is_in;
    if (!is_fetch && strcmp(name, "collate") != 0) {
        return;
    }
    uint64_t ns = range->end_ns - range->begin_ns;
    uint64_t steady_ns = ss_steady_time_of(cursor, range->begin_ns, range->end_ns, &is_in);
    if (steady_ns == 0) {
        return;
    }
    if (is_fetch) {
        facts->worker_batches++;
        workers->ns += ns;
        workers->in_steps_ns += steady_ns;
    } else {
        workers->collate_ns += ns;
    }
}

/* With 0 workers the trainer itself fetches, while it requests a batch. Times are sums until the
 * end. */
static void add_trainer_range(struct ss_training_facts *facts, uint32_t process,
                              const struct ss_model_range *range)
{
    const struct ss_step *step = ss_step_at(facts->steps, process, range->begin_ns);
    const char *name = ss_training_range_name(facts->model, range);
    uint64_t ns = range->end_ns - range->begin_ns;
    int64_t ready;
    if (step == NULL || step->kind != SS_STEP_STEADY) {
        return;
    }
    if (strcmp(name, "fetch") == 0) {
        facts->fetch_ns += ns;
        facts->fetches++;
    } else if (strcmp(name, "iterate") == 0) {
        facts->iterators++;
    } else if (strcmp(name, "collate") == 0) {
        facts->fetch_collate_ns += ns;
    } else if (strcmp(name, "next") == 0 && has_payload(facts->model, range, &ready)) {
        facts->nexts++;
        facts->empty_nexts += ready <= 0;
    }
}

static void add_run(struct ss_training_facts *facts, const struct ss_range_run *run,
                    const struct ss_steady_time *steady, struct worker_sums *workers)
{
    uint32_t process = ss_range_run_process(facts->model, run);
    uint32_t trainer = ss_training_trainer(facts, process);
    struct ss_steady_cursor cursor;
    ss_steady_cursor_init(&cursor, steady, trainer);
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &facts->model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) != 0) {
            continue;
        }
        if (trainer == process) {
            add_trainer_range(facts, process, range);
        } else {
            add_worker_range(facts, &cursor, range, workers);
        }
    }
}

void ss_training_loading_find(struct ss_training_facts *facts, const struct ss_selection *selection)
{
    struct ss_steady_time steady;
    struct worker_sums workers = {0};
    const struct ss_step_summary *steps = facts->steps;
    const struct ss_range_run *run = NULL;
    ss_steady_time_init(&steady, steps, SS_STEADY_OF_ALL);
    while ((run = ss_range_runs_next(&steps->index.runs, run, SS_ROLE_LOADER)) != NULL) {
        if (ss_training_has_run(facts, selection, run)) {
            add_run(facts, run, &steady, &workers);
        }
    }
    ss_steady_time_fini(&steady);
    facts->fetch_ns = ss_training_per(facts->fetch_ns, steps->steady);
    facts->batches = (double)facts->fetches / (double)(steps->steady > 0 ? steps->steady : 1);
    facts->fetch_collate_ns = ss_training_per(facts->fetch_collate_ns, steps->steady);
    facts->worker_batch_ns = ss_training_per(workers.ns, facts->worker_batches);
    facts->worker_collate_ns = ss_training_per(workers.collate_ns, facts->worker_batches);
    if (facts->workers > 0 && steps->total_ns > 0) {
        facts->worker_busy =
            (double)workers.in_steps_ns / ((double)facts->workers * (double)steps->total_ns);
    }
}
