/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_hook_cost.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/stamp.h"
#include "base/shared_names.h"

enum { FIRST_STEPS = 8, ONE_IN = 16, LEAST_STEPS = 4, MOST_TIMES = 4, MILLION = 1000000 };

/* Of a thread; times are stamps. */
static _Thread_local struct {
    uint64_t spent, entered; /* in hooks of this step; begin of the hook that runs */
    uint32_t wrappers;       /* calls of wrappers in this step */
    bool is_measuring, is_inside;
} own;

/* The thread that ends steps changes it. A step is measured before the one that counts: the hook
 * that ends a step runs on into the next. */
static struct {
    enum { STEP_IDLE, STEP_BEFORE, STEP_COUNTS } state;
    uint64_t began, began_ns;      /* of the step that counts */
    uint64_t steps, counted;       /* all; those that counted */
    double spent, whole, whole_ns; /* sums of these: stamps in hooks, stamps, ns */
    double emitted_ppm;
    uint64_t random;
} measured = {.random = 0x9e3779b9};

static _Atomic uint64_t wrapper_ns;

void ss_torch_hook_cost_start(void)
{
    uint64_t random = measured.random;
    measured.state = STEP_IDLE;
    measured.steps = measured.counted = 0;
    measured.spent = measured.whole = measured.whole_ns = measured.emitted_ppm = 0;
    measured.random = random;
}

void ss_torch_hook_cost_set_wrapper(uint64_t ns)
{
    atomic_store_explicit(&wrapper_ns, ns, memory_order_relaxed);
}

bool ss_torch_hook_cost_enter(void)
{
    if (__builtin_expect(!own.is_measuring || own.is_inside, 1)) {
        return false;
    }
    own.is_inside = true;
    own.entered = ss_stamp_now();
    return true;
}

void ss_torch_hook_cost_leave(bool is_measured)
{
    if (is_measured) {
        own.spent += ss_stamp_now() - own.entered;
        own.is_inside = false;
    }
}

void ss_torch_hook_cost_count_wrapper(void)
{
    own.wrappers++;
}

static void emit(const char *key, double value)
{
    ss_fact_set(ss_define_name(key, strlen(key)),
                (struct ss_event_value){(uint64_t)(value + 0.5), SS_RING_VALUE_SIGNED});
}

/* Again when the share has changed by 10 %. */
static void emit_cost(void)
{
    double ppm = MILLION * measured.spent / measured.whole;
    if (measured.counted < LEAST_STEPS ||
        (ppm > 0.9 * measured.emitted_ppm && ppm < 1.1 * measured.emitted_ppm)) {
        return;
    }
    measured.emitted_ppm = ppm;
    emit(ss_fact_torch_hooks_ppm, ppm);
    emit(ss_fact_torch_hooks_ns, ppm / MILLION * measured.whole_ns / (double)measured.counted);
}

/* While the kernel runs other threads, no hook costs anything: a step counts as MOST_TIMES the mean
 * at most. */
static double limited(double spent)
{
    double most =
        measured.counted > 0 ? MOST_TIMES * measured.spent / (double)measured.counted : spent;
    return measured.counted >= LEAST_STEPS && most > 0 && spent > most ? most : spent;
}

/* The step ends that counts. */
static void add_step(uint64_t now)
{
    double whole = (double)(now - measured.began);
    double whole_ns = (double)(ss_stamp_monotonic_ns() - measured.began_ns);
    if (whole <= 0 || whole_ns <= 0) {
        return;
    }
    double wrappers_ns =
        own.wrappers * (double)atomic_load_explicit(&wrapper_ns, memory_order_relaxed);
    measured.spent += limited((double)own.spent + wrappers_ns * whole / whole_ns);
    measured.counted++;
    measured.whole += whole;
    measured.whole_ns += whole_ns;
    emit_cost();
}

static bool is_chosen(void)
{
    measured.random =
        measured.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return measured.steps < FIRST_STEPS || (measured.random >> 40) % ONE_IN == 0;
}

void ss_torch_hook_cost_step(void)
{
    uint64_t now = ss_stamp_now();
    measured.steps++;
    if (own.is_inside) {
        own.spent += now - own.entered;
        own.entered = now;
    }
    if (measured.state == STEP_COUNTS && own.is_measuring) {
        add_step(now);
    }
    measured.state = measured.state == STEP_BEFORE ? STEP_COUNTS
                     : is_chosen()                 ? STEP_BEFORE
                                                   : STEP_IDLE;
    own.is_measuring = measured.state != STEP_IDLE;
    own.spent = 0;
    own.wrappers = 0;
    if (measured.state == STEP_COUNTS) {
        measured.began = now;
        measured.began_ns = ss_stamp_monotonic_ns();
    }
}
