/* SPDX-License-Identifier: Apache-2.0 */
/* An evaluation loop waits for its own batches and aggregates its own metrics: that time is
 * evaluation too, not a data phase of a training step. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks.h"

enum kind { EVALUATION, DATA_LOAD, TRAINING };

struct phase {
    uint32_t track;
    uint64_t begin_ns;
    size_t range;
    enum kind kind;
};

struct phases ss_vec_of(struct phase);

static int compare(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static enum kind kind_of(const struct ss_model *model, const struct ss_model_range *range)
{
    uint32_t name = model->paths.data[range->path].name;
    const char *text = ss_model_text(model, model->names.data[name].text);
    return strcmp(text, ss_phase_evaluation) == 0 ? EVALUATION
           : strcmp(text, ss_phase_data) == 0     ? DATA_LOAD
                                                  : TRAINING;
}

static void collect(const struct ss_model *model, size_t first_range, struct phases *phases,
                    bool *has_evaluation)
{
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (model->tracks.data[range->track].kind == SS_TRACK_PHASES) {
            struct phase phase = {range->track, range->begin_ns, i, kind_of(model, range)};
            *has_evaluation = *has_evaluation || phase.kind == EVALUATION;
            ss_vec_push(phases, phase);
        }
    }
    if (phases->count > 0) {
        qsort(phases->data, phases->count, sizeof *phases->data, compare);
    }
}

/* Turns the phases from `first` to `last`, evaluations and waits for their batches, into
 * evaluations and closes the gaps between them. */
static void merge_phases(struct ss_model *model, const struct phases *phases, size_t first,
                         size_t last)
{
    uint32_t path = model->ranges.data[phases->data[last].range].path;
    for (size_t i = first; i < last; i++) {
        struct ss_model_range *range = &model->ranges.data[phases->data[i].range];
        range->path = path;
        range->end_ns = phases->data[i + 1].begin_ns;
    }
}

/* The last evaluation that follows `first`, an evaluation, without training in between. */
static size_t last_evaluation(const struct phases *phases, size_t first)
{
    size_t last = first;
    for (size_t i = first + 1; i < phases->count && phases->data[i].kind != TRAINING &&
                               phases->data[i].track == phases->data[first].track;
         i++) {
        last = phases->data[i].kind == EVALUATION ? i : last;
    }
    return last;
}

/* The first of the data phases right before `first`: the waits for its first batches. There are
 * several where its loader is created. */
static size_t first_wait(const struct phases *phases, size_t first)
{
    while (first > 0 && phases->data[first - 1].kind == DATA_LOAD &&
           phases->data[first - 1].track == phases->data[first].track) {
        first--;
    }
    return first;
}

/* True for tracks with training phases. A program that only runs inference has no evaluation. */
static bool *find_training_tracks(const struct ss_model *model, const struct phases *phases)
{
    bool *trains = ss_alloc_zero(model->tracks.count + 1, sizeof *trains);
    for (size_t i = 0; i < phases->count; i++) {
        trains[phases->data[i].track] =
            trains[phases->data[i].track] || phases->data[i].kind == TRAINING;
    }
    return trains;
}

void ss_load_join_evaluations(struct ss_model *model, size_t first_range)
{
    struct phases phases = {0};
    bool has_evaluation = false;
    collect(model, first_range, &phases, &has_evaluation);
    bool *trains = find_training_tracks(model, &phases);
    for (size_t i = 0; i < phases.count && has_evaluation; i++) {
        if (phases.data[i].kind == EVALUATION && trains[phases.data[i].track]) {
            size_t last = last_evaluation(&phases, i);
            merge_phases(model, &phases, first_wait(&phases, i), last);
            i = last;
        }
    }
    ss_free(trains);
    ss_vec_fini(&phases);
}
