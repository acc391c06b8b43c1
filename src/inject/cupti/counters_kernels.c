/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that CUPTI runs once for each pass, within the call that launches them; and graphs, of
 * which each launch is one pass. */
#include <dlfcn.h>
#include <regex.h>
#include <string.h>

#include "annot/stamp.h"
#include "base/alloc.h"
#include "inject/cupti/counters_inside.h"
#include "inject/cupti/launches.h"
#include "inject/device/texts.h"

enum {
    MOST_NAME_BYTES = 16 << 10,
    MOST_WAITED = 1000 /* launches of others, until a graph is launched again */
};
/* In the parameters of cuLaunchKernel and cudaLaunchKernel: the kernel, the grid and the block,
 * then bytes of shared memory, which the first has next, and the second behind the kernel's
 * arguments. */
enum { FUNCTION_AT = 0, DIMENSIONS_AT = 8, DRIVER_SHARED_AT = 32, RUNTIME_SHARED_AT = 40 };
enum { SHARED_ATTRIBUTE = 1, REGISTERS_ATTRIBUTE = 4 }; /* CUfunction_attribute */

static struct {
    regex_t pattern;
    /* Of the thread that holds is_busy: */
    struct ss_device_metrics_message message;
    const void *graph; /* some passes of it are measured; NULL: none */
    unsigned waited;
} kernels;

/* What a call launches. */
struct launched {
    const char *symbol; /* of a kernel */
    const void *graph;  /* or an executable graph, with */
    struct ss_graph_kernels of;
};

/* The calls that launch and are open on this thread; those of the driver are nested in those of the
 * runtime. */
static _Thread_local unsigned depth;
static _Thread_local uint32_t epoch;
static _Thread_local bool is_measuring;

bool ss_counters_compile(void)
{
    struct ss_error err = {0};
    if (regcomp(&kernels.pattern, ss_counters.request.kernel, REG_EXTENDED | REG_NOSUB) != 0) {
        ss_fail(&err, SS_E_USAGE, "\"%.100s\" is not a regular expression (POSIX extended)",
                ss_counters.request.kernel);
        ss_counters_refuse(&err);
        return false;
    }
    return true;
}

/* By the symbol, or its readable form where the process has a C++ runtime. */
static bool matches(const char *symbol)
{
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    if (symbol == NULL || strnlen(symbol, MOST_NAME_BYTES) == MOST_NAME_BYTES) {
        return false;
    }
    if (regexec(&kernels.pattern, symbol, 0, NULL, 0) == 0) {
        return true;
    }
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *readable = demangle != NULL ? demangle(symbol, NULL, NULL, NULL) : NULL;
    bool is_match = readable != NULL && regexec(&kernels.pattern, readable, 0, NULL, 0) == 0;
    ss_free(readable);
    return is_match;
}

/* Of a graph: one of its kernels. Those of a graph whose kernels are not known are counted. */
static bool is_wanted(const struct launched *launched)
{
    if (launched->graph == NULL) {
        return matches(launched->symbol);
    }
    for (uint32_t i = 0; i < launched->of.names; i++) {
        struct ss_strview name = ss_device_text_get(launched->of.of[i].name);
        char *symbol = ss_strndup(name.data, name.length);
        bool is_match = matches(symbol);
        ss_free(symbol);
        if (is_match) {
            return true;
        }
    }
    return false;
}

static bool is_call(const struct ss_cupti_callback_data *call, const char *function)
{
    return call->function != NULL && call->parameters != NULL &&
           strcmp(call->function, function) == 0;
}

/* The driver's handle of the kernel that a call of the runtime launches; NULL: unknown. */
static void *function_of_symbol(const void *symbol)
{
    int (*get_function)(void **function, const void *symbol) = NULL;
    void *function = NULL;
    *(void **)&get_function = dlsym(RTLD_DEFAULT, "cudaGetFuncBySymbol");
    return get_function != NULL && get_function(&function, symbol) == 0 ? function : NULL;
}

/* Grid, block, and what a block needs of a multiprocessor. */
static void describe_launch(const struct ss_cupti_callback_data *call,
                            struct ss_device_metrics_message *message)
{
    bool is_driver = is_call(call, "cuLaunchKernel");
    const char *parameters = call->parameters;
    uint32_t dimensions[6];
    void *function = NULL;
    if (!is_driver && !is_call(call, "cudaLaunchKernel")) {
        return;
    }
    memcpy(dimensions, parameters + DIMENSIONS_AT, sizeof dimensions);
    memcpy(message->grid, dimensions, sizeof message->grid);
    memcpy(message->block, dimensions + 3, sizeof message->block);
    memcpy(&message->dynamic_shared,
           parameters + (is_driver ? DRIVER_SHARED_AT : RUNTIME_SHARED_AT),
           sizeof message->dynamic_shared);
    memcpy(&function, parameters + FUNCTION_AT, sizeof function);
    function = is_driver ? function : function_of_symbol(function);
    message->registers = ss_counters_function_attribute(function, REGISTERS_ATTRIBUTE);
    message->static_shared = ss_counters_function_attribute(function, SHARED_ATTRIBUTE);
}

static void describe(const struct ss_cupti_callback_data *call, const struct launched *launched)
{
    kernels.message = (struct ss_device_metrics_message){
        .begin_ns = ss_stamp_monotonic_ns(),
        .step = -1,
        .context = call->context_number,
        .name = launched->graph != NULL
                    ? ss_counters_graph_name(launched->graph, &launched->of)
                    : ss_device_text_put(launched->symbol, strlen(launched->symbol)),
        .correlation = call->correlation};
    if (launched->graph == NULL) {
        describe_launch(call, &kernels.message);
    }
}

static void drop_graph(void)
{
    kernels.graph = NULL;
    kernels.waited = 0;
}

/* Whether a launch is the next of those that are asked for, or the next pass of a graph. */
static bool is_next(const struct launched *launched)
{
    if (kernels.graph != NULL) {
        if (launched->graph == kernels.graph) {
            return true;
        }
        if (++kernels.waited <= MOST_WAITED) {
            return false;
        }
        drop_graph(); /* it is not launched any more */
    }
    return ++ss_counters.seen > ss_counters.request.skip;
}

/* With is_busy, while captures are held off. */
static void begin_range(const struct ss_cupti_callback_data *call, const struct launched *launched)
{
    struct ss_error err = {0};
    enum ss_ranges_by by = launched->graph != NULL ? SS_RANGES_BY_CALLER : SS_RANGES_BY_KERNEL;
    if (!is_next(launched) || !ss_counters_ready(by)) {
        return;
    }
    ss_counters_synchronise();
    if (launched->graph == NULL || kernels.graph == NULL) {
        ss_range_profiler_restart(&ss_counters.ranges, by);
    }
    kernels.graph = launched->graph;
    is_measuring = ss_range_profiler_begin(&ss_counters.ranges, &err) == SS_OK;
    if (is_measuring) {
        describe(call, launched);
    } else {
        ss_counters_refuse(&err);
    }
}

/* The outermost call of a launch begins. */
static void begin_launch(int domain, uint32_t function, const struct ss_cupti_callback_data *call)
{
    struct launched launched = {.symbol = call->symbol};
    if (ss_counters.has_ended || ss_captures_is_any() || !ss_counters.hooks->may_measure()) {
        return;
    }
    launched.graph = ss_captures_launched(domain, function, call);
    if (launched.graph != NULL && !ss_captures_kernels(launched.graph, &launched.of)) {
        ss_counters_skip_graph();
        return;
    }
    if (!is_wanted(&launched) || atomic_flag_test_and_set(&ss_counters.is_busy)) {
        return;
    }
    if (ss_captures_hold_off()) {
        begin_range(call, &launched);
        if (is_measuring) {
            return; /* end_launch allows captures */
        }
        ss_captures_allow();
    }
    atomic_flag_clear(&ss_counters.is_busy);
}

static void end_launch(void)
{
    struct ss_error err = {0};
    bool is_complete = false, is_graph = kernels.graph != NULL;
    is_measuring = false;
    enum ss_status status = ss_counters_end_range(&is_complete, &err);
    kernels.message.end_ns = ss_stamp_monotonic_ns();
    if (status != SS_OK) {
        ss_counters_refuse(&err);
    } else if (is_complete) {
        drop_graph();
        ss_counters_write(&kernels.message);
    } else if (!is_graph) {
        ss_fail(&err, SS_E_UNSUPPORTED, "CUPTI did not run the kernel once for each pass");
        ss_counters_refuse(&err);
    }
    ss_captures_allow();
    atomic_flag_clear(&ss_counters.is_busy);
}

/* The ends of open calls pass unobserved where the callbacks were switched off meanwhile. */
static void follow_switch(void)
{
    uint32_t now = ss_launches_epoch();
    if (epoch != now) {
        epoch = now;
        depth = 0;
        if (is_measuring) {
            end_launch();
        }
    }
}

void ss_cupti_counters_on_launch(int domain, uint32_t function,
                                 const struct ss_cupti_callback_data *call)
{
    if (!ss_launches_is_launch(domain, function)) {
        return;
    }
    follow_switch();
    if (call->site == SS_CUPTI_ENTERS) {
        if (depth++ == 0) {
            begin_launch(domain, function, call);
        }
    } else if (depth > 0 && --depth == 0 && is_measuring) {
        end_launch();
    }
}
