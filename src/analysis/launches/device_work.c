/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launches/device_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/intern.h"

/* --- numbers and texts of events -------------------------------------------------------------- */

static enum ss_event_type type_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->names.data[model->paths.data[range->path].name].type;
}

static bool number_of(uint8_t type, uint64_t natural, int64_t *number)
{
    *number = (int64_t)natural;
    return type == SS_VALUE_INT || (type == SS_VALUE_UINT && natural <= INT64_MAX);
}

bool ss_event_number(const struct ss_model *model, const struct ss_model_range *range,
                     uint32_t field, int64_t *number)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    if (ss_event_types[type_of(model, range)].payload == (enum ss_event_field_id)field &&
        number_of((uint8_t)payload->type, payload->natural, number)) {
        return true;
    }
    const struct ss_model_field *row = ss_model_field_of(model, range->payload, field);
    return row != NULL && number_of(row->type, row->natural, number);
}

struct ss_strview ss_event_text(const struct ss_model *model, const struct ss_model_range *range,
                                uint32_t field)
{
    const struct ss_model_field *row = ss_model_field_of(model, range->payload, field);
    return row != NULL && row->type == SS_VALUE_TEXT ? ss_intern_get(&model->strings, row->text)
                                                     : (struct ss_strview){"", 0};
}

/* --- launches --------------------------------------------------------------------------------- */

/* Calls by process and correlation: open addressing, at most half full. */
struct launches {
    uint32_t *slots; /* index of the range, plus one */
    size_t mask;
    const struct ss_model *model;
};

static uint32_t process_of(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->thread != 0 ? model->threads.data[row->thread].process : row->process;
}

static bool is_work(enum ss_event_type type)
{
    return type == SS_EVENT_TYPE_kernel || type == SS_EVENT_TYPE_copy ||
           type == SS_EVENT_TYPE_memset;
}

/* The correlation of a call on a thread. A call of which no more is known than its name has its
 * correlation as payload, too: only calls of a device's runtime do. */
static bool correlation_of(const struct ss_model *model, const struct ss_model_range *range,
                           int64_t *correlation)
{
    enum ss_event_type type = type_of(model, range);
    if (type != SS_EVENT_TYPE_launch && type != SS_EVENT_TYPE_synchronisation &&
        type != SS_EVENT_TYPE_range) {
        return false;
    }
    return ss_event_number(model, range, SS_EVENT_FIELD_correlation, correlation);
}

static size_t slot_of(const struct launches *launches, uint32_t process, int64_t correlation)
{
    uint64_t key = ss_hash_u64((uint64_t)correlation ^ (uint64_t)process << 40);
    return (size_t)key & launches->mask;
}

static bool is_call(const struct ss_model *model, uint32_t index, uint32_t process,
                    int64_t correlation)
{
    const struct ss_model_range *range = &model->ranges.data[index];
    int64_t other;
    return process_of(model, range->track) == process && correlation_of(model, range, &other) &&
           other == correlation;
}

/* The slot of the call, or a free one. */
static size_t find_slot(const struct launches *launches, uint32_t process, int64_t correlation)
{
    size_t slot = slot_of(launches, process, correlation);
    while (launches->slots[slot] != 0 &&
           !is_call(launches->model, launches->slots[slot] - 1, process, correlation)) {
        slot = (slot + 1) & launches->mask;
    }
    return slot;
}

/* A runtime call and the driver call inside it have correlations of their own; of calls that share
 * one, a launch is meant, and of launches the last. */
static void add_launch(struct launches *launches, uint32_t index, uint32_t process,
                       int64_t correlation)
{
    const struct ss_model *model = launches->model;
    size_t slot = find_slot(launches, process, correlation);
    if (launches->slots[slot] == 0 ||
        type_of(model, &model->ranges.data[index]) == SS_EVENT_TYPE_launch) {
        launches->slots[slot] = index + 1;
    }
}

/* Index plus one; 0: none. */
static uint32_t find_launch(const struct launches *launches, uint32_t process, int64_t correlation)
{
    return launches->slots[find_slot(launches, process, correlation)];
}

static void init_launches(struct launches *launches, const struct ss_model *model)
{
    size_t count = 0, slots = 64;
    int64_t correlation;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        count += model->tracks.data[range->track].stream == 0 &&
                 correlation_of(model, range, &correlation);
    }
    while (slots < 2 * count) {
        slots *= 2;
    }
    *launches = (struct launches){
        .slots = ss_alloc_zero(slots, sizeof *launches->slots), .mask = slots - 1, .model = model};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (model->tracks.data[range->track].stream == 0 &&
            correlation_of(model, range, &correlation)) {
            add_launch(launches, (uint32_t)i, process_of(model, range->track), correlation);
        }
    }
}

/* --- works ------------------------------------------------------------------------------------ */

static int compare_works(const void *left, const void *right)
{
    const struct ss_device_work *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

static uint8_t class_of(const struct ss_model *model, enum ss_event_type type, uint32_t name)
{
    struct ss_strview text = ss_intern_get(&model->strings, model->names.data[name].text);
    return type != SS_EVENT_TYPE_kernel          ? SS_WORK_COPY
           : ss_device_kernel_communicates(text) ? SS_WORK_COMMUNICATION
                                                 : SS_WORK_COMPUTE;
}

static void collect(struct ss_device_works *works, const struct ss_selection *selection,
                    unsigned unwanted_flags)
{
    const struct ss_model *model = selection->model;
    uint8_t *classes = ss_alloc_zero(model->names.count, 1); /* by name, plus one */
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        uint32_t name = model->paths.data[range->path].name;
        enum ss_event_type type = model->names.data[name].type;
        if (track->stream == 0 || !is_work(type) || (range->flags & unwanted_flags) != 0 ||
            !selection->processes[track->process]) {
            continue;
        }
        if (classes[name] == 0) {
            classes[name] = (uint8_t)(1 + class_of(model, type, name));
        }
        ss_vec_push(&works->works,
                    (struct ss_device_work){.begin_ns = range->begin_ns,
                                            .end_ns = range->end_ns,
                                            .range = (uint32_t)i,
                                            .process = track->process,
                                            .device = track->device,
                                            .stream = track->stream,
                                            .name = name,
                                            .type = (uint8_t)type,
                                            .work_class = (uint8_t)(classes[name] - 1)});
    }
    ss_free(classes);
    if (works->works.count > 1) {
        qsort(works->works.data, works->works.count, sizeof *works->works.data, compare_works);
    }
}

/* The wait that a device's interface records beside the call, or the call. */
static void join_records(struct ss_device_works *works, const struct launches *launches)
{
    const struct ss_model *model = launches->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_field *field =
            range->payload != 0 && type_of(model, range) == SS_EVENT_TYPE_synchronisation
                ? ss_model_field_of(model, range->payload, SS_EVENT_FIELD_recorded_by)
                : NULL;
        int64_t correlation;
        if (field == NULL ||
            !ss_event_number(model, range, SS_EVENT_FIELD_recorded_by, &correlation)) {
            continue;
        }
        uint32_t recorded = find_launch(launches, process_of(model, range->track), correlation);
        if (recorded != 0) {
            ss_vec_push(&works->event_waits,
                        (struct ss_event_wait){.recorded = recorded - 1, .wait = (uint32_t)i});
        }
    }
}

static void join_launches(struct ss_device_works *works, const struct ss_model *model)
{
    struct launches launches;
    init_launches(&launches, model);
    for (size_t i = 0; i < works->works.count; i++) {
        struct ss_device_work *work = &works->works.data[i];
        int64_t correlation;
        if (ss_event_number(model, &model->ranges.data[work->range], SS_EVENT_FIELD_correlation,
                            &correlation)) {
            work->launch = find_launch(&launches, work->process, correlation);
        }
        works->without_launch += work->launch == 0;
    }
    join_records(works, &launches);
    ss_free(launches.slots);
}

static void find_parts(struct ss_device_works *works)
{
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        struct ss_device_part *last =
            works->parts.count > 0 ? &works->parts.data[works->parts.count - 1] : NULL;
        if (last == NULL || last->process != work->process || last->device != work->device) {
            ss_vec_push(&works->parts, (struct ss_device_part){.process = work->process,
                                                               .device = work->device,
                                                               .first = i});
        }
        works->parts.data[works->parts.count - 1].end = i + 1;
    }
}

static struct ss_device_works *build(const struct ss_selection *selection, unsigned unwanted_flags)
{
    struct ss_device_works *works = ss_alloc_zero(1, sizeof *works);
    collect(works, selection, unwanted_flags);
    if (works->works.count > 0) { /* else nothing is launched */
        join_launches(works, selection->model);
        find_parts(works);
    }
    return works;
}

static void *build_requested(const void *selection)
{
    return build(selection, SS_RANGE_OUTSIDE);
}

static void *build_all(const void *selection)
{
    return build(selection, 0);
}

static void free_works(void *part)
{
    struct ss_device_works *works = part;
    ss_vec_fini(&works->works);
    ss_vec_fini(&works->event_waits);
    ss_vec_fini(&works->parts);
    ss_free(works);
}

static const struct ss_analysis_part requested_works = {"device operations", build_requested,
                                                        free_works};
static const struct ss_analysis_part all_works = {"all device operations", build_all, free_works};

const struct ss_device_works *ss_selection_works(const struct ss_selection *selection)
{
    return ss_analysis_get(selection->analysis, &requested_works, selection);
}

const struct ss_device_works *ss_selection_all_works(const struct ss_selection *selection)
{
    return ss_analysis_get(selection->analysis, &all_works, selection);
}

bool ss_model_has_device_work(const struct ss_model *model)
{
    bool has_stream = false;
    for (size_t i = 1; i < model->tracks.count; i++) {
        has_stream = has_stream || model->tracks.data[i].stream != 0;
    }
    for (size_t i = 0; has_stream && i < model->ranges.count; i++) {
        if (model->tracks.data[model->ranges.data[i].track].stream != 0 &&
            is_work(type_of(model, &model->ranges.data[i]))) {
            return true;
        }
    }
    return false;
}

double ss_device_copies_share(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    double all_ns = 0, copies_ns = 0;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        enum ss_event_type type = type_of(model, range);
        if (track->stream != 0 && is_work(type) && (range->flags & SS_RANGE_OUTSIDE) == 0 &&
            selection->processes[track->process]) {
            double ns = (double)(range->end_ns - range->begin_ns);
            all_ns += ns;
            copies_ns += type != SS_EVENT_TYPE_kernel ? ns : 0;
        }
    }
    return all_ns > 0 ? copies_ns / all_ns : 0;
}
