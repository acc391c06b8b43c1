/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the text of `info`. Private to info_text*.c. */
#ifndef SS_CLI_INFO_INFO_TEXT_INSIDE_H
#define SS_CLI_INFO_INFO_TEXT_INSIDE_H

#include <stdint.h>

#include "base/strview.h"
#include "cli/info/info_views.h"

struct ss_info_style {
    const char *bold, *dim, *good, *bad, *off;
};

/* A printable copy; free with ss_free. */
struct ss_info_style ss_info_style_of(bool colour);
char *ss_info_text_clean(struct ss_strview view);
/* 1,234,567 */
const char *ss_info_text_grouped(uint64_t value, char text[32]);

/* The tables below the lines: sources, devices, counts, processes, threads, notes. */
void ss_info_text_print_tables(const struct ss_info_facts *facts,
                               const struct ss_info_text_options *options,
                               const struct ss_info_style *style);

#endif
