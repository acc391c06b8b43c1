/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/captures.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "annot/stamp.h"
#include "base/alloc.h"
#include "inject/device/texts.h"

enum { MOST_FUNCTIONS = 2048, DOMAINS = 3 };

/* --- calls ------------------------------------------------------------------------------------ */

enum call { OTHER, BEGINS, ENDS, INSTANTIATES, UPDATES, LAUNCHES, LAUNCHES_KERNEL };

static const struct {
    const char *prefix;
    enum call call;
} prefixes[] = {{"cudaStreamBeginCapture", BEGINS},     {"cuStreamBeginCapture", BEGINS},
                {"cudaStreamEndCapture", ENDS},         {"cuStreamEndCapture", ENDS},
                {"cudaGraphInstantiate", INSTANTIATES}, {"cuGraphInstantiate", INSTANTIATES},
                {"cudaGraphExecUpdate", UPDATES},       {"cuGraphExecUpdate", UPDATES},
                {"cudaGraphLaunch", LAUNCHES},          {"cuGraphLaunch", LAUNCHES},
                {"cudaLaunch", LAUNCHES_KERNEL},        {"cuLaunch", LAUNCHES_KERNEL}};

static uint8_t call_of[DOMAINS][MOST_FUNCTIONS];
static atomic_int open_captures;
/* Held by who waits for the device. A capture counts as open before its thread takes this lock. */
static pthread_mutex_t held_off = PTHREAD_MUTEX_INITIALIZER;
static const uint64_t longest_wait_ns = UINT64_C(10000000000);

/* Within a call of this thread that launches a kernel: its symbol, and the domain of the call; that
 * of the runtime may have one of the driver within. */
static _Thread_local uint32_t launched; /* text; 0: no such call is open */
static _Thread_local int launched_in;

static enum call classify(const char *name)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0) {
            return prefixes[i].call;
        }
    }
    return OTHER;
}

static enum call call_at(int domain, uint32_t function)
{
    bool is_known = domain > 0 && domain < DOMAINS && function < MOST_FUNCTIONS;
    return is_known ? (enum call)call_of[domain][function] : OTHER;
}

void ss_captures_enable(const struct ss_cupti *cupti, void *subscriber, bool with_kernels)
{
    static const uint32_t resources[] = {SS_CUPTI_NODE_MADE, SS_CUPTI_GRAPH_ENDS,
                                         SS_CUPTI_EXECUTABLE_ENDS};
    for (int domain = SS_CUPTI_DOMAIN_DRIVER; domain <= SS_CUPTI_DOMAIN_RUNTIME; domain++) {
        for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
            const char *name = NULL;
            if (cupti->GetCallbackName(domain, function, &name) == SS_CUPTI_OK && name != NULL) {
                enum call call = classify(name);
                call_of[domain][function] = (uint8_t)call;
                if (call == BEGINS || call == ENDS || (call != OTHER && with_kernels)) {
                    cupti->EnableCallback(1, subscriber, domain, function);
                }
            }
        }
    }
    for (size_t i = 0; i < sizeof resources / sizeof *resources && with_kernels; i++) {
        cupti->EnableCallback(1, subscriber, SS_CUPTI_DOMAIN_RESOURCE, resources[i]);
    }
}

bool ss_captures_is_any(void)
{
    return atomic_load_explicit(&open_captures, memory_order_acquire) > 0;
}

bool ss_captures_hold_off(void)
{
    pthread_mutex_lock(&held_off);
    if (!ss_captures_is_any()) {
        return true;
    }
    pthread_mutex_unlock(&held_off);
    return false;
}

void ss_captures_allow(void)
{
    pthread_mutex_unlock(&held_off);
}

/* --- graphs ----------------------------------------------------------------------------------- */

struct graph {
    const void *handle; /* of the graph, or of an executable one; NULL: a free row */
    struct ss_graph_kernels kernels;
};

static struct {
    pthread_mutex_t lock;
    struct graph *rows; /* SS_GRAPHS_MOST */
    size_t count;
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct graph *find(const void *handle)
{
    for (size_t i = 0; i < graphs.count; i++) {
        if (graphs.rows[i].handle == handle) {
            return &graphs.rows[i];
        }
    }
    return NULL;
}

/* NULL: there are too many. */
static struct graph *put(const void *handle)
{
    if (graphs.rows == NULL) {
        graphs.rows = ss_alloc_zero(SS_GRAPHS_MOST, sizeof *graphs.rows);
    }
    struct graph *row = find(handle);
    row = row != NULL ? row : find(NULL);
    if (row == NULL && graphs.count < SS_GRAPHS_MOST) {
        row = &graphs.rows[graphs.count++];
    }
    if (row != NULL && row->handle == NULL) {
        *row = (struct graph){.handle = handle};
    }
    return row;
}

static void add_kernel(struct ss_graph_kernels *kernels, uint32_t name)
{
    uint32_t i = 0;
    while (i < kernels->names && kernels->of[i].name != name) {
        i++;
    }
    kernels->count++;
    if (i == SS_GRAPH_NAMES) {
        return;
    }
    kernels->of[i].name = name;
    kernels->of[i].count++;
    kernels->names += i == kernels->names;
}

/* The executable graph has the kernels of `from`, as it is now. */
static void copy_kernels(const void *executable, const void *from)
{
    if (executable == NULL || from == NULL) {
        return;
    }
    pthread_mutex_lock(&graphs.lock);
    const struct graph *source = find(from);
    struct ss_graph_kernels kernels = {.count = 0};
    if (source != NULL) {
        kernels = source->kernels;
    }
    struct graph *row = put(executable);
    if (row != NULL) {
        row->kernels = kernels;
    }
    pthread_mutex_unlock(&graphs.lock);
}

bool ss_captures_kernels(const void *executable, struct ss_graph_kernels *kernels)
{
    pthread_mutex_lock(&graphs.lock);
    const struct graph *row = find(executable);
    *kernels = row != NULL ? row->kernels : (struct ss_graph_kernels){.count = 0};
    pthread_mutex_unlock(&graphs.lock);
    return kernels->count > 0;
}

void ss_captures_on_resource(uint32_t function, const struct ss_cupti_resource_data *data)
{
    const struct ss_cupti_graph_data *of = data->descriptor;
    if (of == NULL) {
        return;
    }
    pthread_mutex_lock(&graphs.lock);
    if (function == SS_CUPTI_NODE_MADE && of->type == SS_CUPTI_KERNEL_NODE && launched != 0 &&
        of->graph != NULL) {
        struct graph *row = put(of->graph);
        if (row != NULL) {
            add_kernel(&row->kernels, launched);
        }
    } else if (function == SS_CUPTI_GRAPH_ENDS || function == SS_CUPTI_EXECUTABLE_ENDS) {
        struct graph *row = find(function == SS_CUPTI_GRAPH_ENDS ? of->graph : of->executable);
        if (row != NULL) {
            row->handle = NULL; /* another one may get its address */
        }
    }
    pthread_mutex_unlock(&graphs.lock);
}

/* --- calls that end --------------------------------------------------------------------------- */

/* CUDA's numbers, the same of both interfaces: after these, a capture goes on. */
static bool leaves_open(int result)
{
    enum { INVALID_VALUE = 1, INVALID_HANDLE = 400, ILLEGAL_STATE = 401, UNMATCHED = 903 };
    enum { WRONG_THREAD = 908 };
    return result == INVALID_VALUE || result == INVALID_HANDLE || result == ILLEGAL_STATE ||
           result == UNMATCHED || result == WRONG_THREAD;
}

static void on_capture_end(int result)
{
    if (!leaves_open(result) && atomic_fetch_sub(&open_captures, 1) <= 0) {
        atomic_fetch_add(&open_captures, 1); /* it had begun before the callbacks were enabled */
    }
}

/* The first two parameters of a call, which are pointers. */
static void read_pair(const struct ss_cupti_callback_data *call, const void *pair[2])
{
    pair[0] = pair[1] = NULL;
    if (call->parameters != NULL) {
        memcpy(pair, call->parameters, 2 * sizeof *pair);
    }
}

static void on_return(enum call kind, const struct ss_cupti_callback_data *call, int result)
{
    const void *pair[2];
    read_pair(call, pair);
    if (kind == ENDS) {
        on_capture_end(result);
    } else if (kind == INSTANTIATES && result == 0 && pair[0] != NULL) {
        const void *executable;
        memcpy(&executable, pair[0], sizeof executable); /* the call has just written it */
        copy_kernels(executable, pair[1]);
    } else if (kind == UPDATES && result == 0) {
        copy_kernels(pair[0], pair[1]);
    }
}

/* Only captures need it. */
static void on_launch(int domain, bool enters, const char *symbol)
{
    if (enters && symbol != NULL && ss_captures_is_any() &&
        (launched == 0 || domain == launched_in)) {
        launched = ss_device_text_put(symbol, strlen(symbol));
        launched_in = domain;
    } else if (!enters && domain == launched_in) {
        launched = 0;
    }
}

/* Who holds captures off has not seen this one. The end of a launch passes unobserved if callbacks
 * were switched off meanwhile: no program waits for it without end. */
static void wait_until_allowed(void)
{
    uint64_t end_ns = ss_stamp_monotonic_ns() + longest_wait_ns;
    while (pthread_mutex_trylock(&held_off) != 0) {
        if (ss_stamp_monotonic_ns() > end_ns) {
            return;
        }
        sched_yield();
    }
    pthread_mutex_unlock(&held_off);
}

void ss_captures_on_call(int domain, uint32_t function, const struct ss_cupti_callback_data *call)
{
    enum call kind = call_at(domain, function);
    bool enters = call->site == SS_CUPTI_ENTERS;
    int result = 0;
    if (kind == OTHER) {
        return;
    }
    if (!enters && call->return_value != NULL) {
        memcpy(&result, call->return_value, sizeof result);
    }
    if (kind == LAUNCHES_KERNEL) {
        on_launch(domain, enters, call->symbol);
    } else if (kind == BEGINS && (enters || result != 0)) {
        /* From before the capture begins, for other threads. */
        atomic_fetch_add_explicit(&open_captures, enters ? 1 : -1, memory_order_acq_rel);
        if (enters) {
            wait_until_allowed();
        }
    } else if (!enters) {
        on_return(kind, call, result);
    }
}

const void *ss_captures_launched(int domain, uint32_t function,
                                 const struct ss_cupti_callback_data *call)
{
    const void *pair[2];
    if (call_at(domain, function) != LAUNCHES) {
        return NULL;
    }
    read_pair(call, pair);
    return pair[0];
}
