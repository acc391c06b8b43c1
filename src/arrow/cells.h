/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of analyses (analysis/table/table.h) as columns. Pure. */
#ifndef SS_ARROW_CELLS_H
#define SS_ARROW_CELLS_H

#include "analysis/table/table.h"
#include "arrow/columns.h"

/* The columns that programs get. Their types are those of their cells: text where any is text, else
 * real where any is real, else integer; a column without any value has the type NULL, which joins
 * with every other type. The caller owns one reference to the result, which is finished. */
struct ss_columns *ss_columns_of_table(const struct ss_table *table);

#endif
