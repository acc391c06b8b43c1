/* SPDX-License-Identifier: Apache-2.0 */
#include "record/devices/device_tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/log.h"
#include "base/shared_names.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"
#include "record/run/symbol_names.h"
#include "ring/folder.h"

enum { MOST_MESSAGES = 1 << 17 /* of a drain */, MOST_ENTITIES = 4096 };

/* --- events ----------------------------------------------------------------------------------- */

void ss_device_add_number(struct ss_device_fields *fields, uint32_t field, uint64_t number)
{
    bool is_signed = ss_event_fields[field].type == SS_VALUE_INT;
    if (number == 0 || fields->count >= SS_MAX_EVENT_FIELDS || (is_signed && number > INT64_MAX)) {
        return;
    }
    struct ss_trace_value value = {.type = is_signed ? SS_VALUE_INT : SS_VALUE_UINT};
    value.natural = number; /* the same bits */
    fields->values[fields->count++] = (struct ss_event_value){field, value};
}

void ss_device_add_text(struct ss_device_fields *fields, uint32_t field, struct ss_strview text)
{
    if (text.length > 0 && fields->count < SS_MAX_EVENT_FIELDS) {
        fields->values[fields->count++] =
            (struct ss_event_value){field, {SS_VALUE_TEXT, {.text = text}}};
    }
}

struct ss_strview ss_device_text_of(const struct ss_device_tracks *devices, uint32_t number)
{
    return number < devices->texts.count
               ? ss_intern_get(&devices->context->names.texts, devices->texts.data[number].text)
               : (struct ss_strview){"", 0};
}

void ss_device_write_range(struct ss_device_tracks *devices, uint64_t at_ns, uint32_t track_ref,
                           uint32_t name_ref, uint64_t begin_ns, uint64_t end_ns,
                           const struct ss_event_value *fields, uint32_t field_count)
{
    struct ss_record_context *context = devices->context;
    struct ss_route route = {.process_ref = ss_recorded_process_ref(devices->process)};
    struct ss_error err = {0};
    struct ss_trace_event begin = {.time_ns = begin_ns,
                                   .track_ref = track_ref,
                                   .name_ref = name_ref,
                                   .kind = SS_EVENT_BEGIN,
                                   .fields = fields,
                                   .field_count = field_count};
    struct ss_trace_event end = {.time_ns = end_ns, .track_ref = track_ref, .kind = SS_EVENT_END};
    ss_record_context_check(
        context, ss_recording_range(context->recording, route, at_ns, &begin, &end, &err), &err);
}

/* --- entities --------------------------------------------------------------------------------- */

void ss_device_write_uuid(const uint8_t id[16], char *text, size_t size)
{
    static const uint8_t none[16];
    text[0] = '\0';
    if (memcmp(id, none, sizeof none) != 0) {
        snprintf(text, size,
                 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
                 id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11],
                 id[12], id[13], id[14], id[15]);
    }
}

/* `ref`: of the device, which is known by its number; 0: it is new. */
static uint32_t put_device(struct ss_device_tracks *devices, uint32_t ref,
                           const struct ss_device_device_message *message)
{
    struct ss_record_context *context = devices->context;
    struct ss_error err = {0};
    char uuid[48];
    ss_device_write_uuid(message->uuid, uuid, sizeof uuid);
    struct ss_trace_device device = {.ref = ref != 0 ? ref : ++context->device_refs,
                                     .kind = SS_DEVICE_GPU,
                                     .number =
                                         message->number < INT32_MAX ? message->number + 1 : 0,
                                     .model = ss_device_text_of(devices, message->name),
                                     .uuid = ss_strview_of(uuid),
                                     .memory_bytes = message->memory_bytes};
    ss_record_context_check(context, ss_recording_device(context->recording, &device, &err), &err);
    return device.ref;
}

static struct ss_device_unit define_device(struct ss_device_tracks *devices,
                                           const struct ss_device_device_message *message)
{
    char name[32];
    uint32_t ref = put_device(devices, 0, message);
    snprintf(name, sizeof name, "GPU %" PRIu32, message->number);
    struct ss_trace_track group = {.kind = SS_TRACK_GROUP,
                                   .process_ref = ss_recorded_process_ref(devices->process),
                                   .device_ref = ref,
                                   .name = ss_strview_of(name)};
    return (struct ss_device_unit){message->number, ref,
                                   ss_annotation_tracks_put_track(devices->tracks, &group)};
}

static const struct ss_device_unit *find_device(const struct ss_device_tracks *devices,
                                                uint32_t number)
{
    for (size_t i = 0; i < devices->devices.count; i++) {
        if (devices->devices.data[i].number == number) {
            return &devices->devices.data[i];
        }
    }
    return NULL;
}

/* Of a device that CUPTI has not described yet, only the number is known. */
const struct ss_device_unit *ss_device_unit_of(struct ss_device_tracks *devices, uint32_t number)
{
    const struct ss_device_unit *found = find_device(devices, number);
    if (found == NULL && devices->devices.count < MOST_ENTITIES) {
        struct ss_device_device_message message = {.number = number};
        ss_vec_push(&devices->devices, define_device(devices, &message));
        found = &devices->devices.data[devices->devices.count - 1];
    }
    return found;
}

static void on_device(void *context, const struct ss_device_device_message *message)
{
    struct ss_device_tracks *devices = context;
    const struct ss_device_unit *known = find_device(devices, message->number);
    if (known != NULL) {
        put_device(devices, known->ref, message);
    } else if (devices->devices.count < MOST_ENTITIES) {
        ss_vec_push(&devices->devices, define_device(devices, message));
    }
}

static struct ss_device_context *put_context(struct ss_device_tracks *devices, uint32_t number)
{
    for (size_t i = 0; i < devices->contexts.count; i++) {
        if (devices->contexts.data[i].number == number) {
            return &devices->contexts.data[i];
        }
    }
    if (devices->contexts.count >= MOST_ENTITIES) {
        return NULL;
    }
    ss_vec_push(&devices->contexts,
                (struct ss_device_context){.number = number, .null_stream = UINT32_MAX});
    return &devices->contexts.data[devices->contexts.count - 1];
}

static void on_context(void *context, const struct ss_device_context_message *message)
{
    struct ss_device_context *of = put_context(context, message->context);
    if (of != NULL && of->ref == 0) {
        of->device = message->device;
        of->null_stream = message->null_stream;
    }
}

const struct ss_device_context *ss_device_context_of(struct ss_device_tracks *devices,
                                                     uint32_t number, uint32_t device)
{
    struct ss_device_context *of = put_context(devices, number);
    const struct ss_device_unit *unit = ss_device_unit_of(devices, device);
    if (of != NULL && unit != NULL && of->ref == 0) {
        struct ss_record_context *context = devices->context;
        struct ss_error err = {0};
        struct ss_trace_context record = {.ref = ++context->context_refs,
                                          .process_ref = ss_recorded_process_ref(devices->process),
                                          .device_ref = unit->ref,
                                          .number = number};
        of->ref = record.ref;
        of->device = device;
        ss_record_context_check(context, ss_recording_context(context->recording, &record, &err),
                                &err);
    }
    return of;
}

/* --- texts ------------------------------------------------------------------------------------ */

static void on_text(void *context, uint32_t number, struct ss_strview text)
{
    struct ss_device_tracks *devices = context;
    struct ss_intern *texts = &devices->context->names.texts;
    char *name = ss_symbol_demangle(text);
    struct ss_strview shown = name != NULL ? ss_strview_of(name) : text;
    if (number >= devices->texts.count) {
        ss_vec_resize(&devices->texts, (size_t)number + 1);
    }
    devices->texts.data[number] =
        (struct ss_device_name){.text = ss_intern_put(texts, shown.data, shown.length)};
    ss_symbol_free(name);
}

/* --- when work is recorded ------------------------------------------------------------------- */

static void on_switch(void *context, const struct ss_device_switch_message *to)
{
    struct ss_device_tracks *devices = context;
    struct ss_record_context *of = devices->context;
    struct ss_route route = {.process_ref = ss_recorded_process_ref(devices->process)};
    struct ss_error err = {0};
    if (devices->recorded_track == 0) {
        struct ss_trace_track track = {.kind = SS_TRACK_COUNTER,
                                       .process_ref = route.process_ref,
                                       .name = ss_strview_of(ss_counter_device_work_recorded)};
        devices->recorded_track = ss_annotation_tracks_put_track(devices->tracks, &track);
    }
    struct ss_trace_counter counter = {.time_ns = ss_device_within(devices, to->time_ns),
                                       .track_ref = devices->recorded_track,
                                       .is_integer = true,
                                       .integer = to->is_on != 0};
    ss_record_context_check(of, ss_recording_counter(of->recording, route, &counter, &err), &err);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Long: one line for each kind of message. */
struct ss_device_tracks *ss_device_tracks_open(struct ss_record_context *context,
                                               struct ss_annotation_tracks *tracks,
                                               struct ss_recorded_process *process,
                                               struct ss_detail_filter *detail, const char *path)
{
    char file[SS_RING_PATH_BYTES + 300];
    size_t length = strlen(path), suffix = sizeof SS_RING_FILE_SUFFIX - 1;
    struct ss_device_tracks *devices = ss_alloc_zero(1, sizeof *devices);
    struct ss_device_sink sink = {devices,
                                  on_text,
                                  ss_device_on_frame,
                                  ss_device_on_stack,
                                  ss_device_on_work,
                                  ss_device_on_call,
                                  ss_device_on_launch,
                                  ss_device_on_wait,
                                  on_device,
                                  on_context,
                                  on_switch,
                                  ss_device_on_node,
                                  ss_device_on_collective,
                                  ss_device_on_memory,
                                  ss_device_on_pool,
                                  ss_device_on_external,
                                  ss_device_on_compilation,
                                  ss_device_on_metrics,
                                  ss_device_on_sampler,
                                  ss_device_on_sample};
    struct ss_error err = {0};
    *devices = (struct ss_device_tracks){.context = context,
                                         .tracks = tracks,
                                         .process = process,
                                         .detail = detail,
                                         .totals.processes = 1};
    enum ss_status status = SS_E_NOTFOUND;
    if (length > suffix && length < sizeof file) {
        snprintf(file, sizeof file, "%.*s" SS_DEVICE_RING_SUFFIX, (int)(length - suffix), path);
        status = ss_device_work_open(file, &sink, &devices->source, &err);
    }
    if (status != SS_OK) {
        if (status != SS_E_NOTFOUND) {
            ss_log(SS_INFO, "record", "%s", err.message);
        }
        ss_free(devices);
        return NULL;
    }
    unlink(file); /* both sides have it mapped */
    ss_vec_push(&devices->texts, (struct ss_device_name){0});
    ss_vec_push(&devices->frames, (struct ss_device_frame){0});
    ss_vec_push(&devices->stacks, (struct ss_device_stack){0});
    return devices;
}

uint64_t ss_device_within(struct ss_device_tracks *devices, uint64_t time_ns)
{
    if (time_ns > devices->now_ns) {
        uint64_t now_ns = ss_clock_now_ns(devices->context->clock);
        devices->now_ns = now_ns > devices->now_ns ? now_ns : devices->now_ns;
    }
    return time_ns < devices->now_ns ? time_ns : devices->now_ns;
}

uint32_t ss_device_tracks_drain(struct ss_device_tracks *devices, uint64_t now_ns)
{
    uint32_t fill = ss_device_work_fill(devices->source);
    devices->now_ns = now_ns;
    ss_device_work_drain(devices->source, MOST_MESSAGES);
    ss_device_settle_memory(devices, ss_device_work_flushed_ns(devices->source));
    ss_device_settle(devices, false);
    ss_device_release(devices, false);
    return fill;
}

bool ss_device_tracks_has_all(const struct ss_device_tracks *devices, uint64_t since_ns,
                              uint64_t until_ns)
{
    return ss_device_work_flushed_ns(devices->source) >= until_ns &&
           !ss_device_waits_for_work(devices, since_ns);
}

/* Each count is a note of its own, also when it is 0: a report says that nothing was lost. */
static void write_counts(struct ss_device_tracks *devices)
{
    const struct ss_device_totals *totals = &devices->totals;
    const struct {
        const char *kind, *text;
        uint64_t value;
    } counts[] = {
        {"gpu-kernels", "kernels recorded", totals->kernels},
        {"gpu-launches", "launches of kernels observed", totals->launches},
        {"gpu-dropped-records", "records that CUPTI or rocprofiler-sdk dropped",
         totals->losses.dropped_records},
        {"gpu-refused-buffers", "buffers that CUPTI asked for and did not get",
         totals->losses.refused_buffers},
        {"gpu-untimed-kernels", "works without times", totals->losses.untimed_kernels},
        {"gpu-launches-without-kernel", "launches whose kernel was not recorded",
         totals->unlaunched},
        {"gpu-lost-launches", "launches whose place was not recorded",
         totals->losses.lost_launches},
        {"gpu-kernels-without-launch", "kernels whose launch was not observed",
         totals->unplaced_kernels},
        {"gpu-early-works", "works that begin before their launch", totals->early},
        {"gpu-lost-messages", "records that were lost on their way, or found no track",
         totals->losses.lost_messages + totals->losses.bad_messages + totals->unplaced},
    };
    struct ss_route route = {.process_ref = ss_recorded_process_ref(devices->process)};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct ss_trace_note note = {.time_ns = devices->now_ns,
                                     .process_ref = route.process_ref,
                                     .kind = ss_strview_of(counts[i].kind),
                                     .text = ss_strview_of(counts[i].text),
                                     .value = (int64_t)counts[i].value};
        struct ss_error err = {0};
        ss_record_context_check(devices->context,
                                ss_recording_note(devices->context->recording, route, &note, &err),
                                &err);
    }
}

static void add_totals(struct ss_device_totals *sum, const struct ss_device_totals *part)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)part;
    _Static_assert(sizeof *sum % sizeof *to == 0, "all members are 64 bits");
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) {
        to[i] += from[i];
    }
}

void ss_device_tracks_end(struct ss_device_tracks *devices, uint64_t now_ns,
                          struct ss_device_totals *totals)
{
    if (devices == NULL) {
        return;
    }
    devices->now_ns = now_ns;
    ss_device_work_drain(devices->source, UINT64_MAX);
    ss_device_settle_memory(devices, UINT64_MAX);
    ss_device_end_samples(devices);
    ss_device_settle(devices, true);
    ss_device_release(devices, true);
    ss_device_work_losses(devices->source, &devices->totals.losses);
    enum ss_device_collector state = ss_device_work_state(devices->source);
    devices->totals.refused = state == SS_DEVICE_REFUSED;
    devices->totals.cut = state == SS_DEVICE_COLLECTS;
    write_counts(devices);
    add_totals(totals, &devices->totals);
    ss_device_work_close(devices->source);
    ss_device_free_nodes(devices);
    ss_device_free_memory(devices);
    ss_device_free_externals(devices);
    for (size_t i = 0; i < devices->streams.count; i++) {
        ss_vec_fini(&devices->streams.data[i].lanes);
    }
    ss_vec_fini(&devices->streams);
    ss_vec_fini(&devices->texts);
    ss_vec_fini(&devices->frames);
    ss_vec_fini(&devices->stacks);
    ss_vec_fini(&devices->devices);
    ss_vec_fini(&devices->contexts);
    ss_vec_fini(&devices->waits);
    ss_vec_fini(&devices->measured);
    ss_vec_fini(&devices->threads);
    ss_vec_fini(&devices->held);
    ss_vec_fini(&devices->held_fields);
    ss_free(devices);
}
