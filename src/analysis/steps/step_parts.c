/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steps/ranges.h"
#include "base/search.h"
#include "base/shared_names.h"

uint32_t ss_step_phase_name(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->names.data[model->paths.data[range->path].name].text;
}

/* The index of the phase; `count` where there is none: the index of "other". */
size_t ss_step_find_phase(const struct ss_step_summary *summary, size_t count, uint32_t name)
{
    size_t at = 0;
    while (at < count && summary->phases.data[at].name != name) {
        at++;
    }
    return at;
}

/* The string of a name in the recording; 0: none. */
uint32_t ss_step_find_name(const struct ss_model *model, const char *text)
{
    for (size_t i = 1; i < model->names.count; i++) {
        if (strcmp(ss_model_text(model, model->names.data[i].text), text) == 0) {
            return model->names.data[i].text;
        }
    }
    return 0;
}

/* The next run of phases of a selected process; NULL: none. */
const struct ss_range_run *ss_step_next_run(const struct ss_step_summary *summary,
                                            const struct ss_selection *selection,
                                            const struct ss_range_run *run)
{
    do {
        run = ss_range_runs_next(&summary->index.runs, run, SS_ROLE_PHASES);
    } while (run != NULL && (selection->model->tracks.data[run->track].process == 0 ||
                             !ss_selection_has_track(selection, run->track)));
    return run;
}

static int compare_parts(const void *left, const void *right)
{
    const struct ss_step_part *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

int ss_step_part_compare_of_phase(const void *left, const void *right)
{
    const struct ss_step_part *a = left, *b = right;
    if (a->phase != b->phase) {
        return a->phase < b->phase ? -1 : 1;
    }
    return compare_parts(a, b);
}

/* Most recordings have their phases in order. */
static bool is_in_order(const struct ss_step_parts *parts)
{
    for (size_t i = 0; i + 1 < parts->count; i++) {
        if (compare_parts(&parts->data[i], &parts->data[i + 1]) > 0) {
            return false;
        }
    }
    return true;
}

/* Of overlapping phases, which a damaged recording may have, the later one ends the earlier one:
 * then parts do not overlap, and prefix sums give a phase's time within any interval. */
static void remove_overlaps(struct ss_step_parts *parts)
{
    struct ss_step_part *rows = parts->data;
    if (!is_in_order(parts)) {
        qsort(rows, parts->count, sizeof *rows, compare_parts);
    }
    for (size_t i = 0; i + 1 < parts->count; i++) {
        if (rows[i + 1].process == rows[i].process && rows[i + 1].begin_ns < rows[i].end_ns) {
            rows[i].end_ns = rows[i + 1].begin_ns;
        }
    }
}

/* They are in the order of processes and times, and phases are few: counted, then each put behind
 * those of the phases before its own. */
void ss_step_parts_sort_by_phase(struct ss_step_parts *parts)
{
    size_t first[SS_STEP_MAX_PHASES + 1] = {0};
    struct ss_step_part *rows = ss_alloc((parts->count + 1) * sizeof *rows);
    for (size_t i = 0; i < parts->count; i++) {
        first[parts->data[i].phase + 1]++;
    }
    for (size_t i = 1; i <= SS_STEP_MAX_PHASES; i++) {
        first[i] += first[i - 1];
    }
    for (size_t i = 0; i < parts->count; i++) {
        rows[first[parts->data[i].phase]++] = parts->data[i];
    }
    ss_free(parts->data);
    parts->data = rows;
    parts->capacity = parts->count + 1;
    for (size_t i = 1; i < parts->count; i++) {
        const struct ss_step_part *last = &rows[i - 1];
        if (last->phase == rows[i].phase && last->process == rows[i].process) {
            rows[i].before_ns = last->before_ns + (last->end_ns - last->begin_ns);
        }
    }
}

/* Adds a backward pass without its waits for communication, which become parts of their own. */
static void add_backward(const struct ss_exposed_communication *waits, size_t communication,
                         struct ss_step_part part, struct ss_step_parts *parts)
{
    /* The first that ends after the part's begin. */
    size_t low =
        ss_search(i, 0, waits->spans.count,
                  ss_pair_at_most(waits->spans.data[i].process, waits->spans.data[i].end_ns,
                                  part.process, part.begin_ns));
    for (; low < waits->spans.count; low++) {
        const struct ss_exposed_span *span = &waits->spans.data[low];
        if (span->process != part.process || span->begin_ns >= part.end_ns) {
            break;
        }
        struct ss_step_part wait = {part.process, communication, span->begin_ns, span->end_ns, 0};
        wait.begin_ns = wait.begin_ns > part.begin_ns ? wait.begin_ns : part.begin_ns;
        wait.end_ns = wait.end_ns < part.end_ns ? wait.end_ns : part.end_ns;
        struct ss_step_part before = part;
        before.end_ns = wait.begin_ns;
        ss_vec_push(parts, before);
        ss_vec_push(parts, wait);
        part.begin_ns = wait.end_ns;
    }
    ss_vec_push(parts, part);
}

void ss_step_parts_init(struct ss_step_parts *parts, const struct ss_step_summary *summary,
                        const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    *parts = (struct ss_step_parts){0};
    const struct ss_exposed_communication *waits = &summary->index.waits;
    size_t others = summary->phases.count - 1;
    size_t communication =
        waits->spans.count > 0
            ? ss_step_find_phase(summary, others, ss_step_find_name(model, ss_phase_communication))
            : others;
    const struct ss_range_run *run = NULL;
    while ((run = ss_step_next_run(summary, selection, run)) != NULL) {
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            uint32_t name = ss_step_phase_name(model, range);
            struct ss_step_part part = {.process = model->tracks.data[run->track].process,
                                        .phase = ss_step_find_phase(summary, others, name),
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

void ss_step_parts_fini(struct ss_step_parts *parts)
{
    ss_vec_fini(parts);
}

size_t ss_step_parts_first(const struct ss_step_parts *parts, uint32_t process, uint64_t time_ns)
{
    return ss_search(
        i, 0, parts->count,
        ss_pair_at_most(parts->data[i].process, parts->data[i].end_ns, process, time_ns));
}
