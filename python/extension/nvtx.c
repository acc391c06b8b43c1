/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations for another tool: a collector of NVTX (Nsight Systems), which NVTX_INJECTION64_PATH
 * names, gets the ranges and marks of annotate(), as it gets those of programs that were compiled
 * with NVTX's headers. We do what those headers do: load the library, hand it tables of slots, and
 * call what it puts into them.
 *
 * This is a runtime in front of the process's own one, so that programs without a collector pay
 * nothing for it: its gate is open, and the own one decides by its own gate what it records.
 */
#include "extension.h" /* Python.h wants to be first */

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inject/nvtx/nvtx_abi.h"

enum { MOST_NAMES = 1 << 16, MOST_DOMAINS = 256, MOST_SLOTS = 32, MOST_OPEN = 4096 };

/* --- the slots ------------------------------------------------------------------------------- */

static const unsigned slot_counts[SS_NVTX_MODULE_COUNT] = {
    [SS_NVTX_CORE] = SS_NVTX_CORE_COUNT,     [SS_NVTX_CUDA] = SS_NVTX_CUDA_COUNT,
    [SS_NVTX_OPENCL] = SS_NVTX_OPENCL_COUNT, [SS_NVTX_CUDART] = SS_NVTX_CUDART_COUNT,
    [SS_NVTX_CORE2] = SS_NVTX_CORE2_COUNT,   [SS_NVTX_SYNC] = SS_NVTX_SYNC_COUNT};
static ss_nvtx_function slots[SS_NVTX_MODULE_COUNT][MOST_SLOTS];
static ss_nvtx_function *addresses[SS_NVTX_MODULE_COUNT][MOST_SLOTS];

static int get_module(int module, ss_nvtx_function ***table, unsigned *size)
{
    if (module < 1 || module >= SS_NVTX_MODULE_COUNT) {
        return 0;
    }
    for (unsigned i = 1; i < slot_counts[module]; i++) { /* the first is NULL */
        addresses[module][i] = &slots[module][i];
    }
    *table = addresses[module];
    *size = slot_counts[module];
    return 1;
}

static void set_tool_version(uint32_t version)
{
    (void)version;
}

static const void *get_table(uint32_t id)
{
    static const struct ss_nvtx_callbacks callbacks = {sizeof callbacks, get_module};
    static const struct ss_nvtx_version_info version = {sizeof version, SS_NVTX_VERSION, 0,
                                                        set_tool_version};
    return id == SS_NVTX_EXPORT_CALLBACKS ? (const void *)&callbacks
           : id == SS_NVTX_EXPORT_VERSION ? &version
                                          : NULL;
}

/* What the collector put there; NULL: it does not want it. */
static ss_nvtx_function slot(unsigned which)
{
    return __atomic_load_n(&slots[SS_NVTX_CORE2][which], __ATOMIC_ACQUIRE);
}

/* --- names and domains ----------------------------------------------------------------------- */

/* What the numbers of the runtime stand for. A text that is there stays. */
struct name {
    const char *text;
    uint32_t argb, category;
};

struct domain {
    const char *text;
    void *handle;
    bool is_made;
};

static const stepscope_runtime *own;
static struct name *names; /* by number; calloc leaves unused pages to the kernel */
static struct domain domains[MOST_DOMAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void learn(const char **known, const char *text, size_t length)
{
    if (__atomic_load_n(known, __ATOMIC_ACQUIRE) == NULL) {
        char *copy = malloc(length + 1);
        const char *none = NULL;
        if (copy != NULL) {
            memcpy(copy, text, length);
            copy[length] = '\0';
        }
        if (!__atomic_compare_exchange_n(known, &none, copy, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED)) {
            free(copy);
        }
    }
}

static stepscope_name intern(const char *text, size_t length)
{
    stepscope_name name = own->intern(text, length);
    if (name != 0 && name < MOST_NAMES) {
        learn(&names[name].text, text, length);
    }
    return name;
}

static stepscope_name function(const char *text, size_t length, stepscope_name file, uint32_t line)
{
    stepscope_name name = own->function(text, length, file, line);
    if (name != 0 && name < MOST_NAMES && text != NULL) {
        learn(&names[name].text, text, length);
    }
    return name;
}

static void style(stepscope_name name, uint32_t argb, const char *category)
{
    own->style(name, argb, category);
    if (name != 0 && name < MOST_NAMES) {
        stepscope_name number = category != NULL ? intern(category, strlen(category)) : 0;
        __atomic_store_n(&names[name].argb, argb, __ATOMIC_RELAXED);
        __atomic_store_n(&names[name].category, number, __ATOMIC_RELAXED);
    }
}

static stepscope_domain domain_of(const char *text)
{
    stepscope_domain number = own->domain(text);
    if (number != 0 && number < MOST_DOMAINS && text != NULL) {
        learn(&domains[number].text, text, strlen(text));
    }
    return number;
}

/* NULL is the default domain, and stands for those that there is no room for. */
static void *handle_of(stepscope_domain number)
{
    void *(*create)(const char *) = (void *(*)(const char *))slot(SS_NVTX_DOMAIN_CREATE_A);
    if (number == 0 || number >= MOST_DOMAINS || create == NULL) {
        return NULL;
    }
    struct domain *domain = &domains[number];
    if (!__atomic_load_n(&domain->is_made, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&lock);
        if (!domain->is_made && domain->text != NULL) {
            domain->handle = create(domain->text);
            __atomic_store_n(&domain->is_made, true, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&lock);
    }
    return domain->handle;
}

/* A category has the number of its name, and is called by it once in each domain. */
static void name_category(stepscope_domain domain, void *handle, uint32_t category)
{
    static unsigned char known[MOST_NAMES / 8]; /* of the default domain */
    void (*name)(void *, uint32_t, const char *) =
        (void (*)(void *, uint32_t, const char *))slot(SS_NVTX_DOMAIN_CATEGORY_A);
    unsigned char bit = (unsigned char)(1u << (category & 7));
    bool is_known =
        domain == 0 && (__atomic_fetch_or(&known[category / 8], bit, __ATOMIC_RELAXED) & bit) != 0;
    if (name != NULL && !is_known && names[category].text != NULL) {
        name(handle, category, names[category].text);
    }
}

static struct ss_nvtx_event event_of(stepscope_domain domain, void *handle, stepscope_name name,
                                     unsigned type, uint64_t bits)
{
    struct ss_nvtx_event event = {.version = SS_NVTX_VERSION,
                                  .size = sizeof event,
                                  .message_type = SS_NVTX_ASCII,
                                  .message = {.ascii = "<other>"}};
    if (name != 0 && name < MOST_NAMES && names[name].text != NULL) {
        const struct name *row = &names[name];
        event.message.ascii = row->text;
        event.colour = __atomic_load_n(&row->argb, __ATOMIC_RELAXED);
        event.colour_type = event.colour != 0 ? SS_NVTX_ARGB : 0;
        event.category = __atomic_load_n(&row->category, __ATOMIC_RELAXED);
        if (event.category != 0) {
            name_category(domain, handle, event.category);
        }
    }
    event.payload_type = type == STEPSCOPE_UINT     ? SS_NVTX_UINT64
                         : type == STEPSCOPE_INT    ? SS_NVTX_INT64
                         : type == STEPSCOPE_DOUBLE ? SS_NVTX_DOUBLE
                                                    : SS_NVTX_NO_PAYLOAD;
    event.payload.u64 = event.payload_type != SS_NVTX_NO_PAYLOAD ? bits : 0;
    return event;
}

/* --- ranges and marks ------------------------------------------------------------------------ */

static int push_value(stepscope_domain domain, stepscope_name name, unsigned type, uint64_t bits)
{
    int (*push)(void *, const struct ss_nvtx_event *) =
        (int (*)(void *, const struct ss_nvtx_event *))slot(SS_NVTX_DOMAIN_PUSH);
    int depth = type == STEPSCOPE_NO_PAYLOAD ? own->push(domain, name)
                                             : own->push_value(domain, name, type, bits);
    if (push != NULL) {
        void *handle = handle_of(domain);
        struct ss_nvtx_event event = event_of(domain, handle, name, type, bits);
        int level = push(handle, &event);
        depth = depth > 0 ? depth : level >= 0 ? level + 1 : 0;
    }
    return depth;
}

static int push_plain(stepscope_domain domain, stepscope_name name)
{
    return push_value(domain, name, STEPSCOPE_NO_PAYLOAD, 0);
}

static int pop_range(stepscope_domain domain)
{
    int (*pop)(void *) = (int (*)(void *))slot(SS_NVTX_DOMAIN_POP);
    int depth = own->pop(domain);
    if (pop != NULL) {
        int level = pop(handle_of(domain));
        depth = depth > 0 ? depth : level >= 0 ? level : 0;
    }
    return depth;
}

static void mark_value(stepscope_domain domain, stepscope_name name, unsigned type, uint64_t bits)
{
    void (*mark)(void *, const struct ss_nvtx_event *) =
        (void (*)(void *, const struct ss_nvtx_event *))slot(SS_NVTX_DOMAIN_MARK);
    if (type == STEPSCOPE_NO_PAYLOAD) {
        own->mark(domain, name);
    } else {
        own->mark_value(domain, name, type, bits);
    }
    if (mark != NULL) {
        void *handle = handle_of(domain);
        struct ss_nvtx_event event = event_of(domain, handle, name, type, bits);
        mark(handle, &event);
    }
}

static void mark_plain(stepscope_domain domain, stepscope_name name)
{
    mark_value(domain, name, STEPSCOPE_NO_PAYLOAD, 0);
}

/* Ranges that any thread may end: an id of ours stands for that of the runtime and the tool's. */
struct open_range {
    stepscope_id id; /* 0: free */
    stepscope_id own;
    uint64_t nvtx;
    void *handle;
};
static struct open_range open_ranges[MOST_OPEN];

static bool keep_open(struct open_range range, stepscope_id *id)
{
    static uint64_t last;
    bool is_kept = false;
    pthread_mutex_lock(&lock);
    for (uint32_t tries = 0; tries < MOST_OPEN && !is_kept; tries++) {
        uint64_t number = ++last;
        struct open_range *row = &open_ranges[number % MOST_OPEN];
        if (row->id == 0) {
            *row = range;
            row->id = *id = number | UINT64_C(1) << 62;
            is_kept = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_kept;
}

static stepscope_id begin_range(stepscope_domain domain, stepscope_name name, unsigned type,
                                uint64_t bits)
{
    uint64_t (*start)(void *, const struct ss_nvtx_event *) =
        (uint64_t(*)(void *, const struct ss_nvtx_event *))slot(SS_NVTX_DOMAIN_START);
    stepscope_id id = own->begin(domain, name, type, bits);
    struct open_range range = {.own = id, .handle = handle_of(domain)};
    if (start == NULL || slot(SS_NVTX_DOMAIN_END) == NULL) {
        return id;
    }
    struct ss_nvtx_event event = event_of(domain, range.handle, name, type, bits);
    range.nvtx = start(range.handle, &event);
    if (!keep_open(range, &id)) {
        ((void (*)(void *, uint64_t))slot(SS_NVTX_DOMAIN_END))(range.handle, range.nvtx);
    }
    return id;
}

static void end_range(stepscope_id id)
{
    struct open_range range = {.own = id};
    struct open_range *row = &open_ranges[(id & ~(UINT64_C(1) << 62)) % MOST_OPEN];
    pthread_mutex_lock(&lock);
    if (id != 0 && row->id == id) {
        range = *row;
        row->id = 0;
    }
    pthread_mutex_unlock(&lock);
    own->end(range.own);
    void (*end)(void *, uint64_t) = (void (*)(void *, uint64_t))slot(SS_NVTX_DOMAIN_END);
    if (range.id != 0 && end != NULL) {
        end(range.handle, range.nvtx);
    }
}

/* --- the collector --------------------------------------------------------------------------- */

/* The library that a tool has its user's programs load. NULL: none, or stepscope's own, which
 * records anyway. */
static int (*find_collector(void))(ss_nvtx_get_export_table *)
{
    int (*initialize)(ss_nvtx_get_export_table *) = NULL;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library =
        path != NULL && path[0] != '\0' ? dlopen(path, RTLD_LAZY | RTLD_NODELETE) : NULL;
    if (library != NULL && dlsym(library, "stepscope_runtime_get") == NULL) {
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    }
    if (library == NULL) { /* a tool that is linked in, or preloaded */
        int (**linked)(ss_nvtx_get_export_table *) = NULL;
        *(void **)&linked = dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2_fnptr");
        initialize = linked != NULL ? *linked : NULL;
    }
    return initialize;
}

const stepscope_runtime *ss_nvtx_in_front_of(const stepscope_runtime *runtime)
{
    static const uint32_t open_gate = STEPSCOPE_ANY;
    static stepscope_runtime both;
    int (*initialize)(ss_nvtx_get_export_table *) = find_collector();
    names = initialize != NULL ? calloc(MOST_NAMES, sizeof *names) : NULL;
    if (names == NULL || initialize(get_table) != 1) {
        free(names);
        names = NULL;
        return runtime;
    }
    own = runtime;
    both = *runtime;
    both.size = sizeof both;
    both.gate = &open_gate;
    both.domain = domain_of;
    both.intern = intern;
    both.function = function;
    both.style = style;
    both.push = push_plain;
    both.push_value = push_value;
    both.pop = pop_range;
    both.mark = mark_plain;
    both.mark_value = mark_value;
    both.begin = begin_range;
    both.end = end_range;
    return &both;
}
