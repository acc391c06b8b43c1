/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/arming.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annot/first.h"
#include "annot/process.h"
#include "base/env.h"
#include "base/shared_names.h"
#include "inject/cupti/collector.h"
#include "inject/device/collecting.h"

enum { MOST_PATH_BYTES = 4096, CUDA_NOT_INITIALIZED = 3 };

static const char variable[] = "CUDA_INJECTION64_PATH";
static char set_path[MOST_PATH_BYTES]; /* what we set the variable to; "": nothing */

/* Before cuInit, every other function answers that it is missing. */
static bool is_initialised(void)
{
    int (*count_devices)(int *) = NULL;
    int count = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL) {
        return false;
    }
    *(void **)&count_devices = dlsym(driver, "cuDeviceGetCount");
    bool is = count_devices != NULL && count_devices(&count) != CUDA_NOT_INITIALIZED;
    dlclose(driver);
    return is;
}

static void set_variable(void)
{
    char text[MOST_PATH_BYTES + 200];
    Dl_info info = {0};
    const char *present = ss_env_get(SS_ENV_CUDA_INJECTION64_PATH);
    bool is_found = dladdr((void *)&set_variable, &info) != 0 && info.dli_fname != NULL &&
                    strlen(info.dli_fname) < sizeof set_path;
    if (present != NULL && is_found && strcmp(present, info.dli_fname) == 0) {
        return; /* a parent that records itself has set it */
    }
    if (present != NULL && present[0] != '\0') {
        snprintf(text, sizeof text,
                 "%s is set already (%.300s) and was left as it is: begin the recording after CUDA "
                 "is initialised, or run the program without it",
                 variable, present);
        ss_collecting_set_fact(ss_fact_gpu_problem, text);
    } else if (is_found) {
        memcpy(set_path, info.dli_fname, strlen(info.dli_fname) + 1);
        setenv(variable, set_path, 1);
    }
}

/* First the variable: CUDA may be initialised by another thread at any moment. */
void stepscope_devices_follow(const char *settings, int answers)
{
    void (*first)(const char *, int) = NULL;
    *(void **)&first = ss_first_function("stepscope_devices_follow");
    if (first != NULL) {
        first(settings, answers);
        return;
    }
    ss_collecting_request(settings);
    atomic_store_explicit(&ss_process_header->arms_devices, answers != 0 ? 2 : 1,
                          memory_order_relaxed);
    if (is_initialised()) {
        ss_cupti_arm();
        return;
    }
    set_variable();
    if (is_initialised()) {
        ss_cupti_arm();
    }
}

void stepscope_devices_forget(void)
{
    void (*first)(void) = NULL;
    *(void **)&first = ss_first_function("stepscope_devices_forget");
    if (first != NULL) {
        first();
        return;
    }
    const char *present = ss_env_get(SS_ENV_CUDA_INJECTION64_PATH);
    if (set_path[0] != '\0' && present != NULL && strcmp(present, set_path) == 0) {
        unsetenv(variable);
    }
    set_path[0] = '\0';
}

void stepscope_devices_end(void)
{
    void (*first)(void) = NULL;
    *(void **)&first = ss_first_function("stepscope_devices_end");
    if (first != NULL) {
        first();
        return;
    }
    ss_cupti_disarm();
    /* Pairs with the acquire of ss_ring_consumer_is_ending: the ring has everything. */
    atomic_store_explicit(&ss_process_header->arms_devices, 0, memory_order_release);
    ss_collecting_request("");
}
