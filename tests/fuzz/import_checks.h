/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every model that an importer builds, whatever the bytes: for fuzz targets. */
#ifndef SS_TEST_IMPORT_CHECKS_H
#define SS_TEST_IMPORT_CHECKS_H

#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "model/files/importer.h"
#include "view/export/speedscope.h"
#include "view/output/report.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_samples(const struct ss_model *model)
{
    uint64_t totals = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        check(model->totals.data[i].stack < model->stacks.count, "a total has a stack");
        check(model->totals.data[i].thread < model->threads.count, "a total has a thread");
        totals += model->totals.data[i].samples;
    }
    check(totals == model->inputs.data[0].samples, "totals add up to the input's samples");
    for (size_t i = 1; i < model->stacks.count; i++) {
        check(model->stacks.data[i].parent < i, "parents come before their children");
    }
}

static void check_ranges(const struct ss_model *model)
{
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        check(range->begin_ns <= range->end_ns, "an end follows its begin");
        check(range->track > 0 && range->track < model->tracks.count, "a range has a track");
        check(range->path < model->paths.count, "a range has a path");
        check(range->payload < model->payloads.count, "a range has a payload");
        bool is_next = i > 0 && range[-1].track == range->track && range[-1].lane == range->lane;
        check(!is_next || range[-1].begin_ns <= range->begin_ns, "ranges of a lane are in order");
    }
}

static void check_metrics(const struct ss_model *model)
{
    for (size_t i = 0; i < model->metrics.count; i++) {
        const struct ss_model_metric *metric = &model->metrics.data[i];
        check(metric->payload > 0 && metric->payload < model->payloads.count,
              "a metric has an event");
        check(metric->kind > 0 && metric->kind < model->metric_kinds.count, "a metric has a kind");
        check(i == 0 || metric[-1].payload <= metric->payload, "metrics are in order");
    }
}

static inline void check_report(const struct ss_selection *selection,
                                const struct ss_table_kind *kind, FILE *out)
{
    struct ss_table_options options = {.max_rows = 20, .is_page = kind == &ss_overview_of_page};
    struct ss_report_style style = {.width = 80};
    struct ss_report_options report = {.kind = kind, .table = &options};
    struct ss_document document;
    ss_document_init(&document);
    ss_report_compose(selection, &report, &document);
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        check(view->render(&document, &style, out, NULL) == SS_OK, "it renders");
    }
    ss_document_fini(&document);
}

/* Loads the file with the importer, and renders what it makes of it. */
static inline void check_import_file(const struct ss_importer *importer,
                                     const struct ss_import_file *file)
{
    static FILE *out;
    out = out != NULL ? out : fopen("/dev/null", "w");
    struct ss_model_load load = {.quiet = true, .keep_samples = true, .max_samples = 1 << 20};
    struct ss_model model;
    struct ss_error err = {0};
    ss_model_init(&model);
    enum ss_import_match match = importer->probe(file->head, file->head_length);
    check(match >= SS_IMPORT_NO && match <= SS_IMPORT_CERTAIN, "a probe answers");
    if (importer->load(&model, file, &load, &err) != SS_OK) {
        check(err.message[0] != '\0', "an error says why");
    } else {
        struct ss_selection selection;
        struct ss_selection_options options = {.idle = SS_IDLE_MAIN};
        check_samples(&model);
        check_ranges(&model);
        check_metrics(&model);
        check(ss_selection_init(&selection, &model, &options, &err) == SS_OK, "it is selected");
        check_report(&selection, &ss_overview, out);
        check_report(&selection, &ss_overview_of_page, out);
        check_report(&selection, ss_table_kind_find("function", NULL), out);
        if (model.metrics.count > 0) {
            check_report(&selection, ss_table_kind_find("metric", NULL), out);
        }
        ss_selection_fini(&selection);
    }
    ss_model_fini(&model);
}

/* The same of bytes in memory. */
static inline void check_import(const struct ss_importer *importer, const uint8_t *data,
                                size_t size)
{
    struct ss_import_file file = {
        .path = "input", .head = (const char *)data, .head_length = size, .fd = -1};
    check_import_file(importer, &file);
}

#endif
