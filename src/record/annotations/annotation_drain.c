/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/log.h"
#include "platform/proc_status.h"
#include "record/annotations/annotation_clients.h"
#include "record/tracks/annotation_tracks.h"
#include "record/windows/window_filter.h"
#include "source/annot.h"

/* Minimum time between two polls for seccomp filters: of one process, and of any. */
static const uint64_t confinement_period_ns = UINT64_C(100000000);
static const uint64_t confinement_gap_ns = UINT64_C(10000000);
/* Time between drains: shorter while rings fill fast, longer while they are nearly empty. The
 * default ring holds 65 ms of a million records a second. */
static const uint64_t drain_least_ns = UINT64_C(1000000);
static const uint64_t drain_most_ns = UINT64_C(32000000);
/* A flush waits for so many drains, until the window filters have emitted the earlier events. */
enum { FLUSH_DRAINS = 3 };
enum { FILLS_FAST_PERCENT = 12, FILLS_SLOWLY_PERCENT = 2 };

int ss_count_seccomp_filters(pid_t pid)
{
    struct ss_proc_status status;
    return ss_proc_status_read(pid, &status) == 0 ? status.filters : 0;
}

/* Drains until `until_ns`, even if the ring is not empty by then. */
static uint32_t drain_ring(struct ss_record_client *client, uint64_t now_ns, uint64_t until_ns)
{
    ss_client_poll_header(client);
    uint32_t filled = ss_annot_drain_until(client->annot, now_ns, until_ns);
    client->seen_ns = now_ns;
    if (client->devices != NULL) {
        uint32_t of_devices = ss_device_tracks_drain(client->devices, now_ns);
        filled = of_devices > filled ? of_devices : filled;
    }
    if (!ss_annot_is_behind(client->annot)) {
        client->drained_ns = now_ns;
    }
    return filled;
}

/* Emits events whose windows are known; the edges may come from the window owner's ring. */
static void finish_drain(struct ss_record_client *client)
{
    const struct ss_record_client *window_owner = ss_client_window_owner(client);
    bool waits = window_owner != NULL && window_owner->drained_ns < client->drained_ns;
    uint64_t drained_ns = client->drained_ns;
    if (client->filter != NULL) {
        drained_ns = waits ? window_owner->drained_ns : drained_ns;
        ss_window_filter_drained(client->filter, drained_ns);
    }
    ss_detail_filter_drained(client->detail, drained_ns);
    if (!ss_annot_is_behind(client->annot)) {
        ss_annotation_tracks_drained(client->tracks);
    }
}

void ss_client_drain(struct ss_record_client *client, uint64_t now_ns)
{
    drain_ring(client, now_ns, UINT64_MAX);
    finish_drain(client);
}

static void poll_flush_request(struct ss_record_client *client)
{
    if (!client->wants_flush && ss_annot_wants_flush(client->annot, &client->flush_number)) {
        client->wants_flush = true;
        client->flush_drains = 0;
    }
    if (client->wants_flush && !ss_annot_is_behind(client->annot) &&
        ++client->flush_drains >= FLUSH_DRAINS) {
        client->annotations->wants_flush = true;
    }
}

static bool is_flush_pending(const struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->wants_flush) {
            return true;
        }
    }
    return false;
}

/* The process stops making system calls for rings: its filter could kill it. */
static void confine(struct ss_record_client *client, uint64_t now_ns)
{
    char text[200];
    client->is_confined = true;
    ss_annot_confine(client->annot);
    snprintf(text, sizeof text,
             "process %d has set a filter of system calls (seccomp): threads and processes that "
             "it starts from then on are not annotated, because the filter might kill them",
             (int)client->pid);
    ss_annotations_note(client->annotations, client->process_ref, "annotations", text, now_ns);
    ss_log(SS_INFO, "record", "%s", text);
}

/* Polls one process per call. */
static void poll_confinement(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    if (now_ns < annotations->confinement_polled_ns + confinement_gap_ns ||
        annotations->clients.count == 0) {
        return;
    }
    annotations->confinement_polled_ns = now_ns;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        annotations->confinement_client =
            (annotations->confinement_client + 1) % annotations->clients.count;
        struct ss_record_client *client =
            annotations->clients.data[annotations->confinement_client];
        if (!client->is_ended && !client->is_confined &&
            now_ns >= client->confinement_polled_ns + confinement_period_ns) {
            client->confinement_polled_ns = now_ns;
            if (ss_count_seccomp_filters(client->pid) > annotations->inherited_filters) {
                confine(client, now_ns);
            }
            return;
        }
    }
}

/* Halves the period while rings fill fast or a flush is pending; doubles it while they are nearly
 * empty. */
static void adapt_drain_period(struct ss_record_annotations *annotations, uint32_t fullest)
{
    bool is_urgent = fullest >= FILLS_FAST_PERCENT || is_flush_pending(annotations);
    if (is_urgent && annotations->drain_period_ns > drain_least_ns) {
        annotations->drain_period_ns /= 2;
    } else if (!is_urgent && fullest < FILLS_SLOWLY_PERCENT &&
               annotations->drain_period_ns < drain_most_ns) {
        annotations->drain_period_ns *= 2;
    }
}

uint64_t ss_record_annotations_drain(struct ss_record_annotations *annotations, uint64_t now_ns,
                                     uint64_t until_ns)
{
    ss_annotations_finish_windows(annotations);
    if (annotations->live == 0 || now_ns < annotations->next_ns) {
        return annotations->live == 0 ? UINT64_MAX : annotations->next_ns;
    }
    uint32_t fullest = 0;
    bool is_behind = false;
    ss_stamp_clock_read(&annotations->clock);
    if (annotations->directory.page != NULL) {
        atomic_store_explicit(&annotations->directory.page->heartbeat_ns, now_ns,
                              memory_order_relaxed);
    }
    for (size_t n = 0, first = annotations->first_client; n < annotations->clients.count; n++) {
        size_t i = (first + n) % annotations->clients.count;
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended) {
            poll_flush_request(client);
            uint32_t filled = drain_ring(client, now_ns, until_ns);
            fullest = filled > fullest ? filled : fullest;
            if (!is_behind && ss_annot_is_behind(client->annot)) {
                is_behind = true;
                annotations->first_client = i + 1;
            }
        }
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        if (!annotations->clients.data[i]->is_ended) {
            finish_drain(annotations->clients.data[i]);
        }
    }
    ss_annotations_finish_windows(annotations);
    poll_confinement(annotations, now_ns);
    adapt_drain_period(annotations, fullest);
    annotations->next_ns = is_behind ? now_ns : now_ns + annotations->drain_period_ns;
    return annotations->next_ns;
}

bool ss_record_annotations_wants_flush(const struct ss_record_annotations *annotations)
{
    return annotations->wants_flush;
}

void ss_record_annotations_flushed(struct ss_record_annotations *annotations)
{
    annotations->wants_flush = false;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && client->wants_flush && client->flush_drains >= FLUSH_DRAINS) {
            ss_annot_flushed(client->annot, client->flush_number);
            client->wants_flush = false;
        }
    }
}
