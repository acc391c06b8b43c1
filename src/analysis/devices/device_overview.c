/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_overview.h"

#include <stdlib.h>

#include "analysis/launches/lost_kernels.h"
#include "analysis/table/owner_cells.h"
#include "base/alloc.h"

static const struct ss_column gpu_columns[SS_GPU_COLUMNS] = {
    [SS_GPU_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_GPU_MODEL] = {.key = "model"},
    [SS_GPU_PID] = {.key = "pid"},
    [SS_GPU_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [SS_GPU_STREAMS] = {.key = "streams", .unit = "streams"},
    [SS_GPU_KERNELS] = {.key = "kernels", .unit = "instances"},
    [SS_GPU_KERNEL_TIME] = {.key = "kernel_ns", .unit = "ns"},
    [SS_GPU_SPAN] = {.key = "span_ns", .unit = "ns"},
    [SS_GPU_BUSY] = {.key = "busy_ns", .unit = "ns"},
    [SS_GPU_BUSY_PERCENT] = {.key = "busy_percent",
                             .unit = "percent",
                             .comparison = SS_COMPARES_LEVEL},
    [SS_GPU_COMPUTE] = {.key = "compute_ns", .unit = "ns", .comparison = SS_COMPARES_SUM},
    [SS_GPU_COMMUNICATION] = {.key = "exposed_communication_ns",
                              .unit = "ns",
                              .comparison = SS_COMPARES_SUM},
    [SS_GPU_COPY] = {.key = "exposed_copy_ns", .unit = "ns"},
    [SS_GPU_IDLE] = {.key = "idle_ns", .unit = "ns", .comparison = SS_COMPARES_SUM, .leads = true},
    [SS_GPU_COMMUNICATION_ALL] = {.key = "communication_ns", .unit = "ns"},
    [SS_GPU_OVERLAP_PERCENT] = {.key = "overlap_percent", .unit = "percent"},
    [SS_GPU_WITHOUT_LAUNCH] = {.key = "without_launch", .unit = "instances"},
    [SS_GPU_LOST] = {.key = "launches_without_kernel", .unit = "instances"},
};

static const struct ss_column stream_columns[SS_STREAM_COLUMNS] = {
    [SS_STREAM_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_STREAM_NUMBER] = {.key = "stream", .comparison = SS_COMPARES_KEY},
    [SS_STREAM_PID] = {.key = "pid"},
    [SS_STREAM_RANK] = {.key = "rank", .comparison = SS_COMPARES_KEY},
    [SS_STREAM_KERNELS] = {.key = "kernels", .unit = "instances", .comparison = SS_COMPARES_SUM},
    [SS_STREAM_KERNEL_TIME] = {.key = "kernel_ns", .unit = "ns"},
    [SS_STREAM_COMMUNICATION] = {.key = "communication", .unit = "instances"},
    [SS_STREAM_COMMUNICATION_TIME] = {.key = "communication_ns", .unit = "ns"},
    [SS_STREAM_COPIES] = {.key = "copies", .unit = "instances"},
    [SS_STREAM_COPY_TIME] = {.key = "copy_ns", .unit = "ns"},
    [SS_STREAM_BUSY] = {.key = "busy_ns",
                        .unit = "ns",
                        .comparison = SS_COMPARES_SUM,
                        .leads = true},
    [SS_STREAM_BUSY_PERCENT] = {.key = "busy_percent", .unit = "percent"},
    [SS_STREAM_OVERLAPS] = {.key = "overlaps", .unit = "instances"},
};

static void put_owner(const struct ss_model *model, const struct ss_device_part *part,
                      struct ss_cell *device, struct ss_cell *pid, struct ss_cell *rank)
{
    const struct ss_model_process *process = &model->processes.data[part->process];
    int32_t number = model->devices.data[part->device].number;
    if (part->device != 0 && number >= 0) {
        *device = ss_cell_integer(number);
    }
    *pid = ss_process_cell(model, part->process);
    if (process->has_rank) {
        *rank = ss_cell_integer(process->rank);
    }
}

static uint64_t last_end(const struct ss_device_work *works, size_t count)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < count; i++) {
        end_ns = works[i].end_ns > end_ns ? works[i].end_ns : end_ns;
    }
    return end_ns;
}

static double percent_of(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* --- devices ---------------------------------------------------------------------------------- */

struct part_counts {
    uint64_t kernels, kernel_ns, without_launch;
    uint64_t streams;
};

static struct part_counts count_part(const struct ss_model *model,
                                     const struct ss_device_work *works, size_t count)
{
    struct part_counts counts = {0};
    bool *seen = ss_alloc_zero(model->streams.count + 1, sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        bool is_kernel = works[i].type == SS_EVENT_TYPE_kernel;
        counts.kernels += is_kernel;
        counts.kernel_ns += is_kernel ? works[i].end_ns - works[i].begin_ns : 0;
        counts.without_launch += works[i].launch == 0;
        counts.streams += !seen[works[i].stream];
        seen[works[i].stream] = true;
    }
    ss_free(seen);
    return counts;
}

/* What the tables are built from. */
struct overview {
    const struct ss_model *model;
    const struct ss_device_works *works;
    struct ss_lost_kernels lost;
    struct ss_recorded_devices recorded;
};

static void init_overview(struct overview *overview, const struct ss_selection *selection)
{
    overview->model = selection->model;
    overview->works = ss_selection_works(selection);
    ss_recorded_devices_init(&overview->recorded, selection->model);
    ss_lost_kernels_init(&overview->lost, selection, &overview->recorded);
}

static void fini_overview(struct overview *overview)
{
    ss_lost_kernels_fini(&overview->lost);
    ss_recorded_devices_fini(&overview->recorded);
}

/* Whether lost kernels may have run for more than a tenth of the time from the first to the last
 * work, or so much of it was not recorded: then it is unknown for how much the device was idle. */
static bool lacks_kernels(const struct overview *overview, uint32_t process, uint64_t begin_ns,
                          uint64_t span_ns)
{
    return ss_lost_kernels_time(&overview->lost, process, begin_ns, begin_ns + span_ns) >
               span_ns / 10 ||
           !ss_recorded_devices_has(&overview->recorded, process, begin_ns, begin_ns + span_ns);
}

/* Where it is unknown how much of the span was idle, it has neither share nor rest. */
static void put_times(const struct ss_busy_times *times, uint64_t span_ns, bool knows_idle,
                      struct ss_cell *cells)
{
    cells[SS_GPU_SPAN] = ss_cell_integer((int64_t)span_ns);
    cells[SS_GPU_BUSY] = ss_cell_integer((int64_t)ss_busy_sum(times));
    if (knows_idle) {
        cells[SS_GPU_BUSY_PERCENT] = ss_cell_real(percent_of(ss_busy_sum(times), span_ns));
        cells[SS_GPU_IDLE] = ss_cell_integer((int64_t)times->idle_ns);
    }
    cells[SS_GPU_COMPUTE] = ss_cell_integer((int64_t)times->class_ns[SS_WORK_COMPUTE]);
    cells[SS_GPU_COMMUNICATION] = ss_cell_integer((int64_t)times->class_ns[SS_WORK_COMMUNICATION]);
    cells[SS_GPU_COPY] = ss_cell_integer((int64_t)times->class_ns[SS_WORK_COPY]);
    cells[SS_GPU_COMMUNICATION_ALL] = ss_cell_integer((int64_t)times->communication_ns);
    if (times->communication_ns > 0) {
        cells[SS_GPU_OVERLAP_PERCENT] =
            ss_cell_real(percent_of(times->overlap_ns, times->communication_ns));
    }
}

static void add_gpu(const struct overview *overview, const struct ss_device_part *part,
                    struct ss_table *table)
{
    const struct ss_model *model = overview->model;
    const struct ss_device_work *works = &overview->works->works.data[part->first];
    size_t count = part->end - part->first;
    struct part_counts counts = count_part(model, works, count);
    struct ss_busy busy;
    struct ss_busy_times times = {0};
    uint64_t begin_ns = works[0].begin_ns, span_ns = last_end(works, count) - begin_ns;
    ss_busy_init(&busy, works, count);
    ss_busy_add_between(&busy, begin_ns, begin_ns + span_ns, &times);
    ss_busy_fini(&busy);
    struct ss_cell *cells = ss_table_add_row(table);
    put_owner(model, part, &cells[SS_GPU_DEVICE], &cells[SS_GPU_PID], &cells[SS_GPU_RANK]);
    uint32_t name = model->devices.data[part->device].model;
    if (name != 0) {
        cells[SS_GPU_MODEL] = ss_cell_text(ss_intern_get(&model->strings, name));
    }
    cells[SS_GPU_STREAMS] = ss_cell_integer((int64_t)counts.streams);
    cells[SS_GPU_KERNELS] = ss_cell_integer((int64_t)counts.kernels);
    cells[SS_GPU_KERNEL_TIME] = ss_cell_integer((int64_t)counts.kernel_ns);
    put_times(&times, span_ns, !lacks_kernels(overview, part->process, begin_ns, span_ns), cells);
    cells[SS_GPU_WITHOUT_LAUNCH] = ss_cell_integer((int64_t)counts.without_launch);
    cells[SS_GPU_LOST] = ss_cell_integer(
        (int64_t)ss_lost_kernels_count(&overview->lost, part->process, 0, UINT64_MAX));
}

void ss_gpu_table(const struct ss_selection *selection, struct ss_table *table)
{
    struct overview overview;
    *table = (struct ss_table){.name = "gpu",
                               .title = "Devices",
                               .empty_text = "no work of a device was recorded",
                               .columns = gpu_columns,
                               .column_count = SS_GPU_COLUMNS};
    init_overview(&overview, selection);
    for (size_t i = 0; i < overview.works->parts.count; i++) {
        add_gpu(&overview, &overview.works->parts.data[i], table);
    }
    fini_overview(&overview);
}

/* --- streams ---------------------------------------------------------------------------------- */

struct stream_row {
    struct ss_device_part part;
    uint32_t stream;
    uint64_t counts[SS_WORK_CLASSES], times_ns[SS_WORK_CLASSES];
    uint64_t busy_ns, busy_until_ns, overlaps, begin_ns, span_ns; /* span: of its device */
};

struct stream_rows ss_vec_of(struct stream_row);

/* Works come by begin, so that the union is what each adds behind the end so far. */
static void add_work(struct stream_row *row, const struct ss_device_work *work)
{
    uint64_t length_ns = work->end_ns - work->begin_ns;
    bool overlaps = row->busy_ns > 0 && work->begin_ns < row->busy_until_ns;
    row->counts[work->work_class]++;
    row->times_ns[work->work_class] += length_ns;
    row->overlaps += overlaps;
    uint64_t from_ns = overlaps ? row->busy_until_ns : work->begin_ns;
    if (work->end_ns > from_ns) {
        row->busy_ns += work->end_ns - from_ns;
        row->busy_until_ns = work->end_ns;
    }
}

static void collect_streams(const struct overview *overview, struct stream_rows *rows)
{
    const struct ss_model *model = overview->model;
    const struct ss_device_works *works = overview->works;
    uint32_t *row_of = ss_alloc_zero(model->streams.count + 1, sizeof *row_of);
    for (size_t i = 0; i < works->parts.count; i++) {
        const struct ss_device_part *part = &works->parts.data[i];
        size_t first_row = rows->count;
        uint64_t begin_ns = works->works.data[part->first].begin_ns;
        uint64_t span_ns =
            last_end(&works->works.data[part->first], part->end - part->first) - begin_ns;
        for (size_t j = part->first; j < part->end; j++) {
            const struct ss_device_work *work = &works->works.data[j];
            uint32_t *known = &row_of[work->stream];
            if (*known <= first_row) { /* none of this part */
                ss_vec_push(rows, (struct stream_row){.part = *part,
                                                      .stream = work->stream,
                                                      .begin_ns = begin_ns,
                                                      .span_ns = span_ns});
                *known = (uint32_t)rows->count;
            }
            add_work(&rows->data[*known - 1], work);
        }
    }
    ss_free(row_of);
}

static int compare_streams(const void *left, const void *right)
{
    const struct stream_row *a = left, *b = right;
    if (a->busy_ns != b->busy_ns) {
        return a->busy_ns > b->busy_ns ? -1 : 1;
    }
    return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static void put_stream(const struct overview *overview, const struct stream_row *row,
                       struct ss_cell *cells)
{
    const struct ss_model *model = overview->model;
    put_owner(model, &row->part, &cells[SS_STREAM_DEVICE], &cells[SS_STREAM_PID],
              &cells[SS_STREAM_RANK]);
    const uint64_t *counts = row->counts, *times_ns = row->times_ns;
    cells[SS_STREAM_NUMBER] = ss_cell_integer((int64_t)model->streams.data[row->stream].number);
    cells[SS_STREAM_KERNELS] =
        ss_cell_integer((int64_t)(counts[SS_WORK_COMPUTE] + counts[SS_WORK_COMMUNICATION]));
    cells[SS_STREAM_KERNEL_TIME] =
        ss_cell_integer((int64_t)(times_ns[SS_WORK_COMPUTE] + times_ns[SS_WORK_COMMUNICATION]));
    cells[SS_STREAM_COMMUNICATION] = ss_cell_integer((int64_t)counts[SS_WORK_COMMUNICATION]);
    cells[SS_STREAM_COMMUNICATION_TIME] = ss_cell_integer((int64_t)times_ns[SS_WORK_COMMUNICATION]);
    cells[SS_STREAM_COPIES] = ss_cell_integer((int64_t)counts[SS_WORK_COPY]);
    cells[SS_STREAM_COPY_TIME] = ss_cell_integer((int64_t)times_ns[SS_WORK_COPY]);
    cells[SS_STREAM_BUSY] = ss_cell_integer((int64_t)row->busy_ns);
    if (!lacks_kernels(overview, row->part.process, row->begin_ns, row->span_ns)) {
        cells[SS_STREAM_BUSY_PERCENT] = ss_cell_real(percent_of(row->busy_ns, row->span_ns));
    }
    cells[SS_STREAM_OVERLAPS] = ss_cell_integer((int64_t)row->overlaps);
}

void ss_stream_table(const struct ss_selection *selection, uint64_t max_rows,
                     struct ss_table *table)
{
    struct overview overview;
    struct stream_rows rows = {0};
    *table = (struct ss_table){.name = "stream",
                               .title = "Streams",
                               .empty_text = "no work of a device was recorded",
                               .columns = stream_columns,
                               .column_count = SS_STREAM_COLUMNS};
    init_overview(&overview, selection);
    collect_streams(&overview, &rows);
    if (rows.count > 1) {
        qsort(rows.data, rows.count, sizeof *rows.data, compare_streams);
    }
    for (size_t i = 0; i < rows.count; i++) {
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows = rows.count - i;
            break;
        }
        put_stream(&overview, &rows.data[i], ss_table_add_row(table));
    }
    ss_vec_fini(&rows);
    fini_overview(&overview);
}
