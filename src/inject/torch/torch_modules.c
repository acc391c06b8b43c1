/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of PyTorch's modules as ranges, and the names of the modules. */
#include "inject/torch/torch_modules.h"
#include "annot/define.h"
#include "annot/events.h"
#include "base/shared_names.h"
#include "inject/torch/torch_hook_cost.h"
#include "inject/torch/torch_outermost.h"

enum { MODULE_SLOTS = 65536, MOST_MODULES = 49152 };

/* The names of modules, by address. A hook removes a module before Python reuses its
 * address. Entries are never freed: a removed module has name 0. Any thread may add, remove and
 * read entries. */
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

/* Set at the start of a recording, which other threads may see late. */
static _Atomic int deepest_module = -1; /* -1: no modules are recorded */
static _Atomic uint32_t module_domain;

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

/* depth; a recording begins */
static ss_python_object *set_module_depth(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    deepest_module = (int)ss_python.PyLong_AsLongLong(argument);
    module_domain = ss_define_domain(ss_domain_torch_module, sizeof ss_domain_torch_module - 1);
    ss_torch_outermost_forget();
    ss_torch_hook_cost_start();
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

static ss_python_object *name_module(ss_python_object *self, ss_python_object *const *args,
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
static ss_python_object *forget_module(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    uintptr_t address = (uintptr_t)ss_python.PyLong_AsLongLong(argument);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): Python's id() of an object is its address */
    set_module_name((ss_python_object *)address, 0);
    ss_torch_outermost_forget();
    return ss_python_none();
}

static uint32_t name_of_module(const ss_python_object *module)
{
    return atomic_load_explicit(&find_module(module)->name, memory_order_relaxed);
}

static enum ss_torch_module_call push_named(uint32_t name)
{
    bool pushed = !ss_torch_is_off() && deepest_module >= 0 && name != 0 &&
                  ss_event_push(module_domain, name) >= 0;
    return pushed ? SS_TORCH_MODULE_PUSHED : SS_TORCH_MODULE_PLAIN;
}

enum ss_torch_module_call ss_torch_module_enter(const ss_python_object *module)
{
    int depth = module_depth++;
    if (depth == 0) {
        return SS_TORCH_MODULE_OUTERMOST;
    }
    if (depth > deepest_module) {
        return SS_TORCH_MODULE_PLAIN;
    }
    uint32_t name = name_of_module(module);
    return name != 0 ? push_named(name) : SS_TORCH_MODULE_UNNAMED;
}

enum ss_torch_module_call ss_torch_module_push(const ss_python_object *module)
{
    return push_named(name_of_module(module));
}

void ss_torch_module_leave(enum ss_torch_module_call call)
{
    if (call == SS_TORCH_MODULE_PUSHED) {
        ss_event_pop(module_domain);
    }
    module_depth--;
}

/* module → enum ss_torch_module_call */
static ss_python_object *enter_module(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return ss_python.PyLong_FromLongLong(ss_torch_module_enter(argument));
}

static ss_python_object *push_module(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return ss_python.PyLong_FromLongLong(ss_torch_module_push(argument));
}

/* module → truth: it has a name */
static ss_python_object *is_module_named(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return ss_python.PyLong_FromLongLong(name_of_module(argument) != 0);
}

static ss_python_object *leave_module(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    ss_torch_module_leave((enum ss_torch_module_call)ss_python.PyLong_AsLongLong(argument));
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"set_module_depth", {.one = set_module_depth}, SS_PYTHON_ONE},
    {"name_module", {name_module}, SS_PYTHON_FASTCALL},
    {"forget_module", {.one = forget_module}, SS_PYTHON_ONE},
    {"is_module_named", {.one = is_module_named}, SS_PYTHON_ONE},
    {"enter_module", {.one = enter_module}, SS_PYTHON_ONE},
    {"push_module", {.one = push_module}, SS_PYTHON_ONE},
    {"leave_module", {.one = leave_module}, SS_PYTHON_ONE},
};

bool ss_torch_add_module_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
