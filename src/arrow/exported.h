/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finished columns as structs of the Arrow C data interface. An exported array shares the buffers
 * and has a reference to the columns, which its release gives back: it stays valid after all else
 * is gone. Every struct, children and dictionaries included, may be moved and released alone, on
 * any thread, as the specification demands. Columns become the children of a struct array; a unit
 * is the metadata "unit" of its column, the name of the table the metadata "table" of the struct.
 */
#ifndef SS_ARROW_EXPORTED_H
#define SS_ARROW_EXPORTED_H

#include "arrow/abi.h"
#include "arrow/columns.h"

void ss_arrow_export_schema(const struct ss_columns *columns, struct ArrowSchema *out);
void ss_arrow_export_array(struct ss_columns *columns, struct ArrowArray *out);
/* A stream of one array. */
void ss_arrow_export_stream(struct ss_columns *columns, struct ArrowArrayStream *out);

#endif
