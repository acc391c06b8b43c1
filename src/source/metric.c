/* SPDX-License-Identifier: Apache-2.0 */
#include "source/metric.h"

#include <math.h>

#include "platform/counter_step.h"

/* A constant value is repeated after this time, so that each part of a recording contains every
 * series. */
static const uint64_t repeat_ns = UINT64_C(10000000000);
static const double max_value = 9e18; /* bound for values in signed 64 bits */

static uint32_t group_ref(struct ss_metric_group *group)
{
    if (group->ref == 0) {
        uint32_t parent = group->parent != NULL ? group_ref(group->parent) : 0;
        group->ref = group->sink->group(group->sink->context, group->owner, parent, group->subject,
                                        group->name);
    }
    return group->ref;
}

static double rounded(double value, int decimals)
{
    double scale = decimals == 0 ? 1 : decimals == 1 ? 10 : 100;
    return round(value * scale) / scale;
}

static void write_point(const struct ss_metric_group *group, const struct ss_metric_row *row,
                        struct ss_metric *metric, uint64_t time_ns, double value)
{
    const struct ss_metric_sink *sink = group->sink;
    if (row->decimals == 0) {
        sink->integer(sink->context, metric->ref, time_ns, (int64_t)value);
    } else {
        sink->real(sink->context, metric->ref, time_ns, value);
    }
    metric->last = value;
    metric->written_ns = time_ns;
}

static void make_series(struct ss_metric_group *group, const struct ss_metric_row *row,
                        struct ss_metric *metric)
{
    uint32_t parent = group_ref(group);
    metric->ref =
        group->sink->series(group->sink->context, group->owner, parent, row->name, row->unit);
    if (metric->quiet) {
        write_point(group, row, metric, metric->written_ns, 0);
        metric->quiet = false;
    }
}

void ss_metric_put(struct ss_metric_group *group, const struct ss_metric_row *row,
                   struct ss_metric *metric, uint64_t time_ns, double value)
{
    if (!(fabs(value) < max_value)) {
        return; /* NaN, or out of range */
    }
    value = rounded(value, row->decimals);
    if (metric->ref == 0 && value == 0 && !row->always) {
        metric->written_ns = metric->quiet ? metric->written_ns : time_ns;
        metric->quiet = true;
        return;
    }
    bool fresh = metric->ref == 0;
    if (fresh) {
        make_series(group, row, metric);
        fresh = metric->written_ns == 0;
    }
    if (fresh || value != metric->last || time_ns - metric->written_ns >= repeat_ns) {
        write_point(group, row, metric, time_ns, value);
    }
}

void ss_metric_end(struct ss_metric_group *group, const struct ss_metric_row *rows,
                   struct ss_metric *metrics, size_t count, uint64_t time_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (metrics[i].ref != 0 && metrics[i].last != 0) {
            write_point(group, &rows[i], &metrics[i], time_ns, 0);
        }
    }
}

void ss_metric_close(struct ss_metric_group *group, const struct ss_metric_row *rows,
                     struct ss_metric *metrics, size_t count, uint64_t time_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (metrics[i].ref != 0 && metrics[i].written_ns < time_ns) {
            write_point(group, &rows[i], &metrics[i], time_ns, metrics[i].last);
        }
    }
}

bool ss_metric_rate(struct ss_metric_counter *counter, uint64_t value, uint64_t time_ns,
                    double *per_second)
{
    uint64_t step = 0;
    bool known = counter->known && time_ns > counter->time_ns &&
                 ss_counter_step(counter->value, value, &step);
    if (known) {
        *per_second = (double)step * 1e9 / (double)(time_ns - counter->time_ns);
    }
    *counter = (struct ss_metric_counter){true, value, time_ns};
    return known;
}

void ss_metric_put_rate(struct ss_metric_group *group, const struct ss_metric_row *row,
                        struct ss_metric *metric, struct ss_metric_counter *counter, uint64_t value,
                        uint64_t time_ns, double factor)
{
    uint64_t since_ns = counter->time_ns;
    double rate;
    if (ss_metric_rate(counter, value, time_ns, &rate)) {
        rate *= factor;
        ss_metric_put(group, row, metric, since_ns,
                      row->most > 0 && rate > row->most ? row->most : rate);
    }
}
