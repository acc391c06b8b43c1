/* SPDX-License-Identifier: Apache-2.0 */
#include "view/report.h"

#include <stddef.h>

const struct ss_report_view ss_report_views[] = {
    {"text", ".txt", ss_report_text},
    {"csv", ".csv", ss_report_csv},
    {"json", ".json", ss_report_json},
    {NULL, NULL, NULL},
};
