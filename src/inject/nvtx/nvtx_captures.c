/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/nvtx/nvtx_captures.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "annot/training.h"
#include "base/capture.h"
#include "inject/nvtx/nvtx_abi.h"
#include "inject/nvtx/nvtx_names.h"

/* --- windows ---------------------------------------------------------------------------------- */

static _Atomic bool is_open;
static _Atomic uint64_t open_id; /* of a range with an id; 0: none */
/* If a range of this thread opened the window: how many ranges of its domain are open since, itself
 * the first; else 0. */
static __thread uint32_t depth, depth_domain;

bool ss_nvtx_has_captures(void)
{
    return ss_training_captures()->by == SS_CAPTURE_BY_NVTX;
}

static bool is_wanted(uint32_t domain, uint32_t name)
{
    const struct ss_capture *capture = ss_training_captures();
    if (name == 0 || name != ss_nvtx_name(capture->name)) {
        return false;
    }
    uint32_t domain_name = ss_nvtx_domain_name(domain);
    return capture->is_any_domain ||
           (capture->domain[0] == '\0' ? domain_name == 0
                                       : domain_name == ss_nvtx_name(capture->domain));
}

static bool open_window(uint32_t domain, uint32_t name)
{
    if (!is_wanted(domain, name) || atomic_exchange(&is_open, true)) {
        return false;
    }
    ss_training_capture(true);
    return true;
}

static void close_window(void)
{
    ss_training_capture(false);
    atomic_store(&is_open, false);
}

static void before_push(uint32_t domain, uint32_t name)
{
    if (depth > 0) {
        depth += domain == depth_domain;
    } else if (open_window(domain, name)) {
        depth = 1;
        depth_domain = domain;
    }
}

static void after_pop(uint32_t domain)
{
    if (depth > 0 && domain == depth_domain && --depth == 0) {
        close_window();
    }
}

static uint64_t after_start(bool opened, uint64_t id)
{
    if (opened && id != 0) {
        atomic_store(&open_id, id);
    } else if (opened) {
        close_window();
    }
    return id;
}

static void after_end(uint64_t id)
{
    if (id != 0 && atomic_compare_exchange_strong(&open_id, &(uint64_t){id}, 0)) {
        close_window();
    }
}

/* The message is the last member; a program may state a smaller size. */
static uint32_t name_of(const struct ss_nvtx_event *event)
{
    return event != NULL && event->size >= sizeof *event
               ? ss_nvtx_name_message(event->message_type, event->message)
               : 0;
}

static uint32_t numbered(const char *message)
{
    struct ss_event_value value;
    return message != NULL ? ss_nvtx_name_numbered(message, &value) : 0;
}

/* --- functions -------------------------------------------------------------------------------- */

static int push(const char *message)
{
    before_push(0, numbered(message));
    return ((int (*)(const char *))ss_nvtx_core.functions[SS_NVTX_PUSH_A])(message);
}

static int push_wide(const wchar_t *message)
{
    before_push(0, message != NULL ? ss_nvtx_name_wide(message) : 0);
    return ((int (*)(const wchar_t *))ss_nvtx_core.functions[SS_NVTX_PUSH_W])(message);
}

static int push_event(const struct ss_nvtx_event *event)
{
    before_push(0, name_of(event));
    return ((int (*)(const struct ss_nvtx_event *))ss_nvtx_core.functions[SS_NVTX_PUSH_EX])(event);
}

static int push_in(const void *handle, const struct ss_nvtx_event *event)
{
    before_push(ss_nvtx_domain(handle), name_of(event));
    return ((int (*)(const void *, const struct ss_nvtx_event *))
                ss_nvtx_core2.functions[SS_NVTX_DOMAIN_PUSH])(handle, event);
}

static int pop(void)
{
    int level = ((int (*)(void))ss_nvtx_core.functions[SS_NVTX_POP])();
    after_pop(0);
    return level;
}

static int pop_in(const void *handle)
{
    int level = ((int (*)(const void *))ss_nvtx_core2.functions[SS_NVTX_DOMAIN_POP])(handle);
    after_pop(ss_nvtx_domain(handle));
    return level;
}

static uint64_t start(const char *message)
{
    bool opens = open_window(0, numbered(message));
    return after_start(
        opens, ((uint64_t(*)(const char *))ss_nvtx_core.functions[SS_NVTX_START_A])(message));
}

static uint64_t start_wide(const wchar_t *message)
{
    bool opens = open_window(0, message != NULL ? ss_nvtx_name_wide(message) : 0);
    return after_start(
        opens, ((uint64_t(*)(const wchar_t *))ss_nvtx_core.functions[SS_NVTX_START_W])(message));
}

static uint64_t start_event(const struct ss_nvtx_event *event)
{
    bool opens = open_window(0, name_of(event));
    return after_start(opens, ((uint64_t(*)(const struct ss_nvtx_event *))
                                   ss_nvtx_core.functions[SS_NVTX_START_EX])(event));
}

static uint64_t start_in(const void *handle, const struct ss_nvtx_event *event)
{
    bool opens = open_window(ss_nvtx_domain(handle), name_of(event));
    return after_start(opens, ((uint64_t(*)(const void *, const struct ss_nvtx_event *))
                                   ss_nvtx_core2.functions[SS_NVTX_DOMAIN_START])(handle, event));
}

static void end(uint64_t id)
{
    ((void (*)(uint64_t))ss_nvtx_core.functions[SS_NVTX_END])(id);
    after_end(id);
}

static void end_in(const void *handle, uint64_t id)
{
    ((void (*)(const void *, uint64_t))ss_nvtx_core2.functions[SS_NVTX_DOMAIN_END])(handle, id);
    after_end(id);
}

static const ss_nvtx_function core[SS_NVTX_CORE_COUNT] = {
    [SS_NVTX_START_EX] = (ss_nvtx_function)start_event, [SS_NVTX_START_A] = (ss_nvtx_function)start,
    [SS_NVTX_START_W] = (ss_nvtx_function)start_wide,   [SS_NVTX_END] = (ss_nvtx_function)end,
    [SS_NVTX_PUSH_EX] = (ss_nvtx_function)push_event,   [SS_NVTX_PUSH_A] = (ss_nvtx_function)push,
    [SS_NVTX_PUSH_W] = (ss_nvtx_function)push_wide,     [SS_NVTX_POP] = (ss_nvtx_function)pop};

static const ss_nvtx_function core2[SS_NVTX_CORE2_COUNT] = {
    [SS_NVTX_DOMAIN_START] = (ss_nvtx_function)start_in,
    [SS_NVTX_DOMAIN_END] = (ss_nvtx_function)end_in,
    [SS_NVTX_DOMAIN_PUSH] = (ss_nvtx_function)push_in,
    [SS_NVTX_DOMAIN_POP] = (ss_nvtx_function)pop_in};

const struct ss_nvtx_table ss_nvtx_core_captures = {core, SS_NVTX_CORE_COUNT};
const struct ss_nvtx_table ss_nvtx_core2_captures = {core2, SS_NVTX_CORE2_COUNT};
