/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/report_output.h"

#include <errno.h>
#include <stdio.h>

#include "base/terminal.h"
#include "cli/reading/reading.h"
#include "view/output/sentence_text.h"
#include "view/output/sink.h"

static enum ss_status render_to(const struct ss_report_request *request,
                                const struct ss_document *document, FILE *out, struct ss_error *err)
{
    enum ss_status status = request->view->render(document, &request->style, out, err);
    bool failed = fflush(out) != 0 || ferror(out) != 0;
    if (status == SS_OK && failed && errno != EPIPE) {
        status = ss_fail_errno(err, errno, "cannot write %s",
                               request->output != NULL ? request->output : "the report");
    }
    return status;
}

/* The permissions that all inputs have. */
static enum ss_status check_output(const struct ss_report_request *request,
                                   const struct ss_model *const *models, size_t model_count,
                                   mode_t *mode, struct ss_error *err)
{
    *mode = 07777;
    for (size_t i = 0; i < model_count; i++) {
        SS_TRY(ss_reading_check_output(models[i], request->output, err));
        *mode &= ss_reading_output_mode(models[i]);
    }
    return SS_OK;
}

static enum ss_status render_to_file(const struct ss_report_request *request,
                                     const struct ss_model *const *models, size_t model_count,
                                     const struct ss_document *document, struct ss_error *err)
{
    struct ss_sink sink;
    mode_t mode;
    SS_TRY(check_output(request, models, model_count, &mode, err));
    SS_TRY(ss_sink_open(&sink, request->output, mode, err));
    sink.cleans = !request->view->encodes_controls || sink.cleans;
    FILE *out = ss_sink_stream(&sink);
    enum ss_status status = out != NULL
                                ? render_to(request, document, out, err)
                                : ss_fail_errno(err, errno, "cannot write %s", request->output);
    if (out != NULL) {
        fclose(out);
    }
    if (status != SS_OK && !ss_sink_failed(&sink)) {
        ss_sink_abandon(&sink);
        return status;
    }
    return ss_sink_close(&sink, err);
}

enum ss_status ss_report_output(const struct ss_report_request *request,
                                const struct ss_model *const *models, size_t model_count,
                                const struct ss_document *document, struct ss_error *err)
{
    /* The numbers alone do not say how far to trust them. */
    if (request->view->is_single_table) {
        struct ss_report_style plain = {.width = 100};
        ss_report_text_header(document, &plain, ss_stderr());
    }
    if (request->output != NULL) {
        return render_to_file(request, models, model_count, document, err);
    }
    FILE *out = request->view->encodes_controls ? ss_stdout_data() : ss_stdout();
    return render_to(request, document, out, err);
}

int ss_report_output_problems(const struct ss_arguments *arguments,
                              const struct ss_document *document)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    for (size_t i = 0; i < document->problems.count; i++) {
        ss_strbuf_clear(&text);
        ss_sentence_append_raw(&document->problems.data[i], &text);
        fprintf(ss_stderr(), "stepscope %s: %s\n", arguments->command->name, text.data);
    }
    ss_strbuf_fini(&text);
    return document->problems.count > 0 ? ss_status_exit_code(SS_E_TRUNCATED) : 0;
}
