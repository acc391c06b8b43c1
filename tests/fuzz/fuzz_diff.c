/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any two trainings compared: text is text, JSON stays JSON, and a training does not differ from
 * itself. A byte for the table, then the first training; the second begins in the middle.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/tables/overview.h"
#include "training_input.h"
#include "view/output/report.h"

struct side {
    struct ss_model model;
    struct ss_selection selection;
};

static void build_side(struct side *side, const uint8_t *data, size_t size)
{
    const struct ss_selection_options options = {.size = sizeof options, .idle = SS_IDLE_ALL};
    ss_model_init(&side->model);
    build_model(&side->model, data, size);
    check(ss_selection_init(&side->selection, &side->model, &options, NULL) == SS_OK,
          "all is selected");
}

static void fini_side(struct side *side)
{
    ss_selection_fini(&side->selection);
    ss_model_fini(&side->model);
}

static const struct ss_table_kind *kind_of(uint8_t byte)
{
    size_t count = 0;
    while (ss_table_kinds[count].id != NULL) {
        count++;
    }
    const struct ss_table_kind *kind = &ss_table_kinds[byte % count];
    return byte % 3 == 0 || kind->is_not_compared ? &ss_overview : kind;
}

static void check_forms(const struct ss_document *document)
{
    const struct ss_report_style style = {.width = 100};
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        check(out != NULL && view->render(document, &style, out, NULL) == SS_OK, "it is written");
        fclose(out);
        if (strcmp(view->name, "json") == 0) {
            json_t *json = json_loadb(text, length, 0, NULL);
            check(json != NULL, "JSON is JSON");
            json_decref(json);
        }
        free(text);
    }
}

static void check_no_change(const struct ss_document *document)
{
    for (size_t i = 0; i < document->blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        size_t keys = table != NULL ? table->comparison.keys : 0;
        for (size_t row = 0; keys > 0 && row < table->row_count; row++) {
            const struct ss_cell *cells = ss_table_cell(table, row, keys);
            check(cells[SS_COMPARED_ONLY_IN].type == SS_CELL_ABSENT, "a row is in both");
            check(cells[SS_COMPARED_SIGNIFICANT].type == SS_CELL_ABSENT ||
                      ss_strview_equal(cells[SS_COMPARED_SIGNIFICANT].text, ss_strview_of("no")),
                  "no row changed");
        }
    }
}

static void compare(const struct side *a, const struct side *b, uint8_t byte)
{
    const struct ss_selection *const selections[] = {&a->selection, &b->selection};
    const struct ss_diff_options options = {
        .kind = kind_of(byte), .has_rows = (byte & 1) != 0, .has_threshold = true};
    struct ss_document document;
    struct ss_diff_result result;
    ss_document_init(&document);
    ss_diff_compose(selections, &options, &document, &result);
    check(isfinite(result.percent), "a change is a number");
    check(!result.is_above_threshold || result.is_significant, "a check is of what is certain");
    check_forms(&document);
    if (a == b) {
        check(!result.is_significant, "a training does not differ from itself");
        check_no_change(&document);
    }
    ss_document_fini(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 + RECORD || size > MAX_INPUT_BYTES) {
        return 0;
    }
    size_t records = (size - 1) / RECORD, first = (records + 1) / 2 * RECORD;
    struct side a, b;
    build_side(&a, data + 1, first);
    build_side(&b, data + 1 + first, size - 1 - first);
    compare(&a, &b, data[0]);
    compare(&a, &a, data[0]);
    fini_side(&a);
    fini_side(&b);
    return 0;
}
