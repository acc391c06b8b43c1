/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/report.h"

#include "analysis/report/report.h"
#include "view/output/sentence_text.h"

const struct ss_report_view ss_report_views[] = {
#define SS_REPORT_VIEW(view, end, single, pictures, encodes, text)                                 \
    {.name = #view,                                                                                \
     .ending = end,                                                                                \
     .summary = text,                                                                              \
     .is_single_table = single,                                                                    \
     .has_pictures = pictures,                                                                     \
     .encodes_controls = encodes,                                                                  \
     .render = ss_report_##view},
#include "view/output/report_views.def"
#undef SS_REPORT_VIEW
    {.name = NULL}};

void ss_trust_problem_text(const struct ss_trust_problem *problem, struct ss_strbuf *out)
{
    struct ss_arena arena = {0};
    struct ss_sentence sentence = ss_sentence_of(&arena);
    ss_trust_problem_add(problem, &sentence);
    ss_sentence_append_raw(&sentence, out);
    ss_arena_fini(&arena);
}
