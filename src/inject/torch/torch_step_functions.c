/* SPDX-License-Identifier: Apache-2.0 */
/* The functions with which the hooks mark steps and phases, and follow the steps and the schedule
 * of the program. */
#include <stdatomic.h>

#include "annot/automatic.h"
#include "annot/events.h"
#include "annot/process.h"
#include "annot/training.h"
#include "inject/torch/torch.h"
#include "inject/torch/torch_hook_cost.h"

static ss_python_object *claim_steps(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_automatic_claim();
    return ss_python_none();
}

static ss_python_object *disclaim_steps(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_automatic_disclaim();
    return ss_python_none();
}

/* text */
static ss_python_object *set_step_source(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    const char *text = ss_python.PyUnicode_AsUTF8(argument);
    if (text == NULL) {
        return NULL;
    }
    ss_automatic_set_step_source(text);
    return ss_python_none();
}

static ss_python_object *begin_steps(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    if (!ss_torch_is_off()) {
        ss_automatic_begin();
    }
    return ss_python_none();
}

static ss_python_object *begin_training(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_automatic_train();
    return ss_python_none();
}

bool ss_torch_end_step(void)
{
    ss_torch_operators_end_step();
    bool counts = !ss_torch_is_off() && ss_automatic_step();
    ss_torch_operators_step();
    ss_torch_hook_cost_step();
    return counts;
}

static ss_python_object *end_step(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyLong_FromLongLong(ss_torch_end_step());
}

static _Atomic uint64_t updates;

uint64_t ss_torch_count_updates(uint64_t more)
{
    return atomic_fetch_add_explicit(&updates, more, memory_order_relaxed) + more;
}

/* Polling in each step would slow down tiny steps. */
bool ss_torch_is_poll_due(uint64_t number)
{
    enum { FIRST = 64, EACH = 16 };
    return number < FIRST || number % EACH == 0;
}

/* how many more → the number of steps that have ended */
static ss_python_object *count_updates(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    uint64_t more = (uint64_t)ss_python.PyLong_AsLongLong(argument);
    return ss_python.PyLong_FromLongLong((long long)ss_torch_count_updates(more));
}

static ss_python_object *is_poll_due(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyLong_FromLongLong(ss_torch_is_poll_due(ss_torch_count_updates(0)));
}

static ss_python_object *enter_phase(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    uint32_t name = (uint32_t)ss_python.PyLong_AsLongLong(argument);
    int64_t before = ss_torch_is_off() ? SS_AUTOMATIC_NOT : ss_automatic_enter(name);
    return ss_python.PyLong_FromLongLong(before);
}

static ss_python_object *leave_phase(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    ss_automatic_leave(ss_python.PyLong_AsLongLong(argument));
    return ss_python_none();
}

static ss_python_object *current_phase(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyLong_FromLongLong(ss_automatic_phase());
}

/* The callable of follow_steps; NULL: none. A former one is never freed, because another thread may
 * be about to call it: there are at most a few. */
static _Atomic(ss_python_object *) step_follower;

/* A step is about to end (`is_ending`), or a step has ended or an epoch has begun. */
static void on_step_boundary(bool is_ending)
{
    ss_python_object *follower = atomic_load_explicit(&step_follower, memory_order_acquire);
    if (follower == NULL || ss_python.PyGILState_Check() == 0) {
        return;
    }
    ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
    ss_python.PyErr_Fetch(&type, &value, &traceback);
    ss_python_object *is_ending_object = ss_python.PyLong_FromLongLong(is_ending);
    ss_python_object *result =
        ss_python.PyObject_CallFunctionObjArgs(follower, is_ending_object, NULL);
    if (result != NULL) {
        ss_python.Py_DecRef(result);
    }
    if (is_ending_object != NULL) {
        ss_python.Py_DecRef(is_ending_object);
    }
    ss_python_drop_exception();
    ss_python.PyErr_Restore(type, value, traceback);
}

/* A callable that gets True before a step ends and False after it; None: none. */
static ss_python_object *follow_steps(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    bool is_one = argument != ss_python.none;
    if (is_one) {
        ss_python.Py_IncRef(argument);
    }
    /* pairs with the load in on_step_boundary */
    atomic_store_explicit(&step_follower, is_one ? argument : NULL, memory_order_release);
    ss_training_observe_ends(is_one ? on_step_boundary : NULL);
    return ss_python_none();
}

/* → the current step; -1: none */
static ss_python_object *current_step(ss_python_object *self, ss_python_object *none)
{
    int64_t number;
    uint32_t window, action;
    (void)self;
    (void)none;
    ss_training_now(&number, &window, &action);
    return ss_python.PyLong_FromLongLong(number);
}

/* → the schedule's action in the current step, enum ss_schedule_action; -1: no schedule */
static ss_python_object *current_action(ss_python_object *self, ss_python_object *none)
{
    int64_t number;
    uint32_t window, action;
    (void)self;
    (void)none;
    bool has_schedule = ss_training_now(&number, &window, &action);
    return ss_python.PyLong_FromLongLong(has_schedule ? (int64_t)action : -1);
}

/* → the schedule's window; 0: none */
static ss_python_object *current_window(ss_python_object *self, ss_python_object *none)
{
    int64_t number;
    uint32_t window, action;
    (void)self;
    (void)none;
    ss_training_now(&number, &window, &action);
    return ss_python.PyLong_FromLongLong(window);
}

/* number, from 0 → the path of that file of torch.profiler's data; "": none */
static ss_python_object *profile_path(ss_python_object *self, ss_python_object *argument)
{
    char path[SS_RING_PATH_BYTES + 16];
    (void)self;
    bool is_recorded = !ss_torch_is_off() && ss_event_is_on(SS_RING_GATE_ALL);
    unsigned number = (unsigned)ss_python.PyLong_AsLongLong(argument);
    return ss_python.PyUnicode_FromString(is_recorded && ss_process_torch_path(number, path) ? path
                                                                                             : "");
}

static struct ss_python_method methods[] = {
    {"claim_steps", {.one = claim_steps}, SS_PYTHON_NONE},
    {"disclaim_steps", {.one = disclaim_steps}, SS_PYTHON_NONE},
    {"set_step_source", {.one = set_step_source}, SS_PYTHON_ONE},
    {"begin_steps", {.one = begin_steps}, SS_PYTHON_NONE},
    {"begin_training", {.one = begin_training}, SS_PYTHON_NONE},
    {"end_step", {.one = end_step}, SS_PYTHON_NONE},
    {"count_updates", {.one = count_updates}, SS_PYTHON_ONE},
    {"is_poll_due", {.one = is_poll_due}, SS_PYTHON_NONE},
    {"enter_phase", {.one = enter_phase}, SS_PYTHON_ONE},
    {"leave_phase", {.one = leave_phase}, SS_PYTHON_ONE},
    {"current_phase", {.one = current_phase}, SS_PYTHON_NONE},
    {"follow_steps", {.one = follow_steps}, SS_PYTHON_ONE},
    {"current_step", {.one = current_step}, SS_PYTHON_NONE},
    {"current_action", {.one = current_action}, SS_PYTHON_NONE},
    {"current_window", {.one = current_window}, SS_PYTHON_NONE},
    {"profile_path", {.one = profile_path}, SS_PYTHON_ONE},
};

bool ss_torch_add_step_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
