/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of steps: which there are, and the time of each in each step. */
#include <stdlib.h>
#include <string.h>

#include "analysis/ranges.h"
#include "analysis/steps.h"
#include "base/alloc.h"
#include "base/shared_names.h"

static const char *const ordered_phases[] = {
    ss_phase_data,      ss_phase_forward,    ss_phase_backward,   ss_phase_communication,
    ss_phase_optimizer, ss_phase_checkpoint, ss_phase_evaluation, ss_phase_inference};
enum { ORDERED_COUNT = sizeof ordered_phases / sizeof *ordered_phases };

static uint32_t phase_name(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->names.data[model->paths.data[range->path].name].text;
}

/* The index of the phase; `count` where there is none: the index of "other". */
static size_t find_phase(const struct ss_step_summary *summary, size_t count, uint32_t name)
{
    size_t at = 0;
    while (at < count && summary->phases.data[at].name != name) {
        at++;
    }
    return at;
}

static size_t order_of(const struct ss_model *model, const struct ss_step_phase *phase)
{
    size_t at = 0;
    while (at < ORDERED_COUNT &&
           strcmp(ss_model_text(model, phase->name), ordered_phases[at]) != 0) {
        at++;
    }
    return at;
}

/* Known phases first, in the order in which a step has them; the others in order of appearance. */
static void order_phases(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct ss_step_phase *rows = summary->phases.data;
    for (size_t i = 1; i < summary->phases.count; i++) {
        struct ss_step_phase row = rows[i];
        size_t at = i;
        for (; at > 0 && order_of(model, &rows[at - 1]) > order_of(model, &row); at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
}

/* The string of a name in the recording; 0: none. */
static uint32_t find_name(const struct ss_model *model, const char *text)
{
    for (size_t i = 1; i < model->names.count; i++) {
        if (strcmp(ss_model_text(model, model->names.data[i].text), text) == 0) {
            return model->names.data[i].text;
        }
    }
    return 0;
}

static void list_phase(struct ss_step_summary *summary, uint32_t name)
{
    size_t count = summary->phases.count;
    if (name != 0 && count < SS_STEP_MAX_PHASES - 1 && find_phase(summary, count, name) == count) {
        ss_vec_push(&summary->phases, (struct ss_step_phase){.name = name});
    }
}

/* The next run of phases of a selected process; NULL: none. */
static const struct ss_range_run *next_run(const struct ss_step_summary *summary,
                                           const struct ss_selection *selection,
                                           const struct ss_range_run *run)
{
    do {
        run = ss_range_runs_next(&summary->index.runs, run, SS_ROLE_PHASES);
    } while (run != NULL && (selection->model->tracks.data[run->track].process == 0 ||
                             !ss_selection_has_track(selection, run->track)));
    return run;
}

static void list_phases(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    if (summary->index.waits.spans.count > 0) {
        list_phase(summary, find_name(model, ss_phase_communication));
    }
    const struct ss_range_run *run = NULL;
    while ((run = next_run(summary, selection, run)) != NULL) {
        for (size_t i = run->first; i < run->end; i++) {
            list_phase(summary, phase_name(model, &model->ranges.data[i]));
        }
    }
    order_phases(summary, model);
    ss_vec_push(&summary->phases, (struct ss_step_phase){.name = 0});
}

struct phase_part {
    uint32_t process;
    size_t phase;
    uint64_t begin_ns, end_ns;
    uint64_t before_ns; /* of this phase of this process, before this part */
};

static int compare_parts(const void *left, const void *right)
{
    const struct phase_part *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int compare_of_phase(const void *left, const void *right)
{
    const struct phase_part *a = left, *b = right;
    if (a->phase != b->phase) {
        return a->phase < b->phase ? -1 : 1;
    }
    return compare_parts(a, b);
}

struct phase_parts ss_vec_of(struct phase_part);

/* Of overlapping phases, which a damaged recording may have, the later one ends the earlier one:
 * then parts do not overlap, and prefix sums give a phase's time within any interval. */
static void remove_overlaps(struct phase_parts *parts)
{
    struct phase_part *rows = parts->data;
    qsort(rows, parts->count, sizeof *rows, compare_parts);
    for (size_t i = 0; i + 1 < parts->count; i++) {
        if (rows[i + 1].process == rows[i].process && rows[i + 1].begin_ns < rows[i].end_ns) {
            rows[i].end_ns = rows[i + 1].begin_ns;
        }
    }
    qsort(rows, parts->count, sizeof *rows, compare_of_phase);
    for (size_t i = 1; i < parts->count; i++) {
        const struct phase_part *last = &rows[i - 1];
        if (last->phase == rows[i].phase && last->process == rows[i].process) {
            rows[i].before_ns = last->before_ns + (last->end_ns - last->begin_ns);
        }
    }
}

/* Adds a backward pass without its waits for communication, which become parts of their own. */
static void add_backward(const struct ss_exposed_communication *waits, size_t communication,
                         struct phase_part part, struct phase_parts *parts)
{
    size_t low = 0, high = waits->spans.count;
    while (low < high) { /* the first that ends after the part's begin */
        size_t middle = low + (high - low) / 2;
        const struct ss_exposed_span *span = &waits->spans.data[middle];
        bool is_before = span->process < part.process ||
                         (span->process == part.process && span->end_ns <= part.begin_ns);
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    for (; low < waits->spans.count; low++) {
        const struct ss_exposed_span *span = &waits->spans.data[low];
        if (span->process != part.process || span->begin_ns >= part.end_ns) {
            break;
        }
        struct phase_part wait = {part.process, communication, span->begin_ns, span->end_ns, 0};
        wait.begin_ns = wait.begin_ns > part.begin_ns ? wait.begin_ns : part.begin_ns;
        wait.end_ns = wait.end_ns < part.end_ns ? wait.end_ns : part.end_ns;
        struct phase_part before = part;
        before.end_ns = wait.begin_ns;
        ss_vec_push(parts, before);
        ss_vec_push(parts, wait);
        part.begin_ns = wait.end_ns;
    }
    ss_vec_push(parts, part);
}

static void collect_parts(const struct ss_step_summary *summary,
                          const struct ss_selection *selection, struct phase_parts *parts)
{
    const struct ss_model *model = selection->model;
    const struct ss_exposed_communication *waits = &summary->index.waits;
    size_t others = summary->phases.count - 1;
    size_t communication =
        waits->spans.count > 0
            ? find_phase(summary, others, find_name(model, ss_phase_communication))
            : others;
    const struct ss_range_run *run = NULL;
    while ((run = next_run(summary, selection, run)) != NULL) {
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            uint32_t name = phase_name(model, range);
            struct phase_part part = {.process = model->tracks.data[run->track].process,
                                      .phase = find_phase(summary, others, name),
                                      .begin_ns = range->begin_ns,
                                      .end_ns = range->end_ns};
            if (name == 0) {
                continue;
            }
            if (communication < others &&
                strcmp(ss_model_text(model, name), ss_phase_backward) == 0) {
                add_backward(waits, communication, part, parts);
            } else {
                ss_vec_push(parts, part);
            }
        }
    }
    if (parts->count > 0) {
        remove_overlaps(parts);
    }
}

/* The phase's time in the process until `time_ns`. */
static uint64_t phase_time_until(const struct phase_parts *parts, size_t phase, uint32_t process,
                                 uint64_t time_ns)
{
    const struct phase_part key = {.process = process, .phase = phase, .begin_ns = time_ns};
    size_t low = 0, high = parts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = compare_of_phase(&parts->data[middle], &key) < 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    const struct phase_part *last = low > 0 ? &parts->data[low - 1] : NULL;
    if (last == NULL || last->phase != phase || last->process != process) {
        return 0;
    }
    return last->before_ns + (last->end_ns < time_ns ? last->end_ns : time_ns) - last->begin_ns;
}

/* Splits the step into the times of its phases. */
static void split_step(const struct ss_step *step, const struct phase_parts *parts,
                       uint64_t *phase_ns, size_t other)
{
    uint64_t rest_ns = step->end_ns - step->begin_ns;
    for (size_t i = 0; i < other; i++) {
        phase_ns[i] = phase_time_until(parts, i, step->process, step->end_ns) -
                      phase_time_until(parts, i, step->process, step->begin_ns);
        rest_ns -= phase_ns[i];
    }
    phase_ns[other] = rest_ns;
}

static void split_steps(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    struct phase_parts parts = {0};
    collect_parts(summary, selection, &parts);
    size_t phases = summary->phases.count;
    summary->phase_ns = ss_alloc_zero(summary->steps.count * phases + 1, sizeof(uint64_t));
    for (size_t i = 0; i < summary->steps.count; i++) {
        split_step(&summary->steps.data[i], &parts, summary->phase_ns + i * phases, phases - 1);
    }
    ss_vec_fini(&parts);
}

void ss_step_phases_find(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    list_phases(summary, selection);
    split_steps(summary, selection);
}
