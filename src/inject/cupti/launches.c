/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/launches.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "annot/process.h"
#include "annot/stamp.h"
#include "annot/thread.h"
#include "base/device_api.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/cupti/launch_stack.h"
#include "inject/cupti/pool.h"
#include "inject/cupti/texts.h"

enum {
    QUEUE = 32768,         /* launches of a thread that wait for the writer; a power of two */
    MOST_FUNCTIONS = 2048, /* numbers of functions in a domain */
    DOMAINS = 3
};

/* --- functions -------------------------------------------------------------------------------- */

static _Atomic uint32_t epoch; /* how often the callbacks were switched */
static _Atomic bool is_enabled;
static const struct ss_cupti *functions;
static bool is_launch[DOMAINS][MOST_FUNCTIONS];
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

void ss_launches_init(const struct ss_cupti *cupti, bool with_allocations)
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
            is_launch[domains[i]][function] = ss_device_call_type(plain) == SS_EVENT_TYPE_launch ||
                                              (with_allocations && allocates(name));
        }
    }
}

void ss_launches_enable(const struct ss_cupti *cupti, void *subscriber, bool on)
{
    atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    atomic_store_explicit(&is_enabled, on, memory_order_relaxed);
    for (int domain = 0; domain < DOMAINS; domain++) {
        for (uint32_t function = 1; function < MOST_FUNCTIONS; function++) {
            if (is_launch[domain][function]) {
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
        *known = ss_cupti_text(name, plain_length(domain, name));
    }
    return *known;
}

bool ss_launches_is_launch(int domain, uint32_t function)
{
    return domain >= 0 && domain < DOMAINS && function < MOST_FUNCTIONS &&
           is_launch[domain][function];
}

/* --- threads ---------------------------------------------------------------------------------- */

enum { FREE, USED, LEFT /* its thread has ended; free once it is drained */ };

struct launcher {
    struct launcher *next;
    _Atomic int state;
    _Atomic uint32_t head, tail; /* head: written by the thread, tail: by the writer */
    struct ss_launch_stacks *stacks;
    uint32_t thread;
    uint32_t outer, stack; /* the open call of the runtime, 0: none; the stack of the open calls */
    uint32_t epoch;
    uint32_t last;        /* correlation of the last call */
    bool is_captured;     /* the open call made a node of a graph */
    uint64_t begin_ns[2]; /* of the outer and the nested call */
    struct ss_launch queue[QUEUE];
};

static _Atomic(struct launcher *) launchers;
static _Thread_local struct launcher *own;
static pthread_key_t end_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t lost;

static void on_thread_end(void *launcher)
{
    struct launcher *left = launcher;
    ss_launch_stacks_free(left->stacks);
    left->stacks = NULL;
    own = NULL;
    atomic_store_explicit(&left->state, LEFT, memory_order_release);
}

static void make_key(void)
{
    pthread_key_create(&end_of_thread, on_thread_end);
}

static struct launcher *reuse_launcher(void)
{
    for (struct launcher *at = atomic_load_explicit(&launchers, memory_order_acquire); at != NULL;
         at = at->next) {
        int wanted = FREE;
        if (atomic_compare_exchange_strong_explicit(&at->state, &wanted, USED, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return at;
        }
    }
    return NULL;
}

static struct launcher *make_launcher(void)
{
    struct launcher *made =
        mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return NULL;
    }
    atomic_store_explicit(&made->state, USED, memory_order_relaxed);
    made->next = atomic_load_explicit(&launchers, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&launchers, &made->next, made,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    return made;
}

static struct launcher *find_launcher(void)
{
    pthread_once(&once, make_key);
    struct launcher *launcher = reuse_launcher();
    launcher = launcher != NULL ? launcher : make_launcher();
    if (launcher != NULL) {
        launcher->thread = (uint32_t)ss_thread_tid();
        launcher->outer = 0;
        pthread_setspecific(end_of_thread, launcher);
        own = launcher;
    }
    return launcher;
}

/* --- the callback ----------------------------------------------------------------------------- */

static void put(struct launcher *launcher, const struct ss_launch *launch)
{
    uint32_t head = atomic_load_explicit(&launcher->head, memory_order_relaxed);
    /* Pairs with the release of drain_launcher. */
    uint32_t waiting = head - atomic_load_explicit(&launcher->tail, memory_order_acquire);
    if (waiting >= QUEUE) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
        return;
    }
    launcher->queue[head % QUEUE] = *launch;
    /* Pairs with the acquire of drain_launcher. */
    atomic_store_explicit(&launcher->head, head + 1, memory_order_release);
    if (waiting == QUEUE / 2) {
        ss_cupti_pool_wake();
    }
}

static void on_enter(struct launcher *launcher, int domain,
                     const struct ss_cupti_callback_data *data)
{
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
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
static void on_leave(struct launcher *launcher, int domain, uint32_t function,
                     const struct ss_cupti_callback_data *data)
{
    bool is_nested = domain == SS_CUPTI_DOMAIN_DRIVER && launcher->outer != 0;
    uint64_t *begin_ns = &launcher->begin_ns[is_nested];
    bool is_same = is_nested && data->correlation == launcher->outer;
    if (*begin_ns != 0 && !is_same) {
        struct ss_launch launch = {.begin_ns = *begin_ns,
                                   .end_ns = ss_stamp_monotonic_ns(),
                                   .thread = launcher->thread,
                                   .correlation = data->correlation,
                                   .stack = launcher->stack,
                                   .function = function,
                                   .domain = (uint8_t)domain,
                                   .is_captured = launcher->is_captured,
                                   .outer = is_nested ? launcher->outer : 0};
        put(launcher, &launch);
        launcher->last = data->correlation;
    }
    *begin_ns = 0;
    launcher->outer = is_nested ? launcher->outer : 0;
}

/* The call that is open captures; a program may also add nodes by themselves. */
static void on_node(uint32_t function, const struct ss_cupti_resource_data *data)
{
    struct launcher *launcher = own != NULL ? own : find_launcher();
    if (data->descriptor == NULL || launcher == NULL) {
        return;
    }
    if (function == SS_CUPTI_NODE_CLONED) {
        ss_graph_node_cloned(functions, data->descriptor);
        return;
    }
    bool is_open = launcher->begin_ns[0] != 0 &&
                   launcher->epoch == atomic_load_explicit(&epoch, memory_order_relaxed);
    launcher->is_captured = is_open;
    ss_graph_node_made(functions, data->descriptor,
                       is_open ? launcher->stack : ss_launch_stack(&launcher->stacks));
}

void ss_launches_callback(void *user, int domain, uint32_t function, const void *data)
{
    const pid_t *owner = user;
    const struct ss_cupti_callback_data *call = data;
    if (domain == SS_CUPTI_DOMAIN_RESOURCE && *owner == ss_process_pid()) {
        on_node(function, data);
        return;
    }
    if (!ss_launches_is_launch(domain, function) || *owner != ss_process_pid()) {
        return;
    }
    struct launcher *launcher = own != NULL ? own : find_launcher();
    if (launcher == NULL) {
        atomic_fetch_add_explicit(&lost, call->site == SS_CUPTI_EXITS, memory_order_relaxed);
    } else if (call->site == SS_CUPTI_ENTERS) {
        on_enter(launcher, domain, call);
    } else {
        on_leave(launcher, domain, function, call);
    }
}

/* --- the writer ------------------------------------------------------------------------------- */

static uint32_t drain_launcher(struct launcher *launcher,
                               void (*visit)(void *context, const struct ss_launch *launch),
                               void *context)
{
    uint32_t tail = atomic_load_explicit(&launcher->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&launcher->head, memory_order_acquire);
    uint32_t count = head - tail;
    for (; tail != head; tail++) {
        visit(context, &launcher->queue[tail % QUEUE]);
    }
    atomic_store_explicit(&launcher->tail, tail, memory_order_release);
    return count;
}

uint32_t ss_launches_drain(void (*visit)(void *context, const struct ss_launch *launch),
                           void *context)
{
    uint32_t count = 0;
    for (struct launcher *at = atomic_load_explicit(&launchers, memory_order_acquire); at != NULL;
         at = at->next) {
        int left = LEFT; /* read before the queue: a thread that has left adds nothing */
        bool is_left = atomic_load_explicit(&at->state, memory_order_acquire) == LEFT;
        count += drain_launcher(at, visit, context);
        if (is_left) {
            atomic_compare_exchange_strong_explicit(&at->state, &left, FREE, memory_order_release,
                                                    memory_order_relaxed);
        }
    }
    return count;
}

uint32_t ss_launches_last(void)
{
    bool is_current = own != NULL && atomic_load_explicit(&is_enabled, memory_order_relaxed) &&
                      own->epoch == atomic_load_explicit(&epoch, memory_order_relaxed);
    return is_current ? own->last : 0;
}

uint64_t ss_launches_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}
