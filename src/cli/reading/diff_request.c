/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/diff_request.h"

#include <string.h>

#include "analysis/tables/overview.h"
#include "analysis/tables/tables.h"

enum { MOST_IDS = 64 };

/* The ids of the tables that can be compared, each once, ended by NULL. */
static void list_ids(const char *ids[MOST_IDS])
{
    size_t count = 0;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        bool is_first = ss_table_kind_find(kind->id, NULL) == kind;
        if (is_first && !kind->is_not_compared && count + 1 < MOST_IDS) {
            ids[count++] = kind->id;
        }
    }
    ids[count] = NULL;
}

const char *ss_diff_table_choice(size_t index, const char **meaning)
{
    const char *ids[MOST_IDS];
    list_ids(ids);
    *meaning = ids[index] != NULL ? ss_table_kind_find(ids[index], NULL)->summary : NULL;
    return ids[index];
}

static bool parse_kind(const struct ss_arguments *arguments, struct ss_diff_request *request)
{
    const char *ids[MOST_IDS];
    int id;
    list_ids(ids);
    if (!ss_arguments_get_choice(arguments, "by", ids, -1, &id)) {
        return false;
    }
    request->report.kind = id < 0 ? &ss_overview : ss_table_kind_find(ids[id], NULL);
    return true;
}

static bool parse_threshold(const struct ss_arguments *arguments, struct ss_diff_options *diff)
{
    diff->has_threshold = ss_arguments_has(arguments, "threshold");
    return ss_arguments_get_number(arguments, "threshold", 0, 1e6, 0, &diff->threshold_percent);
}

/* The ranks of one recording, or two recordings. */
static bool parse_inputs(const struct ss_arguments *arguments, struct ss_diff_options *diff)
{
    const char *against = ss_arguments_get(arguments, "against");
    if (against != NULL) {
        const char *ranks = ss_arguments_get(arguments, "rank");
        if (ranks == NULL || arguments->positional_count != 1) {
            ss_cli_usage(arguments, "--against compares ranks of one recording: diff RECORDING "
                                    "--rank 3 --against 0-2");
            return false;
        }
        diff->ranks[SS_SIDE_A] = against;
        diff->ranks[SS_SIDE_B] = ranks;
        diff->inputs[SS_SIDE_A] = diff->inputs[SS_SIDE_B] = arguments->positional[0];
        return true;
    }
    if (arguments->positional_count != 2) {
        ss_cli_usage(arguments, "diff takes two recordings, A and B, not %d",
                     arguments->positional_count);
    }
    diff->inputs[SS_SIDE_A] = arguments->positional_count == 2 ? arguments->positional[0] : NULL;
    diff->inputs[SS_SIDE_B] = arguments->positional_count == 2 ? arguments->positional[1] : NULL;
    return arguments->positional_count == 2;
}

void ss_diff_request_set_kind(struct ss_diff_request *request, const struct ss_table_kind *kind)
{
    struct ss_reading *reading = &request->report.reading;
    request->report.kind = request->diff.kind = kind;
    ss_diff_load(&request->diff, request->tracks, &reading->load);
    reading->selection.frameless = reading->load.sample_ranges;
}

bool ss_diff_request_parse(const struct ss_arguments *arguments, struct ss_diff_request *request)
{
    struct ss_report_request *report = &request->report;
    *request = (struct ss_diff_request){0};
    if (!parse_inputs(arguments, &request->diff) ||
        !ss_report_request_parse_output(arguments, report) || !parse_kind(arguments, request) ||
        !ss_report_request_parse_rows(arguments, report) ||
        !parse_threshold(arguments, &request->diff) ||
        !ss_reading_parse_filters(arguments, "to", report->kind->idle, &report->reading) ||
        !ss_report_request_check_filters(arguments, report->kind)) {
        return false;
    }
    const struct ss_model_load *load = &report->reading.load;
    bool is_page = report->view->has_pictures; /* has room for more rows */
    request->diff.has_rows = is_page || ss_arguments_has(arguments, "num-rows");
    request->diff.max_rows = report->table.max_rows;
    request->diff.full_paths = ss_arguments_has(arguments, "full-filenames");
    request->diff.is_single = report->view->is_single_table;
    request->diff.steps = (struct ss_steps_options){
        .has_numbers = load->has_steps, .first = load->first_step, .last = load->last_step};
    ss_diff_request_set_kind(request, report->kind);
    return true;
}
