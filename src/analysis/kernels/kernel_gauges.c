/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/kernel_gauges.h"

#include <math.h>
#include <string.h>

#include "analysis/kernels/kernel_metrics.h"
#include "base/alloc.h"

static const struct row {
    enum ss_kernel_gauge gauge;
    const char *metric, *unit;
} rows[] = {
#define SS_KERNEL_GAUGE(gauge, metric, unit) {SS_GAUGE_##gauge, metric, unit},
#include "analysis/kernels/kernel_gauges.def"
};

enum { ROWS = sizeof rows / sizeof *rows };

static bool is_row(const struct row *row, struct ss_strview name, struct ss_strview unit)
{
    return ss_strview_equal(name, ss_strview_of(row->metric)) &&
           (row->unit[0] == '\0' || ss_strview_equal(unit, ss_strview_of(row->unit)));
}

void ss_gauge_reader_init(struct ss_gauge_reader *reader, const struct ss_model *model)
{
    _Static_assert(ROWS < UINT8_MAX, "numbers of rows fit");
    reader->model = model;
    reader->rows = ss_alloc_zero(model->metric_kinds.count + 1, sizeof *reader->rows);
    for (size_t i = 1; i < model->metric_kinds.count; i++) {
        const struct ss_model_metric_kind *kind = &model->metric_kinds.data[i];
        struct ss_strview name = ss_intern_get(&model->strings, kind->name);
        struct ss_strview unit = ss_intern_get(&model->strings, kind->unit);
        for (size_t r = 0; r < ROWS && reader->rows[i] == 0; r++) {
            reader->rows[i] = is_row(&rows[r], name, unit) ? (uint8_t)(r + 1) : 0;
        }
    }
}

void ss_gauge_reader_fini(struct ss_gauge_reader *reader)
{
    ss_free(reader->rows);
    reader->rows = NULL;
}

bool ss_gauges_read(const struct ss_gauge_reader *reader, const struct ss_model_range *range,
                    struct ss_gauges *gauges)
{
    const struct ss_model *model = reader->model;
    uint8_t from[SS_KERNEL_GAUGES] = {0}; /* the row that a gauge was read by */
    bool has_any = false;
    memset(gauges, 0, sizeof *gauges);
    size_t at = ss_kernel_first_metric(model, range->payload);
    for (; at < model->metrics.count && model->metrics.data[at].payload == range->payload; at++) {
        const struct ss_model_metric *metric = &model->metrics.data[at];
        uint8_t row = reader->rows[metric->kind];
        if (row == 0 || metric->is_text || !isfinite(metric->real) || metric->real < 0) {
            continue;
        }
        enum ss_kernel_gauge gauge = rows[row - 1].gauge;
        if (from[gauge] == 0 || row < from[gauge]) {
            from[gauge] = row;
            gauges->has[gauge] = has_any = true;
            gauges->value[gauge] = metric->real;
        }
    }
    return has_any;
}
