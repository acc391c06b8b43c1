/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/launches.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/process.h"
#include "annot/stamp.h"
#include "base/device_api.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/device/launch_stack.h"
#include "inject/device/texts.h"

enum {
    MOST_FUNCTIONS = 2048, /* numbers of functions in a domain */
    DOMAINS = 3
};

/* --- functions -------------------------------------------------------------------------------- */

static _Atomic bool stand_for_calls;
static const struct ss_cupti *functions;
static bool is_launch[DOMAINS][MOST_FUNCTIONS], is_kernel[DOMAINS][MOST_FUNCTIONS];
static bool is_wait[DOMAINS][MOST_FUNCTIONS];
static uint32_t name_of[DOMAINS][MOST_FUNCTIONS]; /* texts; 0: not needed yet */

/* Names of the runtime have the version that introduced them: cudaLaunchKernel_v7000. */
static size_t plain_length(int domain, const char *name)
{
    size_t length = strlen(name), at = length;
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') {
        at--;
    }
    bool has_version = domain == SS_CUPTI_DOMAIN_RUNTIME && at < length && at > 2 &&
                       name[at - 1] == 'v' && name[at - 2] == '_';
    return has_version ? at - 2 : length;
}

/* cudaMalloc, cudaMallocAsync, cudaMallocFromPoolAsync, cuMemAlloc_v2, … */
static bool allocates(const char *name)
{
    static const char *const prefixes[] = {"cudaMalloc", "cudaHostAlloc", "cuMemAlloc",
                                           "cuMemHostAlloc", "cuMemCreate"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

void ss_launches_init(const struct ss_cupti *cupti, bool with_waits, bool with_allocations)
{
    functions = cupti;
    static const int domains[] = {SS_CUPTI_DOMAIN_DRIVER, SS_CUPTI_DOMAIN_RUNTIME};
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
            const char *name = NULL;
            if (cupti->GetCallbackName(domains[i], function, &name) != SS_CUPTI_OK ||
                name == NULL) {
                continue;
            }
            struct ss_strview plain = {name, plain_length(domains[i], name)};
            enum ss_event_type type = ss_device_call_type(plain);
            is_launch[domains[i]][function] =
                type == SS_EVENT_TYPE_launch || (with_allocations && allocates(name));
            is_wait[domains[i]][function] = with_waits && type == SS_EVENT_TYPE_synchronisation;
            is_kernel[domains[i]][function] = ss_device_call_launches_kernel(plain);
        }
    }
}

void ss_launches_enable(const struct ss_cupti *cupti, void *subscriber, bool on)
{
    ss_launches_switch(on);
    for (int domain = 0; domain < DOMAINS; domain++) {
        for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
            if (ss_launches_observes(domain, function)) {
                cupti->EnableCallback(on, subscriber, domain, function);
            }
        }
    }
    cupti->EnableCallback(on, subscriber, SS_CUPTI_DOMAIN_RESOURCE, SS_CUPTI_NODE_MADE);
    cupti->EnableCallback(on, subscriber, SS_CUPTI_DOMAIN_RESOURCE, SS_CUPTI_NODE_CLONED);
}

uint32_t ss_launches_name(const struct ss_cupti *cupti, int domain, uint32_t function)
{
    const char *name = NULL;
    if (domain < 0 || domain >= DOMAINS || function >= MOST_FUNCTIONS) {
        return 0;
    }
    uint32_t *known = &name_of[domain][function];
    if (*known == 0 && cupti->GetCallbackName(domain, function, &name) == SS_CUPTI_OK &&
        name != NULL) {
        *known = ss_device_text_put(name, plain_length(domain, name));
    }
    return *known;
}

bool ss_launches_is_launch(int domain, uint32_t function)
{
    return domain >= 0 && domain < DOMAINS && function < MOST_FUNCTIONS &&
           is_launch[domain][function];
}

bool ss_launches_observes(int domain, uint32_t function)
{
    return domain >= 0 && domain < DOMAINS && function < MOST_FUNCTIONS &&
           (is_launch[domain][function] || is_wait[domain][function]);
}

void ss_launches_stand_for_calls(bool stand)
{
    atomic_store_explicit(&stand_for_calls, stand, memory_order_relaxed);
}

bool ss_launches_is_call(int domain, uint32_t function)
{
    return domain == SS_CUPTI_DOMAIN_RUNTIME && ss_launches_observes(domain, function) &&
           atomic_load_explicit(&stand_for_calls, memory_order_relaxed);
}

/* --- the callback ----------------------------------------------------------------------------- */

static void on_enter(struct ss_launcher *launcher, int domain,
                     const struct ss_cupti_callback_data *data)
{
    uint32_t now = ss_launches_epoch();
    if (launcher->epoch != now) { /* ends may have passed unobserved */
        launcher->epoch = now;
        launcher->outer = launcher->last = 0;
        launcher->begin_ns[0] = launcher->begin_ns[1] = 0;
    }
    bool is_nested = domain == SS_CUPTI_DOMAIN_DRIVER && launcher->outer != 0;
    launcher->begin_ns[is_nested] = ss_stamp_monotonic_ns();
    if (!is_nested) {
        launcher->is_captured = false;
        launcher->stack = ss_launch_stack(&launcher->stacks);
        launcher->outer = domain == SS_CUPTI_DOMAIN_RUNTIME ? data->correlation : 0;
    }
}

/* A call whose begin was not observed, because the callbacks were just switched on, is left out. */
static void on_leave(struct ss_launcher *launcher, int domain, uint32_t function,
                     const struct ss_cupti_callback_data *data)
{
    bool is_nested = domain == SS_CUPTI_DOMAIN_DRIVER && launcher->outer != 0;
    uint64_t *begin_ns = &launcher->begin_ns[is_nested];
    bool waits = is_wait[domain][function];
    bool is_same = is_nested && (waits || data->correlation == launcher->outer);
    if (*begin_ns != 0 && !is_same) {
        struct ss_launch launch = {.begin_ns = *begin_ns,
                                   .end_ns = ss_stamp_monotonic_ns(),
                                   .thread = launcher->thread,
                                   .correlation = data->correlation,
                                   .stack = launcher->stack,
                                   .function = function,
                                   .domain = (uint8_t)domain,
                                   .is_captured = launcher->is_captured,
                                   .is_kernel = is_kernel[domain][function],
                                   .is_wait = waits,
                                   .outer = is_nested ? launcher->outer : 0};
        ss_launcher_put(launcher, &launch);
    }
    *begin_ns = 0;
    launcher->outer = is_nested ? launcher->outer : 0;
}

/* The call that is open captures; a program may also add nodes by themselves. */
static void on_node(uint32_t function, const struct ss_cupti_resource_data *data)
{
    struct ss_launcher *launcher = ss_launcher_own();
    if (data->descriptor == NULL || launcher == NULL) {
        return;
    }
    if (function == SS_CUPTI_NODE_CLONED) {
        ss_graph_node_cloned(functions, data->descriptor);
        return;
    }
    bool is_open = launcher->begin_ns[0] != 0 && launcher->epoch == ss_launches_epoch();
    launcher->is_captured = is_open;
    ss_graph_node_made(functions, data->descriptor,
                       is_open ? launcher->stack : ss_launch_stack(&launcher->stacks));
}

void ss_launches_callback(void *user, int domain, uint32_t function, const void *data)
{
    const pid_t *owner = user;
    const struct ss_cupti_callback_data *call = data;
    bool is_node = domain == SS_CUPTI_DOMAIN_RESOURCE &&
                   (function == SS_CUPTI_NODE_MADE || function == SS_CUPTI_NODE_CLONED);
    if (is_node && *owner == ss_process_pid()) {
        on_node(function, data);
        return;
    }
    if (!ss_launches_observes(domain, function) || *owner != ss_process_pid()) {
        return;
    }
    struct ss_launcher *launcher = ss_launcher_own();
    if (launcher == NULL) {
        if (call->site == SS_CUPTI_EXITS) {
            ss_launches_lose();
        }
    } else if (call->site == SS_CUPTI_ENTERS) {
        on_enter(launcher, domain, call);
    } else {
        on_leave(launcher, domain, function, call);
    }
}
