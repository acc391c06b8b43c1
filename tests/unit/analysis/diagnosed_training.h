/* SPDX-License-Identifier: Apache-2.0 */
/* The diagnosis of a training of a shape: make() or only_advice(), what a test asks of it, end().
 * Included after cmocka.h, whose assertions it uses. */
#ifndef SS_TESTS_DIAGNOSED_TRAINING_H
#define SS_TESTS_DIAGNOSED_TRAINING_H

#include "diagnosis_checks.h"
#include "training_builder.h"

/* The source of train.py. */
static inline struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    (void)context;
    (void)path;
    return ss_strview_of(line == 36   ? "        with lock:"
                         : line == 37 ? "with lock: sleep(1)"
                         : line == 44 ? "x, y = X[j], Y[j]"
                         : line == 30 ? "        print(loss)"
                         : line == 31 ? "x.item()"
                         : line == 32 ? "gc.collect()"
                                      : "y = f(x)");
}

/* `process`: the one that the analysis is asked about; NULL: all. */
static inline void make_for(struct made *made, const struct shape *shape, const char *process)
{
    build_training(made, shape);
    struct ss_selection_options all = {.idle = SS_IDLE_ALL, .process = process};
    struct ss_steps_options every = {0};
    struct ss_source_lines source = {source_line, NULL};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->summary, &made->selection, &every);
    ss_training_facts_init(&made->facts, &made->selection, &made->summary, &source);
    ss_diagnosis_init(&made->diagnosis, &made->facts);
}

static inline void make(struct made *made, const struct shape *shape)
{
    make_for(made, shape, NULL);
}

static inline void end(struct made *made)
{
    ss_diagnosis_fini(&made->diagnosis);
    ss_training_facts_fini(&made->facts);
    ss_step_summary_fini(&made->summary);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

/* The rules that speak up, heaviest first, as "a b c". */
static inline void speaks(const struct shape *shape, const char *wanted)
{
    struct made made;
    make(&made, shape);
    check_findings(&made.diagnosis, wanted);
    end(&made);
}

static inline struct ss_finding only_advice(struct made *made, const struct shape *shape)
{
    make(made, shape);
    assert_int_equal(made->diagnosis.findings.count, 1);
    return made->diagnosis.findings.data[0];
}

/* Line `number` of the program, with so many samples. */
static inline void check_line(const struct made *made, const struct ss_finding *finding,
                              int32_t number, uint64_t samples)
{
    assert_non_null(finding->line);
    assert_int_equal(made->model.frames.data[finding->line->frame].line, number);
    assert_int_equal(finding->line->samples, samples);
}

#endif
