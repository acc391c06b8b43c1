/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the profiles of a speedscope file into rows of the model: threads, stacks and samples.
 *
 * A sample of the model is a number of ticks of one length. Here that is the greatest common
 * divisor of all weights, so that no time is rounded: of a sampler with a fixed rate it is the
 * period, and each sample a tick. Evented profiles become samples of what was on the stack; in
 * files of stepscope, where they are ranges, they become ranges. Owned by one loader. Private to
 * model/.
 */
#ifndef SS_MODEL_STACKS_SPEEDSCOPE_ROWS_H
#define SS_MODEL_STACKS_SPEEDSCOPE_ROWS_H

#include "model/builder/builder.h"
#include "model/core/slots.h"
#include "model/stacks/speedscope_file.h"

struct ss_speedscope_rows {
    struct ss_model *model;
    const struct ss_model_load *load;
    struct ss_json_window *window; /* counts what is skipped */
    const struct ss_speedscope_file *file;
    struct ss_model_builder *builder;       /* until the end of loading; NULL: none yet */
    struct ss_vec_of(uint32_t) frames;      /* by index in the file: row of the model */
    struct ss_vec_of(uint32_t) stacks;      /* the same; UINT32_MAX: unreadable */
    struct ss_vec_of(uint32_t) threads;     /* by profile: row of the model */
    struct ss_intern thread_keys;           /* pid, tid and name */
    struct ss_vec_of(uint32_t) thread_rows; /* by key */
    struct ss_intern process_keys;          /* pid */
    struct ss_vec_of(uint32_t) process_rows;
    enum ss_speedscope_unit unit; /* of the profiles that are loaded: all times, or one of them */
    bool is_own;                  /* stepscope wrote the file */
    /* Of all that is loaded: */
    uint64_t spans, ranges, gaps; /* gaps: spans without a frame */
    uint64_t divisor;             /* of the weights */
    uint64_t total;               /* of them */
    int64_t begin, end;           /* in ns */
    uint64_t period;              /* length of a tick, in ns or millionths */
    enum ss_status status;
    struct ss_error *err;
};

/* Adds the file as an input. SS_E_FORMAT: nothing in it is readable. */
enum ss_status ss_speedscope_rows_add(struct ss_model *model, const struct ss_speedscope_file *file,
                                      struct ss_json_window *window,
                                      const struct ss_model_load *load, struct ss_error *err);

#endif
