/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_operators.h"

#include <string.h>

#include "analysis/memories.h"
#include "analysis/modules.h"

/* Our own words, then those of torch.profiler's table(sort_by=…). */
static const struct {
    const char *word;
    enum ss_operator_sort sort;
} sorts[] = {{"self", SS_OPERATORS_BY_SELF},
             {"total", SS_OPERATORS_BY_TOTAL},
             {"mean", SS_OPERATORS_BY_MEAN},
             {"calls", SS_OPERATORS_BY_CALLS},
             {"min", SS_OPERATORS_BY_MIN},
             {"p50", SS_OPERATORS_BY_P50},
             {"p95", SS_OPERATORS_BY_P95},
             {"max", SS_OPERATORS_BY_MAX},
             {"step", SS_OPERATORS_BY_STEP},
             {"backward", SS_OPERATORS_BY_BACKWARD},
             {"name", SS_OPERATORS_BY_NAME},
             {"self_cpu_time_total", SS_OPERATORS_BY_SELF},
             {"cpu_time_total", SS_OPERATORS_BY_TOTAL},
             {"cpu_time", SS_OPERATORS_BY_MEAN},
             {"count", SS_OPERATORS_BY_CALLS},
             {"key", SS_OPERATORS_BY_NAME},
             {"self_cpu_memory_usage", SS_OPERATORS_BY_CPU_BYTES},
             {"self_cuda_memory_usage", SS_OPERATORS_BY_DEVICE_BYTES},
             {"flops", SS_OPERATORS_BY_FLOPS}};
enum { SORT_COUNT = sizeof sorts / sizeof *sorts };

static bool parse_sort(const struct ss_arguments *arguments, struct ss_report_operators *request)
{
    const char *words[SORT_COUNT + 1] = {NULL};
    int index;
    for (size_t i = 0; i < SORT_COUNT; i++) {
        words[i] = sorts[i].word;
    }
    if (!ss_arguments_get_choice(arguments, "sort", words, -1, &index)) {
        return false;
    }
    /* What the first column shows. */
    enum ss_operator_sort usual =
        request->key_averages ? SS_OPERATORS_BY_SELF : SS_OPERATORS_BY_STEP;
    request->options.sort = index < 0 ? usual : sorts[index].sort;
    return true;
}

static unsigned grouping_bit(const char *word, size_t length)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {{"process", SS_CALLS_BY_PROCESS},
                 {"thread", SS_CALLS_BY_THREAD},
                 {"phase", SS_CALLS_BY_PHASE},
                 {"shapes", SS_CALLS_BY_SHAPES},
                 {"name", 0x80}}; /* always */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0) {
            return words[i].bit;
        }
    }
    return 0;
}

/* "process,phase": the words' bits. */
static bool parse_grouping(const struct ss_arguments *arguments,
                           struct ss_report_operators *request)
{
    const char *at = ss_arguments_get(arguments, "group");
    while (at != NULL) {
        const char *comma = strchr(at, ',');
        size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        unsigned bit = grouping_bit(at, length);
        if (bit == 0) {
            ss_cli_usage(arguments,
                         "--group of --by %s takes name, process, thread and phase, with commas "
                         "between them, not \"%.*s\"",
                         request->by_module ? "module" : "op", (int)length, at);
            return false;
        }
        request->options.grouping |= bit & 0x7f;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

bool ss_report_operators_parse(const struct ss_arguments *arguments, bool by_module,
                               struct ss_report_operators *request)
{
    static const char *const columns[] = {"own", "key_averages", NULL};
    int chosen;
    *request = (struct ss_report_operators){.by_module = by_module};
    if (!ss_arguments_get_choice(arguments, "columns", columns, 0, &chosen)) {
        return false;
    }
    request->key_averages = chosen == 1;
    if (!parse_sort(arguments, request) || !parse_grouping(arguments, request)) {
        return false;
    }
    if (by_module && request->key_averages) {
        ss_cli_usage(arguments, "--columns belongs to --by op");
        return false;
    }
    if (request->key_averages && (request->options.grouping & ~(unsigned)SS_CALLS_BY_SHAPES) != 0) {
        ss_cli_usage(arguments,
                     "--columns key_averages has one row for each name, or for each name "
                     "and shapes; --group by others needs columns of its own");
        return false;
    }
    if (!request->key_averages && (request->options.grouping & SS_CALLS_BY_SHAPES) != 0) {
        ss_cli_usage(arguments, "--group shapes belongs to --columns key_averages");
        return false;
    }
    return true;
}

const char *const *ss_report_operators_tracks(const struct ss_report_operators *request)
{
    static const char *const operators[] = {"torch", "operators recorded", NULL};
    static const char *const modules[] = {"torch", "torch.module", "operators recorded", NULL};
    static const char *const with_memory[] = {"torch", "torch.profiler", "operators recorded",
                                              SS_MEMORY_TRACKS, NULL};
    return request->by_module ? modules : request->key_averages ? with_memory : operators;
}

size_t ss_report_memory_tables(const struct ss_selection *selection,
                               const struct ss_step_summary *training, struct ss_table *tables)
{
    struct ss_memories memories;
    ss_memories_init(&memories, selection, training);
    ss_memory_table(&memories, selection, training, &tables[0]);
    ss_memory_phases_table(&memories, NULL, selection, training, &tables[1]);
    ss_memories_fini(&memories);
    return tables[1].row_count > 0 ? 2 : tables[0].row_count > 0;
}

size_t ss_report_operators_tables(const struct ss_report_operators *request,
                                  const struct ss_selection *selection,
                                  const struct ss_step_summary *training, struct ss_table *tables)
{
    if (request->by_module) {
        ss_modules_table(selection, training, &request->options, &tables[0]);
        return 1;
    }
    if (!request->key_averages) {
        ss_operators_table(selection, training, &request->options, &tables[0]);
        return 1;
    }
    ss_key_averages_table(selection, training, &request->options, &tables[0]);
    return 1 + ss_report_memory_tables(selection, training, &tables[1]);
}

size_t ss_report_operators_overview(const struct ss_selection *selection,
                                    const struct ss_step_summary *training, struct ss_table *tables)
{
    enum { TOP_OPERATORS = 8, TOP_MODULES = 5 };
    static const struct ss_operators_options operators = {.sort = SS_OPERATORS_BY_STEP,
                                                          .max_rows = TOP_OPERATORS};
    static const struct ss_operators_options modules = {.sort = SS_OPERATORS_BY_STEP,
                                                        .max_rows = TOP_MODULES};
    size_t count = 0;
    if (ss_model_has_domain(selection->model, "torch")) {
        ss_operators_table(selection, training, &operators, &tables[count++]);
    }
    if (ss_model_has_domain(selection->model, "torch.module")) {
        ss_modules_table(selection, training, &modules, &tables[count++]);
    }
    return count;
}
