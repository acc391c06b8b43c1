/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of epoch starts in a training whose DataLoader has workers: workers are restarted, and
 * even persistent ones have no batch ready. */
#include <stdlib.h>
#include <string.h>

#include "analysis/training/training_facts.h"
#include "base/search.h"
#include "base/shared_names.h"

/* In the order of events that begin at one time. */
enum kind { ITERATE, START, NEXT, STOP, KINDS };
static const char *const names[KINDS] = {"iterate", "start workers", "next", "stop workers"};

struct event {
    uint32_t process;
    enum kind kind;
    uint64_t begin_ns, end_ns;
    int64_t workers;
};

/* The begin of a fetch by one of a trainer's workers. */
struct fetch {
    uint32_t trainer;
    uint64_t begin_ns;
};

struct epoch {
    uint32_t process;
    const struct ss_step *step; /* in which it begins */
    uint64_t begin_ns, end_ns;  /* of the range that starts it */
    uint64_t first_ns;          /* the first wait */
    uint64_t waits_ns;          /* for as many batches as there are workers */
    uint64_t waits;
    bool is_new; /* workers were started */
};

struct scan {
    struct ss_training_facts *facts;
    struct ss_vec_of(struct event) events;  /* by process, then by begin */
    struct ss_vec_of(struct fetch) fetches; /* by trainer, then by begin */
    struct ss_vec_of(struct epoch) epochs;  /* the epochs that count */
    uint64_t others, others_ns;             /* waits for later batches */
    uint64_t stops_ns, steady_stops_ns;     /* stopping workers; within steady-state steps */
};

static int compare(uint32_t a, uint64_t a_ns, uint32_t b, uint64_t b_ns)
{
    return a != b ? (a < b ? -1 : 1) : (a_ns > b_ns) - (a_ns < b_ns);
}

static int compare_events(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    int order = compare(a->process, a->begin_ns, b->process, b->begin_ns);
    return order != 0 ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_fetches(const void *left, const void *right)
{
    const struct fetch *a = left, *b = right;
    return compare(a->trainer, a->begin_ns, b->trainer, b->begin_ns);
}

static void add_range(struct scan *scan, const struct ss_model_range *range, uint32_t process,
                      uint32_t trainer)
{
    const struct ss_model *model = scan->facts->model;
    const struct ss_model_path *path = &model->paths.data[range->path];
    const char *name = ss_model_text(model, model->names.data[path->name].text);
    if (process != trainer) {
        if (strcmp(name, "fetch") == 0) {
            ss_vec_push(&scan->fetches, (struct fetch){trainer, range->begin_ns});
        }
        return;
    }
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    bool has_number = range->payload != 0 && payload->type == SS_VALUE_INT;
    for (enum kind kind = ITERATE; kind < KINDS; kind++) {
        if (strcmp(name, names[kind]) == 0) {
            ss_vec_push(&scan->events, (struct event){process, kind, range->begin_ns, range->end_ns,
                                                      has_number ? payload->integer : 0});
        }
    }
}

static void collect(struct scan *scan, const struct ss_selection *selection)
{
    const struct ss_model *model = scan->facts->model;
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&scan->facts->steps->index.runs, run, SS_ROLE_LOADER)) !=
           NULL) {
        uint32_t process = ss_range_run_process(model, run);
        uint32_t trainer = ss_training_trainer(scan->facts, process);
        bool is_selected = trainer != 0 && selection->processes[trainer];
        for (size_t i = run->first; i < run->end && is_selected; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if ((range->flags & SS_RANGE_OUTSIDE) == 0) {
                add_range(scan, range, process, trainer);
            }
        }
    }
    if (scan->events.count > 0) {
        qsort(scan->events.data, scan->events.count, sizeof(struct event), compare_events);
    }
    if (scan->fetches.count > 0) {
        qsort(scan->fetches.data, scan->fetches.count, sizeof(struct fetch), compare_fetches);
    }
}

static bool counts(const struct ss_step *step)
{
    return step != NULL && (step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER);
}

/* The progress of an epoch. */
struct progress {
    struct epoch *epoch; /* NULL: it does not count */
    bool has_begun, has_workers;
    uint64_t left;     /* first batches still to come */
    uint64_t *wait_ns; /* the sum that includes the last wait; NULL: none */
    uint64_t wait_end_ns;
};

/* The first epoch of a process does not count: its start is unavoidable. */
static void begin_epoch(struct scan *scan, const struct event *event, const struct ss_step *step,
                        struct progress *progress)
{
    progress->has_workers = event->workers > 0;
    progress->left = progress->has_workers ? (uint64_t)event->workers : 0;
    progress->epoch = NULL;
    progress->wait_ns = NULL;
    if (progress->has_workers && progress->has_begun && counts(step)) {
        ss_vec_push(&scan->epochs, (struct epoch){.process = event->process,
                                                  .step = step,
                                                  .begin_ns = event->begin_ns,
                                                  .end_ns = event->end_ns,
                                                  .is_new = event->kind == START});
        progress->epoch = &scan->epochs.data[scan->epochs.count - 1];
    }
    progress->has_begun = progress->has_begun || progress->has_workers;
}

static void add_wait(struct scan *scan, const struct event *event, struct progress *progress)
{
    uint64_t ns = event->end_ns - event->begin_ns;
    struct epoch *epoch = progress->epoch;
    progress->wait_end_ns = event->end_ns;
    progress->wait_ns = NULL;
    if (progress->left == 0) {
        scan->others++;
        scan->others_ns += ns;
        progress->wait_ns = &scan->others_ns;
    } else if (epoch != NULL) {
        epoch->first_ns = epoch->waits == 0 ? ns : epoch->first_ns;
        epoch->waits++;
        epoch->waits_ns += ns;
        progress->wait_ns = &epoch->waits_ns;
    }
    progress->left -= progress->left > 0;
}

/* The end of an epoch is detected within a wait for one more batch: the stop is not a part of that
 * wait, which is for no batch. */
static void add_stop(struct scan *scan, const struct event *event, const struct ss_step *step,
                     struct progress *progress)
{
    uint64_t ns = event->end_ns - event->begin_ns;
    scan->stops_ns += ns;
    scan->steady_stops_ns += step->kind == SS_STEP_STEADY ? ns : 0;
    if (progress->wait_ns != NULL && event->begin_ns < progress->wait_end_ns) {
        *progress->wait_ns -= ns < *progress->wait_ns ? ns : *progress->wait_ns;
        bool is_first = progress->wait_ns != &scan->others_ns;
        *(is_first ? &progress->epoch->waits : &scan->others) -= 1;
        progress->wait_ns = NULL;
    }
}

/* The events of one process in order. */
static void walk(struct scan *scan, const struct event *events, size_t count)
{
    struct progress progress = {0};
    for (size_t i = 0; i < count; i++) {
        const struct event *event = &events[i];
        const struct ss_step *step =
            ss_step_at(scan->facts->steps, event->process, event->begin_ns);
        if (event->kind == ITERATE || event->kind == START) {
            begin_epoch(scan, event, step, &progress);
        } else if (event->kind == STOP && counts(step)) {
            add_stop(scan, event, step, &progress);
        } else if (event->kind == NEXT && progress.has_workers && counts(step)) {
            add_wait(scan, event, &progress);
        }
    }
}

/* The part of the first wait before a worker begins to fetch. */
static uint64_t until_fetch_ns(const struct scan *scan, const struct epoch *epoch)
{
    /* The first of the epoch. */
    size_t low = ss_search(i, 0, scan->fetches.count,
                           compare(scan->fetches.data[i].trainer, scan->fetches.data[i].begin_ns,
                                   epoch->process, epoch->begin_ns) < 0);
    const struct fetch *fetch = low < scan->fetches.count ? &scan->fetches.data[low] : NULL;
    if (fetch == NULL || fetch->trainer != epoch->process || fetch->begin_ns <= epoch->end_ns) {
        return 0;
    }
    uint64_t ns = fetch->begin_ns - epoch->end_ns;
    return ns < epoch->first_ns ? ns : epoch->first_ns;
}

/* How much longer the step computes than a steady-state step. Each forked worker causes the
 * trainer's memory to be copied page by page as it is written, and takes a core while it starts. */
static uint64_t slower_ns(const struct ss_training_facts *facts, const struct ss_step *step)
{
    static const char *const computes[] = {ss_phase_forward, ss_phase_backward, ss_phase_optimizer};
    const struct ss_step_summary *steps = facts->steps;
    const uint64_t *row_ns =
        steps->phase_ns + (size_t)(step - steps->steps.data) * steps->phases.count;
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < sizeof computes / sizeof *computes; i++) {
        const struct ss_step_phase *phase = ss_training_phase(facts, computes[i]);
        uint64_t steady_ns = ss_training_phase_ns(facts, computes[i]);
        uint64_t ns = phase != NULL ? row_ns[phase - steps->phases.data] : 0;
        sum_ns += ns > steady_ns ? ns - steady_ns : 0;
    }
    return sum_ns;
}

/* Counts the part of the waits that exceeds the mean wait for later batches. */
static void sum_up(struct scan *scan)
{
    struct ss_training_epochs *epochs = &scan->facts->epochs;
    uint64_t other_ns = ss_training_per(scan->others_ns, scan->others),
             restarts_ns = scan->stops_ns;
    uint64_t waits_ns = 0, steady_ns = scan->steady_stops_ns, behind_ns = 0;
    for (size_t i = 0; i < scan->epochs.count; i++) {
        const struct epoch *epoch = &scan->epochs.data[i];
        uint64_t starting_ns = epoch->is_new ? until_fetch_ns(scan, epoch) : 0;
        uint64_t expected_ns = starting_ns + epoch->waits * other_ns;
        uint64_t begin_ns = epoch->end_ns - epoch->begin_ns;
        uint64_t wait_ns = epoch->waits_ns > expected_ns ? epoch->waits_ns - expected_ns : 0;
        wait_ns += epoch->is_new ? 0 : begin_ns;
        uint64_t restart_ns = epoch->is_new ? begin_ns + starting_ns : 0;
        restarts_ns += restart_ns;
        behind_ns += epoch->is_new ? slower_ns(scan->facts, epoch->step) : 0;
        waits_ns += wait_ns;
        steady_ns += epoch->step->kind == SS_STEP_STEADY ? restart_ns + wait_ns : 0;
        epochs->restarts += epoch->is_new;
    }
    uint64_t steps = scan->facts->steps->steady + scan->facts->steps->outliers;
    epochs->starts = scan->epochs.count;
    epochs->steps = ss_training_per(steps + scan->facts->steps->warm_up,
                                    epochs->starts + scan->facts->steps->processes);
    epochs->restart_ns = ss_training_per(restarts_ns, steps);
    epochs->behind_ns = ss_training_per(behind_ns, steps);
    epochs->wait_ns = ss_training_per(waits_ns, steps);
    epochs->steady_ns = ss_training_per(steady_ns, scan->facts->steps->steady);
    epochs->each_restart_ns = ss_training_per(restarts_ns, epochs->restarts);
    epochs->each_behind_ns = ss_training_per(behind_ns, epochs->restarts);
    epochs->each_wait_ns = ss_training_per(waits_ns, epochs->starts);
}

void ss_training_epochs_find(struct ss_training_facts *facts, const struct ss_selection *selection)
{
    struct scan scan = {.facts = facts};
    collect(&scan, selection);
    const struct event *events = scan.events.data;
    for (size_t first = 0, end; first < scan.events.count; first = end) {
        for (end = first;
             end < scan.events.count && events[end].process == events[first].process;) {
            end++;
        }
        walk(&scan, events + first, end - first);
    }
    sum_up(&scan);
    ss_vec_fini(&scan.events);
    ss_vec_fini(&scan.fetches);
    ss_vec_fini(&scan.epochs);
}
