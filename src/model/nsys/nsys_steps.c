/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

enum { LEAST_STEPS = 2 /* one range is not a loop */ };

/* --- names ------------------------------------------------------------------------------------ */

static const struct {
    const char *stem;
    bool is_epoch, is_profiler_step;
    bool needs_number; /* without one, it may be anything */
} stems[] = {
    {"step", false, false, false},
    {"iteration", false, false, false},
    {"iter", false, false, true},
    {"batch", false, false, true},
    {"minibatch", false, false, true},
    {"trainstep", false, false, false},
    {"trainingstep", false, false, false},
    {"trainiter", false, false, true},
    {"trainiteration", false, false, false},
    {"trainingiteration", false, false, false},
    {"trainbatch", false, false, true},
    {"trainingbatch", false, false, true},
    {"globalstep", false, false, true},
    {"profilerstep", false, true, true},
    {"epoch", true, false, true},
    {"trainepoch", true, false, true},
    {"trainingepoch", true, false, true},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c != '\0' && strchr(" _-.:#=/", c) != NULL;
}

/* The letters before a number, without what separates them. False: there is anything else. */
static bool read_stem(struct ss_strview text, size_t *at, char *stem, size_t size)
{
    size_t length = 0;
    for (; *at < text.length && !is_digit(text.data[*at]); ++*at) {
        char c = text.data[*at];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (is_separator(c)) {
            continue;
        }
        if (!is_letter || length + 1 == size) {
            return false;
        }
        stem[length++] = c >= 'a' ? c : (char)(c - 'A' + 'a');
    }
    stem[length] = '\0';
    return length > 0;
}

static bool read_number(struct ss_strview text, size_t *at, int64_t *number)
{
    enum { MOST_DIGITS = 18 };
    size_t begin = *at;
    *number = 0;
    for (; *at < text.length && is_digit(text.data[*at]); ++*at) {
        *number = *at - begin < MOST_DIGITS ? *number * 10 + (text.data[*at] - '0') : 0;
    }
    return *at > begin && *at - begin <= MOST_DIGITS;
}

/* Nothing, or the end of a span: "12/100", "10 to 20", "12 of 100", "10-20". */
static bool is_end(struct ss_strview text, size_t at)
{
    static const char *const words[] = {"/", "-", "to", "of"};
    int64_t number;
    while (at < text.length && text.data[at] == ' ') {
        at++;
    }
    if (at == text.length) {
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (text.length - at > length && memcmp(text.data + at, words[i], length) == 0) {
            at += length;
            while (at < text.length && text.data[at] == ' ') {
                at++;
            }
            return read_number(text, &at, &number) && at == text.length;
        }
    }
    return false;
}

bool ss_nsys_step_name_read(struct ss_strview text, struct ss_nsys_step_name *name)
{
    size_t at = 0;
    *name = (struct ss_nsys_step_name){.number = -1};
    if (!read_stem(text, &at, name->stem, sizeof name->stem)) {
        return false;
    }
    name->has_number = at < text.length;
    if (name->has_number && (!read_number(text, &at, &name->number) || !is_end(text, at))) {
        return false;
    }
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        if (strcmp(stems[i].stem, name->stem) == 0) {
            name->is_epoch = stems[i].is_epoch;
            name->is_profiler_step = stems[i].is_profiler_step;
            return name->has_number || !stems[i].needs_number;
        }
    }
    return false;
}

/* --- families --------------------------------------------------------------------------------- */

static uint32_t family_of(struct ss_nsys_steps *steps, struct ss_nsys_rows *rows, uint32_t thread,
                          const struct ss_nsys_step_name *name, uint32_t track)
{
    uint32_t stem = ss_model_builder_text(rows->builder, ss_strview_of(name->stem));
    int64_t of_stem = (int64_t)stem * 2 + name->has_number;
    uint32_t known = *ss_nsys_entry(rows, SS_NSYS_FAMILY, thread, track, of_stem);
    if (known == 0) {
        ss_vec_push(&steps->families,
                    (struct ss_nsys_family){.thread = thread,
                                            .process = rows->threads.data[thread].process,
                                            .is_epoch = name->is_epoch,
                                            .is_profiler_step = name->is_profiler_step});
        known = (uint32_t)steps->families.count;
        *ss_nsys_entry(rows, SS_NSYS_FAMILY, thread, track, of_stem) = known;
    }
    return known - 1;
}

void ss_nsys_steps_add(struct ss_nsys_steps *steps, struct ss_nsys_rows *rows, uint32_t thread,
                       const struct ss_nsys_step_name *name, const struct ss_builder_range *range)
{
    bool has_payload =
        !name->has_number && range->payload.type == SS_VALUE_INT && range->payload.integer >= 0;
    struct ss_nsys_candidate candidate = {.begin_ns = range->begin_ns,
                                          .end_ns = range->end_ns,
                                          .number = name->has_number ? name->number
                                                    : has_payload    ? range->payload.integer
                                                                     : -1,
                                          .family =
                                              family_of(steps, rows, thread, name, range->track),
                                          .track = range->track,
                                          .name = range->name};
    ss_vec_push(&steps->candidates, candidate);
}

static int compare_candidates(const void *left, const void *right)
{
    const struct ss_nsys_candidate *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static void sum_families(struct ss_nsys_steps *steps)
{
    for (size_t i = 0; i < steps->candidates.count; i++) {
        const struct ss_nsys_candidate *candidate = &steps->candidates.data[i];
        struct ss_nsys_family *family = &steps->families.data[candidate->family];
        family->overlaps = family->overlaps || candidate->begin_ns < family->last_end_ns;
        family->last_end_ns = candidate->end_ns;
        family->total_ns += candidate->end_ns - candidate->begin_ns;
        family->count++;
    }
}

static bool is_loop(const struct ss_nsys_family *family)
{
    return !family->overlaps && (family->count >= LEAST_STEPS || family->is_profiler_step);
}

static bool is_better(const struct ss_nsys_family *a, const struct ss_nsys_family *b)
{
    return a->is_profiler_step != b->is_profiler_step ? a->is_profiler_step
                                                      : a->total_ns > b->total_ns;
}

/* One loop of steps and one of epochs for each process. */
static void choose_families(struct ss_nsys_steps *steps, size_t processes)
{
    uint32_t *best = ss_alloc_zero(2 * processes, sizeof *best); /* index plus one */
    for (size_t i = 0; i < steps->families.count; i++) {
        const struct ss_nsys_family *family = &steps->families.data[i];
        uint32_t *known = &best[2 * (size_t)family->process + family->is_epoch];
        if (is_loop(family) &&
            (*known == 0 || is_better(family, &steps->families.data[*known - 1]))) {
            *known = (uint32_t)i + 1;
        }
    }
    for (size_t i = 0; i < 2 * processes; i++) {
        if (best[i] != 0) {
            steps->families.data[best[i] - 1].is_chosen = true;
        }
    }
    ss_free(best);
}

/* --- the model -------------------------------------------------------------------------------- */

static void put_step(struct ss_nsys_steps *steps, struct ss_nsys_rows *rows,
                     struct ss_nsys_family *family, const struct ss_nsys_candidate *candidate)
{
    int64_t number = candidate->number >= 0 ? candidate->number : (int64_t)family->count;
    struct ss_builder_range range = {
        .begin_ns = candidate->begin_ns,
        .end_ns = candidate->end_ns,
        .track = ss_nsys_thread_track(rows, family->thread, SS_TRACK_STEPS,
                                      ss_strview_of(family->is_epoch ? "epoch" : "step")),
        .payload = {SS_VALUE_INT, {.integer = number}}};
    family->count++;
    ss_model_builder_range(rows->builder, &range);
    if (!family->is_epoch) {
        ss_vec_push(&steps->steps, (struct ss_nsys_step){candidate->begin_ns, candidate->end_ns,
                                                         number, family->process});
    }
}

static int compare_steps(const void *left, const void *right)
{
    const struct ss_nsys_step *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

void ss_nsys_steps_put(struct ss_nsys_steps *steps, struct ss_nsys_rows *rows)
{
    if (steps->candidates.count == 0) {
        return;
    }
    qsort(steps->candidates.data, steps->candidates.count, sizeof *steps->candidates.data,
          compare_candidates);
    sum_families(steps);
    choose_families(steps, ss_model_builder_model(rows->builder)->processes.count);
    for (size_t i = 0; i < steps->families.count; i++) {
        steps->families.data[i].count = 0; /* from here on, the order of the next step */
    }
    for (size_t i = 0; i < steps->candidates.count; i++) {
        const struct ss_nsys_candidate *candidate = &steps->candidates.data[i];
        struct ss_nsys_family *family = &steps->families.data[candidate->family];
        if (family->is_chosen) {
            put_step(steps, rows, family, candidate);
        } else {
            struct ss_builder_range range = {.begin_ns = candidate->begin_ns,
                                             .end_ns = candidate->end_ns,
                                             .track = candidate->track,
                                             .name = candidate->name};
            ss_model_builder_range(rows->builder, &range);
        }
    }
    if (steps->steps.count > 1) {
        qsort(steps->steps.data, steps->steps.count, sizeof *steps->steps.data, compare_steps);
    }
}

int64_t ss_nsys_step_at(const struct ss_nsys_steps *steps, uint32_t process, uint64_t time_ns)
{
    /* The first step that begins later. */
    size_t low = ss_search(i, 0, steps->steps.count,
                           ss_pair_at_most(steps->steps.data[i].process,
                                           steps->steps.data[i].begin_ns, process, time_ns));
    const struct ss_nsys_step *step = low > 0 ? &steps->steps.data[low - 1] : NULL;
    bool is_in = step != NULL && step->process == process && time_ns < step->end_ns;
    return is_in ? step->number : -1;
}

void ss_nsys_steps_fini(struct ss_nsys_steps *steps)
{
    ss_vec_fini(&steps->families);
    ss_vec_fini(&steps->candidates);
    ss_vec_fini(&steps->steps);
}
