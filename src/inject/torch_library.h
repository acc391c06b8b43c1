/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of libtorch_cpu.so is called: the observers of its dispatcher (ATen/record_function.h).
 * That is C++, but its argument is a struct of plain members that goes by value, and what its
 * functions take and return has a fixed place in the ABI.
 *
 * Found once, while the interpreter is held; then read by any thread.
 */
#ifndef SS_INJECT_TORCH_LIBRARY_H
#define SS_INJECT_TORCH_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

struct ss_torch_call; /* at::RecordFunction: an operator, a node or a scope that runs */

/* at::RecordScope */
enum ss_torch_scope {
    SS_TORCH_FUNCTION = 0,
    SS_TORCH_BACKWARD_FUNCTION = 1,
    SS_TORCH_USER_SCOPE = 7,
    SS_TORCH_SCOPES = 10
};

/* at::RecordFunctionCallback. `start` returns an owning pointer, which C++ has the caller make room
 * for: a hidden first argument. */
struct ss_torch_observer {
    void **(*start)(void **context, const struct ss_torch_call *call);
    void (*end)(const struct ss_torch_call *call, void *context);
    double probability;
    bool scopes[SS_TORCH_SCOPES];
    bool needs_inputs, needs_outputs, needs_ids;
};

struct ss_torch_library {
    uint64_t (*add)(struct ss_torch_observer observer); /* of all threads; what `remove` takes */
    void (*remove)(uint64_t observer);
    const char *(*name_of)(const struct ss_torch_call *call);
    /* Below: NULL where this libtorch has none. */
    int64_t (*next_sequence)(void); /* of this thread's next autograd node */
    const void *functions;          /* a call's first word, if it is one */
    uint64_t (*add_here)(struct ss_torch_observer observer); /* of this thread alone */
};
extern struct ss_torch_library ss_torch_library;

/* NULL, or why not. `version`: of torch, "2.13.0+cpu". */
const char *ss_torch_library_find(const char *version);

#endif
