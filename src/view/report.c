/* SPDX-License-Identifier: Apache-2.0 */
#include "view/report.h"

#include "analysis/report.h"
#include "view/sentence_text.h"

const struct ss_report_view ss_report_views[] = {
    {.name = "text", .ending = ".txt", .summary = "for a terminal", .render = ss_report_text},
    {.name = "csv",
     .ending = ".csv",
     .summary = "one table, its figures unrounded",
     .is_single_table = true,
     .render = ss_report_csv},
    {.name = "json",
     .ending = ".json",
     .summary = "everything, with units, for programs",
     .encodes_controls = true,
     .render = ss_report_json},
    {.name = NULL},
};

void ss_trust_problem_text(const struct ss_trust_problem *problem, struct ss_strbuf *out)
{
    struct ss_arena arena = {0};
    struct ss_sentence sentence = ss_sentence_of(&arena);
    ss_trust_problem_add(problem, &sentence);
    ss_sentence_append_raw(&sentence, out);
    ss_arena_fini(&arena);
}
