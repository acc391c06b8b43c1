/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns a place in the code: the user's program, PyTorch or one of its parts, a training
 * framework, a library, the standard library, stepscope itself. By the origin and path of a frame;
 * rows of owner.def. Pure functions over const tables; thread-safe.
 */
#ifndef SS_MODEL_CORE_OWNER_H
#define SS_MODEL_CORE_OWNER_H

#include <stdbool.h>

#include "base/strview.h"
#include "model/core/origin.h"

enum ss_code_owner {
    SS_OWNER_UNKNOWN,
    SS_OWNER_PROGRAM, /* the user's own code */
    SS_OWNER_STDLIB,
    SS_OWNER_STDLIB_WRAPPER, /* only wraps calls of other code */
    SS_OWNER_STDLIB_LOGGING,
    SS_OWNER_TORCH,
    SS_OWNER_TORCH_DATA, /* the DataLoader */
    SS_OWNER_TORCH_OPTIMIZER,
    SS_OWNER_TORCH_LOGGING,
    SS_OWNER_FRAMEWORK,    /* runs a training loop: Lightning, Trainer… */
    SS_OWNER_DATA_LIBRARY, /* processes data rather than models */
    SS_OWNER_LOGGING_LIBRARY,
    SS_OWNER_LIBRARY,
    SS_OWNER_NATIVE,
    SS_OWNER_STEPSCOPE
};

enum ss_code_owner ss_owner_of(enum ss_code_origin origin, struct ss_strview path);

/* PyTorch or one of its parts. */
static inline bool ss_owner_is_torch(enum ss_code_owner owner)
{
    return owner == SS_OWNER_TORCH || owner == SS_OWNER_TORCH_DATA ||
           owner == SS_OWNER_TORCH_OPTIMIZER || owner == SS_OWNER_TORCH_LOGGING;
}

static inline bool ss_owner_is_stdlib(enum ss_code_owner owner)
{
    return owner == SS_OWNER_STDLIB || owner == SS_OWNER_STDLIB_WRAPPER ||
           owner == SS_OWNER_STDLIB_LOGGING;
}

/* Logs, prints or draws progress bars, whatever it is a part of. */
static inline bool ss_owner_logs(enum ss_code_owner owner)
{
    return owner == SS_OWNER_STDLIB_LOGGING || owner == SS_OWNER_TORCH_LOGGING ||
           owner == SS_OWNER_LOGGING_LIBRARY;
}

/* An installed package, compiled code not included. */
static inline bool ss_owner_is_package(enum ss_code_owner owner)
{
    return ss_owner_is_torch(owner) || owner == SS_OWNER_FRAMEWORK || owner == SS_OWNER_LIBRARY ||
           owner == SS_OWNER_DATA_LIBRARY || owner == SS_OWNER_LOGGING_LIBRARY ||
           owner == SS_OWNER_STEPSCOPE;
}

#endif
