/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotations/annotation_demands.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/launchers.h"
#include "platform/procfs.h"
#include "record/annotations/annotation_clients.h"
#include "source/annot.h"

enum { SS_DEMAND_MOST_ROWS = 4096 };

/* A request in one process. */
struct ss_demand_row {
    struct ss_on_demand_request request;
    const struct ss_record_client *client; /* NULL: its process has ended */
    uint32_t process_ref;
    int32_t pid, rank; /* rank -1: none */
    enum ss_on_demand_state state;
    bool is_of_all;   /* of a recording whose processes have no client */
    bool is_follower; /* records in the windows of another process */
    int64_t step;
    uint32_t slot, number;     /* of the ring header, for steps */
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, for seconds */
    uint32_t window;           /* 0: not begun */
    bool is_cut, is_drained;
    char *path; /* of the window's file; NULL: the recording's file */
};

static const struct ss_ring_header *header_of(const struct ss_record_client *client)
{
    return ss_annot_header(client->annot);
}

static int64_t step_of(const struct ss_record_client *client)
{
    return atomic_load_explicit(&header_of(client)->step, memory_order_relaxed);
}

static bool marks_steps(const struct ss_record_client *client)
{
    return step_of(client) >= 0 ||
           atomic_load_explicit(&header_of(client)->epoch, memory_order_relaxed) >= 0;
}

/* -1: it has none. */
static int32_t rank_in(const struct ss_rank_facts *facts)
{
    bool has_rank = facts->has[SS_RANK] && facts->numbers[SS_RANK] <= INT32_MAX;
    return has_rank ? (int32_t)facts->numbers[SS_RANK] : -1;
}

static int32_t own_rank(void)
{
    struct ss_rank_facts facts;
    ss_rank_facts_own(&facts);
    return rank_in(&facts);
}

/* A process that ends has no environment any more: it is of the rank that is recorded, if it is one
 * rank. */
static int32_t rank_of(pid_t pid)
{
    struct ss_rank_facts facts;
    size_t length;
    char *block = ss_procfs_environment_block(pid, &length);
    ss_rank_facts_of_environment(block, length, &facts);
    ss_free(block);
    int32_t rank = rank_in(&facts);
    return rank >= 0 ? rank : own_rank();
}

static bool is_under_way(const struct ss_demand_row *row)
{
    return row->state == SS_ON_DEMAND_WAITING || row->state == SS_ON_DEMAND_ARMED ||
           row->state == SS_ON_DEMAND_OPEN;
}

/* --- requests --------------------------------------------------------------------------------- */

/* SS_RING_DEMANDS: all entries are in use. */
static uint32_t free_slot(const struct ss_record_annotations *annotations,
                          const struct ss_record_client *client)
{
    bool used[SS_RING_DEMANDS] = {false};
    for (size_t i = 0; i < annotations->demands.count; i++) {
        const struct ss_demand_row *row = annotations->demands.data[i];
        if (row->client == client && row->number != 0 && is_under_way(row)) {
            used[row->slot] = true;
        }
    }
    uint32_t slot = 0;
    while (slot < SS_RING_DEMANDS && used[slot]) {
        slot++;
    }
    return slot;
}

static void post(struct ss_record_client *client, struct ss_demand_row *row)
{
    struct ss_record_annotations *annotations = client->annotations;
    row->slot = free_slot(annotations, client);
    if (row->slot == SS_RING_DEMANDS) {
        row->state = SS_ON_DEMAND_BUSY;
        return;
    }
    row->number = ++annotations->demand_number;
    ss_annot_post_demand(client->annot, row->slot, row->number, row->request.first,
                         row->request.last);
}

static int64_t realtime_ahead_ns(const struct ss_clock *clock)
{
    struct ss_clock_reading now;
    ss_clock_now(clock, &now);
    return (int64_t)(now.realtime_ns - now.monotonic_ns);
}

/* `client`: NULL: none of the recording's processes has loaded libstepscope. */
static void plan_seconds(const struct ss_record_annotations *annotations,
                         const struct ss_record_client *client, struct ss_demand_row *row,
                         uint64_t now_ns)
{
    bool has_no_file = client == NULL && annotations->options->window_name != NULL;
    int64_t ahead_ns = realtime_ahead_ns(annotations->context->clock);
    int64_t begin_ns = row->request.first - ahead_ns, end_ns = row->request.last - ahead_ns;
    row->begin_ns = begin_ns > 0 ? (uint64_t)begin_ns : 0;
    row->end_ns = end_ns > 0 ? (uint64_t)end_ns : 0;
    row->state = has_no_file                             ? SS_ON_DEMAND_NO_FILE
                 : client != NULL && marks_steps(client) ? SS_ON_DEMAND_HAS_STEPS
                 : row->begin_ns < now_ns                ? SS_ON_DEMAND_LATE
                                                         : SS_ON_DEMAND_ARMED;
}

static void ask(struct ss_record_client *client, const struct ss_on_demand_request *request,
                uint64_t now_ns)
{
    struct ss_demand_row *row = ss_alloc_zero(1, sizeof *row);
    *row = (struct ss_demand_row){.request = *request,
                                  .client = client,
                                  .process_ref = client->process_ref,
                                  .pid = client->pid,
                                  .rank = rank_of(client->pid),
                                  .step = step_of(client)};
    if (request->kind == SS_ON_DEMAND_STEPS) {
        post(client, row);
    } else if (request->kind == SS_ON_DEMAND_SECONDS) {
        plan_seconds(client->annotations, client, row, now_ns);
    } else {
        row->state = SS_ON_DEMAND_AT;
    }
    ss_vec_push(&client->annotations->demands, row);
}

/* `client`: NULL: anyone. */
static bool is_asked(const struct ss_record_annotations *annotations,
                     const struct ss_record_client *client, uint64_t id)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        if ((client == NULL || annotations->demands.data[i]->client == client) &&
            annotations->demands.data[i]->request.id == id) {
            return true;
        }
    }
    return false;
}

/* Programs without libstepscope are sampled in windows of seconds, too. */
static void ask_all(struct ss_record_annotations *annotations,
                    const struct ss_on_demand_request *request, uint64_t now_ns)
{
    struct ss_demand_row *row = ss_alloc_zero(1, sizeof *row);
    *row = (struct ss_demand_row){.request = *request,
                                  .is_of_all = true,
                                  .pid = (int32_t)getpid(),
                                  .rank = own_rank(),
                                  .step = -1};
    plan_seconds(annotations, NULL, row, now_ns);
    ss_vec_push(&annotations->demands, row);
}

void ss_annotations_demand(struct ss_record_annotations *annotations,
                           const struct ss_on_demand_request *request, uint64_t now_ns)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended && annotations->demands.count < SS_DEMAND_MOST_ROWS &&
            !is_asked(annotations, client, request->id)) {
            ask(client, request, now_ns);
        }
    }
    if (request->kind == SS_ON_DEMAND_SECONDS && annotations->live == 0 &&
        !is_asked(annotations, NULL, request->id)) {
        ask_all(annotations, request, now_ns);
    }
}

static void free_row(struct ss_demand_row *row)
{
    ss_free(row->path);
    ss_free(row);
}

/* A window that is asked for stays so. */
void ss_annotations_forget_demand(struct ss_record_annotations *annotations, uint64_t id)
{
    size_t remaining = 0;
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (row->request.id == id && !is_under_way(row)) {
            free_row(row);
        } else {
            annotations->demands.data[remaining++] = row;
        }
    }
    annotations->demands.count = remaining;
}

void ss_annotations_free_demands(struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        free_row(annotations->demands.data[i]);
    }
    ss_vec_fini(&annotations->demands);
}

/* --- answers of programs ---------------------------------------------------------------------- */

static void read_answer(struct ss_demand_row *row)
{
    static const enum ss_on_demand_state states[SS_RING_DEMAND_ANSWERS] = {
        [SS_RING_DEMAND_PENDING] = SS_ON_DEMAND_WAITING,
        [SS_RING_DEMAND_ARMED] = SS_ON_DEMAND_ARMED,
        [SS_RING_DEMAND_LATE] = SS_ON_DEMAND_LATE,
        [SS_RING_DEMAND_REFUSED] = SS_ON_DEMAND_REFUSED};
    /* Pairs with the release in ss_demands_read (annot/demands.c). */
    uint64_t answer = atomic_load_explicit(&header_of(row->client)->demand_answers[row->slot],
                                           memory_order_acquire);
    if (answer >> 8 == row->number && (answer & 0xff) < SS_RING_DEMAND_ANSWERS) {
        row->state = states[answer & 0xff];
        row->step = step_of(row->client);
    }
}

/* --- windows of seconds ----------------------------------------------------------------------- */

void ss_client_emit_edge(struct ss_record_client *client, uint32_t window, uint64_t now_ns)
{
    const struct ss_ring_header *header = header_of(client);
    struct ss_annot_event event = {
        .kind = SS_ANNOT_WINDOW,
        .time_ns = now_ns,
        .detail = window != 0 ? SS_RING_RECORDS : SS_RING_SKIPS,
        .id = window,
        .name = (uint32_t)atomic_load_explicit(&header->batch, memory_order_relaxed),
        .value = (uint64_t)step_of(client)};
    struct ss_annot_sink sink = ss_window_filter_sink(client->filter);
    ss_stamp_clock_read(&client->annotations->clock);
    ss_client_drain(client, now_ns);
    client->demanded_window = window;
    ss_annot_capture(client->annot, window != 0);
    sink.event(sink.context, &event);
}

static struct ss_record_client *client_of(struct ss_record_annotations *annotations,
                                          const struct ss_demand_row *row)
{
    return ss_annotations_client(annotations, row->process_ref);
}

/* What runs below a process in a window is recorded with it. */
static void open_seconds(struct ss_record_client *client, struct ss_demand_row *row,
                         uint64_t now_ns)
{
    if (marks_steps(client)) {
        row->state = SS_ON_DEMAND_HAS_STEPS;
    } else if (client->filter == NULL || ss_client_window_owner(client) != NULL) {
        row->is_follower = true;
        row->state = SS_ON_DEMAND_RECORDED;
    } else {
        row->state = SS_ON_DEMAND_OPEN;
        if (client->demanded_window == 0) {
            client->windows_of_seconds++;
            ss_client_emit_edge(client, client->windows_of_seconds, now_ns);
        }
        row->window = client->demanded_window;
    }
}

static bool has_other_open(const struct ss_record_annotations *annotations,
                           const struct ss_demand_row *row)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        const struct ss_demand_row *other = annotations->demands.data[i];
        if (other != row && other->client == row->client && other->state == SS_ON_DEMAND_OPEN) {
            return true;
        }
    }
    return false;
}

static void close_seconds(struct ss_record_client *client, struct ss_demand_row *row,
                          uint64_t now_ns)
{
    if (!has_other_open(client->annotations, row)) {
        ss_client_emit_edge(client, 0, now_ns);
    }
}

static void follow_all(struct ss_record_annotations *annotations, struct ss_demand_row *row,
                       uint64_t now_ns)
{
    if (row->state == SS_ON_DEMAND_ARMED && now_ns >= row->begin_ns) {
        row->state = SS_ON_DEMAND_OPEN;
        annotations->windows_of_all++;
        annotations->open_windows_of_all++;
    } else if (row->state == SS_ON_DEMAND_OPEN && now_ns >= row->end_ns) {
        row->state = SS_ON_DEMAND_WRITTEN;
        row->is_drained = true;
        annotations->open_windows_of_all--;
    }
}

static uint64_t due_of(const struct ss_demand_row *row)
{
    return row->state == SS_ON_DEMAND_ARMED  ? row->begin_ns
           : row->state == SS_ON_DEMAND_OPEN ? row->end_ns
                                             : UINT64_MAX;
}

/* Returns when the row is due again. */
static uint64_t follow_seconds(struct ss_record_annotations *annotations, struct ss_demand_row *row,
                               uint64_t now_ns)
{
    if (row->is_of_all) {
        follow_all(annotations, row, now_ns);
        return due_of(row);
    }
    struct ss_record_client *client = client_of(annotations, row);
    if (client == NULL || client != row->client) {
        return UINT64_MAX;
    }
    if (row->state == SS_ON_DEMAND_ARMED && now_ns >= row->begin_ns) {
        open_seconds(client, row, now_ns);
    }
    if (row->state == SS_ON_DEMAND_OPEN && now_ns >= row->end_ns) {
        close_seconds(client, row, now_ns);
    }
    return due_of(row);
}

uint64_t ss_annotations_poll_demands(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    uint64_t due_ns = UINT64_MAX;
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (row->client == NULL && !row->is_of_all) {
            continue;
        }
        if (row->state == SS_ON_DEMAND_WAITING) {
            read_answer(row);
        }
        if (row->state == SS_ON_DEMAND_WAITING) {
            row->step = step_of(row->client);
        }
        if (row->request.kind == SS_ON_DEMAND_SECONDS) {
            uint64_t row_ns = follow_seconds(annotations, row, now_ns);
            due_ns = row_ns < due_ns ? row_ns : due_ns;
        }
    }
    return due_ns;
}

/* --- what becomes of windows ------------------------------------------------------------------ */

void ss_client_demand_begins(struct ss_record_client *client, const struct ss_window_edge *edge)
{
    struct ss_record_annotations *annotations = client->annotations;
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (row->client == client && row->number != 0 && row->window == 0 && is_under_way(row)) {
            read_answer(row);
            if (row->state == SS_ON_DEMAND_ARMED && row->request.first <= edge->step &&
                edge->step <= row->request.last) {
                row->state = SS_ON_DEMAND_OPEN;
                row->window = edge->window;
            }
        }
    }
}

/* A window may have steps of several requests. */
void ss_client_demand_ends(struct ss_record_client *client, const struct ss_window_edge *edge,
                           int64_t last_step)
{
    struct ss_record_annotations *annotations = client->annotations;
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        bool is_in_it = row->client == client && is_under_way(row) &&
                        (row->window == edge->window ||
                         (row->number != 0 && row->window == 0 &&
                          row->state == SS_ON_DEMAND_ARMED && row->request.first <= last_step));
        if (is_in_it) {
            row->window = edge->window;
            row->is_cut = edge->is_cut;
            row->state = SS_ON_DEMAND_WRITTEN;
        }
    }
}

static enum ss_on_demand_state outcome_of(const struct ss_demand_row *row)
{
    return row->is_cut ? SS_ON_DEMAND_PARTIAL : SS_ON_DEMAND_RECORDED;
}

/* The recording's file has the window once it is flushed; a file of its own is sealed later. */
void ss_annotations_demand_drained(struct ss_record_annotations *annotations, uint32_t process_ref,
                                   uint32_t window)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (row->process_ref == process_ref && row->window == window &&
            row->state == SS_ON_DEMAND_WRITTEN) {
            row->is_drained = true;
        }
    }
}

static bool is_in_recording(const struct ss_record_annotations *annotations,
                            const struct ss_demand_row *row)
{
    return row->state == SS_ON_DEMAND_WRITTEN && row->is_drained &&
           annotations->options->window_name == NULL;
}

bool ss_annotations_expect_windows(const struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        if (is_under_way(annotations->demands.data[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < annotations->clients.count; i++) {
        const struct ss_record_client *client = annotations->clients.data[i];
        if (!client->is_ended &&
            atomic_load_explicit(&header_of(client)->scheduled, memory_order_relaxed) != 0) {
            return true;
        }
    }
    return false;
}

bool ss_annotations_demands_want_flush(const struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        if (is_in_recording(annotations, annotations->demands.data[i])) {
            return true;
        }
    }
    return false;
}

void ss_annotations_demands_written(struct ss_record_annotations *annotations)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (is_in_recording(annotations, row)) {
            row->state = outcome_of(row);
        }
    }
}

void ss_annotations_demand_sealed(struct ss_record_annotations *annotations,
                                  const struct ss_window *window)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (row->process_ref == window->process_ref && row->window == window->number &&
            row->state == SS_ON_DEMAND_WRITTEN) {
            row->state = window->failed ? SS_ON_DEMAND_FAILED : outcome_of(row);
            ss_free(row->path);
            row->path = window->output_path != NULL ? ss_strdup(window->output_path) : NULL;
        }
    }
}

void ss_client_demand_ended(struct ss_record_client *client)
{
    struct ss_record_annotations *annotations = client->annotations;
    for (size_t i = 0; i < annotations->demands.count; i++) {
        struct ss_demand_row *row = annotations->demands.data[i];
        if (row->client == client) {
            row->step = step_of(client);
            row->client = NULL;
            row->state = is_under_way(row) ? SS_ON_DEMAND_GONE : row->state;
        }
    }
}

/* --- answers to requests ---------------------------------------------------------------------- */

/* Of the processes of a rank, the one that marks steps answers, else the first one. Processes
 * without a rank answer only if none has one, or if they mark steps. */
static bool answers_for(const struct ss_record_annotations *annotations, size_t index)
{
    const struct ss_demand_row *row = annotations->demands.data[index];
    if (row->is_follower) {
        return false;
    }
    for (size_t i = 0; i < annotations->demands.count; i++) {
        const struct ss_demand_row *other = annotations->demands.data[i];
        if (i == index || other->request.id != row->request.id || other->is_follower) {
            continue;
        }
        bool is_rival = other->rank == row->rank || (row->rank < 0 && row->step < 0);
        bool is_better = other->step >= 0 || i < index || other->rank != row->rank;
        if (is_rival && row->step < 0 && is_better) {
            return false;
        }
    }
    return true;
}

void ss_annotations_put_answers(struct ss_record_annotations *annotations, const char *path,
                                bool failed, struct ss_strbuf *out)
{
    for (size_t i = 0; i < annotations->demands.count; i++) {
        const struct ss_demand_row *row = annotations->demands.data[i];
        const char *file = row->path != NULL ? row->path : path;
        bool has_file = row->state == SS_ON_DEMAND_RECORDED || row->state == SS_ON_DEMAND_PARTIAL;
        bool is_lost = failed && (row->state == SS_ON_DEMAND_WRITTEN || is_under_way(row));
        struct ss_on_demand_answer answer = {.id = row->request.id,
                                             .rank = row->rank,
                                             .pid = row->pid,
                                             .state = is_lost ? SS_ON_DEMAND_FAILED : row->state,
                                             .step = row->step,
                                             .path = has_file ? file : "",
                                             .path_length = has_file ? strlen(file) : 0};
        if (answers_for(annotations, i)) {
            ss_on_demand_put_answer(out, &answer);
        }
    }
}
