/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any steps, phases, ranges, counters, samples and facts through the rules and their views: what is
 * advised is within its bounds and in order, and JSON stays JSON.
 */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnosis/rules.h"
#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "training_input.h"
#include "view/output/report.h"

static void check_diagnosis(const struct ss_diagnosis *diagnosis)
{
    uint64_t last_ns = UINT64_MAX;
    for (size_t i = 0; i < diagnosis->findings.count; i++) {
        const struct ss_finding *finding = &diagnosis->findings.data[i];
        check(finding->recoverable_ns <= finding->of_ns, "no more is recoverable than there is");
        check(finding->expected_ns <= finding->recoverable_ns, "a bound is a bound");
        check(finding->expected_ns <= last_ns, "the largest is first");
        check(isfinite(finding->percent), "shares are numbers");
        for (size_t e = 0; e < finding->evidence_count; e++) {
            check(isfinite(finding->evidence[e].value), "evidence is a number");
        }
        last_ns = finding->expected_ns;
    }
}

static void check_page(const struct ss_selection *selection)
{
    static FILE *out;
    const struct ss_report_style style = {.width = 0};
    const struct ss_table_options options = {.max_rows = 100, .is_page = true};
    const struct ss_report_options report = {.kind = &ss_overview_of_page, .table = &options};
    struct ss_document document;
    out = out != NULL ? out : fopen("/dev/null", "w");
    ss_document_init(&document);
    ss_report_compose(selection, &report, &document);
    check(ss_report_html(&document, &style, out, NULL) == SS_OK, "a page is written");
    ss_document_fini(&document);
}

static void check_views(const struct ss_selection *selection)
{
    const struct ss_report_style style = {.width = 100};
    const struct ss_table_options options = {.max_rows = 10};
    const struct ss_report_options report = {.kind = &ss_overview, .table = &options};
    struct ss_document document;
    ss_document_init(&document);
    ss_report_compose(selection, &report, &document);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    check(out != NULL && ss_report_text(&document, &style, out, NULL) == SS_OK, "text is written");
    fclose(out);
    free(text);
    text = NULL;
    out = open_memstream(&text, &length);
    check(out != NULL && ss_report_json(&document, &style, out, NULL) == SS_OK, "JSON is written");
    fclose(out);
    json_t *json = json_loadb(text, length, 0, NULL);
    check(json != NULL, "JSON is JSON");
    json_decref(json);
    free(text);
    text = NULL;
    out = open_memstream(&text, &length);
    check(out != NULL && ss_report_notebook(&document, &style, out, NULL) == SS_OK,
          "HTML for a notebook is written");
    fclose(out);
    check(length <= SS_REPORT_NOTEBOOK_MAX_BYTES, "a notebook stays small");
    check(strstr(text, "<script") == NULL, "names are not scripts");
    free(text);
    ss_document_fini(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < RECORD || size > MAX_INPUT_BYTES) {
        return 0;
    }
    struct ss_model model;
    struct ss_selection selection;
    struct ss_selection_options options = {.size = sizeof options, .idle = SS_IDLE_ALL};
    struct ss_steps_options every = {0};
    struct ss_step_summary summary;
    struct ss_training_facts training;
    struct ss_diagnosis diagnosis;
    ss_model_init(&model);
    build_model(&model, data, size);
    check(ss_selection_init(&selection, &model, &options, NULL) == SS_OK, "all is selected");
    ss_step_summary_init(&summary, &selection, &every);
    ss_training_facts_init(&training, &selection, &summary, NULL);
    ss_diagnosis_init(&diagnosis, &training);
    check_diagnosis(&diagnosis);
    check_views(&selection);
    if (data[0] % 4 == 0) { /* it has all tables */
        check_page(&selection);
    }
    ss_diagnosis_fini(&diagnosis);
    ss_training_facts_fini(&training);
    ss_step_summary_fini(&summary);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return 0;
}
