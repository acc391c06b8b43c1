/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a counter of memory over time. Private to memories.c. Borrows the model. */
#ifndef SS_ANALYSIS_MEMORY_MEMORY_SERIES_H
#define SS_ANALYSIS_MEMORY_MEMORY_SERIES_H

#include "model/core/model.h"

/* The values of one counter track; `at` is a cursor into them. */
struct ss_memory_series {
    const struct ss_model_value *values;
    size_t at, end;
};

/* NAN where the value is not a valid number of bytes. */
double ss_memory_bytes(const struct ss_model_value *value);
/* The newest value in (from, to]; NAN: none. Times must not decrease between calls. */
double ss_memory_value_in(struct ss_memory_series *series, uint64_t from_ns, uint64_t to_ns);
/* The largest value in [from, to]; 0: none. Times must not decrease between calls. */
double ss_memory_largest_in(struct ss_memory_series *series, uint64_t from_ns, uint64_t to_ns);
double ss_memory_largest(const struct ss_memory_series *series);
/* The end of the track's values, which begin at `first`. */
size_t ss_memory_series_end(const struct ss_model *model, size_t first);
/* The process's counter with this name and group ("": no group); process 0: the host. */
struct ss_memory_series ss_memory_series_find(const struct ss_model *model, uint32_t process,
                                              const char *group, const char *name);
double ss_memory_last(const struct ss_memory_series *series);

#endif
