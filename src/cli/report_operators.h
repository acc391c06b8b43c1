/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `report --by op` and `--by module`, and their tables. Main thread only. */
#ifndef SS_CLI_REPORT_OPERATORS_H
#define SS_CLI_REPORT_OPERATORS_H

#include "analysis/operators.h"
#include "cli/command.h"

struct ss_report_operators {
    bool by_module;
    bool key_averages; /* the columns of torch.profiler's table */
    struct ss_operators_options options;
};

enum { SS_REPORT_OVERVIEW_TABLES = 2 }; /* at most, of either of the two below */

/* --sort, --group, --columns; false: a usage error was printed. */
bool ss_report_operators_parse(const struct ss_arguments *arguments, bool by_module,
                               struct ss_report_operators *request);
/* Names of the tracks that the tables need, for struct ss_model_load. */
const char *const *ss_report_operators_tracks(const struct ss_report_operators *request);
/* Returns how many. */
size_t ss_report_operators_tables(const struct ss_report_operators *request,
                                  const struct ss_selection *selection,
                                  const struct ss_step_summary *training, struct ss_table *tables);
/* What processes held, and by phase: none where it was not recorded. Returns how many. */
size_t ss_report_memory_tables(const struct ss_selection *selection,
                               const struct ss_step_summary *training, struct ss_table *tables);
/* Those of the first look: none where no operators or modules were recorded. Returns how many. */
size_t ss_report_operators_overview(const struct ss_selection *selection,
                                    const struct ss_step_summary *training,
                                    struct ss_table *tables);

#endif
