/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of Chrome's trace format: they load or are refused, ranges nest, the time of
 * steps on devices adds up, and each table renders. The first byte chooses the table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/devices/device_steps.h"
#include "analysis/kernels/device_stacks.h"
#include "analysis/kernels/kernel_lines.h"
#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "model/files/importer.h"
#include "view/output/report.h"
#include "view/output/text_cell.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_order(const struct ss_model *model)
{
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        check(range->begin_ns <= range->end_ns, "a range ends behind its begin");
        check(range->track < model->tracks.count, "a range has a track");
        if (i > 0 && range[-1].track == range->track && range[-1].lane == range->lane) {
            check(range[-1].begin_ns <= range->begin_ns, "ranges are in order");
            bool nests = range[-1].end_ns <= range->begin_ns || range->end_ns <= range[-1].end_ns;
            check(nests, "a range nests or comes behind");
        }
    }
}

static void check_device_steps(const struct ss_selection *selection)
{
    struct ss_steps_options options = {0};
    struct ss_step_summary training;
    struct ss_device_summary device;
    ss_step_summary_init(&training, selection, &options);
    ss_device_summary_init(&device, selection, &training);
    for (size_t i = 0; i < device.steps.count; i++) {
        const struct ss_device_step *row = &device.steps.data[i];
        const struct ss_step *step = &training.steps.data[row->step];
        uint64_t gaps_ns = 0;
        for (size_t cause = 0; cause < SS_GAP_CAUSES; cause++) {
            gaps_ns += row->gap_ns[cause];
        }
        check(ss_busy_sum(&row->times) + row->times.idle_ns == step->end_ns - step->begin_ns,
              "busy and idle time of a step add up");
        check(gaps_ns == row->times.idle_ns, "causes add up to the idle time");
    }
    ss_device_summary_fini(&device);
    ss_step_summary_fini(&training);
}

/* What each line launched, and each stack, adds up to all work. */
static void check_launches(struct ss_model *model, const struct ss_selection *selection)
{
    struct ss_kernel_lines_options options = {0};
    struct ss_table table;
    uint64_t in_lines_ns = 0, in_stacks_ns = 0;
    ss_kernel_lines_table(selection, NULL, &options, &table);
    for (size_t row = 0; row < table.row_count; row++) {
        in_lines_ns += (uint64_t)ss_table_cell(&table, row, SS_KERNEL_LINE_TOTAL)->integer;
    }
    bool is_whole = table.whole_ns < (uint64_t)INT64_MAX; /* else it is more than 63 bits */
    check(!is_whole || in_lines_ns == table.whole_ns, "lines add up to the whole");
    ss_device_stacks_weigh(model);
    for (size_t i = 0; i < model->totals.count; i++) {
        in_stacks_ns += model->totals.data[i].samples;
        check(model->stacks.data[model->totals.data[i].stack].frame != 0, "a stack has a frame");
    }
    check(in_stacks_ns == table.whole_ns, "stacks add up to the whole");
    ss_table_fini(&table);
}

static const struct ss_table_kind *kind_of(unsigned choice)
{
    size_t count = 0;
    while (ss_table_kinds[count].id != NULL) {
        count++;
    }
    size_t at = choice % (count + 2);
    return at < count ? &ss_table_kinds[at] : at == count ? &ss_statistics : &ss_overview;
}

static void render(const struct ss_selection *selection, const struct ss_table_kind *kind,
                   FILE *out)
{
    struct ss_table_options options = {.max_rows = 20, .min_percent = 0.1, .sort = kind->sort};
    struct ss_report_options report = {.kind = kind, .table = &options};
    struct ss_report_style style = {.width = 100};
    struct ss_document document;
    ss_document_init(&document);
    ss_report_compose(selection, &report, &document);
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        check(view->render(&document, &style, out, NULL) == SS_OK, "it renders");
    }
    ss_document_fini(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    if (out == NULL) {
        out = fopen("/dev/null", "w");
        ss_text_use_utf8();
    }
    if (size == 0) {
        return 0;
    }
    const struct ss_table_kind *kind = kind_of(data[0]);
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    ss_table_kind_load(kind, &(struct ss_table_options){0}, &load);
    struct ss_import_file file = {
        .path = "input", .head = (const char *)data + 1, .head_length = size - 1, .fd = -1};
    struct ss_model model;
    struct ss_error err = {0};
    ss_model_init(&model);
    if (ss_importer_chrome.load(&model, &file, &load, &err) == SS_OK) {
        struct ss_selection selection;
        struct ss_selection_options options = {.idle = SS_IDLE_MAIN};
        check_order(&model);
        check(ss_selection_init(&selection, &model, &options, &err) == SS_OK, "all is selected");
        if ((kind->needs & SS_NEEDS_STEPS) != 0) {
            check_device_steps(&selection);
        }
        render(&selection, kind, out);
        check_launches(&model, &selection);
        ss_selection_fini(&selection);
    } else {
        check(err.message[0] != '\0', "an error says why");
    }
    ss_model_fini(&model);
    return 0;
}
