/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake CUPTI: its state, and how records get into the client's buffers. */
#ifndef FAKE_CUPTI_INSIDE_H
#define FAKE_CUPTI_INSIDE_H

#include "core.h"
#include "cupti_record_types.h"

#include <pthread.h>

/* The slot of the buffer that all threads share, when they have none of their own. */
enum { SHARED_SLOT = SIM_MOST_THREADS, SLOT_COUNT };

enum { MOST_KINDS = 256, MOST_CBIDS = 2048 };

struct cupti_state {
    bool is_enabled[MOST_KINDS];  /* activity kinds */
    bool is_muted[3][MOST_CBIDS]; /* API records that are not written, by domain */
    CUpti_ActivityThreadIdType thread_id_type;
    uint8_t per_thread, zeroed;
    size_t device_buffer_bytes, device_buffer_limit, preallocated;
    uint32_t flush_period_ms;
};

extern struct cupti_state cupti;
/* Recursive. Held while the client is asked for a buffer, as with CUPTI itself. */
extern pthread_mutex_t cupti_lock;

/* --- cupti_buffers.c --- */

void cupti_write(unsigned slot, const void *record, size_t size);
/* The slot for what the calling thread does. */
unsigned cupti_own_slot(void);
unsigned cupti_slot_of(unsigned thread);
/* Gives the client its buffers: full ones, or all. */
void cupti_deliver(bool all);
void cupti_count_dropped(void);
size_t cupti_take_dropped(void);
bool cupti_has_client(void);

/* --- cupti_records.c --- */

/* The size of a record of this kind, in the version that is simulated; 0 for unknown kinds. */
size_t cupti_record_size(unsigned kind);
void cupti_write_overhead(CUpti_ActivityOverheadKind kind, uint64_t start_ns, uint64_t end_ns);
void cupti_write_call(const struct sim_call *call, int result);
void cupti_write_work(const struct sim_work *work);
void cupti_write_event(const struct sim_event_record *event);
void cupti_write_wait(const struct sim_wait *wait);
void cupti_write_allocation(const struct sim_allocation *allocation);
void cupti_write_pool(const struct sim_device *device, enum sim_pool_change change, uint64_t at_ns);
void cupti_write_compilation(const struct sim_compilation *compilation);
void cupti_write_device(const struct sim_device *device);
void cupti_write_context(const struct sim_device *device);
void cupti_write_stream(const struct sim_stream *stream);

/* --- cupti_profiler.c --- */

/* Work has ended: counts it in the range that is open. */
void cupti_count_work(const struct sim_work *work);
/* Whether a range profiler is enabled, which needs the done work. */
bool cupti_has_profiler(void);
/* After it was enabled or disabled, and after kinds were. */
void cupti_want_work(void);

/* --- cupti_samples.c --- */

/* Work has its times, for the samples of its device; with the simulation's lock held. */
void cupti_sample_work(const struct sim_work *work);

/* --- cupti_clock.c --- */

/* From the simulation's clock to the client's. */
uint64_t cupti_time(uint64_t ns);

/* --- cupti_callbacks.c --- */

extern const struct sim_tracer cupti_tracer;
/* Whether the library can be used; sets the tracer the first time. */
CUptiResult cupti_begin(void);

#endif
