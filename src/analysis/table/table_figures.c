/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/table_figures.h"

#include "base/shared_names.h"

void ss_table_put_figures(const struct ss_table *table, struct ss_figure *object)
{
    ss_figure_put_count(object, "shown_samples", table->shown_samples);
    ss_figure_put_count(object, "dropped_samples", table->dropped_samples);
    ss_figure_put_count(object, "outside_samples", table->outside_samples);
    if (table->comparison.keys > 0) {
        const char *per = table->comparison.per;
        ss_figure_put_text(object, "measure", table->comparison.measure);
        ss_figure_put_text(object, "per", per != NULL ? per : "");
    }
    if (table->sample_step_ns > 0) {
        ss_figure_put_real(object, "sample_step_ns", table->sample_step_ns);
    }
    if (table->steps > 0) {
        ss_figure_put_count(object, "steps", table->steps);
        ss_figure_put_count(object, "steps_recorded", table->steps_recorded);
        if (table->steps_summed > 0) {
            ss_figure_put_count(object, "steps_summed", table->steps_summed);
        }
        ss_figure_put_boolean(object, "steps_drawn", table->is_downsampled);
        if (table->profiler_reason != NULL) {
            ss_figure_put_text(object, "seen_by", ss_domain_torch_profiler);
            ss_figure_put_text(object, "seen_because", table->profiler_reason);
        }
    }
    ss_figure_put_count(object, "hidden_rows", table->hidden_rows);
    ss_figure_put_count(object, "hidden_samples", table->hidden_samples);
}
