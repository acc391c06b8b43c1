/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/terminal.h"
#include "base/version.h"
#include "cli/checks/doctor_text.h"
#include "cli/doctor/doctor_gpu_claims.h"
#include "platform/gpu_mark.h"

enum { MOST_FOLDER_BYTES = 3072 };

static const char *const levels[] = {"holds", "fails", "unknown"};
static const char *const states[] = {"holds", "fails", "not measurable"};
static const enum ss_style styles[] = {SS_STYLE_GREEN, SS_STYLE_RED, SS_STYLE_YELLOW};

/* A recording that cannot be read is a fact, too: it is not there. */
static void read_recording(struct ss_gpu_run *run, struct ss_gpu_recorded *recorded)
{
    struct ss_error err = {0};
    if (run->recording[0] != '\0' &&
        ss_gpu_recorded_read(run->recording, recorded, &err) != SS_OK) {
        snprintf(run->message, sizeof run->message, "%.255s", err.message);
    }
}

/* Without a device there is nothing to record. */
static enum ss_status collect(const char *folder, struct ss_gpu_facts *facts, struct ss_error *err)
{
    SS_TRY(ss_gpu_run(folder, SS_GPU_RUN_ALONE, &facts->runs[SS_GPU_RUN_ALONE], err));
    if (facts->runs[SS_GPU_RUN_ALONE].sheet.has_device == 0) {
        return SS_OK;
    }
    SS_TRY(ss_gpu_run(folder, SS_GPU_RUN_RECORDED, &facts->runs[SS_GPU_RUN_RECORDED], err));
    read_recording(&facts->runs[SS_GPU_RUN_RECORDED], &facts->recorded);
    if (ss_gpu_recorded_kernels(&facts->recorded) + facts->recorded.untimed == 0) {
        return SS_OK;
    }
    SS_TRY(ss_gpu_run(folder, SS_GPU_RUN_ONE_BUFFER, &facts->runs[SS_GPU_RUN_ONE_BUFFER], err));
    read_recording(&facts->runs[SS_GPU_RUN_ONE_BUFFER], &facts->one_buffer);
    return SS_OK;
}

static void show_text(const struct ss_gpu_claim *claims, size_t count, size_t fails)
{
    size_t holds = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ss_gpu_claim *claim = &claims[i];
        holds += claim->state == SS_GPU_HOLDS;
        ss_doctor_print_line(&(struct ss_doctor_line){levels[claim->state], styles[claim->state],
                                                      claim->name, claim->text, claim->fix});
    }
    fprintf(ss_stdout(), "\n%zu claims hold, %zu fail, %zu could not be measured.\n", holds, fails,
            count - holds - fails);
}

static int show_json(const struct ss_gpu_claim *claims, size_t count, size_t fails)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", claims[i].name,
                                              "state", states[claims[i].state], "text",
                                              claims[i].text, "fix", claims[i].fix));
    }
    json_t *root = json_pack("{s:i, s:s, s:b, s:o}", "schema", 1, "stepscope", SS_VERSION, "holds",
                             fails == 0, "claims", list);
    int failed = root == NULL ? -1 : json_dumpf(root, ss_stdout_data(), JSON_INDENT(1));
    fputc('\n', ss_stdout_data());
    json_decref(root);
    return failed;
}

/* That the self-test has passed here, which lets reports show what counters measure. */
static void put_mark(const struct ss_gpu_recorded *recorded, bool is_json)
{
    static const char before[] = "API version ";
    const char *version = strstr(recorded->collector, before);
    struct ss_gpu_mark mark = {.device = recorded->device, .proc_root = "/proc"};
    struct ss_error err = {0};
    if (version == NULL || recorded->device[0] == '\0') {
        return;
    }
    mark.cupti = strtoul(version + sizeof before - 1, NULL, 10);
    if (ss_gpu_mark_put(&mark, &err) != SS_OK) {
        ss_log(SS_WARN, "doctor", "reports will not show hardware counters: %s", err.message);
    } else if (!is_json) {
        fputs("Reports of recordings from here show hardware counters.\n", ss_stdout());
    }
}

static int judge(const struct ss_arguments *arguments, const struct ss_gpu_facts *facts,
                 bool is_json)
{
    struct ss_gpu_claim *claims = ss_alloc_zero(SS_GPU_MOST_CLAIMS, sizeof *claims);
    size_t count = ss_gpu_claims(facts, claims), fails = 0;
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        fails += claims[i].state == SS_GPU_FAILS;
    }
    if (!is_json) {
        show_text(claims, count, fails);
    } else if (show_json(claims, count, fails) != 0) {
        struct ss_error err;
        ss_fail(&err, SS_E_IO, "the claims could not be written");
        status = ss_cli_error(arguments, &err);
    }
    if (status == 0 && fails == 0) {
        put_mark(&facts->recorded, is_json);
    }
    if (status == 0 && fails > 0) {
        status =
            ss_status_exit_code(claims[0].state == SS_GPU_FAILS ? SS_E_UNSUPPORTED : SS_E_CHECK);
    }
    ss_free(claims);
    return status;
}

int ss_doctor_gpu(const struct ss_arguments *arguments, bool is_json)
{
    struct ss_gpu_facts *facts = ss_alloc_zero(1, sizeof *facts);
    struct ss_strbuf folder;
    struct ss_error err = {0};
    ss_strbuf_init(&folder, MOST_FOLDER_BYTES);
    enum ss_status status = ss_gpu_folder_make(&folder, &err);
    if (status == SS_OK) {
        status = collect(folder.data, facts, &err);
        ss_gpu_folder_remove(folder.data);
    }
    int exit_code =
        status == SS_OK ? judge(arguments, facts, is_json) : ss_cli_error(arguments, &err);
    ss_gpu_recorded_fini(&facts->recorded);
    ss_gpu_recorded_fini(&facts->one_buffer);
    ss_strbuf_fini(&folder);
    ss_free(facts);
    return exit_code;
}
