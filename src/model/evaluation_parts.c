/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that evaluates waits for its own batches and sums up its own figures: that is evaluation
 * too, no data phase of a training step. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/load_tracks.h"

enum kind { EVALUATES, LOADS, TRAINS };

struct part {
    uint32_t track;
    uint64_t begin_ns;
    size_t range;
    enum kind kind;
};

struct parts ss_vec_of(struct part);

static int compare(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static enum kind kind_of(const struct ss_model *model, const struct ss_model_range *range)
{
    uint32_t name = model->paths.data[range->path].name;
    const char *text = ss_model_text(model, model->names.data[name].text);
    return strcmp(text, "evaluation") == 0 ? EVALUATES : strcmp(text, "data") == 0 ? LOADS : TRAINS;
}

static void collect(const struct ss_model *model, size_t first_range, struct parts *parts,
                    bool *has_evaluation)
{
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (model->tracks.data[range->track].kind == SS_TRACK_PHASES) {
            struct part part = {range->track, range->begin_ns, i, kind_of(model, range)};
            *has_evaluation = *has_evaluation || part.kind == EVALUATES;
            ss_vec_push(parts, part);
        }
    }
    if (parts->count > 0) {
        qsort(parts->data, parts->count, sizeof *parts->data, compare);
    }
}

/* Makes the parts from `first` to `last`, both evaluations or the wait for the first batch, one
 * evaluation without gaps. */
static void join(struct ss_model *model, const struct parts *parts, size_t first, size_t last)
{
    uint32_t path = model->ranges.data[parts->data[last].range].path;
    for (size_t i = first; i < last; i++) {
        struct ss_model_range *range = &model->ranges.data[parts->data[i].range];
        range->path = path;
        range->end_ns = parts->data[i + 1].begin_ns;
    }
}

/* The last evaluation that follows without training between; `first` is one. */
static size_t last_of(const struct parts *parts, size_t first)
{
    size_t last = first;
    for (size_t i = first + 1; i < parts->count && parts->data[i].kind != TRAINS &&
                               parts->data[i].track == parts->data[first].track;
         i++) {
        last = parts->data[i].kind == EVALUATES ? i : last;
    }
    return last;
}

/* The waits for its first batches, of which there are several where its loader is made. */
static size_t first_of(const struct parts *parts, size_t first)
{
    while (first > 0 && parts->data[first - 1].kind == LOADS &&
           parts->data[first - 1].track == parts->data[first].track) {
        first--;
    }
    return first;
}

/* By track. A program that only infers evaluates nothing. */
static bool *tracks_that_train(const struct ss_model *model, const struct parts *parts)
{
    bool *trains = ss_alloc_zero(model->tracks.count + 1, sizeof *trains);
    for (size_t i = 0; i < parts->count; i++) {
        trains[parts->data[i].track] =
            trains[parts->data[i].track] || parts->data[i].kind == TRAINS;
    }
    return trains;
}

void ss_load_join_evaluations(struct ss_model *model, size_t first_range)
{
    struct parts parts = {0};
    bool has_evaluation = false;
    collect(model, first_range, &parts, &has_evaluation);
    bool *trains = tracks_that_train(model, &parts);
    for (size_t i = 0; i < parts.count && has_evaluation; i++) {
        if (parts.data[i].kind == EVALUATES && trains[parts.data[i].track]) {
            size_t last = last_of(&parts, i);
            join(model, &parts, first_of(&parts, i), last);
            i = last;
        }
    }
    ss_free(trains);
    ss_vec_fini(&parts);
}
