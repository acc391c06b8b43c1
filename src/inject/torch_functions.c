/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that python/stepscope/_torch_hooks.py calls. It passes names, domains and counters
 * as numbers. */
#include "inject/torch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annot/automatic.h"
#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/process.h"
#include "annot/thread.h"
#include "annot/training.h"

/* The recording leaves out torch: the installed hooks do nothing. */
static bool is_off;

bool ss_torch_is_off(void)
{
    return is_off;
}

bool ss_torch_has_arguments(ptrdiff_t count, ptrdiff_t wanted)
{
    if (count != wanted) {
        ss_python.PyErr_SetString(ss_python.type_error, "wrong number of arguments");
    }
    return count == wanted;
}

static ss_python_object *truth(bool value)
{
    return ss_python.PyLong_FromLongLong(value);
}

/* An argument that is no text, or no number that fits, sets an exception: the function must then
 * return NULL, or Python raises a SystemError instead. The callers in _torch_hooks.py guard values
 * that come from the program. */
static bool number_of(ss_python_object *object, int64_t *number)
{
    *number = ss_python.PyLong_AsLongLong(object);
    return *number != -1 || ss_python.PyErr_Occurred() == NULL;
}

static bool value_of(ss_python_object *object, struct ss_event_value *value)
{
    int64_t number;
    bool fits = number_of(object, &number);
    *value = (struct ss_event_value){(uint64_t)number, SS_RING_VALUE_SIGNED};
    return fits;
}

static ss_python_object *define_name(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    const char *text = ss_python.PyUnicode_AsUTF8(argument);
    return text != NULL ? ss_python.PyLong_FromLongLong(ss_define_name(text, strlen(text))) : NULL;
}

static ss_python_object *define_domain(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    const char *text = ss_python.PyUnicode_AsUTF8(argument);
    return text != NULL ? ss_python.PyLong_FromLongLong(ss_define_domain(text, strlen(text)))
                        : NULL;
}

/* name, unit ("" none) → counter */
static ss_python_object *define_counter(ss_python_object *self, ss_python_object *const *args,
                                        ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    const char *text = ss_python.PyUnicode_AsUTF8(args[0]);
    const char *unit = text != NULL ? ss_python.PyUnicode_AsUTF8(args[1]) : NULL;
    if (unit == NULL) {
        return NULL;
    }
    uint32_t name = ss_define_name(text, strlen(text));
    ss_define_counter(name, unit[0] != '\0' ? ss_define_name(unit, strlen(unit)) : 0,
                      SS_RING_GAUGE);
    return ss_python.PyLong_FromLongLong(name);
}

/* domain, name[, payload] → truth: it is recorded, and requires a pop */
static ss_python_object *push(ss_python_object *self, ss_python_object *const *args,
                              ptrdiff_t count)
{
    (void)self;
    if (count != 3 && !ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    uint32_t domain = (uint32_t)ss_python.PyLong_AsLongLong(args[0]);
    uint32_t name = (uint32_t)ss_python.PyLong_AsLongLong(args[1]);
    int level = SS_EVENT_OFF;
    struct ss_event_value value = {0};
    if (is_off) {
        return truth(false);
    }
    if (count == 3) {
        if (!value_of(args[2], &value)) {
            return NULL;
        }
        level = ss_event_push_value(domain, name, value);
    } else {
        level = ss_event_push(domain, name);
    }
    return truth(level >= 0);
}

static ss_python_object *pop(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    ss_event_pop((uint32_t)ss_python.PyLong_AsLongLong(argument));
    return ss_python_none();
}

static ss_python_object *mark(ss_python_object *self, ss_python_object *const *args,
                              ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    if (is_off) {
        return ss_python_none();
    }
    ss_event_mark((uint32_t)ss_python.PyLong_AsLongLong(args[0]),
                  (uint32_t)ss_python.PyLong_AsLongLong(args[1]), (struct ss_event_value){0});
    return ss_python_none();
}

static ss_python_object *count_value(ss_python_object *self, ss_python_object *const *args,
                                     ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    if (is_off) {
        return ss_python_none();
    }
    struct ss_event_value value;
    if (!value_of(args[1], &value)) {
        return NULL;
    }
    ss_event_count((uint32_t)ss_python.PyLong_AsLongLong(args[0]), value);
    return ss_python_none();
}

static ss_python_object *count_real(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    if (is_off) {
        return ss_python_none();
    }
    double real = ss_python.PyFloat_AsDouble(args[1]);
    if (real == -1.0 && ss_python.PyErr_Occurred() != NULL) {
        return NULL;
    }
    struct ss_event_value value = {.type = SS_RING_VALUE_DOUBLE};
    memcpy(&value.bits, &real, sizeof value.bits);
    ss_event_count((uint32_t)ss_python.PyLong_AsLongLong(args[0]), value);
    return ss_python_none();
}

/* key, text */
static ss_python_object *fact_text(ss_python_object *self, ss_python_object *const *args,
                                   ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    const char *key = ss_python.PyUnicode_AsUTF8(args[0]);
    const char *text = key != NULL ? ss_python.PyUnicode_AsUTF8(args[1]) : NULL;
    if (text == NULL) {
        return NULL;
    }
    struct ss_event_value value = {ss_define_name(text, strlen(text)), SS_RING_VALUE_NAME};
    ss_fact_set(ss_define_name(key, strlen(key)), value);
    return ss_python_none();
}

/* key, number */
static ss_python_object *fact(ss_python_object *self, ss_python_object *const *args,
                              ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    const char *key = ss_python.PyUnicode_AsUTF8(args[0]);
    struct ss_event_value value;
    if (key == NULL || !value_of(args[1], &value)) {
        return NULL;
    }
    ss_fact_set(ss_define_name(key, strlen(key)), value);
    return ss_python_none();
}

static ss_python_object *thread_name(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    const char *text = ss_python.PyUnicode_AsUTF8(argument);
    if (text == NULL) {
        return NULL;
    }
    ss_event_thread_name(ss_thread_tid(), ss_define_name(text, strlen(text)));
    return ss_python_none();
}

/* → which recording of this process is under way; 0: none */
static ss_python_object *recording(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    bool is_on = !is_off && (gate & SS_RING_GATE_ALL) != 0;
    return ss_python.PyLong_FromLongLong(is_on ? 1 + gate / SS_RING_GATE_RECORDING : 0);
}

/* truth */
static ss_python_object *turn_off(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    is_off = ss_python.PyObject_IsTrue(argument) == 1;
    return ss_python_none();
}

/* --- steps and phases ------------------------------------------------------------------------ */

static ss_python_object *claim(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_automatic_claim();
    return ss_python_none();
}

static ss_python_object *disclaim(ss_python_object *self, ss_python_object *none)
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

static ss_python_object *begin(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    if (!is_off) {
        ss_automatic_begin();
    }
    return ss_python_none();
}

static ss_python_object *train(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_automatic_train();
    return ss_python_none();
}

static ss_python_object *step(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    ss_torch_operators_end_step();
    bool counts = !is_off && ss_automatic_step();
    ss_torch_operators_step();
    return truth(counts);
}

static ss_python_object *enter(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    uint32_t name = (uint32_t)ss_python.PyLong_AsLongLong(argument);
    int64_t before = is_off ? SS_AUTOMATIC_NOT : ss_automatic_enter(name);
    return ss_python.PyLong_FromLongLong(before);
}

static ss_python_object *leave(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    ss_automatic_leave(ss_python.PyLong_AsLongLong(argument));
    return ss_python_none();
}

static ss_python_object *phase(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyLong_FromLongLong(ss_automatic_phase());
}

static ss_python_object *step_follower; /* the callable of follow_steps; NULL: none */

/* A step is about to end (`is_ending`), or a step has ended or an epoch has begun. */
static void on_step_boundary(bool is_ending)
{
    ss_python_object *follower = step_follower;
    if (follower == NULL || ss_python.PyGILState_Check() == 0) {
        return;
    }
    ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
    ss_python.PyErr_Fetch(&type, &value, &traceback);
    ss_python.Py_IncRef(follower);
    ss_python_object *is_ending_object = truth(is_ending);
    ss_python_object *result =
        ss_python.PyObject_CallFunctionObjArgs(follower, is_ending_object, NULL);
    ss_python_object *const owned[] = {follower, is_ending_object, result};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (owned[i] != NULL) {
            ss_python.Py_DecRef(owned[i]);
        }
    }
    ss_python.PyErr_Restore(type, value, traceback); /* an exception of the callable is discarded */
}

/* A callable that gets True before a step ends and False after it; None: none. */
static ss_python_object *follow_steps(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    ss_python_object *before = step_follower;
    bool is_one = argument != ss_python.none;
    if (is_one) {
        ss_python.Py_IncRef(argument);
    }
    step_follower = is_one ? argument : NULL;
    ss_training_follow(is_one ? on_step_boundary : NULL);
    if (before != NULL) {
        ss_python.Py_DecRef(before);
    }
    return ss_python_none();
}

/* → the current step; -1: none */
static ss_python_object *step_now(ss_python_object *self, ss_python_object *none)
{
    int64_t number;
    uint32_t window, action;
    (void)self;
    (void)none;
    ss_training_now(&number, &window, &action);
    return ss_python.PyLong_FromLongLong(number);
}

/* → the schedule's action in the current step, enum ss_schedule_action; -1: no schedule */
static ss_python_object *action_now(ss_python_object *self, ss_python_object *none)
{
    int64_t number;
    uint32_t window, action;
    (void)self;
    (void)none;
    bool has_schedule = ss_training_now(&number, &window, &action);
    return ss_python.PyLong_FromLongLong(has_schedule ? (int64_t)action : -1);
}

/* → the schedule's window; 0: none */
static ss_python_object *window_now(ss_python_object *self, ss_python_object *none)
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
    bool is_recorded = !is_off && ss_event_is_on(SS_RING_GATE_ALL);
    unsigned number = (unsigned)ss_python.PyLong_AsLongLong(argument);
    return ss_python.PyUnicode_FromString(is_recorded && ss_process_torch_path(number, path) ? path
                                                                                             : "");
}

/* --- modules --------------------------------------------------------------------------------- */

enum { MODULE_SLOTS = 65536, MOST_MODULES = 49152 };

/* The names of modules, by address. The Python text removes a module before Python reuses its
 * address. Entries are never freed: a removed module has name 0. */
static struct module {
    _Atomic(ss_python_object *) address;
    _Atomic uint32_t name;
} modules[MODULE_SLOTS];
static _Atomic uint32_t module_count;

static _Thread_local int module_depth;

int ss_torch_module_depth(void)
{
    return module_depth;
}

static int deepest_module = -1; /* -1: no modules are recorded */
static uint32_t module_domain;

/* The entry of an address, or the free one for it. */
static struct module *find_module(const ss_python_object *address)
{
    uint32_t slot = (uint32_t)(((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
    for (;; slot = (slot + 1) % MODULE_SLOTS) {
        ss_python_object *used_by =
            atomic_load_explicit(&modules[slot].address, memory_order_relaxed);
        if (used_by == address || used_by == NULL) {
            return &modules[slot];
        }
    }
}

/* depth */
static ss_python_object *set_module_depth(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    deepest_module = (int)ss_python.PyLong_AsLongLong(argument);
    module_domain = ss_define_domain("torch.module", 12);
    return ss_python_none();
}

/* `name` 0: the module is gone. A full table ignores new modules. */
static void set_module_name(ss_python_object *address, uint32_t name)
{
    struct module *entry = find_module(address);
    bool is_new = atomic_load_explicit(&entry->address, memory_order_relaxed) == NULL;
    if (is_new && (name == 0 || atomic_fetch_add(&module_count, 1) >= MOST_MODULES)) {
        return;
    }
    ss_python_object *expected = NULL;
    if (is_new && !atomic_compare_exchange_strong(&entry->address, &expected, address)) {
        return; /* another thread won the entry: the module's next call retries */
    }
    atomic_store_explicit(&entry->name, name, memory_order_relaxed);
}

static ss_python_object *module_know(ss_python_object *self, ss_python_object *const *args,
                                     ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    set_module_name(args[0], (uint32_t)ss_python.PyLong_AsLongLong(args[1]));
    return ss_python_none();
}

/* id of the module */
static ss_python_object *module_forget(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    uintptr_t address = (uintptr_t)ss_python.PyLong_AsLongLong(argument);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): Python's id() of an object is its address */
    set_module_name((ss_python_object *)address, 0);
    return ss_python_none();
}

static uint32_t name_of_module(const ss_python_object *module)
{
    return atomic_load_explicit(&find_module(module)->name, memory_order_relaxed);
}

enum module_call { MODULE_PLAIN, MODULE_PUSHED, MODULE_OUTERMOST, MODULE_UNKNOWN };

static ss_python_object *push_module(uint32_t name)
{
    bool pushed =
        !is_off && deepest_module >= 0 && name != 0 && ss_event_push(module_domain, name) >= 0;
    return ss_python.PyLong_FromLongLong(pushed ? MODULE_PUSHED : MODULE_PLAIN);
}

/* module → enum module_call. A range begins (MODULE_PUSHED), or none (MODULE_PLAIN); otherwise
 * Python has work to do before it calls module_push. module_leave gets the result of either. */
static ss_python_object *module_enter(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    int depth = module_depth++;
    if (depth == 0) {
        return ss_python.PyLong_FromLongLong(MODULE_OUTERMOST);
    }
    if (depth > deepest_module) {
        return ss_python.PyLong_FromLongLong(MODULE_PLAIN);
    }
    uint32_t name = name_of_module(argument);
    return name != 0 ? push_module(name) : ss_python.PyLong_FromLongLong(MODULE_UNKNOWN);
}

static ss_python_object *module_push(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return push_module(name_of_module(argument));
}

/* module → truth: it has a name */
static ss_python_object *module_is_known(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return truth(name_of_module(argument) != 0);
}

static ss_python_object *module_leave(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    if (ss_python.PyLong_AsLongLong(argument) == MODULE_PUSHED) {
        ss_event_pop(module_domain);
    }
    module_depth--;
    return ss_python_none();
}

static ss_python_object *settings(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    return ss_python.PyUnicode_FromString(ss_torch_settings());
}

/* An entry of gc.callbacks: "start" or "stop", a dict with "generation". Collections of the
 * youngest generation are not recorded: they are frequent and take microseconds. */
static ss_python_object *on_collection(ss_python_object *self, ss_python_object *const *args,
                                       ptrdiff_t count)
{
    static _Thread_local bool is_open;
    (void)self;
    if (!ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    const char *what = ss_python.PyUnicode_AsUTF8(args[0]);
    uint32_t domain = ss_define_domain("python.gc", 9);
    if (what == NULL) {
        return NULL;
    }
    if (strcmp(what, "start") == 0 && !is_off) {
        ss_python_object *number = ss_python.PyDict_GetItemString(args[1], "generation");
        long long generation = number != NULL ? ss_python.PyLong_AsLongLong(number) : 0;
        struct ss_event_value value = {(uint64_t)generation, SS_RING_VALUE_SIGNED};
        is_open =
            generation > 0 && ss_event_push_value(domain, ss_define_name("gc", 2), value) >= 0;
    } else if (is_open) {
        ss_event_pop(domain);
        is_open = false;
    }
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"_name", {.one = define_name}, SS_PYTHON_ONE},
    {"_domain", {.one = define_domain}, SS_PYTHON_ONE},
    {"_counter", {define_counter}, SS_PYTHON_FASTCALL},
    {"_push", {push}, SS_PYTHON_FASTCALL},
    {"_pop", {.one = pop}, SS_PYTHON_ONE},
    {"_mark", {mark}, SS_PYTHON_FASTCALL},
    {"_count", {count_value}, SS_PYTHON_FASTCALL},
    {"_count_real", {count_real}, SS_PYTHON_FASTCALL},
    {"_fact", {fact}, SS_PYTHON_FASTCALL},
    {"_fact_text", {fact_text}, SS_PYTHON_FASTCALL},
    {"_thread_name", {.one = thread_name}, SS_PYTHON_ONE},
    {"_recording", {.one = recording}, SS_PYTHON_NONE},
    {"_turn_off", {.one = turn_off}, SS_PYTHON_ONE},
    {"_claim", {.one = claim}, SS_PYTHON_NONE},
    {"_disclaim", {.one = disclaim}, SS_PYTHON_NONE},
    {"_tell_steps", {.one = set_step_source}, SS_PYTHON_ONE},
    {"_begin", {.one = begin}, SS_PYTHON_NONE},
    {"_train", {.one = train}, SS_PYTHON_NONE},
    {"_step", {.one = step}, SS_PYTHON_NONE},
    {"_enter", {.one = enter}, SS_PYTHON_ONE},
    {"_leave", {.one = leave}, SS_PYTHON_ONE},
    {"_phase", {.one = phase}, SS_PYTHON_NONE},
    {"_follow_steps", {.one = follow_steps}, SS_PYTHON_ONE},
    {"_step_now", {.one = step_now}, SS_PYTHON_NONE},
    {"_action_now", {.one = action_now}, SS_PYTHON_NONE},
    {"_window_now", {.one = window_now}, SS_PYTHON_NONE},
    {"_profile_path", {.one = profile_path}, SS_PYTHON_ONE},
    {"_set_module_depth", {.one = set_module_depth}, SS_PYTHON_ONE},
    {"_module_know", {module_know}, SS_PYTHON_FASTCALL},
    {"_module_forget", {.one = module_forget}, SS_PYTHON_ONE},
    {"_module_is_known", {.one = module_is_known}, SS_PYTHON_ONE},
    {"_module_enter", {.one = module_enter}, SS_PYTHON_ONE},
    {"_module_push", {.one = module_push}, SS_PYTHON_ONE},
    {"_module_leave", {.one = module_leave}, SS_PYTHON_ONE},
    {"_settings", {.one = settings}, SS_PYTHON_NONE},
    {"_collects", {on_collection}, SS_PYTHON_FASTCALL},
};

bool ss_torch_add_methods(ss_python_object *globals, struct ss_python_method *added, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ss_python_object *function = ss_python.PyCFunction_NewEx(&added[i], NULL, NULL);
        if (function == NULL ||
            ss_python.PyDict_SetItemString(globals, added[i].name, function) != 0) {
            return false;
        }
        ss_python.Py_DecRef(function);
    }
    return true;
}

bool ss_torch_add_functions(ss_python_object *globals)
{
    return ss_torch_add_methods(globals, methods, sizeof methods / sizeof *methods) &&
           ss_torch_add_memory_functions(globals) && ss_torch_add_operator_functions(globals);
}
