/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a raw file: they load or are refused, the sums agree, every table renders. The first
 * byte chooses options, so that strict and per-line loading are reached too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/hotspots.h"
#include "analysis/leaf.h"
#include "analysis/trust.h"
#include "view/report.h"
#include "view/text_cell.h"

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

static void render(const struct ss_selection *selection, unsigned choice, FILE *out)
{
    struct ss_trust trust;
    struct ss_table tables[3];
    struct ss_leaf_options leaf = {.aggregate = choice & 4,
                                   .rule = choice & 8 ? SS_LIBRARY_NAME : SS_LIBRARY_OWN_CODE,
                                   .library = "torch",
                                   .max_rows = 20};
    struct ss_hotspots_options hot = {.by = (enum ss_hotspots_by)((choice >> 4) % SS_BY_COUNT),
                                      .max_rows = 20};
    struct ss_tree_options tree = {.min_percent = 0.1, .max_rows = 50};
    ss_trust_init(&trust, selection);
    ss_leaf_table(selection, &leaf, &tables[0]);
    ss_hotspots_table(selection, &hot, &tables[1]);
    ss_tree_table(selection, &tree, &tables[2]);
    check(tables[0].shown_samples + tables[0].dropped_samples == selection->shown,
          "the leaf table shows or counts every sample");
    struct ss_report report = {.trust = &trust, .tables = tables, .table_count = 3};
    struct ss_report_style style = {.width = choice & 1 ? 60 : 0, .colour = choice & 2};
    ss_report_views[choice % 3].render(&report, &style, out, NULL);
    for (int i = 0; i < 3; i++) {
        ss_table_fini(&tables[i]);
    }
    ss_trust_fini(&trust);
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
