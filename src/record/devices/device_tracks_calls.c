/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/device_api.h"
#include "base/shared_names.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_THREADS = 4096, MOST_PENDING = 1 << 18 };

/* CUPTI returns buffers once a second: after so long the call of a launch does not come. */
static const uint64_t call_timeout_ns = UINT64_C(3000000000);
/* Work may run long after its launch. */
/* Between the clocks of device and host: more is not an error of reading them. */
static const uint64_t clock_error_ns = UINT64_C(100000);
static const uint64_t work_timeout_ns = UINT64_C(60000000000);

/* --- tracks and names ------------------------------------------------------------------------- */

static uint32_t track_of(struct ss_device_tracks *devices, uint32_t tid)
{
    for (size_t i = devices->threads.count; i > 0; i--) {
        if (devices->threads.data[i - 1].tid == tid) {
            return devices->threads.data[i - 1].track_ref;
        }
    }
    if (devices->threads.count >= MOST_THREADS || tid == 0 || tid > INT32_MAX) {
        return 0;
    }
    bool is_of_hip = ss_device_work_interface(devices->source) == SS_DEVICE_OF_ROCPROFILER;
    struct ss_trace_track track = {
        .kind = SS_TRACK_RANGES,
        .process_ref = ss_recorded_process_ref(devices->process),
        .thread_ref = ss_recorded_process_thread(devices->process, (int32_t)tid),
        .name = ss_strview_of(is_of_hip ? ss_domain_hip_calls : ss_domain_cuda_calls)};
    uint32_t ref = ss_annotation_tracks_put_track(devices->tracks, &track);
    ss_vec_push(&devices->threads, (struct ss_device_thread){tid, ref});
    return ref;
}

/* The name of a call, and its kind. */
static struct ss_device_name *call_of(struct ss_device_tracks *devices, uint32_t number,
                                      uint32_t domain)
{
    static const char *const categories[SS_DEVICE_DOMAINS] = {"runtime", "driver", "rccl"};
    struct ss_device_name *text = &devices->texts.data[number < devices->texts.count ? number : 0];
    if (text->calls[domain] == 0) {
        struct ss_strview shown = ss_device_text_of(devices, number);
        shown = shown.length > 0 ? shown : ss_strview_of("<unknown call>");
        text->type = ss_device_call_type(shown);
        text->calls[domain] = ss_annotation_tracks_put_name(
            devices->tracks, shown, ss_strview_of(categories[domain]), text->type);
    }
    return text;
}

/* Not copies, which may need no device, nor functions of the host. */
static bool is_of_kernel(const struct ss_device_tracks *devices, uint32_t name)
{
    struct ss_strview text = ss_device_text_of(devices, name);
    return ss_device_call_launches_kernel(text) || ss_device_call_launches_graph(text);
}

static void write_call(struct ss_device_tracks *devices, const struct ss_device_call_message *call,
                       uint32_t stack)
{
    struct ss_device_fields fields = {.count = 0};
    uint64_t end_ns = ss_device_within(devices, call->end_ns);
    uint64_t begin_ns = call->begin_ns < end_ns ? call->begin_ns : end_ns;
    uint32_t track = track_of(devices, call->thread);
    if (track == 0) {
        devices->totals.unplaced++;
        return;
    }
    ss_device_add_number(&fields, SS_EVENT_FIELD_correlation, call->correlation);
    ss_device_add_number(&fields, SS_EVENT_FIELD_external_id,
                         ss_device_external_of(devices, call->correlation));
    ss_device_add_text(&fields, SS_EVENT_FIELD_stack, ss_device_stack_of(devices, stack));
    devices->totals.calls++;
    ss_device_write(devices, begin_ns, track,
                    call_of(devices, call->name, call->domain)->calls[call->domain], begin_ns,
                    end_ns, &fields);
}

/* Of these, work is expected. */
static bool wants_work(const struct ss_device_tracks *devices,
                       const struct ss_device_launch_message *launch)
{
    return launch->outer == 0 && (launch->flags & SS_DEVICE_LAUNCH_CAPTURED) == 0 &&
           is_of_kernel(devices, launch->name);
}

/* --- joining ---------------------------------------------------------------------------------- */

static struct ss_device_pending *find(const struct ss_device_tracks *devices, uint32_t correlation)
{
    struct ss_device_pending *pending = NULL;
    HASH_FIND(hh, devices->pending, &correlation, sizeof correlation, pending);
    return pending;
}

static void write_launch(struct ss_device_tracks *devices, struct ss_device_pending *pending)
{
    const struct ss_device_launch_message *launch = &pending->launch;
    struct ss_device_call_message call = {.begin_ns = launch->begin_ns,
                                          .end_ns = launch->end_ns,
                                          .domain = launch->domain,
                                          .thread = launch->thread,
                                          .correlation = launch->correlation,
                                          .name = launch->name};
    if (!pending->is_written && launch->outer == 0) { /* a nested one is within its outer */
        write_call(devices, &call, launch->stack);
    }
    pending->is_written = true;
}

static void forget(struct ss_device_tracks *devices, struct ss_device_pending *pending)
{
    devices->totals.unlaunched += !pending->has_work && wants_work(devices, &pending->launch);
    HASH_DEL(devices->pending, pending);
    ss_free(pending->collective);
    ss_free(pending);
}

/* All nodes of a graph have the correlation of its launch. */
static void drop_if_complete(struct ss_device_tracks *devices, struct ss_device_pending *pending)
{
    bool has_more = ss_device_call_launches_graph(ss_device_text_of(devices, pending->launch.name));
    if (pending->is_written && pending->has_work && pending->launch.outer == 0 && !has_more) {
        forget(devices, pending);
    }
}

void ss_device_on_launch(void *context, const struct ss_device_launch_message *launch)
{
    struct ss_device_tracks *devices = context;
    if (launch->correlation == 0 || find(devices, launch->correlation) != NULL) {
        return;
    }
    if (HASH_COUNT(devices->pending) >= MOST_PENDING) { /* the oldest is the first */
        write_launch(devices, devices->pending);
        forget(devices, devices->pending);
    }
    struct ss_device_pending *pending = ss_alloc_zero(1, sizeof *pending);
    pending->correlation = launch->correlation;
    pending->since_ns = devices->now_ns;
    pending->launch = *launch;
    pending->has_work = call_of(devices, launch->name, launch->domain)->type ==
                        SS_EVENT_TYPE_synchronisation; /* it comes without any */
    devices->totals.launches += wants_work(devices, launch);
    HASH_ADD(hh, devices->pending, correlation, sizeof pending->correlation, pending);
    if ((launch->flags & SS_DEVICE_LAUNCH_IS_CALL) != 0) {
        write_launch(devices, pending);
        drop_if_complete(devices, pending);
    }
}

void ss_device_on_call(void *context, const struct ss_device_call_message *call)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_pending *pending = find(devices, call->correlation);
    if (pending != NULL && pending->is_written) {
        return;
    }
    write_call(devices, call, pending != NULL ? pending->launch.stack : 0);
    if (pending != NULL) {
        pending->is_written = true;
        drop_if_complete(devices, pending);
    }
}

void ss_device_on_collective(void *context, const struct ss_device_collective_message *collective)
{
    struct ss_device_tracks *devices = context;
    struct ss_device_pending *pending = find(devices, collective->correlation);
    if (pending == NULL) {
        return;
    }
    if (pending->collective == NULL) {
        pending->collective = ss_alloc_zero(1, sizeof *pending->collective);
        pending->collective->first = *collective;
    }
    struct ss_device_collective *of = pending->collective;
    bool is_known = collective->bytes >= 0 && of->bytes >= 0 &&
                    !__builtin_add_overflow(of->bytes, collective->bytes, &of->bytes);
    of->bytes = is_known ? of->bytes : -1;
    of->count++;
}

/* The launch is forgotten with its last work. */
static void copy_collective(struct ss_device_tracks *devices,
                            const struct ss_device_pending *pending,
                            const struct ss_device_collective **collective)
{
    if (pending->collective != NULL) {
        devices->found = *pending->collective;
        *collective = &devices->found;
    }
}

/* CUPTI may give work the correlation of the driver's call within the runtime's. */
bool ss_device_waits_for_work(const struct ss_device_tracks *devices, uint64_t before_ns)
{
    for (const struct ss_device_pending *pending = devices->pending; pending != NULL;
         pending = pending->hh.next) {
        if (!pending->has_work && pending->launch.begin_ns < before_ns &&
            wants_work(devices, &pending->launch)) {
            return true;
        }
    }
    return false;
}

bool ss_device_found_work(struct ss_device_tracks *devices, uint32_t correlation, uint64_t begin_ns,
                          uint64_t *launched_ns, const struct ss_device_collective **collective)
{
    struct ss_device_pending *pending = find(devices, correlation);
    *collective = NULL;
    *launched_ns = begin_ns;
    if (pending == NULL) {
        return false;
    }
    *launched_ns = pending->launch.begin_ns;
    pending->has_work = true;
    copy_collective(devices, pending, collective);
    devices->totals.early += begin_ns + clock_error_ns < pending->launch.begin_ns;
    if (pending->launch.outer != 0) {
        struct ss_device_pending *outer = find(devices, pending->launch.outer);
        if (outer != NULL) {
            outer->has_work = true;
            copy_collective(devices, outer, collective);
        }
    }
    drop_if_complete(devices, pending);
    return true;
}

uint32_t ss_device_found_allocation(struct ss_device_tracks *devices, uint32_t correlation)
{
    struct ss_device_pending *pending = find(devices, correlation);
    if (pending == NULL) {
        return 0;
    }
    uint32_t stack = pending->launch.stack;
    pending->has_work = true;
    drop_if_complete(devices, pending);
    return stack;
}

void ss_device_settle(struct ss_device_tracks *devices, bool all)
{
    struct ss_device_pending *pending, *next;
    HASH_ITER(hh, devices->pending, pending, next)
    {
        uint64_t age_ns = devices->now_ns - pending->since_ns;
        if (!all && age_ns < call_timeout_ns) {
            return; /* later ones are younger */
        }
        write_launch(devices, pending);
        if (all || pending->has_work || age_ns >= work_timeout_ns) {
            forget(devices, pending);
        }
    }
}
