/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/loader_events.h"

#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return ss_model_text(model, model->names.data[model->paths.data[range->path].name].text);
}

/* -1: none. */
static int64_t number_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    return range->payload != 0 && payload->type == SS_VALUE_INT ? payload->integer : -1;
}

/* Ranges of a track are sorted outer before inner: those of a fetch follow it. Only the outermost
 * fetch counts, with its collating: a dataset may have a loader of its own. */
static void add_range(struct ss_loader_events *events, const struct ss_model *model,
                      const struct ss_model_range *range, uint32_t *track)
{
    bool is_cut = (range->flags & (SS_RANGE_BEGIN_UNSEEN | SS_RANGE_END_UNSEEN)) != 0;
    uint32_t process = model->tracks.data[range->track].process;
    struct ss_loader_fetch *last = *track == range->track && events->fetches.count > 0
                                       ? &events->fetches.data[events->fetches.count - 1]
                                       : NULL;
    bool is_within = last != NULL && range->begin_ns < last->end_ns;
    const char *name = name_of(model, range);
    if (strcmp(name, "next") == 0) {
        ss_vec_push(&events->waits,
                    (struct ss_loader_wait){process, range->track, range->begin_ns, range->end_ns,
                                            number_of(model, range)});
    } else if (strcmp(name, "host to device") == 0) {
        ss_vec_push(&events->copies,
                    (struct ss_loader_copy){process, range->begin_ns, range->end_ns});
    } else if (strcmp(name, "collate") == 0 && is_within) {
        int64_t samples = number_of(model, range);
        last->collate_ns += range->end_ns - range->begin_ns;
        last->samples = samples > 0 ? samples : last->samples;
    } else if (strcmp(name, "fetch") == 0 && !is_within) {
        ss_vec_push(&events->fetches,
                    (struct ss_loader_fetch){process, range->track, is_cut, range->begin_ns,
                                             range->end_ns, 0, number_of(model, range)});
        *track = range->track;
    }
}

static int by_process(uint32_t a, uint64_t a_ns, uint32_t b, uint64_t b_ns)
{
    return a != b ? (a < b ? -1 : 1) : (a_ns > b_ns) - (a_ns < b_ns);
}

static int compare_fetches(const void *left, const void *right)
{
    const struct ss_loader_fetch *a = left, *b = right;
    return by_process(a->process, a->begin_ns, b->process, b->begin_ns);
}

static int compare_waits(const void *left, const void *right)
{
    const struct ss_loader_wait *a = left, *b = right;
    return by_process(a->process, a->begin_ns, b->process, b->begin_ns);
}

static int compare_copies(const void *left, const void *right)
{
    const struct ss_loader_copy *a = left, *b = right;
    return by_process(a->process, a->begin_ns, b->process, b->begin_ns);
}

/* Drops fetches without samples, which found the dataset at its end. A cut fetch may have had
 * some. */
static void drop_empty(struct ss_loader_events *events)
{
    size_t count = 0;
    for (size_t i = 0; i < events->fetches.count; i++) {
        const struct ss_loader_fetch *fetch = &events->fetches.data[i];
        if (fetch->samples > 0 || fetch->is_cut) {
            events->fetches.data[count++] = *fetch;
        }
    }
    events->fetches.count = count;
}

static void sort(struct ss_loader_events *events)
{
    if (events->fetches.count > 0) {
        qsort(events->fetches.data, events->fetches.count, sizeof *events->fetches.data,
              compare_fetches);
    }
    if (events->waits.count > 0) {
        qsort(events->waits.data, events->waits.count, sizeof *events->waits.data, compare_waits);
    }
    if (events->copies.count > 0) {
        qsort(events->copies.data, events->copies.count, sizeof *events->copies.data,
              compare_copies);
    }
}

void ss_loader_events_init(struct ss_loader_events *events, const struct ss_model *model,
                           const struct ss_range_runs *runs)
{
    uint32_t track = 0; /* of the last fetch */
    const struct ss_range_run *run = NULL;
    *events = (struct ss_loader_events){0};
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_LOADER)) != NULL) {
        bool has_process = model->tracks.data[run->track].process != 0;
        for (size_t i = run->first; i < run->end && has_process; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if ((range->flags & SS_RANGE_OUTSIDE) == 0) {
                add_range(events, model, range, &track);
            }
        }
    }
    drop_empty(events);
    sort(events);
}

void ss_loader_events_fini(struct ss_loader_events *events)
{
    ss_vec_fini(&events->fetches);
    ss_vec_fini(&events->waits);
    ss_vec_fini(&events->copies);
}

static bool consumes_batches(const struct ss_loader_events *events, uint32_t process)
{
    size_t i = 0;
    while (i < events->waits.count && events->waits.data[i].process != process) {
        i++;
    }
    return i < events->waits.count;
}

uint32_t ss_loader_consumer(const struct ss_loader_events *events, const struct ss_model *model,
                            uint32_t process)
{
    enum { MAX_GENERATIONS = 8 };
    for (int i = 0; i < MAX_GENERATIONS && process != 0; i++) {
        if (consumes_batches(events, process)) {
            return process;
        }
        process = model->processes.data[process].parent;
    }
    return 0;
}
