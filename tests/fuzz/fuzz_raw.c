/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a raw file: they load or are refused, the sums agree, every table renders. The first
 * byte chooses options, so that strict and per-line loading are reached too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "view/output/report.h"
#include "view/output/text_cell.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_sums(const struct ss_model *model, const struct ss_selection *selection,
                       bool has_lines)
{
    uint64_t totals = 0, lines = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        totals += model->totals.data[i].samples;
    }
    for (size_t i = 0; i < model->lines.count; i++) {
        lines += model->lines.data[i].samples;
    }
    check(totals == model->inputs.data[0].samples, "totals add up to the input's samples");
    check(!has_lines || lines == totals, "lines add up to the same");
    check(selection->recorded == totals, "the selection starts from all samples");
    check(selection->recorded == selection->shown + selection->idle + selection->no_gil +
                                     selection->filtered + selection->frameless,
          "recorded = shown + what was left out");
    for (size_t i = 1; i < model->stacks.count; i++) {
        check(model->stacks.data[i].parent < i, "parents come before their children");
    }
}

static void check_table(const struct ss_document *document, const struct ss_selection *selection)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        check(table == NULL || strcmp(table->name, "leaf") != 0 ||
                  table->shown_samples + table->dropped_samples == selection->shown,
              "the leaf table shows or counts every sample");
    }
}

static void render(const struct ss_selection *selection, unsigned choice, FILE *out)
{
    static const char *const ids[] = {"leaf",   "function", "line", "file",
                                      "thread", "process",  "tree", NULL};
    struct ss_table_options options = {
        .max_rows = 20,
        .min_percent = 0.1,
        .leaf = {.aggregate = choice & 4,
                 .rule = choice & 8 ? SS_LIBRARY_NAME : SS_LIBRARY_OWN_CODE,
                 .library = "torch"}};
    struct ss_report_style style = {.width = choice & 1 ? 60 : 0, .colour = choice & 2};
    const char *id = ids[(choice >> 4) % (sizeof ids / sizeof *ids)];
    struct ss_report_options report = {
        .kind = id != NULL ? ss_table_kind_find(id, NULL) : &ss_overview, .table = &options};
    struct ss_document document;
    ss_document_init(&document);
    ss_report_compose(selection, &report, &document);
    check_table(&document, selection);
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
    unsigned choice = size > 0 ? data[0] : 0;
    struct ss_model_load load = {
        .quiet = true, .strict = (choice & 0xc0) == 0xc0, .keep_lines = choice & 1};
    struct ss_model model;
    struct ss_error err = {0};
    ss_model_init(&model);
    if (ss_model_add_raw_memory(&model, "input", data, size, &load, &err) == SS_OK) {
        struct ss_selection selection;
        struct ss_selection_options options = {.idle = SS_IDLE_MAIN,
                                               .match = choice & 32 ? "f.*py" : NULL};
        if (ss_selection_init(&selection, &model, &options, &err) == SS_OK) {
            check_sums(&model, &selection, load.keep_lines);
            render(&selection, choice, out);
        }
        ss_selection_fini(&selection);
    } else {
        check(err.message[0] != '\0', "an error says why");
    }
    ss_model_fini(&model);
    return 0;
}
