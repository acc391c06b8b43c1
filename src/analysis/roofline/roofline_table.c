/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/kernels/kernel_names.h"
#include "analysis/roofline/roofline.h"
#include "base/alloc.h"

/* More than this is not an error of measurement. */
static const double most_percent = 105;

static const struct ss_column columns[SS_ROOFLINE_COLUMNS] = {
    [SS_ROOFLINE_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_ROOFLINE_SHORT] = {.key = "short_name", .is_for_people = true, .not_in_csv = true},
    [SS_ROOFLINE_FAMILY] = {.key = "family"},
    [SS_ROOFLINE_TYPE] = {.key = "datatype", .comparison = SS_COMPARES_KEY},
    [SS_ROOFLINE_UNITS] = {.key = "units", .comparison = SS_COMPARES_KEY},
    [SS_ROOFLINE_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_ROOFLINE_SOURCE] = {.key = "source"},
    [SS_ROOFLINE_INSTANCES] = {.key = "instances",
                               .unit = "instances",
                               .comparison = SS_COMPARES_SUM},
    [SS_ROOFLINE_TIME] = {.key = "total_ns", .unit = "ns", .comparison = SS_COMPARES_SUM},
    [SS_ROOFLINE_PERCENT] = {.key = "time_percent", .unit = "percent"},
    [SS_ROOFLINE_FLOPS] = {.key = "flops", .unit = "flops", .comparison = SS_COMPARES_SUM},
    [SS_ROOFLINE_BYTES] = {.key = "bytes", .unit = "bytes", .comparison = SS_COMPARES_SUM},
    [SS_ROOFLINE_RATE] = {.key = "flops_per_s", .unit = "flops/s", .comparison = SS_COMPARES_LEVEL},
    [SS_ROOFLINE_BANDWIDTH] = {.key = "bytes_per_s",
                               .unit = "bytes/s",
                               .comparison = SS_COMPARES_LEVEL},
    [SS_ROOFLINE_INTENSITY] = {.key = "flops_per_byte", .unit = "flops/byte"},
    [SS_ROOFLINE_PEAK] = {.key = "peak_flops_per_s", .unit = "flops/s"},
    [SS_ROOFLINE_PEAK_BANDWIDTH] = {.key = "peak_bytes_per_s", .unit = "bytes/s"},
    [SS_ROOFLINE_ROOF] = {.key = "roof_flops_per_s", .unit = "flops/s"},
    [SS_ROOFLINE_ROOF_PERCENT] = {.key = "roof_percent",
                                  .unit = "percent",
                                  .comparison = SS_COMPARES_LEVEL},
    [SS_ROOFLINE_BOUND] = {.key = "bound"},
    [SS_ROOFLINE_NOTE] = {.key = "note"},
};

static struct ss_cell text_cell(const char *text)
{
    return ss_cell_text(ss_strview_of(text));
}

/* --- the roof --------------------------------------------------------------------------------- */

/* How much of the time that a row took its FLOPs, or its bytes, would take at the device's peak. */
struct shares {
    double of_peak, of_bandwidth; /* 0: unknown, or none */
};

static struct shares shares_of(const struct ss_roofline_row *row)
{
    double peak = ss_device_peak(row->peaks, row->type, row->is_matrix);
    double bandwidth = ss_device_bandwidth(row->peaks), s = (double)row->ns / 1e9;
    struct shares shares = {0, 0};
    if (s > 0) {
        shares.of_peak = peak > 0 && row->has_flops ? row->flops / s / peak : 0;
        shares.of_bandwidth = bandwidth > 0 && row->has_bytes ? row->bytes / s / bandwidth : 0;
    }
    return shares;
}

/* Percent of what is possible at the row's intensity; 0: unknown. */
static double roof_percent(const struct ss_roofline_row *row)
{
    struct shares shares = shares_of(row);
    return 100 * (shares.of_peak > shares.of_bandwidth ? shares.of_peak : shares.of_bandwidth);
}

static const char *note_above(const struct ss_roofline_row *row, struct shares shares)
{
    return shares.of_peak <= shares.of_bandwidth
               ? "above the bandwidth: from a cache, or the estimate is wrong"
           : row->family == SS_KERNEL_CONVOLUTION
               ? "above the peak: Winograd or FFT computes less, or the estimate is wrong"
               : "above the peak: the estimate or the number format is wrong";
}

static void put_roof(const struct ss_roofline_row *row, struct ss_cell *cells)
{
    double peak = ss_device_peak(row->peaks, row->type, row->is_matrix);
    double bandwidth = ss_device_bandwidth(row->peaks);
    struct shares shares = shares_of(row);
    if (peak > 0) {
        cells[SS_ROOFLINE_PEAK] = ss_cell_real(peak);
    }
    if (bandwidth > 0) {
        cells[SS_ROOFLINE_PEAK_BANDWIDTH] = ss_cell_real(bandwidth);
    }
    if (bandwidth == 0 || !row->has_bytes || row->ns == 0 ||
        (peak == 0 && (!row->has_flops || row->flops > 0))) {
        return; /* one half of the roof is missing */
    }
    if (row->has_flops && row->flops > 0 && row->bytes > 0) {
        double slope = row->flops / row->bytes * bandwidth;
        cells[SS_ROOFLINE_ROOF] = ss_cell_real(slope < peak ? slope : peak);
    }
    cells[SS_ROOFLINE_ROOF_PERCENT] = ss_cell_real(roof_percent(row));
    if (row->has_flops) {
        cells[SS_ROOFLINE_BOUND] =
            text_cell(shares.of_peak > shares.of_bandwidth ? "compute" : "memory");
    }
    if (roof_percent(row) > most_percent) {
        cells[SS_ROOFLINE_NOTE] = text_cell(note_above(row, shares));
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char *source_of(const struct ss_roofline_row *row)
{
    static const char *const gaps[SS_ROOFLINE_GAPS] = {
        [SS_ROOFLINE_NO_LAUNCH] = "no launch recorded",
        [SS_ROOFLINE_NO_OPERATOR] = "no operator recorded",
        [SS_ROOFLINE_NO_SHAPES] = "not enough shapes recorded",
        [SS_ROOFLINE_NO_FORMULA] = "no formula",
        [SS_ROOFLINE_PREPARES] = "prepares data for other kernels"};
    static const char *const sources[SS_ROOFLINE_SOURCES] = {
        [SS_ROOFLINE_ESTIMATED] = "estimated from shapes",
        [SS_ROOFLINE_MEASURED] = "measured",
        [SS_ROOFLINE_MEASURED_BYTES] = "bytes measured",
        [SS_ROOFLINE_MEASURED_FLOPS] = "FLOPs measured"};
    size_t most = 0;
    for (size_t i = 1; i < SS_ROOFLINE_GAPS; i++) {
        most = row->gap_ns[i] > row->gap_ns[most] ? i : most;
    }
    return row->source == SS_ROOFLINE_UNKNOWN ? gaps[most] : sources[row->source];
}

static void put_names(const struct ss_roofline *roofline, const struct ss_roofline_row *row,
                      unsigned grouping, struct ss_table *table, struct ss_cell *cells)
{
    struct ss_strview name = ss_intern_get(&roofline->names, row->name);
    const char *copy = ss_arena_strndup(&table->texts, name.data, name.length);
    cells[SS_ROOFLINE_NAME] = ss_cell_text((struct ss_strview){copy, name.length});
    if ((grouping & SS_ROOFLINE_BY_KERNEL) != 0) {
        struct ss_strbuf brief;
        ss_strbuf_init(&brief, 4096);
        ss_kernel_short_name(name, &brief);
        copy = ss_arena_strndup(&table->texts, brief.data, brief.length);
        cells[SS_ROOFLINE_SHORT] = ss_cell_text((struct ss_strview){copy, brief.length});
        ss_strbuf_fini(&brief);
    }
    if ((grouping & SS_ROOFLINE_BY_MODULE) == 0) {
        cells[SS_ROOFLINE_FAMILY] = text_cell(ss_kernel_family_name(row->family));
    }
    if (row->peaks != NULL) {
        cells[SS_ROOFLINE_DEVICE] = text_cell(row->peaks->name);
    }
    cells[SS_ROOFLINE_SOURCE] = text_cell(source_of(row));
}

static void put_row(const struct ss_roofline *roofline, const struct ss_roofline_row *row,
                    unsigned grouping, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    put_names(roofline, row, grouping, table, cells);
    cells[SS_ROOFLINE_INSTANCES] = ss_cell_integer((int64_t)row->instances);
    cells[SS_ROOFLINE_TIME] = ss_cell_integer((int64_t)row->ns);
    cells[SS_ROOFLINE_PERCENT] = ss_cell_real(
        roofline->total_ns > 0 ? 100 * (double)row->ns / (double)roofline->total_ns : 0);
    if (row->source == SS_ROOFLINE_UNKNOWN) {
        return;
    }
    double s = (double)row->ns / 1e9;
    if (row->type != SS_DATATYPE_UNKNOWN) {
        cells[SS_ROOFLINE_TYPE] = text_cell(ss_datatype_name(row->type));
    }
    cells[SS_ROOFLINE_UNITS] = text_cell(row->is_matrix ? "matrix" : "vector");
    if (row->has_flops) {
        cells[SS_ROOFLINE_FLOPS] = ss_cell_real(row->flops);
    }
    if (row->has_bytes) {
        cells[SS_ROOFLINE_BYTES] = ss_cell_real(row->bytes);
    }
    if (s > 0 && row->has_flops) {
        cells[SS_ROOFLINE_RATE] = ss_cell_real(row->flops / s);
    }
    if (s > 0 && row->has_bytes) {
        cells[SS_ROOFLINE_BANDWIDTH] = ss_cell_real(row->bytes / s);
    }
    if (row->has_flops && row->has_bytes && row->bytes > 0) {
        cells[SS_ROOFLINE_INTENSITY] = ss_cell_real(row->flops / row->bytes);
    }
    put_roof(row, cells);
}

/* --- order ------------------------------------------------------------------------------------ */

struct order {
    const struct ss_roofline_row *row;
    double value;
    struct ss_strview name;
};

static int compare_order(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    size_t shorter = a->name.length < b->name.length ? a->name.length : b->name.length;
    int by_name = memcmp(a->name.data, b->name.data, shorter);
    return by_name != 0                       ? by_name
           : a->name.length != b->name.length ? (a->name.length > b->name.length ? 1 : -1)
                                              : (a->row > b->row) - (a->row < b->row);
}

static double sort_value(const struct ss_roofline_row *row, enum ss_roofline_sort sort)
{
    switch (sort) {
    case SS_ROOFLINE_SORT_FLOPS:
        return row->flops;
    case SS_ROOFLINE_SORT_BYTES:
        return row->bytes;
    case SS_ROOFLINE_SORT_ROOF:
        return roof_percent(row);
    case SS_ROOFLINE_SORT_NAME:
        return 0;
    default:
        return (double)row->ns;
    }
}

static void put_rows(const struct ss_roofline *roofline, const struct ss_roofline_options *options,
                     struct ss_table *table)
{
    size_t count = roofline->rows.count;
    struct order *order = ss_alloc_zero(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        const struct ss_roofline_row *row = &roofline->rows.data[i];
        order[i] = (struct order){row, sort_value(row, options->sort),
                                  ss_intern_get(&roofline->names, row->name)};
    }
    if (count > 1) {
        qsort(order, count, sizeof *order, compare_order);
    }
    for (size_t i = 0; i < count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = count - i;
            break;
        }
        put_row(roofline, order[i].row, options->grouping, table);
    }
    ss_free(order);
}

/* --- what stands above the table -------------------------------------------------------------- */

static void add_method(const struct ss_roofline *roofline, struct ss_table *table)
{
    struct ss_sentence *text = ss_table_add_intro(table, SS_NOTE_FACT);
    if (roofline->is_host) {
        ss_sentence_add(text, "Estimated from shapes, over the time of operators on the host: no "
                              "kernel of a device was recorded.");
        return;
    }
    ss_sentence_add(text, roofline->has_counters
                              ? "Measured by counters where a row says so, else estimated from "
                                "shapes: FLOPs, and each input and output moved once, over the "
                                "time of kernels. "
                              : "Estimated from shapes: FLOPs, and each input and output moved "
                                "once, over the time of kernels. ");
    if (roofline->total_ns > 0) {
        double percent = 100 * (double)(roofline->total_ns - roofline->estimated_ns) /
                         (double)roofline->total_ns;
        ss_sentence_add_percent(text, percent, 1);
        ss_sentence_add(text, roofline->has_counters ? " of that time has neither."
                                                     : " of that time has no estimate.");
    }
}

/* "A100 SXM 40 GB: 312 TFLOP/s in bf16, 1555 GB/s (NVIDIA A100 data sheet)" */
static void add_device(const struct ss_roofline *roofline, struct ss_table *table)
{
    const struct ss_device_peaks *before = NULL;
    bool has_unknown = false;
    for (size_t i = 0; i < roofline->rows.count; i++) {
        const struct ss_device_peaks *peaks = roofline->rows.data[i].peaks;
        has_unknown = has_unknown || peaks == NULL;
        if (peaks == NULL || peaks == before) {
            continue;
        }
        before = before == NULL ? peaks : before; /* others are in their rows */
        if (peaks != before) {
            continue;
        }
        struct ss_sentence *text = ss_table_add_intro(table, SS_NOTE_FACT);
        ss_sentence_add(text, peaks->name);
        ss_sentence_add(text, ": ");
        ss_sentence_add_flop_rate(text, ss_device_peak(peaks, SS_DATATYPE_FP16, true));
        ss_sentence_add(text, " in 16-bit floats, ");
        ss_sentence_add_figure(text, peaks->gb_per_s, 4);
        ss_sentence_add(text, " GB/s (");
        ss_sentence_add(text, peaks->source);
        ss_sentence_add(text, ").");
    }
    if (has_unknown && !roofline->is_host) {
        ss_sentence_add(ss_table_add_intro(table, SS_NOTE_FACT),
                        "Of a device, the peaks are not known, and so neither is its roof.");
    }
}

static void add_origin(const struct ss_roofline_steps *steps, struct ss_sentence *text)
{
    ss_sentence_add(text, steps->is_forward_only ? "; forward only"
                          : steps->is_assumed
                              ? "; the backward has no shapes: assumed to be twice the forward"
                              : "; backward from its own shapes");
    if (steps->again_flops > 0) {
        ss_sentence_add(text, ", without ");
        ss_sentence_add_percent(text, 100 * steps->again_flops / steps->flops, 0);
        ss_sentence_add(text, " that are computed again for it");
    }
}

static void add_steps(const struct ss_roofline *roofline, struct ss_table *table)
{
    const struct ss_roofline_steps *steps = &roofline->steps;
    if (steps->steps == 0) {
        return;
    }
    struct ss_sentence *text = ss_table_add_intro(table, SS_NOTE_FACT);
    if (steps->peak_flops > 0) {
        ss_sentence_add(text, "Model FLOPs utilisation ");
        ss_sentence_add(text, ss_roofline_is_partial(steps) ? "at least " : "");
        ss_sentence_add_figure(text, ss_roofline_mfu(steps), 3);
        ss_sentence_add(text, " % of ");
        ss_sentence_add_flop_rate(text, steps->peak_flops / (double)steps->total_ns * 1e9);
        ss_sentence_add(text, " (");
        ss_sentence_add(text, ss_datatype_name(steps->type));
        ss_sentence_add(text, "): ");
    } else {
        ss_sentence_add(text, "Matrix products, convolutions and attention: ");
    }
    ss_sentence_add_flops(text, steps->flops / (double)steps->steps);
    ss_sentence_add(text, " a step");
    add_origin(steps, text);
    ss_sentence_add(text, ".");
    if (ss_roofline_is_partial(steps)) {
        text = ss_table_add_intro(table, SS_NOTE_WARNING);
        ss_sentence_add_percent(text, steps->unknown_percent, 0);
        ss_sentence_add(text, " of the time of matrix products, convolutions and attention has no "
                              "estimate: a step has more FLOPs than these.");
    }
    if (ss_roofline_mfu(steps) > 100) {
        ss_sentence_add(ss_table_add_intro(table, SS_NOTE_WARNING),
                        "More than the device's peak: the peak is not of this device or "
                        "number format, or the estimate is wrong.");
    }
}

/* Impossible figures are not left without a word. */
static void add_notes(struct ss_table *table)
{
    size_t above = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        above += ss_table_cell(table, row, SS_ROOFLINE_NOTE)->type == SS_CELL_TEXT;
    }
    if (above == 0) {
        return;
    }
    struct ss_sentence *text = ss_table_add_note(table, SS_NOTE_WARNING);
    ss_sentence_add_count(text, above);
    ss_sentence_add(text, " row");
    ss_sentence_add_plural(text, above);
    ss_sentence_add(text, " above the roof, marked with !, which is impossible: data from a cache, "
                          "a convolution by Winograd or FFT, which computes less than its formula, "
                          "or a wrong estimate or number format.");
}

static const char *why_empty(const struct ss_roofline *roofline)
{
    return roofline->has_shapes
               ? "no kernel, and no operator with a formula, was recorded in the requested time"
               : "no shapes of operators: torch.profiler records them with record_shapes=True";
}

void ss_roofline_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                       const struct ss_roofline_options *options, struct ss_table *table)
{
    struct ss_roofline roofline;
    ss_roofline_init(&roofline, selection, training, options->grouping);
    *table = (struct ss_table){.name = "roofline",
                               .title = roofline.has_counters
                                            ? "Roofline (measured, or estimated from shapes)"
                                            : "Roofline (estimated from shapes)",
                               .empty_text = why_empty(&roofline),
                               .columns = columns,
                               .column_count = SS_ROOFLINE_COLUMNS,
                               .whole_ns = roofline.total_ns};
    if (roofline.has_shapes || roofline.has_counters) {
        put_rows(&roofline, options, table);
    }
    if (table->row_count > 0) {
        add_method(&roofline, table);
        add_device(&roofline, table);
        add_steps(&roofline, table);
        add_notes(table);
    }
    ss_roofline_fini(&roofline);
}
