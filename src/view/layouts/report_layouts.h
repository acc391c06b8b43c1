/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layouts of tables for people, by table name: which columns are shown, in which order and
 * words. Shared by the views: a layout fills a table of texts, which a view aligns or marks up.
 */
#ifndef SS_VIEW_LAYOUTS_REPORT_LAYOUTS_H
#define SS_VIEW_LAYOUTS_REPORT_LAYOUTS_H

#include "view/layouts/report_tables.h"

struct ss_report_layout {
    const char *table; /* its name; NULL: all others, laid out by the types and units of columns */
    ss_report_fill *fill;
    ss_report_print *print; /* instead of `fill` */
    bool has_own_title;
};

const struct ss_report_layout *ss_report_layout_of(const struct ss_table *table);

#endif
