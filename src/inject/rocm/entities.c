/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/entities.h"

#include <pthread.h>

#include "base/vec.h"
#include "inject/device/texts.h"
#include "inject/rocm/rocm_abi.h"

enum { MOST_SYMBOLS = 1 << 20, MOST_GPUS = 64, MOST_QUEUES = 4096, MOST_NAME_BYTES = 16 << 10 };

/* --- kernels ---------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ss_vec_of(struct ss_rocm_symbol) symbols; /* by kernel: the SDK numbers them from 1 */

/* The symbol of a kernel's descriptor has ".kd" after the kernel's name. */
static size_t name_length(const char *name)
{
    size_t length = strnlen(name, MOST_NAME_BYTES);
    return length > 3 && memcmp(name + length - 3, ".kd", 3) == 0 ? length - 3 : length;
}

void ss_rocm_define_symbol(const void *symbol)
{
    const char *name = (const char *)(uintptr_t)ss_rocm_symbol_name(symbol);
    uint64_t kernel = ss_rocm_symbol_kernel(symbol);
    if (ss_rocm_symbol_size(symbol) < SS_ROCM_symbol_BYTES || name == NULL ||
        kernel >= MOST_SYMBOLS) {
        return;
    }
    struct ss_rocm_symbol made = {.name = ss_device_text_put(name, name_length(name)),
                                  .registers = ss_rocm_symbol_registers(symbol) +
                                               ss_rocm_symbol_accumulators(symbol),
                                  .static_lds = ss_rocm_symbol_static_lds(symbol)};
    pthread_mutex_lock(&lock);
    if (kernel >= symbols.count) {
        ss_vec_resize(&symbols, (size_t)kernel + 1);
    }
    symbols.data[kernel] = made;
    pthread_mutex_unlock(&lock);
}

struct ss_rocm_symbol ss_rocm_symbol_of(uint64_t kernel)
{
    struct ss_rocm_symbol found = {0};
    pthread_mutex_lock(&lock);
    if (kernel < symbols.count) {
        found = symbols.data[kernel];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* --- agents and queues ------------------------------------------------------------------------ */

static struct {
    uint64_t agent;
    uint32_t number;
} gpus[MOST_GPUS];
static uint32_t gpu_count;

void ss_rocm_define_gpu(uint64_t agent, uint32_t number)
{
    if (gpu_count < MOST_GPUS) {
        gpus[gpu_count].agent = agent;
        gpus[gpu_count++].number = number;
    }
}

bool ss_rocm_gpu_of(uint64_t agent, uint32_t *number)
{
    for (uint32_t i = 0; i < gpu_count; i++) {
        if (gpus[i].agent == agent) {
            *number = gpus[i].number;
            return true;
        }
    }
    return false;
}

uint32_t ss_rocm_queue_of(uint64_t queue)
{
    static uint64_t queues[MOST_QUEUES];
    static uint32_t count, last;
    if (last < count && queues[last] == queue) {
        return last + 1;
    }
    for (last = 0; last < count; last++) {
        if (queues[last] == queue) {
            return last + 1;
        }
    }
    if (count >= MOST_QUEUES) {
        return 0;
    }
    queues[count++] = queue;
    return count;
}
