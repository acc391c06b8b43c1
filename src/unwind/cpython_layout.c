/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cpython_layout.h"

static const struct ss_cpython_layout tables[] = {
#include "unwind/cpython_3_10.inc"
#include "unwind/cpython_3_11.inc"
#include "unwind/cpython_3_12.inc"
#include "unwind/cpython_3_13.inc"
#include "unwind/cpython_3_14.inc"
#include "unwind/cpython_3_15.inc"
#include "unwind/cpython_3_8.inc"
#include "unwind/cpython_3_9.inc"
};

enum { TABLE_COUNT = sizeof tables / sizeof tables[0] };

const struct ss_cpython_layout *ss_cpython_layout_next(const struct ss_cpython_layout *previous,
                                                       uint16_t version)
{
    const struct ss_cpython_layout *table = previous == NULL ? tables : previous + 1;
    for (; table < tables + TABLE_COUNT; table++) {
        if (version == 0 || table->version == version) {
            return table;
        }
    }
    return NULL;
}

const struct ss_cpython_layout *ss_cpython_layout_get(uint16_t version, bool is_debug,
                                                      bool is_free_threaded)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (tables[i].version == version && tables[i].is_debug == is_debug &&
            tables[i].is_free_threaded == is_free_threaded) {
            return &tables[i];
        }
    }
    return NULL;
}
