/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/speed_of_light.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/kernels/device_peaks.h"
#include "analysis/kernels/kernel_metrics.h"
#include "analysis/kernels/kernel_names.h"
#include "analysis/kernels/launch_light.h"
#include "base/alloc.h"

enum { MOST_SENTENCE_BYTES = 256, MOST_SAID = 5 };
static const double longest_ns = 1e15; /* of one kernel */

static const struct ss_column columns[SS_LIGHT_COLUMNS] = {
    [SS_LIGHT_KERNEL] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_LIGHT_BASE] = {.key = "base_name"},
    [SS_LIGHT_SHORT] = {.key = "short_name",
                        .is_for_people = true,
                        .not_in_csv = true,
                        .comparison = SS_COMPARES_LABEL},
    [SS_LIGHT_INSTANCES] = {.key = "instances", .unit = "instances"},
    [SS_LIGHT_TIME] = {.key = "total_ns", .unit = "ns"},
    [SS_LIGHT_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_LIGHT_COMPUTE] = {.key = "compute_percent",
                          .unit = "percent",
                          .comparison = SS_COMPARES_LEVEL,
                          .leads = true},
    [SS_LIGHT_MEMORY] = {.key = "memory_percent",
                         .unit = "percent",
                         .comparison = SS_COMPARES_LEVEL},
    [SS_LIGHT_L1] = {.key = "l1_percent", .unit = "percent", .comparison = SS_COMPARES_LEVEL},
    [SS_LIGHT_L2] = {.key = "l2_percent", .unit = "percent", .comparison = SS_COMPARES_LEVEL},
    [SS_LIGHT_DRAM] = {.key = "dram_percent", .unit = "percent", .comparison = SS_COMPARES_LEVEL},
    [SS_LIGHT_SOURCE] = {.key = "source"},
    [SS_LIGHT_LIMITER] = {.key = "limiter"},
    [SS_LIGHT_SENTENCE] = {.key = "sentence"},
};

/* A mean, weighted by time; launches without a duration count alike. */
struct mean {
    double sum, weight;
};

struct kernel {
    uint32_t order, name; /* name: index into model->names of its first launch */
    uint64_t instances, total_ns;
    struct mean percents[SS_LIGHTS], occupancy;
    bool is_derived[SS_LIGHTS];
};

struct building {
    const struct ss_model *model;
    const struct ss_light_options *options;
    struct ss_gauge_reader reader;
    struct ss_intern keys;
    struct ss_vec_of(struct kernel) kernels; /* by key - 1 */
    uint64_t total_ns;
};

static struct ss_strview name_of(const struct building *building, uint32_t name)
{
    return ss_intern_get(&building->model->strings, building->model->names.data[name].text);
}

/* --- collecting ------------------------------------------------------------------------------- */

/* The ids of interned keys are dense, and 0 is the empty key. */
static struct kernel *kernel_of(struct building *building, uint32_t name)
{
    struct ss_strview text = name_of(building, name);
    struct ss_strview key = building->options->by_base ? ss_kernel_base_name(text) : text;
    char empty[] = {0};
    uint32_t id = key.length > 0 ? ss_intern_put(&building->keys, key.data, key.length)
                                 : ss_intern_put(&building->keys, empty, 1);
    if (id > building->kernels.count) {
        ss_vec_push(&building->kernels, (struct kernel){.order = id, .name = name});
    }
    return &building->kernels.data[id - 1];
}

static void add_to(struct mean *mean, double value, double weight)
{
    mean->sum += value * weight;
    mean->weight += weight;
}

static double bandwidth_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_device *device =
        &model->devices.data[model->tracks.data[range->track].device];
    return ss_device_bandwidth(
        ss_device_peaks_of(ss_intern_get(&model->strings, device->model), device->memory_bytes));
}

/* Counters of steps span the steps that were their passes; their own duration is that of one. */
static uint64_t time_of(const struct ss_model_range *range, const struct ss_gauges *gauges)
{
    double ns = gauges->value[SS_GAUGE_NS];
    return ns > 0 && ns < longest_ns ? (uint64_t)llround(ns) : range->end_ns - range->begin_ns;
}

static void add_range(struct building *building, const struct ss_model_range *range)
{
    struct ss_gauges gauges;
    struct ss_launch_light light;
    if (!ss_gauges_read(&building->reader, range, &gauges)) {
        return;
    }
    uint64_t ns = time_of(range, &gauges);
    double weight = ns > 0 ? (double)ns : 1;
    ss_launch_light_find(&gauges, (double)ns, bandwidth_of(building->model, range), &light);
    if (!light.has[SS_LIGHT_OF_COMPUTE] && !light.has[SS_LIGHT_OF_MEMORY]) {
        return; /* other counters alone */
    }
    struct kernel *kernel = kernel_of(building, building->model->paths.data[range->path].name);
    kernel->instances++;
    kernel->total_ns += ns;
    building->total_ns += ns;
    for (int which = 0; which < SS_LIGHTS; which++) {
        if (light.has[which]) {
            add_to(&kernel->percents[which], light.percent[which], weight);
            kernel->is_derived[which] = kernel->is_derived[which] || light.is_derived[which];
        }
    }
    if (gauges.has[SS_GAUGE_OCCUPANCY]) {
        add_to(&kernel->occupancy, gauges.value[SS_GAUGE_OCCUPANCY], weight);
    }
}

static void collect(struct building *building, const struct ss_selection *selection)
{
    const struct ss_model *model = building->model;
    for (size_t i = 0; i < model->ranges.count && model->metrics.count > 0; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t process = model->tracks.data[range->track].process;
        if (range->payload != 0 && selection->processes[process] &&
            (range->flags & SS_RANGE_OUTSIDE) == 0) {
            add_range(building, range);
        }
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

static struct ss_cell copied(struct ss_table *table, const char *text, size_t length)
{
    return ss_cell_text((struct ss_strview){ss_arena_strndup(&table->texts, text, length), length});
}

static void put_names(const struct building *building, const struct kernel *kernel,
                      struct ss_table *table, struct ss_cell *cells)
{
    struct ss_strview name = name_of(building, kernel->name);
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, name.length + 1);
    ss_kernel_short_name(name, &brief);
    cells[SS_LIGHT_BASE] = ss_cell_text(ss_kernel_base_name(name));
    cells[SS_LIGHT_KERNEL] = building->options->by_base ? cells[SS_LIGHT_BASE] : ss_cell_text(name);
    cells[SS_LIGHT_SHORT] =
        building->options->by_base ? cells[SS_LIGHT_BASE] : copied(table, brief.data, brief.length);
    ss_strbuf_fini(&brief);
}

static void find_light(const struct kernel *kernel, struct ss_launch_light *light)
{
    *light = (struct ss_launch_light){.has = {false}};
    for (int which = 0; which < SS_LIGHTS; which++) {
        const struct mean *mean = &kernel->percents[which];
        light->has[which] = mean->weight > 0;
        light->is_derived[which] = kernel->is_derived[which];
        light->percent[which] = mean->weight > 0 ? mean->sum / mean->weight : 0;
    }
}

/* "measured", "derived: compute, DRAM" */
static void put_source(const struct ss_launch_light *light, struct ss_table *table,
                       struct ss_cell *cell)
{
    static const char *const names[SS_LIGHTS] = {"compute", "memory", "L1", "L2", "DRAM"};
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_SENTENCE_BYTES);
    for (int which = 0; which < SS_LIGHTS; which++) {
        if (light->has[which] && light->is_derived[which]) {
            ss_strbuf_append_format(&text, "%s%s",
                                    text.length > 0 ? ", " : "derived: ", names[which]);
        }
    }
    ss_strbuf_append_text(&text, text.length == 0 ? "measured" : "");
    *cell = copied(table, text.data, text.length);
    ss_strbuf_fini(&text);
}

static void put_limiter(const struct kernel *kernel, const struct ss_launch_light *light,
                        struct ss_table *table, struct ss_cell *cells)
{
    struct ss_strbuf sentence;
    ss_strbuf_init(&sentence, MOST_SENTENCE_BYTES);
    double occupancy =
        kernel->occupancy.weight > 0 ? kernel->occupancy.sum / kernel->occupancy.weight : -1;
    const char *limiter = ss_limiter_name(ss_launch_light_limiter(light, occupancy, &sentence));
    if (limiter != NULL) {
        cells[SS_LIGHT_LIMITER] = ss_cell_text(ss_strview_of(limiter));
    }
    if (sentence.length > 0) {
        cells[SS_LIGHT_SENTENCE] = copied(table, sentence.data, sentence.length);
    }
    ss_strbuf_fini(&sentence);
}

static void put_row(const struct building *building, const struct kernel *kernel,
                    struct ss_table *table)
{
    struct ss_launch_light light;
    struct ss_cell *cells = ss_table_add_row(table);
    put_names(building, kernel, table, cells);
    find_light(kernel, &light);
    cells[SS_LIGHT_INSTANCES] = ss_cell_integer((int64_t)kernel->instances);
    cells[SS_LIGHT_TIME] = ss_cell_integer((int64_t)kernel->total_ns);
    cells[SS_LIGHT_PERCENT] = ss_cell_real(
        building->total_ns > 0 ? 100 * (double)kernel->total_ns / (double)building->total_ns : 0);
    for (int which = 0; which < SS_LIGHTS; which++) {
        if (light.has[which]) {
            cells[SS_LIGHT_COMPUTE + which] = ss_cell_real(light.percent[which]);
        }
    }
    put_source(&light, table, &cells[SS_LIGHT_SOURCE]);
    put_limiter(kernel, &light, table, cells);
}

/* What limits the longest ones; how throughputs that were not measured are found. */
static void add_notes(struct ss_table *table)
{
    bool has_derived = false;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        has_derived = has_derived || cells[SS_LIGHT_SOURCE].text.data[0] == 'd';
        if (row < MOST_SAID && cells[SS_LIGHT_SENTENCE].type == SS_CELL_TEXT) {
            struct ss_sentence *text = ss_table_add_note(table, SS_NOTE_FACT);
            ss_sentence_add_name(text, cells[SS_LIGHT_SHORT].text);
            ss_sentence_add(text, ": ");
            ss_sentence_add(text, cells[SS_LIGHT_SENTENCE].text.data);
        }
    }
    if (has_derived) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_ASIDE),
                        "Throughputs that were not measured (column source) are derived from their "
                        "parts: a kernel uses at least so much.");
    }
}

void ss_light_table(const struct ss_selection *selection, const struct ss_light_options *options,
                    struct ss_table *table)
{
    struct building building = {.model = selection->model, .options = options};
    const char *why = selection->model->metrics.count > 0
                          ? "no throughput of a kernel, nor parts of one, was measured"
                          : ss_why_no_metrics(selection->model);
    *table = (struct ss_table){.name = "speed-of-light",
                               .title = "Speed of light (percent of the device's peaks)",
                               .empty_text = why,
                               .columns = columns,
                               .column_count = SS_LIGHT_COLUMNS};
    ss_intern_init(&building.keys);
    ss_gauge_reader_init(&building.reader, selection->model);
    collect(&building, selection);
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
    add_notes(table);
    ss_vec_fini(&building.kernels);
    ss_gauge_reader_fini(&building.reader);
    ss_intern_fini(&building.keys);
}
