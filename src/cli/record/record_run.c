/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_run.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/terminal.h"
#include "record/run/ranks.h"

/* How long the rank that prints the summary waits for ranks that still record. */
static const double patience_s = 10;

static const char ending[] = ".stepscope";

/* "3" or "3/8". */
static bool parse_rank(const struct ss_arguments *arguments)
{
    const char *text = ss_arguments_get(arguments, "rank");
    unsigned rank, size = 0;
    int end = 0;
    if (text == NULL) {
        return true;
    }
    bool is_good = sscanf(text, "%9u%n/%9u%n", &rank, &end, &size, &end) >= 1 &&
                   text[end] == '\0' && text[0] >= '0' && text[0] <= '9' &&
                   (strchr(text, '/') == NULL || size > rank);
    if (!is_good) {
        ss_cli_usage(arguments,
                     "--rank takes a rank, or a rank and the number of ranks, such as 3/8, not "
                     "\"%s\"",
                     text);
        return false;
    }
    ss_rank_set_own(rank, size);
    return true;
}

bool ss_record_run_parse(const struct ss_arguments *arguments, struct ss_record_run *run)
{
    struct ss_error err = {0};
    const char *ranks = ss_arguments_get(arguments, "ranks");
    long long most;
    run->ranks = ranks != NULL ? ranks : "";
    if (!parse_rank(arguments) ||
        !ss_arguments_get_integer(arguments, "max-ranks", 0, 0x7fffffff, 0, &most)) {
        return false;
    }
    if (ss_rank_selection_parse(run->ranks, &run->selection, &err) != SS_OK) {
        ss_cli_usage(arguments, "--ranks: %s", err.message);
        return false;
    }
    run->selection.most = (uint32_t)most;
    ss_rank_find(0, &run->facts);
    return true;
}

bool ss_record_run_is_selected(const struct ss_record_run *run)
{
    bool selects = run->selection.count > 0 || run->selection.most > 0;
    if (selects && !run->facts.has[SS_RANK]) {
        ss_log(SS_WARN, "record",
               "no launcher has given this process a rank: it is recorded; --rank names its rank");
        return true;
    }
    return ss_rank_selection_has(&run->selection, &run->facts);
}

bool ss_record_run_is_many(const struct ss_record_run *run)
{
    return ss_rank_is_of_many(&run->facts);
}

static size_t length_without_slashes(const char *name)
{
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/') {
        length--;
    }
    return length;
}

bool ss_record_run_is_folder(const char *name)
{
    size_t length = length_without_slashes(name), at = length - (sizeof ending - 1);
    return length > sizeof ending - 1 && name[at - 1] != '/' &&
           memcmp(name + at, ending, sizeof ending - 1) == 0;
}

enum ss_status ss_record_run_create(struct ss_record_run *run, const char *name,
                                    char *const *program, struct ss_error *err)
{
    char *folder = ss_strndup(name, length_without_slashes(name));
    ss_run_folder_init(&run->folder, folder, program, &run->facts, run->ranks, &run->selection);
    ss_free(folder);
    return ss_run_folder_create(&run->folder, err);
}

enum ss_status ss_record_run_finish(const struct ss_record_run *run,
                                    const struct ss_record_result *result, struct ss_error *err)
{
    return ss_run_folder_finish(&run->folder, result, err);
}

bool ss_record_run_is_first(const struct ss_record_run *run)
{
    return !run->facts.has[SS_RANK] || ss_rank_selection_is_first(&run->selection, &run->facts);
}

static void print_missing(const struct ss_run_summary *summary, bool is_of_nodes)
{
    if (summary->missing_count > 0) {
        fprintf(ss_stderr(),
                "stepscope: no word of %s %s: still running, killed, or never started\n",
                is_of_nodes ? "the recorders" : "the ranks", summary->missing);
    }
    if (summary->failed_count > 0) {
        fprintf(ss_stderr(), "stepscope: ended with an error: %s %s\n",
                is_of_nodes ? "the program of recorder" : "rank", summary->failed);
    }
}

void ss_record_run_print_summary(const struct ss_record_run *run)
{
    struct ss_run_summary summary;
    bool is_of_nodes = run->folder.is_of_nodes;
    ss_run_folder_sum(&run->folder, NULL, patience_s, &summary);
    uint32_t expected = summary.expected > 0 ? summary.expected : summary.finished;
    fprintf(ss_stderr(), "stepscope: wrote %s: %u of %u %s", run->folder.folder, summary.finished,
            expected, is_of_nodes ? "recorders" : "ranks");
    if (!is_of_nodes && summary.world_size > expected) {
        fprintf(ss_stderr(), " (selected from %u)", summary.world_size);
    }
    fprintf(ss_stderr(),
            " on %u node%s, %llu samples in %.1f s, %.1f MB, lost %llu, partial %llu, late %llu\n",
            summary.hosts, summary.hosts == 1 ? "" : "s", (unsigned long long)summary.samples,
            summary.seconds, (double)summary.bytes / 1e6, (unsigned long long)summary.lost,
            (unsigned long long)summary.partial, (unsigned long long)summary.late);
    print_missing(&summary, is_of_nodes);
}
