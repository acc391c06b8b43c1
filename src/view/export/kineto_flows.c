/* SPDX-License-Identifier: Apache-2.0 */
/* Arrows that Kineto draws: from launches to their work, from forward operators to their backward
 * ones. Readers find the events at their ends by pid, tid and time. */
#include <stdlib.h>

#include "analysis/launches/device_work.h"
#include "view/export/kineto_inside.h"
#include "view/output/json_text.h"

/* Ids of launches are their correlations; of further processes in one file, behind these. */
enum { BITS_OF_CORRELATION = 40 };

static void write_point(struct ss_kineto_writing *writing, const char *phase, const char *category,
                        uint64_t id, uint32_t range)
{
    const struct ss_model_range *at = &writing->model->ranges.data[range];
    uint32_t row = writing->rows.row_of_track[at->track];
    if (row == 0) {
        return;
    }
    ss_kineto_begin_event(writing, phase, writing->rows.rows.data[row - 1].pid,
                          ss_kineto_lane_tid(&writing->rows, row - 1, writing->links.lanes[range]));
    ss_kineto_put_time(writing, at->track, at->begin_ns);
    ss_sink_text(writing->sink, ",\"id\":");
    ss_json_write_natural(writing->sink, id);
    ss_kineto_put_text(writing, "cat", ss_strview_of(category));
    ss_kineto_put_text(writing, "name", ss_strview_of(category));
    ss_sink_text(writing->sink, phase[0] == 'f' ? ",\"bp\":\"e\"}" : "}");
}

/* --- launches --------------------------------------------------------------------------------- */

static uint64_t id_of_launch(const struct ss_kineto_writing *writing, uint32_t launch)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_range *range = &model->ranges.data[launch];
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    uint32_t row = writing->rows.row_of_track[range->track];
    uint32_t process = row != 0 ? writing->rows.rows.data[row - 1].process : 0;
    uint32_t first = writing->rows.rows.data[0].process;
    uint64_t most = UINT64_C(1) << BITS_OF_CORRELATION;
    int64_t correlation = 0;
    if (!ss_event_number(model, range, SS_EVENT_FIELD_correlation, &correlation) &&
        name->type == SS_EVENT_TYPE_NONE) {
        correlation = payload->integer;
    }
    uint64_t other = process > first ? process - first : 0;
    return (uint64_t)correlation % most + other % (1 << 13) * most;
}

/* Work and the call that launched it. */
struct launched {
    uint64_t begin_ns; /* of the call */
    uint64_t id;
    uint32_t launch, work; /* ranges */
};

struct launches ss_vec_of(struct launched);

static int compare_launched(const void *left, const void *right)
{
    const struct launched *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    return a->work < b->work ? -1 : a->work > b->work;
}

static void find_launched(const struct ss_kineto_writing *writing, struct launches *launches)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 0; writing->links.launches != NULL && i < model->ranges.count; i++) {
        uint32_t launch = writing->links.launches[i];
        if (launch == 0) {
            continue;
        }
        const struct ss_model_range *call = &model->ranges.data[launch - 1];
        struct launched launched = {.begin_ns = call->begin_ns,
                                    .id = id_of_launch(writing, launch - 1),
                                    .launch = launch - 1,
                                    .work = i};
        if (ss_kineto_in_span(writing, call->begin_ns) && (call->flags & SS_RANGE_OUTSIDE) == 0) {
            ss_vec_push(launches, launched);
        }
    }
    if (launches->count > 1) {
        qsort(launches->data, launches->count, sizeof *launches->data, compare_launched);
    }
}

/* A launch of a graph has much work. */
static void write_launches(struct ss_kineto_writing *writing)
{
    struct launches launches = {0};
    find_launched(writing, &launches);
    for (size_t i = 0; i < launches.count && !ss_kineto_is_full(writing); i++) {
        const struct launched *launched = &launches.data[i];
        if (i == 0 || launched[-1].launch != launched->launch) {
            write_point(writing, "s", "ac2g", launched->id, launched->launch);
        }
        write_point(writing, "f", "ac2g", launched->id, launched->work);
    }
    ss_vec_fini(&launches);
}

/* --- autograd --------------------------------------------------------------------------------- */

static void write_autograd(struct ss_kineto_writing *writing)
{
    ss_autograd_pairs pairs = {0};
    ss_autograd_join(&writing->links.autograd, &pairs);
    for (size_t i = 0; i < pairs.count && !ss_kineto_is_full(writing); i++) {
        write_point(writing, "s", "fwdbwd", i + 1, pairs.data[i].forward);
        write_point(writing, "f", "fwdbwd", i + 1, pairs.data[i].backward);
    }
    ss_vec_fini(&pairs);
}

void ss_kineto_write_flows(struct ss_kineto_writing *writing)
{
    write_launches(writing);
    write_autograd(writing);
}
