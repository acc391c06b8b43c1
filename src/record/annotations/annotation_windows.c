/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "record/annotations/annotation_clients.h"
#include "record/run/ring_directory.h"
#include "record/tracks/annotation_tracks.h"
#include "record/tracks/torch_profiles.h"
#include "record/windows/window_filter.h"
#include "source/annot.h"

void ss_client_add_windows(const struct ss_record_client *client, struct ss_record_windows *sum)
{
    if (client->filter == NULL) {
        return;
    }
    struct ss_window_counts counts = ss_window_filter_counts(client->filter);
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    uint32_t steps = atomic_load(&header->steps), most_steps = atomic_load(&header->most_steps);
    sum->windows += counts.windows;
    sum->partial += counts.partial;
    sum->steps = steps > sum->steps ? steps : sum->steps;
    sum->most_steps = most_steps > sum->most_steps ? most_steps : sum->most_steps;
}

static void install_late_filter(struct ss_record_client *client);

static struct ss_route aim_of(const struct ss_record_client *client, uint32_t window)
{
    return (struct ss_route){client->process_ref, window};
}

/* How long after a window the records of its devices may come: usually, and at most. */
static const uint64_t devices_grace_ns = UINT64_C(100000000);
static const uint64_t devices_timeout_ns = UINT64_C(2000000000);

/* The process marks steps: its children follow its windows. */
static void mark_as_window_owner(struct ss_record_client *client)
{
    if (!client->marks_steps) {
        client->marks_steps = true;
        ss_recording_marks_steps(client->annotations->context->recording, client->process_ref);
    }
}

static int64_t epoch_of(const struct ss_record_client *client, const struct ss_window_edge *edge)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    int64_t now = atomic_load_explicit(&header->epoch, memory_order_relaxed);
    return edge->epoch >= 0 ? edge->epoch : now;
}

struct ss_record_client *ss_client_window_owner(const struct ss_record_client *client)
{
    const struct ss_record_annotations *annotations = client->annotations;
    uint32_t owner_ref =
        ss_recording_window_owner(annotations->context->recording, client->process_ref);
    bool follows = owner_ref != 0 && owner_ref != client->process_ref && !client->marks_steps;
    return follows ? ss_annotations_client(annotations, owner_ref) : NULL;
}

static void forward_edge(struct ss_record_client *client,
                         const struct ss_record_client *window_owner,
                         const struct ss_past_edge *past)
{
    if (client->filter == NULL) {
        install_late_filter(client);
    }
    ss_window_filter_follow(client->filter, window_owner->process_ref, &past->edge, past->opens);
}

static void notify_followers(struct ss_record_client *window_owner,
                             const struct ss_window_edge *edge, bool opens)
{
    struct ss_record_annotations *annotations = window_owner->annotations;
    struct ss_past_edge past = {*edge, opens};
    mark_as_window_owner(window_owner);
    if (window_owner->edges.count == SS_CLIENT_MAX_PAST_EDGES) {
        for (size_t i = 1; i < SS_CLIENT_MAX_PAST_EDGES; i++) {
            window_owner->edges.data[i - 1] = window_owner->edges.data[i];
        }
        window_owner->edges.count--;
    }
    ss_vec_push(&window_owner->edges, past);
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && ss_client_window_owner(client) == window_owner) {
            forward_edge(client, window_owner, &past);
        }
    }
}

void ss_client_replay_edges(struct ss_record_client *client)
{
    const struct ss_record_client *window_owner = ss_client_window_owner(client);
    for (size_t i = 0; window_owner != NULL && i < window_owner->edges.count; i++) {
        forward_edge(client, window_owner, &window_owner->edges.data[i]);
    }
}

static void on_window_begin(void *context, const struct ss_window_edge *edge)
{
    struct ss_record_client *client = context;
    struct ss_window window = {.process_ref = client->process_ref,
                               .number = edge->window,
                               .pid = client->pid,
                               .epoch = epoch_of(client, edge),
                               .batch = edge->batch,
                               .first_step = edge->step >= 0 ? edge->step : 0,
                               .begin_ns = edge->time_ns};
    ss_recording_window_begin(client->annotations->context->recording, &window);
    ss_client_demand_begins(client, edge);
    notify_followers(client, edge, true);
}

/* The step that begins at the end of a window is outside it, unless the window was cut in that
 * step. */
static void on_window_end(void *context, const struct ss_window_edge *edge)
{
    struct ss_record_client *client = context;
    int64_t last = edge->step >= 0 ? edge->step - !edge->is_cut : 0;
    ss_recording_window_end(client->annotations->context->recording, aim_of(client, edge->window),
                            edge->time_ns, last, edge->is_cut);
    ss_client_demand_ends(client, edge, last);
    notify_followers(client, edge, false);
}

/* Whether a follower has pending events of the window. */
static bool has_pending_events(const struct ss_record_annotations *annotations,
                               uint32_t process_ref, uint32_t window)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->filter != NULL &&
            ss_window_filter_holds(client->filter, process_ref, window)) {
            return true;
        }
    }
    return false;
}

/* Devices work on after a step has ended, and their records come later still. */
static bool waits_for_devices(const struct ss_record_annotations *annotations, uint64_t since_ns,
                              uint64_t now_ns)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->devices != NULL &&
            !ss_device_tracks_has_all(client->devices, since_ns, since_ns + devices_grace_ns)) {
            return now_ns < since_ns + devices_timeout_ns;
        }
    }
    return false;
}

static void finish_window(struct ss_record_annotations *annotations, struct ss_route route)
{
    ss_annotations_demand_drained(annotations, route.process_ref, route.window);
    ss_recording_window_drained(annotations->context->recording, route);
}

/* During a tick no file is finished: pending weights may belong to it. */
static void on_window_drained(void *context, uint32_t window)
{
    struct ss_record_client *client = context;
    struct ss_record_annotations *annotations = client->annotations;
    uint64_t now_ns = ss_clock_now_ns(annotations->context->clock);
    ss_torch_files_collect(&client->torch, now_ns);
    if (annotations->context->is_sampling || waits_for_devices(annotations, now_ns, now_ns) ||
        has_pending_events(annotations, client->process_ref, window)) {
        struct ss_drained_window drained = {client->process_ref, window, now_ns};
        ss_vec_push(&annotations->drained, drained);
    } else {
        finish_window(annotations, aim_of(client, window));
    }
}

void ss_annotations_finish_windows(struct ss_record_annotations *annotations)
{
    size_t remaining = 0;
    for (size_t i = 0; i < annotations->drained.count; i++) {
        struct ss_drained_window drained = annotations->drained.data[i];
        uint64_t now_ns = ss_clock_now_ns(annotations->context->clock);
        if (waits_for_devices(annotations, drained.since_ns, now_ns) ||
            has_pending_events(annotations, drained.process_ref, drained.window)) {
            annotations->drained.data[remaining++] = drained;
        } else {
            struct ss_route route = {drained.process_ref, drained.window};
            finish_window(annotations, route);
        }
    }
    annotations->drained.count = remaining;
}

static struct ss_annot_sink filter_sink(struct ss_record_client *client, bool is_late)
{
    ss_detail_filter_stop(client->detail);
    struct ss_annot_sink sink = ss_detail_filter_sink(client->detail);
    struct ss_recording *recording = client->annotations->context->recording;
    struct ss_window_filter_options options = {
        .hooks = {client, on_window_begin, on_window_end, on_window_drained},
        .cuts_steps = ss_recording_is_per_window(recording),
        .is_late = is_late};
    client->filter = ss_window_filter_new(&sink, &options);
    return ss_window_filter_sink(client->filter);
}

void ss_client_enter_open_window(struct ss_record_client *client, uint64_t now_ns)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    uint32_t window = atomic_load(&header->window);
    if (client->filter != NULL && window != 0) {
        struct ss_annot_event event = {.kind = SS_ANNOT_WINDOW,
                                       .time_ns = now_ns,
                                       .detail =
                                           atomic_load(&header->action) & SS_RING_WINDOW_ACTION,
                                       .id = window,
                                       .name = (uint32_t)atomic_load(&header->batch),
                                       .value = (uint64_t)atomic_load(&header->step)};
        struct ss_annot_sink sink = ss_window_filter_sink(client->filter);
        sink.event(sink.context, &event);
    }
}

/* For a process without a filter: from the first edge on, its events are cut. */
static void install_late_filter(struct ss_record_client *client)
{
    struct ss_annot_sink sink = filter_sink(client, true);
    ss_annot_set_sink(client->annot, &sink);
}

/* Pairs with the release store in annot/training.c: visible before the first edge. */
static bool has_own_schedule(const struct ss_record_client *client)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    return atomic_load_explicit(&header->scheduled, memory_order_acquire) != 0;
}

static void follow_own_schedule(struct ss_record_client *client, bool scheduled)
{
    if (scheduled && !client->is_scheduled) {
        client->is_scheduled = true;
        client->annotations->scheduled++;
        if (client->filter == NULL) {
            install_late_filter(client);
        }
    }
}

static void before_window(void *context)
{
    struct ss_record_client *client = context;
    follow_own_schedule(client, has_own_schedule(client));
}

/* Reads from the header what the ring contains a little later: a schedule, another window. Returns
 * whether the ring should be drained now. */
bool ss_client_poll_header(struct ss_record_client *client)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    bool marks_steps = atomic_load_explicit(&header->step, memory_order_relaxed) >= 0 ||
                       atomic_load_explicit(&header->epoch, memory_order_relaxed) >= 0;
    bool scheduled = has_own_schedule(client);
    uint32_t window = atomic_load_explicit(&header->window, memory_order_relaxed);
    if (atomic_load_explicit(&header->arms_devices, memory_order_relaxed) != 0) {
        client->annotations->context->is_gpu_armed = true;
    }
    if (marks_steps || scheduled) {
        mark_as_window_owner(client);
    }
    follow_own_schedule(client, scheduled);
    bool is_new = window != client->header_window;
    client->header_window = window;
    return is_new && client->filter != NULL;
}

/* A process that already has a schedule is recorded only in its windows; a process that sets one
 * later is recorded fully until then. */
void ss_client_start_filter(struct ss_record_client *client)
{
    bool all_follow = client->annotations->context->follows_schedule;
    bool scheduled = has_own_schedule(client);
    client->annotations->scheduled += scheduled;
    client->is_scheduled = scheduled;
    ss_annot_set_window_hook(client->annot, before_window, client);
    if (all_follow || scheduled) {
        struct ss_annot_sink sink = filter_sink(client, false);
        ss_annot_set_sink(client->annot, &sink);
    }
}

void ss_record_annotations_poll_windows(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    bool has_read_clock = false;
    ss_annotations_finish_windows(annotations);
    for (size_t i = 0; annotations->live > 0 && i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && ss_client_poll_header(client)) {
            if (!has_read_clock) {
                ss_stamp_clock_read(&annotations->clock);
                has_read_clock = true;
            }
            ss_client_drain(client, now_ns);
        }
    }
}

static bool is_scheduled(const struct ss_record_client *client)
{
    const struct ss_ring_header *header = ss_annot_header(client->annot);
    return client->annotations->context->follows_schedule ||
           atomic_load_explicit(&header->scheduled, memory_order_relaxed) != 0;
}

uint32_t ss_client_window(const struct ss_record_client *annotated)
{
    if (annotated->is_ended || !is_scheduled(annotated)) {
        return 0;
    }
    return annotated->demanded_window != 0
               ? annotated->demanded_window
               : atomic_load_explicit(&ss_annot_header(annotated->annot)->window,
                                      memory_order_relaxed);
}

static bool is_any_in_window(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (annotations->any_in_window_ns != now_ns) {
        annotations->any_in_window_ns = now_ns;
        annotations->any_in_window = annotations->open_windows_of_all > 0;
        for (size_t i = 0; i < annotations->clients.count && !annotations->any_in_window; i++) {
            annotations->any_in_window = ss_client_window(annotations->clients.data[i]) != 0;
        }
    }
    return annotations->any_in_window;
}

bool ss_annotations_is_in_window(struct ss_record_annotations *annotations, uint32_t process_ref,
                                 uint64_t now_ns)
{
    bool all_follow = annotations->context->follows_schedule;
    if (!all_follow && annotations->scheduled == 0) {
        return true;
    }
    uint32_t owner_ref = ss_recording_window_owner(annotations->context->recording, process_ref);
    const struct ss_record_client *client = ss_annotations_client(annotations, owner_ref);
    if (client != NULL && !client->is_ended) {
        return !is_scheduled(client) || ss_client_window(client) != 0;
    }
    return !all_follow || is_any_in_window(annotations, now_ns);
}

void ss_client_ensure_window(struct ss_record_client *annotated, uint32_t window)
{
    struct ss_recording *recording = annotated->annotations->context->recording;
    if (annotated->is_ended || annotated->filter == NULL ||
        ss_recording_has_window(recording, aim_of(annotated, window))) {
        return;
    }
    uint64_t now_ns = ss_clock_now_ns(annotated->annotations->context->clock);
    ss_stamp_clock_read(&annotated->annotations->clock);
    ss_client_drain(annotated, now_ns);
    /* Its record is still being written, or was dropped: the header has the same data. */
    const struct ss_ring_header *header = ss_annot_header(annotated->annot);
    if (!ss_recording_has_window(recording, aim_of(annotated, window)) &&
        atomic_load(&header->window) == window) {
        struct ss_window_edge edge = {.window = window,
                                      .time_ns = now_ns,
                                      .step = atomic_load(&header->step),
                                      .epoch = -1,
                                      .batch = (uint32_t)atomic_load(&header->batch)};
        on_window_begin(annotated, &edge);
    }
}

void ss_record_annotations_get_windows(const struct ss_record_annotations *annotations,
                                       struct ss_record_windows *windows)
{
    *windows = annotations->ended;
    windows->windows += annotations->windows_of_all;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        if (!annotations->clients.data[i]->is_ended) {
            ss_client_add_windows(annotations->clients.data[i], windows);
        }
    }
}
