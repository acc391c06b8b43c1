/* SPDX-License-Identifier: Apache-2.0 */
/* The names of processes, devices, threads and streams. They come before the events of their row:
 * an import learns from them which tids are lanes of a thread. */
#include <inttypes.h>

#include "view/export/kineto_inside.h"

enum { NAME_BYTES = 4096, DEVICES_LAST = 5000000 /* as Kineto sorts them */ };

static struct ss_strview view_of(const struct ss_strbuf *text)
{
    return (struct ss_strview){text->data, text->length};
}

static struct ss_strview name_of_process(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_process *row = &model->processes.data[process];
    return ss_intern_get(&model->strings, row->cmdline != 0 ? row->cmdline : row->name);
}

static bool is_imported(const struct ss_model *model, uint32_t process)
{
    uint32_t input = model->processes.data[process].input;
    return model->inputs.data[input].kind == SS_INPUT_IMPORT;
}

static void name_process(struct ss_kineto_writing *writing, uint32_t process)
{
    const struct ss_model *model = writing->model;
    struct ss_strview name = name_of_process(model, process);
    uint32_t label = model->processes.data[process].label;
    int64_t pid = writing->rows.pids[process];
    if (name.length > 0) {
        ss_kineto_metadata(writing, "process_name", pid, 0, "name", name);
    }
    if (label != 0 || !is_imported(model, process)) {
        ss_kineto_metadata(writing, "process_labels", pid, 0, "labels",
                           label != 0 ? ss_intern_get(&model->strings, label)
                                      : ss_strview_of("CPU"));
    }
    ss_kineto_metadata_number(writing, "process_sort_index", pid, 0, "sort_index", pid);
}

/* A device has the pid of its number, which a process in a container may have, too. */
static bool is_pid_of_process(const struct ss_kineto_writing *writing, int64_t pid)
{
    for (uint32_t i = 1; i < writing->model->processes.count; i++) {
        if (writing->selection->processes[i] && writing->rows.pids[i] == pid) {
            return true;
        }
    }
    return false;
}

static void name_device(struct ss_kineto_writing *writing, const struct ss_kineto_row *row)
{
    struct ss_strbuf label;
    struct ss_strview name = name_of_process(writing->model, row->process);
    if (is_pid_of_process(writing, row->pid)) {
        return;
    }
    ss_strbuf_init(&label, NAME_BYTES);
    ss_strbuf_append_format(&label, "GPU %" PRId64, row->pid);
    if (name.length > 0) {
        ss_kineto_metadata(writing, "process_name", row->pid, 0, "name", name);
    }
    ss_kineto_metadata(writing, "process_labels", row->pid, 0, "labels", view_of(&label));
    ss_kineto_metadata_number(writing, "process_sort_index", row->pid, 0, "sort_index",
                              DEVICES_LAST + row->pid);
    ss_strbuf_fini(&label);
}

void ss_kineto_name_processes(struct ss_kineto_writing *writing)
{
    const struct ss_kineto_rows *rows = &writing->rows;
    bool *is_named = ss_alloc_zero(writing->model->processes.count + 1, sizeof *is_named);
    for (size_t i = 0; i < rows->rows.count; i++) {
        const struct ss_kineto_row *row = &rows->rows.data[i];
        if (!is_named[row->process]) {
            is_named[row->process] = true;
            name_process(writing, row->process);
        }
    }
    ss_free(is_named);
    int64_t named = -1;
    for (size_t i = 0; i < rows->rows.count; i++) { /* streams of a device come together */
        const struct ss_kineto_row *row = &rows->rows.data[i];
        if (row->device != 0 && row->pid != named) {
            named = row->pid;
            name_device(writing, row);
        }
    }
}

/* --- threads and streams ---------------------------------------------------------------------- */

/* False: it has none of its own. */
static bool append_name(const struct ss_kineto_writing *writing, const struct ss_kineto_row *row,
                        struct ss_strbuf *name)
{
    const struct ss_model *model = writing->model;
    uint32_t text = row->thread != 0 ? model->threads.data[row->thread].name
                                     : model->tracks.data[row->track].name;
    if (row->is_stream) {
        ss_strbuf_append_format(name, "stream %" PRId64, row->stream);
        return true;
    }
    if (text == 0) {
        ss_strbuf_append_format(name, "thread %" PRId64, row->tid);
        return false;
    }
    ss_strbuf_append_view(name, ss_intern_get(&model->strings, text));
    return true;
}

/* Of a thread, an import adds what lies on the lane to the thread. */
static void name_lane(struct ss_kineto_writing *writing, uint32_t index, uint16_t lane,
                      struct ss_strview name)
{
    struct ss_strbuf numbered;
    const struct ss_kineto_row *row = &writing->rows.rows.data[index];
    int64_t tid = ss_kineto_lane_tid(&writing->rows, index, lane);
    ss_strbuf_init(&numbered, NAME_BYTES);
    ss_strbuf_append_view(&numbered, name);
    ss_strbuf_append_format(&numbered, " (%u)", lane + 1U);
    if (row->thread != 0) {
        ss_kineto_metadata_lane(writing, row->pid, tid, row->tid, view_of(&numbered));
    } else {
        ss_kineto_metadata(writing, "thread_name", row->pid, tid, "name", view_of(&numbered));
    }
    ss_kineto_metadata_number(writing, "thread_sort_index", row->pid, tid, "sort_index", row->tid);
    ss_strbuf_fini(&numbered);
}

void ss_kineto_name_row(struct ss_kineto_writing *writing, uint32_t index, uint16_t lanes)
{
    const struct ss_kineto_row *row = &writing->rows.rows.data[index];
    int64_t pid = row->pid, tid = row->tid;
    struct ss_strbuf name;
    ss_strbuf_init(&name, NAME_BYTES);
    bool has_name = append_name(writing, row, &name);
    if (has_name) {
        ss_kineto_metadata(writing, "thread_name", pid, tid, "name", view_of(&name));
    }
    ss_kineto_metadata_number(writing, "thread_sort_index", pid, tid, "sort_index", tid);
    for (uint16_t lane = 1; lane < lanes; lane++) {
        name_lane(writing, index, lane, view_of(&name));
    }
    ss_strbuf_fini(&name);
}
