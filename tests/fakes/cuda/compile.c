/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation of PTX by the driver, which takes its time once for each text: the cache is that of
 * the process. */
#include "inside.h"

#include <string.h>
#include <time.h>

enum { MOST_CACHED = 256 };

static uint64_t cached[MOST_CACHED]; /* hashes */
static size_t cached_count;

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    }
    return hash;
}

static bool is_cached(uint64_t hash)
{
    bool found = false;
    pthread_mutex_lock(&sim_lock);
    for (size_t i = 0; i < cached_count; i++) {
        found = found || cached[i] == hash;
    }
    if (!found && cached_count < MOST_CACHED) {
        cached[cached_count++] = hash;
    }
    pthread_mutex_unlock(&sim_lock);
    return found;
}

static void publish(enum sim_compilation_kind kind, uint64_t start_ns, uint64_t bytes)
{
    const struct sim_tracer *tracer = sim_tracer;
    struct sim_compilation compilation = {.kind = kind,
                                          .start_ns = start_ns,
                                          .end_ns = sim_now_ns(),
                                          .bytes = bytes,
                                          .correlation = sim_correlation(),
                                          .device = sim_current_device()->index};
    if (tracer != NULL && tracer->compiled != NULL) {
        tracer->compiled(&compilation);
    }
}

void sim_compile(const char *ptx)
{
    uint64_t start_ns = sim_now_ns(), bytes = strlen(ptx);
    sim_use_device(sim_current_device());
    if (is_cached(hash_of(ptx))) {
        publish(SIM_CACHE_LOADS, start_ns, bytes);
        return;
    }
    uint64_t took_ns = sim_settings()->compile_ns;
    nanosleep(&(struct timespec){(time_t)(took_ns / 1000000000), (long)(took_ns % 1000000000)},
              NULL);
    publish(SIM_COMPILES, start_ns, 0);
    publish(SIM_CACHE_STORES, sim_now_ns(), bytes);
}
