/* SPDX-License-Identifier: Apache-2.0 */
/* What threads own; among it, the calls of torch.distributed that have begun on them. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/nccl/operations_inside.h"

/* Behind a pointer: libraries that a program loads late share little space for what threads own. */
static _Thread_local struct ss_nccl_thread *own;
static pthread_key_t end_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void on_thread_end(void *thread)
{
    own = NULL;
    munmap(thread, sizeof(struct ss_nccl_thread));
}

static void make_key(void)
{
    pthread_key_create(&end_of_thread, on_thread_end);
}

struct ss_nccl_thread *ss_nccl_own_thread(void)
{
    if (own == NULL) {
        pthread_once(&once, make_key);
        void *made =
            mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        own = made != MAP_FAILED ? made : NULL;
        pthread_setspecific(end_of_thread, own);
    }
    return own;
}

/* --- calls of torch.distributed --------------------------------------------------------------- */

void ss_nccl_torch_begins(const struct ss_event_collective *collective)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    if (thread == NULL) {
        return;
    }
    if (thread->has_launched) {
        thread->torch_count = 0;
        thread->has_launched = false;
    }
    if (thread->torch_count == SS_NCCL_TORCH_CALLS) {
        thread->torch_count--;
        memmove(&thread->torch[0], &thread->torch[1], thread->torch_count * sizeof *thread->torch);
    }
    thread->torch[thread->torch_count++] = *collective;
}

bool ss_nccl_take_torch_call(uint32_t size, int64_t bytes, struct ss_event_collective *call)
{
    uint32_t found = UINT32_MAX;
    if (own == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < own->torch_count; i++) {
        bool is_possible = size == 0 || own->torch[i].size == 0 || own->torch[i].size == size;
        if (is_possible && (found == UINT32_MAX || own->torch[i].bytes == bytes)) {
            found = i;
            if (own->torch[i].bytes == bytes) {
                break;
            }
        }
    }
    own->has_launched = true;
    if (found == UINT32_MAX) {
        return false;
    }
    *call = own->torch[found];
    own->torch_count--;
    memmove(&own->torch[found], &own->torch[found + 1],
            (own->torch_count - found) * sizeof *own->torch);
    return true;
}

void ss_nccl_adopt(struct ss_nccl_operation *operation, const struct ss_event_collective *call)
{
    operation->group = call->group;
    operation->size = call->size != 0 ? call->size : operation->size;
    operation->sequence = call->sequence;
    operation->root = call->root;
    operation->module = call->module;
    operation->datatype = call->datatype != 0 ? call->datatype : operation->datatype;
    operation->bytes = call->bytes >= 0 ? call->bytes : operation->bytes;
}
