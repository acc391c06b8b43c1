/* SPDX-License-Identifier: Apache-2.0 */
/* Which tracks share a pid and a tid. As in Kineto's own files, the pid of a device's work is the
 * number of the device, its tid that of the stream. */
#include <string.h>

#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "model/core/domains.h"
#include "view/export/kineto_inside.h"

/* Above the ids of Linux, 4,194,304. */
enum { FIRST_SYNTHETIC_ID = 5000000 };
static const int64_t unknown_tid = INT64_MIN;

struct building {
    struct ss_kineto_rows *rows;
    const struct ss_model *model;
    const struct ss_range_runs *runs;
    uint32_t *row_of_thread;   /* index + 1 */
    uint32_t *main_of_process; /* thread */
    bool *has_device;          /* by process */
};

/* --- ids -------------------------------------------------------------------------------------- */

static uint32_t *user_of(struct ss_kineto_rows *rows, int64_t pid, int64_t tid)
{
    return ss_pair_ids_at(&rows->used, ss_hash_u64((uint64_t)pid) ^ (uint64_t)tid);
}

static int64_t new_tid(struct ss_kineto_rows *rows, int64_t pid, uint32_t row)
{
    while (*user_of(rows, pid, rows->next_tid) != 0) {
        rows->next_tid++;
    }
    *user_of(rows, pid, rows->next_tid) = row + 1;
    return rows->next_tid++;
}

/* A process of unknown pid gets a negative one, one whose pid another machine's process has already
 * a large one. */
static void number_processes(struct ss_kineto_rows *rows, const struct ss_model *model)
{
    struct ss_pair_ids pids = {0};
    int64_t unknown = 0;
    for (uint32_t i = 1; i < model->processes.count; i++) {
        int32_t pid = model->processes.data[i].pid;
        if (!rows->selection->processes[i]) {
            continue;
        }
        uint32_t *user = pid >= 0 ? ss_pair_ids_at(&pids, (uint32_t)pid) : NULL;
        if (user == NULL) {
            rows->pids[i] = --unknown;
        } else {
            rows->pids[i] = *user == 0 ? pid : FIRST_SYNTHETIC_ID + (int64_t)i;
            *user = i;
        }
    }
    ss_pair_ids_fini(&pids);
}

/* Rows whose id is known get it first, so that no other row has it. */
static void number_rows(struct ss_kineto_rows *rows)
{
    for (uint32_t i = 0; i < rows->rows.count; i++) {
        struct ss_kineto_row *row = &rows->rows.data[i];
        uint32_t *user = row->tid != unknown_tid ? user_of(rows, row->pid, row->tid) : NULL;
        if (user != NULL && *user == 0) {
            *user = i + 1;
        } else {
            row->tid = unknown_tid;
        }
    }
    for (uint32_t i = 0; i < rows->rows.count; i++) {
        struct ss_kineto_row *row = &rows->rows.data[i];
        row->tid = row->tid != unknown_tid ? row->tid : new_tid(rows, row->pid, i);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint32_t add_row(struct building *building, const struct ss_kineto_row *row)
{
    ss_vec_push(&building->rows->rows, *row);
    return (uint32_t)building->rows->rows.count;
}

static uint32_t row_of_thread(struct building *building, uint32_t thread, uint32_t track)
{
    const struct ss_model_thread *row = &building->model->threads.data[thread];
    uint32_t *known = &building->row_of_thread[thread];
    if (*known == 0) {
        *known = add_row(building,
                         &(struct ss_kineto_row){.process = row->process,
                                                 .thread = thread,
                                                 .track = track,
                                                 .pid = building->rows->pids[row->process],
                                                 .tid = row->tid != -1 ? row->tid : unknown_tid});
    }
    return *known;
}

/* Steps and phases lie on the main thread, which marks them; Kineto's own work has no process. */
static uint32_t row_of_host_track(struct building *building, uint32_t track)
{
    const struct ss_model_track *row = &building->model->tracks.data[track];
    uint32_t main_thread = building->main_of_process[row->process];
    bool is_of_steps = row->kind == SS_TRACK_STEPS || row->kind == SS_TRACK_PHASES;
    if (row->thread != 0) {
        return row_of_thread(building, row->thread, track);
    }
    if (is_of_steps && main_thread != 0) {
        return row_of_thread(building, main_thread, track);
    }
    if (strcmp(ss_model_text(building->model, row->name), SS_DOMAIN_OVERHEAD) == 0) {
        return add_row(building, &(struct ss_kineto_row){
                                     .process = row->process, .track = track, .pid = -1, .tid = 0});
    }
    return add_row(building, &(struct ss_kineto_row){.process = row->process,
                                                     .track = track,
                                                     .pid = building->rows->pids[row->process],
                                                     .tid = unknown_tid});
}

/* The stream of a track: its own, or that of annotations, which their first range names. */
static bool stream_of(const struct building *building, uint32_t track, int64_t *stream)
{
    const struct ss_model *model = building->model;
    const struct ss_track_span *span = &building->runs->spans[track];
    uint32_t row = model->tracks.data[track].stream;
    if (row == 0 && span->end > span->first) {
        const struct ss_model_field *field = ss_model_field_of(
            model, model->ranges.data[span->first].payload, SS_EVENT_FIELD_stream);
        row = field != NULL && field->natural < model->streams.count ? (uint32_t)field->natural : 0;
    }
    *stream = row != 0 ? (int64_t)model->streams.data[row].number : unknown_tid;
    return row != 0;
}

static uint32_t row_of_device_track(struct building *building, uint32_t track)
{
    const struct ss_model *model = building->model;
    const struct ss_model_track *row = &model->tracks.data[track];
    struct ss_kineto_row new = {
        .process = row->process, .device = row->device, .track = track, .tid = unknown_tid};
    int32_t number = model->devices.data[row->device].number;
    new.pid = number >= 0 ? number : 0;
    new.is_stream = stream_of(building, track, &new.stream);
    new.tid = new.is_stream ? new.stream : unknown_tid;
    for (uint32_t i = 0; new.is_stream &&i < building->rows->rows.count; i++) {
        const struct ss_kineto_row *known = &building->rows->rows.data[i];
        if (known->is_stream && known->device == new.device && known->stream == new.stream &&
            known->process == new.process) {
            return i + 1;
        }
    }
    return add_row(building, &new);
}

/* --- all -------------------------------------------------------------------------------------- */

static void find_mains(struct building *building)
{
    const struct ss_model *model = building->model;
    for (uint32_t i = 1; i < model->threads.count; i++) {
        const struct ss_model_thread *thread = &model->threads.data[i];
        uint32_t *main_thread = &building->main_of_process[thread->process];
        if (building->rows->selection->threads[i] && (thread->is_main || *main_thread == 0)) {
            *main_thread = i;
        }
    }
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        building->has_device[track->process] |= track->device != 0;
    }
}

static bool has_events(enum ss_track_kind kind)
{
    return kind != SS_TRACK_COUNTER && kind != SS_TRACK_GROUP;
}

/* An import takes the process of the first thread for the one that uses the devices. */
static void add_rows(struct building *building, bool of_devices, bool with_devices)
{
    const struct ss_model *model = building->model;
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        bool is_of_device = track->device != 0 && track->thread == 0;
        uint32_t process =
            track->thread != 0 ? model->threads.data[track->thread].process : track->process;
        if (!has_events(track->kind) || process == 0 || is_of_device != of_devices ||
            building->has_device[process] != with_devices ||
            !ss_selection_has_track(building->rows->selection, i)) {
            continue;
        }
        building->rows->row_of_track[i] =
            of_devices ? row_of_device_track(building, i) : row_of_host_track(building, i);
    }
}

void ss_kineto_rows_init(struct ss_kineto_rows *rows, const struct ss_selection *selection,
                         const struct ss_range_runs *runs)
{
    const struct ss_model *model = selection->model;
    *rows = (struct ss_kineto_rows){
        .selection = selection,
        .row_of_track = ss_alloc_zero(model->tracks.count + 1, sizeof *rows->row_of_track),
        .pids = ss_alloc_zero(model->processes.count + 1, sizeof *rows->pids),
        .next_tid = FIRST_SYNTHETIC_ID};
    struct building building = {
        .rows = rows,
        .model = model,
        .runs = runs,
        .row_of_thread = ss_alloc_zero(model->threads.count + 1, sizeof(uint32_t)),
        .main_of_process = ss_alloc_zero(model->processes.count + 1, sizeof(uint32_t)),
        .has_device = ss_alloc_zero(model->processes.count + 1, sizeof(bool))};
    number_processes(rows, model);
    find_mains(&building);
    add_rows(&building, false, true);
    add_rows(&building, false, false);
    add_rows(&building, true, true);
    number_rows(rows);
    ss_free(building.row_of_thread);
    ss_free(building.main_of_process);
    ss_free(building.has_device);
}

void ss_kineto_rows_fini(struct ss_kineto_rows *rows)
{
    for (size_t i = 0; i < rows->rows.count; i++) {
        ss_vec_fini(&rows->rows.data[i].lanes);
    }
    ss_vec_fini(&rows->rows);
    ss_pair_ids_fini(&rows->used);
    ss_free(rows->row_of_track);
    ss_free(rows->pids);
}

const struct ss_kineto_row *ss_kineto_row_of(const struct ss_kineto_rows *rows, uint32_t track)
{
    uint32_t row = rows->row_of_track[track];
    return row != 0 ? &rows->rows.data[row - 1] : NULL;
}

int64_t ss_kineto_lane_tid(struct ss_kineto_rows *rows, uint32_t index, uint16_t lane)
{
    struct ss_kineto_row *row = &rows->rows.data[index];
    if (lane == 0) {
        return row->tid;
    }
    while (row->lanes.count < lane) {
        ss_vec_push(&row->lanes, new_tid(rows, row->pid, index));
    }
    return row->lanes.data[lane - 1];
}
