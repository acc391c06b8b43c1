/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisation, devices with their contexts, and the calls of the API. */
#include "inside.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NULL_STREAM_ID = 7 };

static struct sim_device devices[SIM_MOST_DEVICES];
static atomic_bool is_initialised, is_forked;
static pthread_mutex_t init_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static atomic_uint next_correlation, next_slot;

static _Thread_local struct sim_call *current_call;
static _Thread_local unsigned current_device;
static _Thread_local int last_error;
static _Thread_local unsigned thread_slot; /* + 1 */
static _Thread_local int thread_id;

/* As with CUDA, a child of an initialised process cannot use its devices. */
static void after_fork_in_child(void)
{
    thread_id = 0;
    atomic_store(&is_forked, atomic_load(&is_initialised));
}

/* What the driver does for tools. */
static void load_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (path == NULL || *path == '\0') {
        return;
    }
    void *library = dlopen(path, RTLD_NOW);
    int (*initialise)(void) = NULL;
    if (library != NULL) {
        *(void **)&initialise = dlsym(library, "InitializeInjection");
    }
    if (initialise == NULL) {
        fprintf(stderr, "fake cuda: CUDA_INJECTION64_PATH: %s\n", dlerror());
    } else {
        initialise();
    }
}

/* After it no client is called: its memory may be gone. Registered before a client's own functions
   for the exit, which therefore run first. */
static void end_reports(void)
{
    if (!atomic_load(&is_forked)) { /* there, another thread of the parent may have had the lock */
        sim_end_reports();
    }
}

static void make_devices(void)
{
    for (unsigned i = 0; i < sim_settings()->device_count; i++) {
        devices[i].index = i;
        devices[i].context = i + 1;
        devices[i].null_stream = sim_stream_new(&devices[i], 0, 0);
        devices[i].null_stream->is_null = true;
        devices[i].null_stream->id = NULL_STREAM_ID;
    }
}

enum sim_result sim_init(void)
{
    if (atomic_load(&is_forked)) {
        return SIM_NOT_INITIALIZED;
    }
    if (sim_has_fault(SIM_NO_DRIVER) || sim_settings()->device_count == 0) {
        return SIM_NO_DEVICE;
    }
    if (atomic_load(&is_initialised)) {
        return SIM_OK;
    }
    pthread_mutex_lock(&init_lock);
    if (!atomic_load(&is_initialised)) {
        pthread_atfork(NULL, NULL, after_fork_in_child);
        atexit(end_reports);
        make_devices();
        atomic_store(&is_initialised, true);
        load_injection();
    }
    pthread_mutex_unlock(&init_lock);
    return SIM_OK;
}

struct sim_device *sim_device(unsigned index)
{
    return atomic_load(&is_initialised) && index < sim_settings()->device_count ? &devices[index]
                                                                                : NULL;
}

struct sim_device *sim_current_device(void)
{
    return &devices[current_device];
}

enum sim_result sim_set_device(unsigned index)
{
    if (sim_device(index) == NULL) {
        return SIM_INVALID_DEVICE;
    }
    current_device = index;
    return SIM_OK;
}

void sim_use_device(struct sim_device *device)
{
    pthread_mutex_lock(&sim_lock);
    bool is_new = !device->used;
    const struct sim_tracer *tracer = sim_tracer;
    device->used = true;
    pthread_mutex_unlock(&sim_lock);
    if (is_new && tracer != NULL && tracer->context_made != NULL) {
        tracer->context_made(device);
    }
}

enum sim_result sim_call_begin(struct sim_call *call)
{
    enum sim_result result = SIM_OK;
    if (call->domain == SIM_RUNTIME) {
        result = sim_init();
    } else if (!atomic_load(&is_initialised) || atomic_load(&is_forked)) {
        result = SIM_NOT_INITIALIZED;
    }
    call->outer = current_call;
    call->correlation =
        call->outer != NULL ? call->outer->correlation : atomic_fetch_add(&next_correlation, 1) + 1;
    current_call = call;
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer != NULL && tracer->call_begun != NULL && result == SIM_OK) {
        call->is_announced = true;
        tracer->call_begun(call);
    }
    return result;
}

void sim_call_end(struct sim_call *call, int result)
{
    const struct sim_tracer *tracer = sim_tracer;
    if (tracer != NULL && tracer->call_ended != NULL && call->is_announced) {
        tracer->call_ended(call, result);
    }
    if (result != 0 && call->domain == SIM_RUNTIME && strstr(call->name, "LastError") == NULL) {
        last_error = result;
    }
    current_call = call->outer;
}

int sim_last_error(bool clear)
{
    int error = last_error;
    if (clear) {
        last_error = 0;
    }
    return error;
}

uint32_t sim_correlation(void)
{
    return current_call != NULL ? current_call->correlation : 0;
}

unsigned sim_thread_slot(void)
{
    if (thread_slot == 0) {
        thread_slot = atomic_fetch_add(&next_slot, 1) % SIM_MOST_THREADS + 1;
    }
    return thread_slot - 1;
}

int sim_thread_id(void)
{
    if (thread_id == 0) {
        thread_id = (int)syscall(SYS_gettid);
    }
    return thread_id;
}
