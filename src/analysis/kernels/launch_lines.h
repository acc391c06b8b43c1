/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of Python that launched the work of devices: the calls of functions that were open at
 * the launch, else the stack that a profiler recorded with the operator. Work of the backward pass
 * belongs to the line of the operator of forward that created the node, unless Python code within
 * the node launched it. Of the frames, the innermost of the user's own code counts, else that of a
 * library that is neither PyTorch nor the standard library, else the innermost. A kernel of a CUDA
 * graph belongs to the line that captured it, where that was recorded. Pure; immutable
 * once built. Borrows the places.
 */
#ifndef SS_ANALYSIS_KERNELS_LAUNCH_LINES_H
#define SS_ANALYSIS_KERNELS_LAUNCH_LINES_H

#include "analysis/kernels/launch_places.h"

/* Where the frames of a launch are. */
struct ss_launch_frames {
    uint32_t python; /* the innermost call of a function, a range plus one; 0: none */
    uint32_t stack;  /* else the string of a field `stack`; 0: none */
    uint32_t line;   /* row of lines; 0: none is known */
    bool is_backward;
};

struct ss_code_line {
    uint32_t path, function; /* of texts */
    uint32_t line;           /* of functions that were recorded as calls, their first */
};

struct ss_launch_lines {
    const struct ss_launch_places *places;
    struct ss_launch_frames *rows;               /* by row of the places */
    struct ss_vec_of(struct ss_code_line) lines; /* row 0 is "none" */
    struct ss_intern texts;
};

/* The places must have been found with operators. */
void ss_launch_lines_init(struct ss_launch_lines *lines, const struct ss_launch_places *places);
void ss_launch_lines_fini(struct ss_launch_lines *lines);

/* A frame as profilers write it: "train.py(88): main". Without such a place, path is empty. */
struct ss_frame_parts {
    struct ss_strview path, function;
    uint32_t line;
};
struct ss_frame_parts ss_frame_parts_of(struct ss_strview text);
/* Calls `add` for each frame of a field `stack`, the innermost first, until it returns false. */
void ss_stack_field_each(const char *stack, bool (*add)(void *context, struct ss_strview frame),
                         void *context);

/* The frame of a field `stack` that counts, its texts put into `texts`. Path 0: none has a place.
 */
struct ss_code_line ss_stack_field_line(const char *stack, struct ss_intern *texts);

#endif
