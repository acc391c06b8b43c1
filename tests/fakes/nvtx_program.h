/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program or shared object that was compiled with NVTX's headers is to a tool: slots in
 * tables, a function that returns them, and calls through them. Several may be in one process.
 */
#ifndef SS_TEST_NVTX_PROGRAM_H
#define SS_TEST_NVTX_PROGRAM_H

#include <string.h>

#include "inject/nvtx/nvtx_abi.h"

int InitializeInjectionNvtx2(ss_nvtx_get_export_table *get);
int InitializeInjectionNvtxExtension(struct ss_nvtx_extension *extension);

enum { NVTX_SLOTS = 64 };

struct nvtx_program {
    ss_nvtx_function functions[SS_NVTX_MODULE_COUNT][NVTX_SLOTS];
    ss_nvtx_function *addresses[SS_NVTX_MODULE_COUNT][NVTX_SLOTS];
    unsigned sizes[SS_NVTX_MODULE_COUNT];
    struct ss_nvtx_callbacks callbacks;
    struct ss_nvtx_version_info version;
    uint32_t tool_version;
    intptr_t payload[NVTX_SLOTS], counters[NVTX_SLOTS];
};

/* The functions of the interface carry no context: each thread loads one program at a time. */
static _Thread_local struct nvtx_program *nvtx_loading;

static inline int nvtx_get_module(int module, ss_nvtx_function ***table, unsigned *size)
{
    if (module < 1 || module >= SS_NVTX_MODULE_COUNT) {
        return 0;
    }
    *table = nvtx_loading->addresses[module];
    *size = nvtx_loading->sizes[module];
    return 1;
}

static inline void nvtx_set_tool_version(uint32_t version)
{
    nvtx_loading->tool_version = version;
}

static inline const void *nvtx_get_table(uint32_t id)
{
    return id == SS_NVTX_EXPORT_CALLBACKS ? (const void *)&nvtx_loading->callbacks
           : id == SS_NVTX_EXPORT_VERSION ? &nvtx_loading->version
                                          : NULL;
}

/* As of NVTX 3: slot 0 of each module is not a function. */
static inline void nvtx_program_init(struct nvtx_program *program)
{
    static const unsigned sizes[SS_NVTX_MODULE_COUNT] = {
        [SS_NVTX_CORE] = SS_NVTX_CORE_COUNT,     [SS_NVTX_CUDA] = SS_NVTX_CUDA_COUNT,
        [SS_NVTX_OPENCL] = SS_NVTX_OPENCL_COUNT, [SS_NVTX_CUDART] = SS_NVTX_CUDART_COUNT,
        [SS_NVTX_CORE2] = SS_NVTX_CORE2_COUNT,   [SS_NVTX_SYNC] = SS_NVTX_SYNC_COUNT};
    memset(program, 0, sizeof *program);
    memcpy(program->sizes, sizes, sizeof sizes);
    program->callbacks = (struct ss_nvtx_callbacks){sizeof program->callbacks, nvtx_get_module};
    program->version = (struct ss_nvtx_version_info){sizeof program->version, SS_NVTX_VERSION, 0,
                                                     nvtx_set_tool_version};
    for (unsigned module = 1; module < SS_NVTX_MODULE_COUNT; module++) {
        for (unsigned i = 1; i < sizes[module]; i++) {
            program->addresses[module][i] = &program->functions[module][i];
        }
    }
}

static inline int nvtx_program_load(struct nvtx_program *program)
{
    nvtx_loading = program;
    return InitializeInjectionNvtx2(nvtx_get_table);
}

static inline int nvtx_load_extension(uint16_t module, uint16_t kind, intptr_t *slots, size_t count)
{
    struct ss_nvtx_segment segment = {0, count, slots};
    struct ss_nvtx_extension extension = {.version = SS_NVTX_VERSION,
                                          .size = sizeof extension,
                                          .module = module,
                                          .compatible = kind,
                                          .segment_count = 1,
                                          .segments = &segment};
    return InitializeInjectionNvtxExtension(&extension);
}

/* The call of a slot, with the type that it has. */
#define NVTX_CALL(program, module, slot, type) ((type)(program)->functions[module][slot])
#define NVTX_PAYLOAD(program, slot, type) ((type)(program)->payload[slot])
#define NVTX_COUNTER(program, slot, type) ((type)(program)->counters[slot])

#endif
