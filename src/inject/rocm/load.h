/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the rocprofiler-sdk that loads stepscope as its tool: of no other copy. Kinds of
 * records and their operations are found by their names, because each version numbers them anew.
 */
#ifndef SS_INJECT_ROCM_LOAD_H
#define SS_INJECT_ROCM_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/rocm/rocm_abi.h"

struct ss_rocm {
#define SS_ROCM_MEMBER(name, ...) uint32_t (*name)(__VA_ARGS__);
    SS_ROCM_NEEDED_FUNCTIONS(SS_ROCM_MEMBER)
    SS_ROCM_OPTIONAL_FUNCTIONS(SS_ROCM_MEMBER) /* NULL: it has none */
#undef SS_ROCM_MEMBER
    const char *(*get_status_string)(uint32_t status); /* NULL: it has none */
    uint32_t version;                                  /* 10000 * major + 100 * minor + patch */
    char path[512];
};

/* `caller`: an address within the SDK. false: `problem` says why, and the fix. */
bool ss_rocm_load(struct ss_rocm *rocm, uint32_t version, const void *caller, char *problem,
                  size_t size);
/* The number of a kind by its name ("MEMORY_COPY"), of callbacks or of buffers; 0: it has none. */
uint32_t ss_rocm_kind(const struct ss_rocm *rocm, bool of_callbacks, const char *name);
/* The name of an operation of a kind of buffers; NULL: it has none. */
const char *ss_rocm_operation(const struct ss_rocm *rocm, uint32_t kind, int32_t operation);
/* What a status means, for people. */
const char *ss_rocm_status_text(const struct ss_rocm *rocm, uint32_t status);

#endif
