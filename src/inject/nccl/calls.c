/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/nccl/calls.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "inject/device/launch_queue.h"
#include "inject/nccl/operations_inside.h"

enum { MOST_COMMUNICATORS = 1024, UNKNOWN_DEVICE = -1 };

struct communicator {
    uint64_t number; /* 0: free */
    uint32_t group;  /* a name; 0: not known */
    uint32_t size;
    uint32_t ranks_here;
    bool is_shared; /* several ranks are in this process */
    int64_t next;   /* number of the next collective */
    uint64_t hash;  /* the same on all ranks; 0: unknown */
    uint32_t splits;
};

static struct {
    pthread_mutex_t lock;
    struct communicator communicators[MOST_COMMUNICATORS];
    uint32_t end; /* of those that have been used */
    /* Those that were made without a number: calls belong to them only while there is one. */
    struct communicator unnumbered;
    uint32_t unnumbered_alive, unnumbered_made;
    bool is_only;     /* since none was alive, one was made */
    int64_t device;   /* of the communicators so far */
    bool has_devices; /* they are on several */
} nccl = {.lock = PTHREAD_MUTEX_INITIALIZER, .device = UNKNOWN_DEVICE};

/* --- communicators ---------------------------------------------------------------------------- */

static struct communicator *find(uint64_t number)
{
    for (uint32_t i = 0; i < nccl.end; i++) {
        if (nccl.communicators[i].number == number) {
            return &nccl.communicators[i];
        }
    }
    return NULL;
}

/* NULL: too many. */
static struct communicator *add(uint64_t number, uint64_t hash)
{
    char text[48];
    struct communicator *added = find(0);
    if (added == NULL && nccl.end < MOST_COMMUNICATORS) {
        added = &nccl.communicators[nccl.end++];
    }
    if (added != NULL) {
        *added = (struct communicator){.number = number, .hash = hash};
    }
    if (added != NULL && hash != 0) { /* as the profiler interface's (operations.c) */
        snprintf(text, sizeof text, "NCCL %016" PRIx64, hash);
        added->group = ss_define_name(text, strlen(text));
    }
    return added;
}

static void make_unnumbered(const struct ss_nccl_made *made)
{
    char text[48];
    uint32_t ranks = made->ranks_here;
    if (nccl.unnumbered_alive == 0) { /* ranks make their communicators in the same order */
        snprintf(text, sizeof text, "NCCL communicator %" PRIu32, nccl.unnumbered_made);
        nccl.unnumbered = (struct communicator){.group = ss_define_name(text, strlen(text)),
                                                .size = made->size,
                                                .is_shared = ranks > 1};
    }
    nccl.is_only = nccl.unnumbered_alive == 0;
    nccl.unnumbered_alive += ranks;
    nccl.unnumbered_made++;
}

static void make_numbered(const struct ss_nccl_made *made)
{
    struct communicator *of = find(made->communicator);
    of = of != NULL ? of : add(made->communicator, made->hash);
    if (of != NULL) {
        of->size = made->size != 0 ? made->size : of->size;
        of->ranks_here += made->ranks_here;
        of->is_shared |= of->ranks_here > 1;
    }
}

/* All ranks split in the same order. */
static uint64_t hash_of_split(struct communicator *parent, int32_t colour)
{
    uint64_t hash = parent->hash;
    uint64_t parts[] = {++parent->splits, (uint32_t)colour};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash != 0 ? hash : 1;
}

void ss_nccl_split(uint64_t parent, int32_t colour, uint64_t made)
{
    pthread_mutex_lock(&nccl.lock);
    struct communicator *of = parent != 0 ? find(parent) : NULL;
    uint64_t hash = of != NULL && of->hash != 0 ? hash_of_split(of, colour) : 0;
    pthread_mutex_unlock(&nccl.lock);
    struct ss_nccl_made part = {
        .communicator = made, .hash = hash, .ranks_here = 1, .device = UNKNOWN_DEVICE};
    if (made != 0) {
        ss_nccl_made(&part);
    }
}

void ss_nccl_made(const struct ss_nccl_made *made)
{
    if (ss_nccl_has_plugin()) {
        return;
    }
    pthread_mutex_lock(&nccl.lock);
    bool is_other = made->device >= 0 && nccl.device >= 0 && made->device != nccl.device;
    nccl.has_devices |= is_other || made->ranks_here > 1;
    nccl.device = made->device >= 0 ? made->device : nccl.device;
    if (made->communicator == 0) {
        make_unnumbered(made);
    } else {
        make_numbered(made);
    }
    pthread_mutex_unlock(&nccl.lock);
}

void ss_nccl_gone(uint64_t communicator)
{
    pthread_mutex_lock(&nccl.lock);
    struct communicator *of = communicator != 0 ? find(communicator) : NULL;
    if (of != NULL && of->ranks_here > 1) {
        of->ranks_here--;
    } else if (of != NULL) {
        of->number = 0;
    } else if (communicator == 0) {
        nccl.unnumbered_alive -= nccl.unnumbered_alive > 0;
    }
    pthread_mutex_unlock(&nccl.lock);
}

/* Of a call; NULL: it is not known which. */
static struct communicator *communicator_of(const struct ss_nccl_call *call)
{
    struct communicator *only = nccl.unnumbered_alive > 0 && nccl.is_only ? &nccl.unnumbered : NULL;
    if (call->communicator == 0) {
        return only;
    }
    struct communicator *of = find(call->communicator);
    if (of == NULL) { /* made without its number, as of those that are made without blocking */
        of = add(call->communicator, call->is_hash ? call->communicator : 0);
        if (of != NULL) {
            of->is_shared = nccl.has_devices;
            of->size = only != NULL ? only->size : 0;
        }
    }
    return of;
}

/* --- operations ------------------------------------------------------------------------------- */

static struct ss_nccl_operation operation_of(const struct ss_nccl_call *call)
{
    struct ss_nccl_operation operation = {.function = ss_nccl_event_name("nccl", call->function),
                                          .datatype = ss_nccl_datatype_name(call->datatype),
                                          .reduction = call->reduction,
                                          .sequence = -1,
                                          .bytes = call->bytes,
                                          .root = -1};
    pthread_mutex_lock(&nccl.lock);
    struct communicator *of = communicator_of(call);
    if (of != NULL) {
        operation.group = of->group;
        operation.size = of->size;
        operation.sequence = call->is_message || of->is_shared || of->group == 0 ? -1 : of->next++;
    }
    pthread_mutex_unlock(&nccl.lock);
    return operation;
}

/* What was launched before has nothing to do with the calls that begin. */
static void begin_launches(struct ss_nccl_thread *thread)
{
    if (thread->calls == 0 && thread->groups == 0) {
        uint32_t last;
        thread->kernels = ss_launches_kernels(&last);
        thread->pending_count = 0;
        thread->has_lost = false;
    }
}

static void end_launches(struct ss_nccl_thread *thread)
{
    uint32_t last, kernels = ss_launches_kernels(&last), count = kernels - thread->kernels;
    bool is_known = count == 1 || (count > 1 && thread->pending_count == 1);
    for (uint32_t i = 0; i < thread->pending_count && is_known && !thread->has_lost; i++) {
        ss_nccl_put_launched(last, &thread->pending[i]);
    }
    thread->kernels = kernels;
    thread->pending_count = 0;
    thread->has_lost = false;
}

bool ss_nccl_call_begin(const struct ss_nccl_call *call)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    struct ss_event_collective of_torch;
    if (thread == NULL) {
        return false;
    }
    begin_launches(thread);
    if (thread->calls > 0) {
        if (thread->calls++ < SS_NCCL_OPEN) {
            thread->ranges[thread->calls - 1] = 0;
        }
        return false;
    }
    struct ss_nccl_operation operation = operation_of(call);
    bool is_of_torch =
        !call->is_message && ss_nccl_take_torch_call(operation.size, operation.bytes, &of_torch);
    if (is_of_torch) {
        ss_nccl_adopt(&operation, &of_torch);
    }
    if (thread->pending_count < SS_NCCL_PENDING) {
        thread->pending[thread->pending_count++] = operation;
    } else {
        thread->has_lost = true;
    }
    if (thread->calls == 0) {
        uint32_t name = is_of_torch ? 0 : ss_nccl_event_name("nccl:", call->function);
        thread->ranges[thread->calls] = is_of_torch ? 0 : ss_nccl_begin_range(name, &operation);
    }
    thread->calls++;
    return !is_of_torch;
}

void ss_nccl_call_end(void)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    if (thread == NULL || thread->calls == 0) {
        return;
    }
    thread->calls--;
    if (thread->calls < SS_NCCL_OPEN) {
        ss_event_end(thread->ranges[thread->calls]);
    }
    if (thread->calls == 0 && thread->groups == 0) {
        end_launches(thread);
    }
}

void ss_nccl_group_begin(void)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    if (thread != NULL) {
        begin_launches(thread);
        thread->groups++;
    }
}

/* A group within a call launches what the call does. */
void ss_nccl_group_end(bool launches)
{
    struct ss_nccl_thread *thread = ss_nccl_own_thread();
    if (thread == NULL || thread->groups == 0) {
        return;
    }
    thread->groups--;
    if (thread->groups == 0) {
        thread->has_lost |= !launches;
        end_launches(thread);
    }
}
