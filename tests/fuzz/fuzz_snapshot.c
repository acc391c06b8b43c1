/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a snapshot of PyTorch's memory, or as a memory timeline: they load or are refused,
 * what is alive agrees with the totals, and each table renders. The first byte chooses the table.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/allocations.h"
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

static void check_pool(const struct ss_allocations *allocations,
                       const struct ss_allocation_pool *pool)
{
    uint64_t peak = ss_allocation_pool_peak(pool)->allocated;
    check(pool->first <= pool->end && pool->end <= allocations->rows.count, "rows are in bounds");
    for (size_t i = 0; i < pool->points.count; i++) {
        check(pool->points.data[i].allocated <= peak, "nothing is above the peak");
    }
    for (size_t i = pool->first; i < pool->end; i++) {
        const struct ss_allocation *row = &allocations->rows.data[i];
        check(row->begin <= row->end, "an allocation ends behind its begin");
        check(row->begin < pool->points.count, "an allocation has a point");
        check(row->category < SS_ALLOCATION_CATEGORIES, "an allocation has a category");
        check(row->code.line < allocations->lines.count || row->code.line == 0,
              "a line is in its table");
        check(i == pool->first || row[-1].begin <= row->begin, "allocations are in order");
    }
    check(!pool->has_segments || pool->free_blocks == 0 || pool->largest_free_bytes > 0,
          "free blocks have a size");
}

static void check_allocations(const struct ss_selection *selection)
{
    struct ss_allocations allocations;
    ss_allocations_init(&allocations, selection, NULL);
    for (size_t i = 0; i < allocations.pools.count; i++) {
        check_pool(&allocations, &allocations.pools.data[i]);
    }
    ss_allocations_fini(&allocations);
}

static void render(const struct ss_selection *selection, unsigned choice, FILE *out)
{
    static const char *const ids[] = {"memory", "allocation", "allocation", NULL};
    const char *id = ids[choice % 4];
    const struct ss_table_kind *kind =
        id != NULL ? ss_table_kind_find(id, NULL) : &ss_overview_of_ranges;
    struct ss_table_options options = {
        .max_rows = 20, .sort = choice >> 2 & 3, .grouping = choice >> 2};
    struct ss_report_options report = {.kind = kind, .table = &options};
    struct ss_report_style style = {.width = 100};
    struct ss_document document;
    options.sort = id != NULL && id[0] == 'a' ? options.sort : kind->sort;
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
    if (size < 2) {
        return 0;
    }
    const struct ss_importer *row =
        data[1] == 0x80 ? &ss_importer_snapshot : &ss_importer_memory_timeline;
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .sample_phases = true};
    struct ss_import_file file = {
        .path = "input", .head = (const char *)data + 1, .head_length = size - 1, .fd = -1};
    struct ss_model model;
    struct ss_error err = {0};
    ss_model_init(&model);
    if (row->load(&model, &file, &load, &err) == SS_OK) {
        struct ss_selection selection;
        struct ss_selection_options options = {.idle = SS_IDLE_MAIN};
        check(ss_selection_init(&selection, &model, &options, &err) == SS_OK, "all is selected");
        check_allocations(&selection);
        render(&selection, data[0], out);
        ss_selection_fini(&selection);
    } else {
        check(err.message[0] != '\0', "an error says why");
    }
    ss_model_fini(&model);
    return 0;
}
