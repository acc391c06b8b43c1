/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/kernel_occupancy.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/kernel_names.h"
#include "analysis/kernels/launch_occupancy.h"
#include "base/alloc.h"

enum { MOST_SENTENCE_BYTES = 256, MOST_SAID = 5 };

static const struct ss_column columns[SS_OCCUPANCY_COLUMNS] = {
    [SS_OCCUPANCY_KERNEL] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_OCCUPANCY_BASE] = {.key = "base_name"},
    [SS_OCCUPANCY_SHORT] = {.key = "short_name",
                            .is_for_people = true,
                            .not_in_csv = true,
                            .comparison = SS_COMPARES_LABEL},
    [SS_OCCUPANCY_THREADS] = {.key = "block_threads",
                              .unit = "threads",
                              .comparison = SS_COMPARES_KEY},
    [SS_OCCUPANCY_REGISTERS] = {.key = "registers",
                                .unit = "registers",
                                .comparison = SS_COMPARES_KEY},
    [SS_OCCUPANCY_SHARED] = {.key = "shared_bytes", .unit = "bytes", .comparison = SS_COMPARES_KEY},
    [SS_OCCUPANCY_INSTANCES] = {.key = "instances", .unit = "instances"},
    [SS_OCCUPANCY_TIME] = {.key = "total_ns", .unit = "ns"},
    [SS_OCCUPANCY_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_OCCUPANCY_THEORETICAL] = {.key = "theoretical_percent",
                                  .unit = "percent",
                                  .comparison = SS_COMPARES_LEVEL,
                                  .leads = true},
    [SS_OCCUPANCY_ACHIEVED] = {.key = "achieved_percent",
                               .unit = "percent",
                               .comparison = SS_COMPARES_LEVEL},
    [SS_OCCUPANCY_BY_REGISTERS] = {.key = "blocks_by_registers"},
    [SS_OCCUPANCY_BY_SHARED] = {.key = "blocks_by_shared_memory"},
    [SS_OCCUPANCY_BY_WARPS] = {.key = "blocks_by_warps"},
    [SS_OCCUPANCY_BY_BLOCKS] = {.key = "blocks_most"},
    [SS_OCCUPANCY_WAVES] = {.key = "waves"},
    [SS_OCCUPANCY_SOURCE] = {.key = "source"},
    [SS_OCCUPANCY_LIMITER] = {.key = "limiter"},
    [SS_OCCUPANCY_SENTENCE] = {.key = "sentence"},
};

struct kernel {
    uint32_t order, name; /* name: index into model->names of its first launch */
    uint64_t instances, total_ns;
    uint64_t untimed, untimed_ns; /* launches of files without times: measurements of the others */
    double achieved, achieved_weight, waves;
    uint64_t with_waves;
    struct ss_launch_occupancy first; /* of a launch, reported if any is */
};

/* Kernels differ by name and what a block needs. */
struct key {
    uint64_t threads, registers, shared_bytes;
    const struct ss_device_limits *device;
    uint32_t text, unused;
};

struct building {
    const struct ss_model *model;
    struct ss_gauge_reader reader;
    struct ss_intern keys;
    struct ss_vec_of(struct kernel) kernels; /* by key - 1 */
    uint64_t total_ns, without;              /* kernels of which nothing is known */
    bool has_timed;
};

/* --- collecting ------------------------------------------------------------------------------- */

static uint32_t name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->paths.data[range->path].name;
}

static bool is_timed(const struct ss_model *model, const struct ss_model_range *range)
{
    uint32_t input = model->tracks.data[range->track].input;
    return input >= model->inputs.count || !model->inputs.data[input].is_untimed;
}

static struct kernel *kernel_of(struct building *building, const struct ss_model_range *range,
                                const struct ss_launch_occupancy *launch)
{
    const struct ss_model *model = building->model;
    struct key key;
    memset(&key, 0, sizeof key);
    key.threads = launch->needs.threads;
    key.registers = launch->needs.registers;
    key.shared_bytes = launch->needs.shared_bytes;
    key.device = launch->device;
    key.text = model->names.data[name_of(model, range)].text;
    uint32_t id = ss_intern_put(&building->keys, (const char *)&key, sizeof key);
    if (id > building->kernels.count) {
        ss_vec_push(&building->kernels,
                    (struct kernel){.order = id, .name = name_of(model, range), .first = *launch});
    }
    return &building->kernels.data[id - 1];
}

static void add_range(struct building *building, const struct ss_model_range *range)
{
    struct ss_gauges gauges;
    struct ss_launch_occupancy launch;
    ss_gauges_read(&building->reader, range, &gauges);
    ss_launch_occupancy_find(building->model, range, &gauges, &launch);
    if (launch.theoretical < 0 && launch.achieved < 0) {
        building->without++;
        return;
    }
    struct kernel *kernel = kernel_of(building, range, &launch);
    uint64_t ns = range->end_ns - range->begin_ns;
    bool counts = !building->has_timed || is_timed(building->model, range);
    kernel->instances += counts;
    kernel->total_ns += counts ? ns : 0;
    kernel->untimed += !counts;
    kernel->untimed_ns += counts ? 0 : ns;
    if (launch.achieved >= 0) {
        double weight = ns > 0 ? (double)ns : 1;
        kernel->achieved += launch.achieved * weight;
        kernel->achieved_weight += weight;
    }
    if (launch.waves >= 0) {
        kernel->waves += launch.waves;
        kernel->with_waves++;
    }
    if (launch.is_reported && !kernel->first.is_reported) {
        kernel->first = launch;
    }
}

static bool is_kernel(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->names.data[name_of(model, range)].type == SS_EVENT_TYPE_kernel;
}

static void collect(struct building *building, const struct ss_selection *selection)
{
    const struct ss_model *model = building->model;
    for (size_t i = 0; i < model->ranges.count && !building->has_timed; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        building->has_timed = is_kernel(model, range) && is_timed(model, range);
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (is_kernel(model, range) && track->stream != 0 && selection->processes[track->process] &&
            (range->flags & SS_RANGE_OUTSIDE) == 0) {
            add_range(building, range);
        }
    }
}

/* A kernel that only a file without times has stands for itself. */
static void finish(struct building *building)
{
    for (size_t i = 0; i < building->kernels.count; i++) {
        struct kernel *kernel = &building->kernels.data[i];
        if (kernel->instances == 0) {
            kernel->instances = kernel->untimed;
            kernel->total_ns = kernel->untimed_ns;
        }
        building->total_ns += kernel->total_ns;
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static int compare_kernels(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    if (a->total_ns != b->total_ns) {
        return a->total_ns > b->total_ns ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct ss_cell copied(struct ss_table *table, const struct ss_strbuf *text)
{
    return ss_cell_text((struct ss_strview){
        ss_arena_strndup(&table->texts, text->data, text->length), text->length});
}

static void put_names(const struct building *building, const struct kernel *kernel,
                      struct ss_table *table, struct ss_cell *cells)
{
    const struct ss_model *model = building->model;
    struct ss_strview name = ss_intern_get(&model->strings, model->names.data[kernel->name].text);
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, name.length + 1);
    ss_kernel_short_name(name, &brief);
    cells[SS_OCCUPANCY_KERNEL] = ss_cell_text(name);
    cells[SS_OCCUPANCY_BASE] = ss_cell_text(ss_kernel_base_name(name));
    cells[SS_OCCUPANCY_SHORT] = copied(table, &brief);
    ss_strbuf_fini(&brief);
}

static void put_needs(const struct ss_block_needs *needs, struct ss_cell *cells)
{
    if (needs->threads > 0) {
        cells[SS_OCCUPANCY_THREADS] = ss_cell_integer((int64_t)needs->threads);
    }
    if (needs->registers > 0) {
        cells[SS_OCCUPANCY_REGISTERS] = ss_cell_integer((int64_t)needs->registers);
        cells[SS_OCCUPANCY_SHARED] = ss_cell_integer((int64_t)needs->shared_bytes);
    }
}

static void put_limits(const struct ss_block_limits *limits, struct ss_cell *cells)
{
    const double blocks[] = {limits->by_registers, limits->by_shared, limits->by_warps,
                             limits->by_blocks};
    for (int i = 0; i < 4; i++) {
        if (blocks[i] > 0) {
            cells[SS_OCCUPANCY_BY_REGISTERS + i] = ss_cell_integer((int64_t)blocks[i]);
        }
    }
}

static void put_limiter(struct kernel *kernel, struct ss_table *table, struct ss_cell *cells)
{
    struct ss_strbuf sentence;
    ss_strbuf_init(&sentence, MOST_SENTENCE_BYTES);
    const char *limiter = ss_launch_occupancy_limiter(&kernel->first, &sentence);
    if (limiter != NULL) {
        cells[SS_OCCUPANCY_LIMITER] = ss_cell_text(ss_strview_of(limiter));
    }
    if (sentence.length > 0) {
        cells[SS_OCCUPANCY_SENTENCE] = copied(table, &sentence);
    }
    ss_strbuf_fini(&sentence);
}

static void put_row(const struct building *building, struct kernel *kernel, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    struct ss_launch_occupancy *of = &kernel->first;
    of->achieved = kernel->achieved_weight > 0 ? kernel->achieved / kernel->achieved_weight : -1;
    of->waves = kernel->with_waves > 0 ? kernel->waves / (double)kernel->with_waves : -1;
    put_names(building, kernel, table, cells);
    put_needs(&of->needs, cells);
    put_limits(&of->limits, cells);
    cells[SS_OCCUPANCY_INSTANCES] = ss_cell_integer((int64_t)kernel->instances);
    cells[SS_OCCUPANCY_TIME] = ss_cell_integer((int64_t)kernel->total_ns);
    cells[SS_OCCUPANCY_PERCENT] = ss_cell_real(
        building->total_ns > 0 ? 100 * (double)kernel->total_ns / (double)building->total_ns : 0);
    if (of->theoretical >= 0) {
        cells[SS_OCCUPANCY_THEORETICAL] = ss_cell_real(of->theoretical);
        cells[SS_OCCUPANCY_SOURCE] =
            ss_cell_text(ss_strview_of(of->is_reported ? "reported" : "computed"));
    }
    if (of->achieved >= 0) {
        cells[SS_OCCUPANCY_ACHIEVED] = ss_cell_real(of->achieved);
    }
    if (of->waves >= 0) {
        cells[SS_OCCUPANCY_WAVES] = ss_cell_real(of->waves);
    }
    put_limiter(kernel, table, cells);
}

static void add_notes(const struct building *building, struct ss_table *table)
{
    for (size_t row = 0; row < table->row_count && row < MOST_SAID; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        if (cells[SS_OCCUPANCY_SENTENCE].type == SS_CELL_TEXT) {
            struct ss_sentence *text = ss_table_add_note(table, SS_NOTE_FACT);
            ss_sentence_add_name(text, cells[SS_OCCUPANCY_SHORT].text);
            ss_sentence_add(text, ": ");
            ss_sentence_add(text, cells[SS_OCCUPANCY_SENTENCE].text.data);
        }
    }
    if (table->row_count > 0 && building->without > 0) {
        struct ss_sentence *text = ss_table_add_note(table, SS_NOTE_ASIDE);
        ss_sentence_add_count(text, building->without);
        ss_sentence_add(text, " launch");
        ss_sentence_add(text, building->without == 1 ? " is" : "es are");
        ss_sentence_add(text, " not in the table: their registers or their device are not known.");
    }
}

void ss_occupancy_table(const struct ss_selection *selection,
                        const struct ss_occupancy_options *options, struct ss_table *table)
{
    struct building building = {.model = selection->model};
    *table = (struct ss_table){.name = "occupancy",
                               .title = "Occupancy of multiprocessors",
                               .empty_text = "no kernel whose registers, block and device are "
                                             "known was recorded, and no occupancy measured",
                               .columns = columns,
                               .column_count = SS_OCCUPANCY_COLUMNS};
    ss_intern_init(&building.keys);
    ss_gauge_reader_init(&building.reader, selection->model);
    collect(&building, selection);
    finish(&building);
    table->whole_ns = building.total_ns;
    if (building.kernels.count > 1) {
        qsort(building.kernels.data, building.kernels.count, sizeof *building.kernels.data,
              compare_kernels);
    }
    for (size_t i = 0; i < building.kernels.count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows++;
        } else {
            put_row(&building, &building.kernels.data[i], table);
        }
    }
    add_notes(&building, table);
    ss_vec_fini(&building.kernels);
    ss_gauge_reader_fini(&building.reader);
    ss_intern_fini(&building.keys);
}
