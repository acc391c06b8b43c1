/* SPDX-License-Identifier: Apache-2.0 */
/* What two tables are compared by: keys, and measures with their scales. */
#include <string.h>

#include "analysis/diff/compare_tables_inside.h"

/* --- columns ---------------------------------------------------------------------------------- */

bool ss_comparison_has_unit(const struct ss_column *column, const char *unit)
{
    return column->unit != NULL && strcmp(column->unit, unit) == 0;
}

static bool is_key(const struct ss_column *column)
{
    return column->comparison == SS_COMPARES_KEY || column->comparison == SS_COMPARES_LINE ||
           column->comparison == SS_COMPARES_LABEL;
}

static bool is_measured(const struct ss_column *column, bool per_step)
{
    switch (column->comparison) {
    case SS_COMPARES_SUM:
    case SS_COMPARES_LEVEL:
        return true;
    case SS_COMPARES_RUN_SUM:
        return !per_step;
    case SS_COMPARES_STEP:
        return per_step;
    case SS_COMPARES_NOT:
    case SS_COMPARES_KEY:
    case SS_COMPARES_LINE:
    case SS_COMPARES_FIRST_LINE:
    case SS_COMPARES_LABEL:
    case SS_COMPARES_STEP_KIND:
        break;
    }
    return false;
}

static bool is_sum(const struct ss_column *column)
{
    return column->comparison == SS_COMPARES_SUM || column->comparison == SS_COMPARES_RUN_SUM;
}

static void set_scales(const struct ss_table_comparison *comparison,
                       struct ss_compared_measure *measure)
{
    const struct ss_column *column = &comparison->columns[measure->column];
    bool of_samples = ss_comparison_has_unit(column, "samples");
    for (int side = 0; side < SS_SIDES; side++) {
        const struct ss_compared_table *compared = &comparison->sides[side];
        double shown = (double)compared->table->shown_samples;
        double scale = is_sum(column) ? 1 / compared->divisor : 1;
        if (of_samples) {
            scale = !comparison->shares ? scale * compared->sample_ns : shown > 0 ? 100 / shown : 0;
        }
        bool in_points = measure->error != SIZE_MAX &&
                         ss_comparison_has_unit(&comparison->columns[measure->error], "points");
        measure->scale[side] = scale;
        measure->error_scale[side] = in_points ? scale * shown / 100 : scale;
        measure->error_of_none[side] = of_samples ? ss_compared_z * ss_compared_z * scale : 0;
    }
}

static size_t column_of(const struct ss_table_comparison *comparison, const char *key)
{
    for (size_t i = 0; key != NULL && i < comparison->column_count; i++) {
        if (strcmp(comparison->columns[i].key, key) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void add_measure(struct ss_table_comparison *comparison, size_t column)
{
    if (comparison->measure_count < SS_COMPARED_MOST_MEASURES) {
        struct ss_compared_measure *measure = &comparison->measures[comparison->measure_count++];
        *measure = (struct ss_compared_measure){
            .column = column,
            .error = column_of(comparison, comparison->columns[column].error_key),
            .is_mean = comparison->columns[column].comparison == SS_COMPARES_LEVEL};
        set_scales(comparison, measure);
    }
}

/* The leading column first. */
static void find_measures(struct ss_table_comparison *comparison)
{
    bool per_step = comparison->options->per_step;
    size_t count = comparison->column_count, leading = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (is_measured(&comparison->columns[i], per_step) &&
            (leading == SIZE_MAX ||
             (comparison->columns[i].leads && !comparison->columns[leading].leads))) {
            leading = i;
        }
    }
    if (leading == SIZE_MAX) {
        return;
    }
    add_measure(comparison, leading);
    for (size_t i = 0; i < count; i++) {
        if (i != leading && is_measured(&comparison->columns[i], per_step)) {
            add_measure(comparison, i);
        }
    }
}

static void find_keys(struct ss_table_comparison *comparison)
{
    comparison->first_line = comparison->step_kind = SIZE_MAX;
    for (size_t i = 0; i < comparison->column_count; i++) {
        if (is_key(&comparison->columns[i]) && comparison->key_count < SS_COMPARED_MOST_KEYS) {
            comparison->keys[comparison->key_count++] = i;
        } else if (comparison->columns[i].comparison == SS_COMPARES_FIRST_LINE) {
            comparison->first_line = i;
        } else if (comparison->columns[i].comparison == SS_COMPARES_STEP_KIND) {
            comparison->step_kind = i;
        }
    }
}

void ss_comparison_find_columns(struct ss_table_comparison *comparison)
{
    find_keys(comparison);
    find_measures(comparison);
}

const char *ss_comparison_unit(const struct ss_table_comparison *comparison,
                               const struct ss_compared_measure *measure)
{
    const char *unit = comparison->columns[measure->column].unit;
    bool of_samples = ss_comparison_has_unit(&comparison->columns[measure->column], "samples");
    return !of_samples ? unit : comparison->shares ? "percent" : "ns";
}
