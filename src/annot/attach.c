/* SPDX-License-Identifier: Apache-2.0 */
/* A program that permits recorders to attach to it: a thread of it learns when one does. */
#include "annot/attach.h"

#include "annot/process.h"
#include "ring/wait.h"

enum { MOST_WAIT_MS = 1000 };

static bool is_open(void)
{
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_acquire);
    bool is_ending = atomic_load_explicit(&ss_process_header->is_ending, memory_order_acquire) != 0;
    return (gate & SS_RING_GATE_ALL) != 0 && !is_ending;
}

int stepscope_attach_wait(int wanted)
{
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    if (is_open() != (wanted != 0)) {
        ss_ring_wait(&ss_process_header->gate, gate, MOST_WAIT_MS);
    }
    ss_process_check_heartbeat();
    return is_open() == (wanted != 0);
}

unsigned stepscope_attach_device_level(void)
{
    return atomic_load_explicit(&ss_process_header->device_level, memory_order_relaxed);
}
