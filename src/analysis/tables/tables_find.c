/* SPDX-License-Identifier: Apache-2.0 */
/* Finds rows of the registry of tables, and says what to load for them. */
#include <string.h>

#include "analysis/tables/tables.h"

/* Operators take about 100 bytes each: above this limit, only those of randomly drawn steps are
 * loaded. */
enum { MOST_OPERATORS = 1 << 23 };

const struct ss_table_kind *ss_table_kind_find(const char *id, const char *columns)
{
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        bool has_columns =
            columns == NULL || (kind->columns != NULL && strcmp(kind->columns, columns) == 0);
        if (strcmp(kind->id, id) == 0 && has_columns) {
            return kind;
        }
    }
    return NULL;
}

const struct ss_table_kind *ss_table_kind_of_alias(const char *alias)
{
    size_t length = strlen(alias);
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        for (const char *at = kind->aliases; at != NULL && *at != '\0';) {
            size_t word = strcspn(at, " ");
            if (word == length && memcmp(at, alias, length) == 0) {
                return kind;
            }
            at += word + strspn(at + word, " ");
        }
    }
    return NULL;
}

void ss_table_kind_load(const struct ss_table_kind *kind, const struct ss_table_options *options,
                        struct ss_model_load *load)
{
    bool of_steps = (kind->needs & SS_NEEDS_STEPS) != 0;
    load->no_tracks = (kind->needs & SS_NEEDS_TRACKS) == 0;
    load->only_tracks = kind->tracks;
    load->only_quantities = kind->quantities;
    load->sample_phases = of_steps;
    load->max_operators = of_steps ? MOST_OPERATORS : 0;
    load->sample_ranges = (kind->needs & SS_NEEDS_SAMPLE_RANGES) != 0;
    load->keep_lines = (kind->needs & SS_NEEDS_LINES) != 0 && !options->leaf.aggregate;
}
