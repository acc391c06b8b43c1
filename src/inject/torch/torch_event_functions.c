/* SPDX-License-Identifier: Apache-2.0 */
/* The functions with which the hooks emit ranges, marks, counters and facts. Names, domains and
 * counters are passed as numbers. */
#include <stdlib.h>
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/process.h"
#include "annot/thread.h"
#include "base/shared_names.h"
#include "inject/torch/torch.h"

/* An argument that is not text, or no number that fits, sets an exception: the function must then
 * return NULL, or Python raises a SystemError instead. The hooks guard values that come from the
 * program. */
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

/* address, size of an element, number of elements, a number → how many elements are another one.
 * The caller holds the memory. */
static ss_python_object *count_elements(ss_python_object *self, ss_python_object *const *args,
                                        ptrdiff_t count)
{
    (void)self;
    int64_t numbers[4], other = 0;
    if (!ss_torch_has_arguments(count, 4)) {
        return NULL;
    }
    for (size_t i = 0; i < 4; i++) {
        if (!number_of(args[i], &numbers[i])) {
            return NULL;
        }
    }
    const char *at = (const char *)(uintptr_t)numbers[0]; // NOLINT(performance-no-int-to-ptr)
    for (int64_t i = 0; i < numbers[2]; i++, at += numbers[1]) {
        int64_t value = 0;
        if (numbers[1] == 8) {
            memcpy(&value, at, 8);
        } else if (numbers[1] == 4) {
            int32_t small;
            memcpy(&small, at, sizeof small);
            value = small;
        } else {
            value = (unsigned char)*at;
        }
        other += value != numbers[3];
    }
    return ss_python.PyLong_FromLongLong(other);
}

/* name, unit ("" none)[, what it measures: enum ss_quantity] → counter */
static ss_python_object *define_counter(ss_python_object *self, ss_python_object *const *args,
                                        ptrdiff_t count)
{
    (void)self;
    int64_t quantity = SS_QUANTITY_NONE;
    if (count != 3 && !ss_torch_has_arguments(count, 2)) {
        return NULL;
    }
    if (count == 3 && !number_of(args[2], &quantity)) {
        return NULL;
    }
    const char *text = ss_python.PyUnicode_AsUTF8(args[0]);
    const char *unit = text != NULL ? ss_python.PyUnicode_AsUTF8(args[1]) : NULL;
    if (unit == NULL) {
        return NULL;
    }
    uint32_t name = ss_define_name(text, strlen(text));
    ss_define_quantity(name, unit[0] != '\0' ? ss_define_name(unit, strlen(unit)) : 0,
                       (enum ss_quantity)quantity);
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
    if (ss_torch_is_off()) {
        return ss_python.PyLong_FromLongLong(false);
    }
    if (count == 3) {
        if (!value_of(args[2], &value)) {
            return NULL;
        }
        level = ss_event_push_value(domain, name, value);
    } else {
        level = ss_event_push(domain, name);
    }
    return ss_python.PyLong_FromLongLong(level >= 0);
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
    if (ss_torch_is_off()) {
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
    if (ss_torch_is_off()) {
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
    if (ss_torch_is_off()) {
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
static ss_python_object *set_fact_text(ss_python_object *self, ss_python_object *const *args,
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
static ss_python_object *set_fact(ss_python_object *self, ss_python_object *const *args,
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

static ss_python_object *set_thread_name(ss_python_object *self, ss_python_object *argument)
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
static ss_python_object *current_recording(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed);
    bool is_on = !ss_torch_is_off() && (gate & SS_RING_GATE_ALL) != 0;
    return ss_python.PyLong_FromLongLong(is_on ? 1 + gate / SS_RING_GATE_RECORDING : 0);
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
    uint32_t domain = ss_define_domain(ss_domain_python_gc, sizeof ss_domain_python_gc - 1);
    if (what == NULL) {
        return NULL;
    }
    if (strcmp(what, "start") == 0 && !ss_torch_is_off()) {
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
    {"define_name", {.one = define_name}, SS_PYTHON_ONE},
    {"define_domain", {.one = define_domain}, SS_PYTHON_ONE},
    {"count_elements", {count_elements}, SS_PYTHON_FASTCALL},
    {"define_counter", {define_counter}, SS_PYTHON_FASTCALL},
    {"push", {push}, SS_PYTHON_FASTCALL},
    {"pop", {.one = pop}, SS_PYTHON_ONE},
    {"mark", {mark}, SS_PYTHON_FASTCALL},
    {"count", {count_value}, SS_PYTHON_FASTCALL},
    {"count_real", {count_real}, SS_PYTHON_FASTCALL},
    {"set_fact", {set_fact}, SS_PYTHON_FASTCALL},
    {"set_fact_text", {set_fact_text}, SS_PYTHON_FASTCALL},
    {"set_thread_name", {.one = set_thread_name}, SS_PYTHON_ONE},
    {"current_recording", {.one = current_recording}, SS_PYTHON_NONE},
    {"on_collection", {on_collection}, SS_PYTHON_FASTCALL},
};

bool ss_torch_add_event_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
