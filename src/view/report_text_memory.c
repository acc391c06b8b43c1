/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a training in the text report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/memories.h"
#include "base/terminal.h"
#include "view/report_tables.h"
#include "view/text_cell.h"

enum { MAX_TEXT_BYTES = 1 << 16 };

enum ss_status ss_report_text_memories(const struct ss_table *table,
                                       const struct ss_report_style *style, FILE *out,
                                       struct ss_error *err)
{
    static const struct ss_text_column columns[SS_MEMORY_COLUMNS] = {
        [SS_MEMORY_NAME] = {.title = "memory", .least = 8},
        [SS_MEMORY_PID] = {.title = "pid", .right = true},
        [SS_MEMORY_START] = {.title = "start", .right = true},
        [SS_MEMORY_END] = {.title = "end", .right = true},
        [SS_MEMORY_PEAK] = {.title = "peak", .right = true},
        [SS_MEMORY_PER_STEP] = {.title = "growth per step", .right = true},
        [SS_MEMORY_PEAK_PHASE] = {.title = "peak made by", .least = 8},
        [SS_MEMORY_PEAK_STEP] = {.title = "of step", .right = true},
        [SS_MEMORY_LIMIT] = {.title = "limit", .right = true},
        [SS_MEMORY_LIMIT_PERCENT] = {.title = "peak of it", .right = true}};
    struct ss_text_table text;
    ss_text_table_init(&text, columns, SS_MEMORY_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(&text, NULL);
        ss_text_table_put(&text, SS_MEMORY_NAME, cells[SS_MEMORY_NAME].text, NULL);
        ss_text_table_putf(&text, SS_MEMORY_PID, "cyan", "%" PRId64, cells[SS_MEMORY_PID].integer);
        for (size_t c = SS_MEMORY_START; c <= SS_MEMORY_PER_STEP; c++) {
            ss_report_put_bytes(&text, c, &cells[c], c == SS_MEMORY_PER_STEP);
        }
        if (cells[SS_MEMORY_PEAK_PHASE].type == SS_CELL_TEXT) {
            ss_text_table_put(&text, SS_MEMORY_PEAK_PHASE, cells[SS_MEMORY_PEAK_PHASE].text, NULL);
            ss_text_table_putf(&text, SS_MEMORY_PEAK_STEP, NULL, "%" PRId64,
                               cells[SS_MEMORY_PEAK_STEP].integer);
        }
        ss_report_put_bytes(&text, SS_MEMORY_LIMIT, &cells[SS_MEMORY_LIMIT], false);
        if (cells[SS_MEMORY_LIMIT_PERCENT].type == SS_CELL_REAL) {
            ss_text_table_putf(&text, SS_MEMORY_LIMIT_PERCENT, NULL, "%.1f%%",
                               cells[SS_MEMORY_LIMIT_PERCENT].real);
        }
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

/* Memory and process have columns unless there is a single one. Omits the mean of the peaks, which
 * CSV and JSON have: where no phase exceeds an earlier peak, it is a mean of sampled values. */
static enum ss_status print_phases(const struct ss_table *table,
                                   const struct ss_report_style *style, bool is_single, FILE *out,
                                   struct ss_error *err)
{
    static const struct ss_text_column columns[SS_MEMORY_PHASE_PEAK + 1] = {
        [SS_MEMORY_PHASE_NAME] = {.title = "memory", .least = 8},
        [SS_MEMORY_PHASE_PID] = {.title = "pid", .right = true},
        [SS_MEMORY_PHASE] = {.title = "phase", .least = 12},
        [SS_MEMORY_PHASE_STEPS] = {.title = "steps", .right = true},
        [SS_MEMORY_PHASE_END] = {.title = "at its end", .right = true},
        [SS_MEMORY_PHASE_END_MAX] = {.title = "most", .right = true},
        [SS_MEMORY_PHASE_CHANGE] = {.title = "change", .right = true},
        [SS_MEMORY_PHASE_CHANGE_MAX] = {.title = "most", .right = true},
        [SS_MEMORY_PHASE_PEAK] = {.title = "peak", .right = true}};
    size_t first = is_single ? SS_MEMORY_PHASE : 0;
    struct ss_text_table text;
    ss_text_table_init(&text, columns + first, SS_MEMORY_PHASE_PEAK + 1 - first);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(&text, NULL);
        if (!is_single) {
            ss_text_table_put(&text, SS_MEMORY_PHASE_NAME, cells[SS_MEMORY_PHASE_NAME].text, NULL);
            ss_text_table_putf(&text, SS_MEMORY_PHASE_PID, "cyan", "%" PRId64,
                               cells[SS_MEMORY_PHASE_PID].integer);
        }
        ss_text_table_put(&text, SS_MEMORY_PHASE - first, cells[SS_MEMORY_PHASE].text, NULL);
        ss_text_table_putf(&text, SS_MEMORY_PHASE_STEPS - first, NULL, "%" PRId64,
                           cells[SS_MEMORY_PHASE_STEPS].integer);
        for (size_t c = SS_MEMORY_PHASE_END; c < SS_MEMORY_PHASE_PEAK; c++) {
            ss_report_put_bytes(&text, c - first, &cells[c],
                                c == SS_MEMORY_PHASE_CHANGE || c == SS_MEMORY_PHASE_CHANGE_MAX);
        }
        ss_report_put_bytes(&text, SS_MEMORY_PHASE_PEAK - first, &cells[SS_MEMORY_PHASE_PEAK_MAX],
                            false);
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

static void print_steps_read(const struct ss_table *table, const struct ss_report_style *style,
                             FILE *out)
{
    if (table->steps_recorded < table->steps) {
        fprintf(out,
                "%smemory was read in the phases of %" PRIu64 " of %" PRIu64
                " steps, to cost little%s\n",
                style->colour ? SS_DIM : "", table->steps_recorded, table->steps,
                style->colour ? SS_OFF : "");
    }
}

enum ss_status ss_report_text_memory_phases(const struct ss_table *table,
                                            const struct ss_report_style *style, FILE *out,
                                            struct ss_error *err)
{
    SS_TRY(print_phases(table, style, false, out, err));
    print_steps_read(table, style, out);
    return SS_OK;
}

/* "memory rss: 301.3 MiB at the first step, 301.8 MiB at the last, at most 557.5 MiB in backward of
 * step 0: 2.3 % of the machine's memory" */
static void append_memory(const struct ss_memory *memory, const struct ss_step_summary *training,
                          const struct ss_model *model, struct ss_strbuf *out)
{
    ss_strbuf_append_format(out, "%s: ", ss_model_text(model, memory->name));
    ss_text_append_bytes(out, memory->first);
    ss_strbuf_append_text(out, " at the first step, ");
    ss_text_append_bytes(out, memory->last);
    ss_strbuf_append_text(out, " at the last, at most ");
    ss_text_append_bytes(out, memory->peak);
    if (memory->peak_phase < training->phases.count) {
        ss_strbuf_append_text(out, " in ");
        ss_text_append_clean(out,
                             ss_step_phase_text(model, &training->phases.data[memory->peak_phase]));
        ss_strbuf_append_format(out, " of step %" PRId64, memory->peak_step);
    } else if (memory->was_before) {
        ss_strbuf_append_text(out, ", from before the first step");
    }
    if (memory->limit > 0) {
        double percent = 100 * memory->peak / memory->limit;
        ss_strbuf_append_format(out, ": %.*f %% of %s, ", percent < 10, percent, memory->limit_of);
        ss_text_append_bytes(out, memory->limit);
    }
    if (memory->grows) {
        ss_strbuf_append_text(out, "; grows by ");
        ss_text_append_bytes(out, memory->bytes_per_step);
        ss_strbuf_append_text(out, " with each step");
    }
}

enum ss_status ss_report_text_memory(const struct ss_report *report,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err)
{
    const struct ss_memories *memories = &report->facts->memories;
    const struct ss_selection *selection = report->trust->selection;
    const struct ss_memory *main_memory = ss_memories_main(memories);
    if (memories->rows.count == 0) {
        return SS_OK;
    }
    uint32_t process = main_memory != NULL ? main_memory->process : memories->rows.data[0].process;
    fprintf(out, "%sMemory%s\n", style->colour ? SS_BOLD : "", style->colour ? SS_OFF : "");
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TEXT_BYTES);
    bool has_more = false;
    for (size_t i = 0; i < memories->rows.count; i++) {
        const struct ss_memory *memory = &memories->rows.data[i];
        has_more = has_more || memory->process != process;
        if (memory->process == process) {
            ss_strbuf_clear(&text);
            append_memory(memory, report->training, selection->model, &text);
            ss_report_print_wrapped(text.data, "", "  ", style, out);
        }
    }
    ss_strbuf_fini(&text);
    enum ss_status status = SS_OK;
    if (main_memory != NULL) {
        struct ss_table table;
        ss_memory_phases_table(memories, main_memory, selection, report->training, &table);
        status = print_phases(&table, style, true, out, err);
        print_steps_read(&table, style, out);
        ss_table_fini(&table);
    }
    fputs(has_more ? "of one process; of all of them: --by memory\n\n" : "\n", out);
    return status;
}
