/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of tables in the text report, by table name. */
#ifndef SS_VIEW_REPORT_LAYOUTS_H
#define SS_VIEW_REPORT_LAYOUTS_H

#include "view/report_tables.h"

struct ss_report_layout {
    const char *table; /* its name; NULL: all others, laid out by the types and units of columns */
    ss_report_print *print;
    bool has_own_title;
};

const struct ss_report_layout *ss_report_layout_of(const struct ss_table *table);

#endif
