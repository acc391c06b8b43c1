/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a training grows, step by step. */
#include <stdlib.h>
#include <string.h>

#include "analysis/ranges.h"
#include "analysis/training_facts.h"
#include "base/alloc.h"

/* All pairs are looked at: of long series, points that lie as far from each other. */
enum { MOST_POINTS = 200, FEWEST_POINTS = 12 };

/* What is less is an allocator's noise. */
static const double least_bytes = 1 << 20, least_share = 0.05;

struct points {
    double bytes[MOST_POINTS];
    size_t count;
    double apart; /* steps between two */
};

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of the slopes between all pairs of points [first, end). */
static double slope_of(const struct points *points, size_t first, size_t end)
{
    struct ss_vec_of(double) slopes = {0};
    for (size_t i = first; i < end; i++) {
        for (size_t j = i + 1; j < end; j++) {
            ss_vec_push(&slopes,
                        (points->bytes[j] - points->bytes[i]) / ((double)(j - i) * points->apart));
        }
    }
    double median = 0;
    if (slopes.count > 0) {
        qsort(slopes.data, slopes.count, sizeof *slopes.data, compare);
        median = slopes.data[slopes.count / 2];
    }
    ss_vec_fini(&slopes);
    return median;
}

/* In each half of the time as well as over all of it: what is taken once is no growth. */
static bool is_steady(const struct points *points, double slope)
{
    size_t half = points->count / 2;
    return slope_of(points, 0, half) > 0.3 * slope &&
           slope_of(points, half, points->count) > 0.3 * slope;
}

/* 0 for what is no number of bytes. */
static uint64_t bytes_of(const struct ss_model_value *value)
{
    double bytes = ss_model_real(value);
    return bytes > 0 && bytes < (double)INT64_MAX ? (uint64_t)bytes : 0;
}

static void judge(struct ss_training_memory *memory, const struct ss_model_value *values,
                  size_t count)
{
    struct points points = {0};
    size_t first = count / 4, rest = count - first;
    points.count = rest < MOST_POINTS ? rest : MOST_POINTS;
    if (points.count < FEWEST_POINTS) {
        return;
    }
    points.apart = (double)rest / (double)points.count;
    for (size_t i = 0; i < points.count; i++) {
        points.bytes[i] = (double)bytes_of(&values[first + i * rest / points.count]);
    }
    memory->bytes_per_step = slope_of(&points, 0, points.count);
    double grown = memory->bytes_per_step * (double)rest;
    memory->grows = grown >= least_bytes && grown >= least_share * (double)memory->last_bytes &&
                    is_steady(&points, memory->bytes_per_step);
}

static void take_values(struct ss_training_memory *memory, const struct ss_model_value *values,
                        size_t count)
{
    memory->values = count;
    memory->first_bytes = bytes_of(&values[0]);
    memory->last_bytes = bytes_of(&values[count - 1]);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = bytes_of(&values[i]);
        memory->peak_bytes = bytes > memory->peak_bytes ? bytes : memory->peak_bytes;
    }
    judge(memory, values, count);
}

void ss_training_memory_find(struct ss_training_facts *facts, const struct ss_selection *selection)
{
    static const char *const names[SS_TRAINING_MEMORIES] = {"memory rss", "cuda allocated",
                                                            "cuda reserved", "cuda peak"};
    const struct ss_model *model = facts->model;
    for (size_t i = 0; i < SS_TRAINING_MEMORIES; i++) {
        facts->memory[i].name = names[i];
    }
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t track = model->values.data[first].track;
        for (end = first; end < model->values.count && model->values.data[end].track == track;) {
            end++;
        }
        const struct ss_model_track *row = &model->tracks.data[track];
        uint32_t process =
            row->thread != 0 ? model->threads.data[row->thread].process : row->process;
        for (size_t i = 0; i < SS_TRAINING_MEMORIES; i++) {
            if (facts->memory[i].values == 0 && ss_training_has_steps(facts, process) &&
                ss_selection_has_track(selection, track) &&
                strcmp(ss_model_text(model, row->name), names[i]) == 0) {
                take_values(&facts->memory[i], model->values.data + first, end - first);
            }
        }
    }
}
