/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of a program that serves requests. */
#include <math.h>

#include "analysis/diagnosis/serving.h"
#include "analysis/report/report_parts.h"

/* ", 21 % at server.py:12 do_POST, serialising objects (JSON, pickle, CSV)" */
static void add_line(const struct ss_serving *serving, const struct ss_model *model,
                     struct ss_sentence *out)
{
    const char *activity = ss_activity_text(serving->line->activity);
    ss_sentence_add(out, ", ");
    ss_sentence_add_percent(
        out, fmin(100 * (double)serving->line->cost_ns / (double)serving->request_ns, 100), 0);
    ss_sentence_add(out, " at ");
    ss_report_add_location(&serving->line->line, model, out);
    ss_sentence_add(out, activity[0] != '\0' ? ", " : "");
    ss_sentence_add(out, activity);
}

void ss_report_add_serving(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_serving serving;
    ss_serving_find(&serving, &parts->facts);
    if (serving.request_ns == 0) {
        return;
    }
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_FACT);
    ss_sentence_add(out, "A server: it waits for its clients ");
    ss_sentence_add_percent(out, serving.waits_percent, 0);
    ss_sentence_add(out, " ±");
    ss_sentence_add_decimal(out, ceil(serving.waits_error), 0);
    ss_sentence_add(out, " of the time, and serves ");
    ss_sentence_add_figure(out, serving.per_s, 3);
    ss_sentence_add(out, " requests/s of about ");
    ss_sentence_add_figure(out, serving.possible_per_s, 3);
    ss_sentence_add(out, " that it could. A request takes ");
    ss_sentence_add_duration(out, serving.request_ns);
    ss_sentence_add(out, " on average, ");
    ss_sentence_add_percent(out, 100 * (double)serving.model_ns / (double)serving.request_ns, 0);
    ss_sentence_add(out, " of it in the model");
    if (serving.line != NULL) {
        add_line(&serving, parts->selection->model, out);
    }
}

void ss_report_put_serving(const struct ss_report_parts *parts, struct ss_figure *training)
{
    struct ss_serving serving;
    ss_serving_find(&serving, &parts->facts);
    if (serving.request_ns == 0) {
        ss_figure_put_null(training, "serving");
        return;
    }
    struct ss_figure *object = ss_figure_put_object(training, "serving");
    ss_figure_put_count(object, "request_ns", serving.request_ns);
    ss_figure_put_count(object, "model_ns", serving.model_ns);
    ss_figure_put_real(object, "waits_percent", serving.waits_percent);
    ss_figure_put_real(object, "requests_per_second", serving.per_s);
    ss_figure_put_real(object, "possible_per_second", serving.possible_per_s);
}
