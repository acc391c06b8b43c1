/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/range_rows.h"

#include "analysis/launches/device_work.h"
#include "analysis/selection/shared_ranges.h"
#include "analysis/table/range_finder.h"
#include "base/alloc.h"

enum { MOST_LAYERS = 32 };

/* The launches of works, and by layer and launch the innermost range around it on one of the tracks
 * that count for its thread. */
struct launched {
    const struct ss_model *model;
    struct ss_vec_of(const struct ss_device_work *) works;
    uint32_t *calls;              /* ranges plus one */
    uint32_t *found[MOST_LAYERS]; /* ranges plus one; 0: none */
    size_t layers;
};

static void find_launched(struct launched *launched, const struct ss_device_works *works)
{
    launched->calls = ss_alloc((works->works.count + 1) * sizeof *launched->calls);
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->launch != 0) {
            launched->calls[launched->works.count] = work->launch;
            ss_vec_push(&launched->works, work);
        }
    }
}

static bool counts_for(const struct ss_model *model, const struct ss_model_track *track,
                       uint32_t thread)
{
    bool is_of_process = track->kind == SS_TRACK_STEPS || track->kind == SS_TRACK_PHASES;
    return is_of_process ? track->process == model->threads.data[thread].process
                         : track->kind == SS_TRACK_RANGES && track->thread == thread;
}

/* Layer by layer, another track of each thread. Returns how many layers there are. */
static size_t lay_tracks(const struct ss_model *model, const bool *has_row,
                         uint32_t *layers[MOST_LAYERS])
{
    size_t count = 0;
    uint32_t *used = ss_alloc_zero(model->threads.count + 1, sizeof *used);
    for (uint32_t track = 1; track < model->tracks.count; track++) {
        for (uint32_t thread = 1; has_row[track] && thread < model->threads.count; thread++) {
            if (used[thread] == MOST_LAYERS ||
                !counts_for(model, &model->tracks.data[track], thread)) {
                continue;
            }
            size_t layer = used[thread]++;
            if (layer == count) {
                layers[count++] = ss_alloc_zero(model->threads.count + 1, sizeof **layers);
            }
            layers[layer][thread] = track;
        }
    }
    ss_free(used);
    return count;
}

static void find_ranges(struct launched *launched, const struct ss_range_finder *finder,
                        const uint32_t *row_of)
{
    const struct ss_model *model = launched->model;
    uint32_t *layers[MOST_LAYERS];
    bool *has_row = ss_alloc_zero(model->tracks.count + 1, sizeof *has_row);
    for (size_t i = 0; i < model->ranges.count; i++) {
        has_row[model->ranges.data[i].track] |= row_of[i] != 0;
    }
    launched->layers = lay_tracks(model, has_row, layers);
    for (size_t i = 0; i < launched->layers; i++) {
        launched->found[i] = ss_alloc((launched->works.count + 1) * sizeof(uint32_t));
        ss_ranges_around(finder, layers[i], launched->calls, launched->works.count,
                         launched->found[i]);
        ss_free(layers[i]);
    }
    ss_free(has_row);
}

static void add_all(const struct launched *launched, const struct ss_range_finder *finder,
                    const uint32_t *row_of, struct ss_range_rows *rows)
{
    size_t *last = ss_alloc_zero(rows->rows.count + 1, sizeof *last); /* by row: work plus one */
    for (size_t i = 0; i < launched->works.count; i++) {
        const struct ss_device_work *work = launched->works.data[i];
        for (size_t layer = 0; layer < launched->layers; layer++) {
            for (uint32_t at = launched->found[layer][i]; at != 0; at = finder->parents[at - 1]) {
                uint32_t row = row_of[at - 1];
                if (row != 0 && last[row] != i + 1) {
                    last[row] = i + 1;
                    rows->rows.data[row - 1].device_works++;
                    rows->rows.data[row - 1].device_ns += work->end_ns - work->begin_ns;
                }
            }
        }
    }
    ss_free(last);
}

void ss_range_rows_add_devices(struct ss_range_rows *rows, const struct ss_selection *selection,
                               const uint32_t *row_of)
{
    if (!ss_model_has_device_work(selection->model)) {
        return;
    }
    struct launched launched = {.model = selection->model};
    const struct ss_range_finder *finder = ss_selection_finder(selection);
    find_launched(&launched, ss_selection_works(selection));
    find_ranges(&launched, finder, row_of);
    add_all(&launched, finder, row_of, rows);
    for (size_t i = 0; i < launched.layers; i++) {
        ss_free(launched.found[i]);
    }
    ss_free(launched.calls);
    ss_vec_fini(&launched.works);
}
