/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libtorch_cpu.so that stepscope calls: the observers of torch's dispatcher
 * (ATen/record_function.h). They are C++, but the argument is a struct of plain members that is
 * passed by value, and the ABI defines where arguments and results are.
 *
 * Resolved once, with the GIL held; then read by any thread.
 */
#ifndef SS_INJECT_TORCH_TORCH_LIBRARY_H
#define SS_INJECT_TORCH_TORCH_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

struct ss_torch_call; /* at::RecordFunction: a running operator, autograd node or scope */

/* at::RecordScope */
enum ss_torch_scope {
    SS_TORCH_FUNCTION = 0,
    SS_TORCH_BACKWARD_FUNCTION = 1,
    SS_TORCH_USER_SCOPE = 7,
    SS_TORCH_SCOPES = 10
};

/* at::RecordFunctionCallback. `start` returns an owning pointer, for which a C++ caller passes
 * memory as a hidden first argument. */
struct ss_torch_observer {
    void **(*start)(void **context, const struct ss_torch_call *call);
    void (*end)(const struct ss_torch_call *call, void *context);
    double probability;
    bool scopes[SS_TORCH_SCOPES];
    bool needs_inputs, needs_outputs, needs_ids;
};

struct ss_torch_library {
    uint64_t (*add)(struct ss_torch_observer observer); /* for all threads; returns an id */
    void (*remove)(uint64_t observer);
    const char *(*name_of)(const struct ss_torch_call *call);
    /* Below: NULL if this libtorch exports none. */
    int64_t (*next_sequence)(void); /* sequence number of this thread's next autograd node */
    const void *functions;          /* virtual functions: the first word of every call */
    uint64_t (*add_here)(struct ss_torch_observer observer); /* for this thread only */
    bool (*has_gradients)(void);                             /* c10::GradMode, of this thread */
};
extern struct ss_torch_library ss_torch_library;

/* NULL, or why libtorch cannot be used. `version`: torch's, such as "2.13.0+cpu". */
const char *ss_torch_library_find(const char *version);

#endif
