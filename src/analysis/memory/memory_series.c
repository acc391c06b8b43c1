/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/memory_series.h"

#include <math.h>
#include <string.h>

double ss_memory_bytes(const struct ss_model_value *value)
{
    double bytes = ss_model_real(value);
    return bytes >= 0 && bytes < (double)INT64_MAX ? bytes : (double)NAN;
}

double ss_memory_value_in(struct ss_memory_series *series, uint64_t from_ns, uint64_t to_ns)
{
    while (series->at < series->end && series->values[series->at].time_ns <= to_ns) {
        series->at++;
    }
    const struct ss_model_value *last = series->at > 0 ? &series->values[series->at - 1] : NULL;
    return last != NULL && last->time_ns > from_ns ? ss_memory_bytes(last) : (double)NAN;
}

double ss_memory_largest_in(struct ss_memory_series *series, uint64_t from_ns, uint64_t to_ns)
{
    double largest = 0;
    while (series->at < series->end && series->values[series->at].time_ns < from_ns) {
        series->at++;
    }
    for (size_t i = series->at; i < series->end && series->values[i].time_ns <= to_ns; i++) {
        largest = fmax(largest, ss_memory_bytes(&series->values[i]));
    }
    return largest;
}

double ss_memory_largest(const struct ss_memory_series *series)
{
    double largest = 0;
    for (size_t i = 0; i < series->end; i++) {
        largest = fmax(largest, ss_memory_bytes(&series->values[i]));
    }
    return largest;
}

size_t ss_memory_series_end(const struct ss_model *model, size_t first)
{
    uint32_t track = model->values.data[first].track;
    size_t end = first;
    while (end < model->values.count && model->values.data[end].track == track) {
        end++;
    }
    return end;
}

static const char *group_of(const struct ss_model *model, const struct ss_model_track *track)
{
    return ss_model_text(model, model->tracks.data[track->parent].name);
}

struct ss_memory_series ss_memory_series_find(const struct ss_model *model, uint32_t process,
                                              const char *group, const char *name)
{
    for (size_t first = 0, end; first < model->values.count; first = end) {
        const struct ss_model_track *track = &model->tracks.data[model->values.data[first].track];
        end = ss_memory_series_end(model, first);
        if (track->process == process && strcmp(ss_model_text(model, track->name), name) == 0 &&
            strcmp(group_of(model, track), group) == 0) {
            return (struct ss_memory_series){&model->values.data[first], 0, end - first};
        }
    }
    return (struct ss_memory_series){0};
}

double ss_memory_last(const struct ss_memory_series *series)
{
    double last = series->end > 0 ? ss_memory_bytes(&series->values[series->end - 1]) : 0;
    return last > 0 ? last : 0;
}
