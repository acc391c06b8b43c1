/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/rocm/launches.h"

#include <stdbool.h>

#include "annot/stamp.h"
#include "inject/device/launch_queue.h"
#include "inject/rocm/calls.h"

enum { MOST_NESTED = 8 };

/* The streams of the calls that are open on this thread. */
static _Thread_local struct {
    uint32_t depth;
    uint64_t open[MOST_NESTED];
    uint32_t captures; /* streams that this thread captures into graphs */
} streams;

static void leave_call(struct ss_launcher *launcher, const struct ss_rocm_event *event,
                       uint64_t begin_ns)
{
    struct ss_launch launch = {.begin_ns = begin_ns,
                               .end_ns = ss_stamp_monotonic_ns(),
                               .thread = launcher->thread,
                               .correlation = (uint32_t)event->correlation,
                               .stack = ss_launch_stack(&launcher->stacks),
                               .function = (uint32_t)event->operation,
                               .domain = SS_ROCM_HIP_CALL,
                               .is_captured = streams.captures > 0,
                               .is_kernel = ss_rocm_calls_launches_kernel(event->operation)};
    launcher->epoch = ss_launches_epoch();
    ss_launcher_put(launcher, &launch);
}

/* The SDK keeps `user` from the start of a call to its end. A call whose begin was not observed has
 * 0 there and is left out. */
void ss_rocm_observe_call(const struct ss_rocm_event *event, uint64_t *user)
{
    if (event->phase == SS_ROCM_ENTERS) {
        *user = ss_stamp_monotonic_ns();
        return;
    }
    int change = ss_rocm_calls_captures(event->operation);
    if (event->phase != SS_ROCM_LEAVES || change > 0) {
        streams.captures += event->phase == SS_ROCM_LEAVES && change > 0;
        return;
    }
    if (change < 0) {
        streams.captures -= streams.captures > 0;
    } else if (*user != 0 && ss_rocm_calls_is_launch(event->operation)) {
        struct ss_launcher *launcher = ss_launcher_own();
        if (launcher == NULL) {
            ss_launches_lose();
        } else {
            leave_call(launcher, event, *user);
        }
    }
}

void ss_rocm_observe_stream(const struct ss_rocm_event *event, uint64_t *user)
{
    (void)user;
    if (event->operation != SS_ROCM_STREAM_SET || event->payload == NULL) {
        return;
    }
    if (event->phase == SS_ROCM_ENTERS) {
        if (streams.depth < MOST_NESTED) {
            streams.open[streams.depth] = ss_rocm_stream_stream(event->payload);
        }
        streams.depth++;
    } else if (event->phase == SS_ROCM_LEAVES && streams.depth > 0) {
        streams.depth--;
    }
}

/* The stream plus one, so that 0 is none. */
int ss_rocm_give_stream(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation,
                        uint64_t correlation, uint64_t *external, void *data)
{
    (void)thread;
    (void)context;
    (void)kind;
    (void)operation;
    (void)correlation;
    (void)data;
    bool is_known = streams.depth > 0 && streams.depth <= MOST_NESTED;
    *external = is_known ? streams.open[streams.depth - 1] + 1 : 0;
    return 0;
}
