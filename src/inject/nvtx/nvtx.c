/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector of programs with NVTX 3. Each program and shared object that was compiled with
 * NVTX's headers has its own slots. At its first call it loads this library by
 * NVTX_INJECTION64_PATH and has the slots filled: several times in one process, and on several
 * threads at once. No state is kept between calls.
 */
#include <stdbool.h>

#include "annot/first.h"
#include "annot/thread.h"
#include "inject/nvtx/nvtx_captures.h"
#include "inject/nvtx/nvtx_extension.h"
#include "inject/nvtx/nvtx_tables.h"

static struct ss_thread_quiet holder; /* of the thread that holds the lock */

bool ss_nvtx_lock(void)
{
    struct ss_thread_quiet quiet;
    if (!ss_thread_enter(&quiet)) {
        return false;
    }
    holder = quiet;
    return true;
}

void ss_nvtx_unlock(void)
{
    struct ss_thread_quiet quiet = holder;
    ss_thread_leave(&quiet);
}

/* Slots that the program's headers lack are skipped. */
static void fill(const struct ss_nvtx_callbacks *callbacks, int module,
                 const struct ss_nvtx_table *table)
{
    ss_nvtx_function **slots = NULL;
    unsigned size = 0;
    if (callbacks->get_module(module, &slots, &size) != 1 || slots == NULL) {
        return;
    }
    for (uint32_t i = 0; i < table->count && i < size; i++) {
        if (table->functions[i] != NULL && slots[i] != NULL) {
            /* Other threads may already read the slot: they see the old function or the new one. */
            __atomic_store_n(slots[i], table->functions[i], __ATOMIC_RELEASE);
        }
    }
}

/* NVTX's headers call these. 0: refused; the program's calls then do nothing. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(ss_nvtx_get_export_table *get);
__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(struct ss_nvtx_extension *extension);

int InitializeInjectionNvtx2(ss_nvtx_get_export_table *get)
{
    static const struct {
        int module;
        const struct ss_nvtx_table *table;
    } tables[] = {{SS_NVTX_CORE, &ss_nvtx_core},     {SS_NVTX_CUDA, &ss_nvtx_cuda},
                  {SS_NVTX_OPENCL, &ss_nvtx_opencl}, {SS_NVTX_CUDART, &ss_nvtx_cudart},
                  {SS_NVTX_CORE2, &ss_nvtx_core2},   {SS_NVTX_SYNC, &ss_nvtx_sync}};
    int (*first)(ss_nvtx_get_export_table *) = NULL;
    *(void **)&first = ss_first_function("InitializeInjectionNvtx2");
    if (first != NULL) {
        return first(get);
    }
    if (get == NULL || !ss_process_is_set_up()) {
        return 0;
    }
    const struct ss_nvtx_callbacks *callbacks = get(SS_NVTX_EXPORT_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks ||
        callbacks->get_module == NULL) {
        return 0;
    }
    ss_nvtx_time_init();
    const struct ss_nvtx_version_info *version = get(SS_NVTX_EXPORT_VERSION);
    if (version != NULL && version->struct_size >= sizeof *version &&
        version->set_tool_version != NULL) {
        version->set_tool_version(SS_NVTX_VERSION);
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        fill(callbacks, tables[i].module, tables[i].table);
    }
    if (ss_nvtx_has_captures()) {
        fill(callbacks, SS_NVTX_CORE, &ss_nvtx_core_captures);
        fill(callbacks, SS_NVTX_CORE2, &ss_nvtx_core2_captures);
    }
    return 1;
}

/* NULL: an unknown module, or another version of a known one. */
static const struct ss_nvtx_table *table_of(const struct ss_nvtx_extension *extension)
{
    if (extension->segment_count == 0 || extension->segments == NULL ||
        extension->segments[0].slots == NULL) {
        return NULL;
    }
    size_t slots = extension->segments[0].slot_count;
    if (extension->module == SS_NVTX_EXT_COUNTERS) {
        return extension->compatible == SS_NVTX_EXT_COUNTERS_KIND ? &ss_nvtx_counters : NULL;
    }
    if (extension->module != SS_NVTX_EXT_PAYLOAD) {
        return NULL;
    }
    if (extension->compatible == SS_NVTX_EXT_PAYLOAD_OLDER) {
        return slots <= ss_nvtx_payload_first.count ? &ss_nvtx_payload_first
                                                    : &ss_nvtx_payload_older;
    }
    return extension->compatible == SS_NVTX_EXT_PAYLOAD_KIND ? &ss_nvtx_payload : NULL;
}

int InitializeInjectionNvtxExtension(struct ss_nvtx_extension *extension)
{
    int (*first)(struct ss_nvtx_extension *) = NULL;
    *(void **)&first = ss_first_function("InitializeInjectionNvtxExtension");
    if (first != NULL) {
        return first(extension);
    }
    if (extension == NULL || extension->size < sizeof *extension || !ss_process_is_set_up()) {
        return 0;
    }
    const struct ss_nvtx_table *table = table_of(extension);
    if (table == NULL) {
        return 0;
    }
    ss_nvtx_time_init();
    struct ss_nvtx_segment *segment = &extension->segments[0];
    for (size_t i = 0; i < table->count && i < segment->slot_count; i++) {
        if (table->functions[i] != NULL) {
            __atomic_store_n(&segment->slots[i], (intptr_t)table->functions[i], __ATOMIC_RELEASE);
        }
    }
    return 1;
}
