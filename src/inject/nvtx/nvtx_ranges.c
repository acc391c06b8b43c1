/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, marks, domains, registered strings and categories: the modules CORE and CORE2. */
#include <stdatomic.h>
#include <string.h>

#include "annot/define.h"
#include "inject/nvtx/nvtx_event.h"
#include "inject/nvtx/nvtx_names.h"
#include "inject/nvtx/nvtx_nccl.h"
#include "inject/nvtx/nvtx_payload.h"
#include "inject/nvtx/nvtx_tables.h"

static const struct ss_event_value NO_VALUE = {0};

/* --- attributes ------------------------------------------------------------------------------ */

static struct ss_event_value payload_of(const struct ss_nvtx_event *event)
{
    struct ss_event_value value = {event->payload.u64, SS_RING_VALUE_NONE};
    double real;
    switch (event->payload_type) {
    case SS_NVTX_UINT64:
        value.type = SS_RING_VALUE_UNSIGNED;
        break;
    case SS_NVTX_INT64:
        value.type = SS_RING_VALUE_SIGNED;
        break;
    case SS_NVTX_DOUBLE:
        value.type = SS_RING_VALUE_DOUBLE;
        break;
    case SS_NVTX_UINT32:
        value = (struct ss_event_value){event->payload.u32, SS_RING_VALUE_UNSIGNED};
        break;
    case SS_NVTX_INT32:
        value =
            (struct ss_event_value){(uint64_t)(int64_t)event->payload.i32, SS_RING_VALUE_SIGNED};
        break;
    case SS_NVTX_FLOAT:
        real = (double)event->payload.f32;
        memcpy(&value.bits, &real, sizeof real);
        value.type = SS_RING_VALUE_DOUBLE;
        break;
    default:
        break;
    }
    return value;
}

/* Members beyond the size that the program states get defaults, in a copy. */
static const struct ss_nvtx_event *complete(const struct ss_nvtx_event *event,
                                            struct ss_nvtx_event *copy)
{
    if (event->size >= sizeof *event) {
        return event;
    }
    memset(copy, 0, sizeof *copy);
    memcpy(copy, event, event->size);
    bool has_payload = event->size >= offsetof(struct ss_nvtx_event, message_type);
    bool has_colour = event->size >= offsetof(struct ss_nvtx_event, payload_type);
    copy->payload_type = has_payload ? copy->payload_type : SS_NVTX_NO_PAYLOAD;
    copy->colour_type = has_colour ? copy->colour_type : 0;
    copy->category =
        event->size >= offsetof(struct ss_nvtx_event, colour_type) ? copy->category : 0;
    copy->message_type = SS_NVTX_NO_MESSAGE; /* the message is the last member */
    return copy;
}

struct ss_nvtx_attributes ss_nvtx_read_event(uint32_t domain, const struct ss_nvtx_event *event)
{
    struct ss_nvtx_event copy;
    struct ss_nvtx_attributes attributes = {0};
    if (event == NULL) {
        attributes.name = ss_nvtx_name_none();
        return attributes;
    }
    event = complete(event, &copy);
    struct ss_nvtx_style style = {.argb = event->colour_type == SS_NVTX_ARGB ? event->colour : 0,
                                  .category = event->category};
    if (event->payload_type == SS_NVTX_EXTENDED) {
        ss_nvtx_read_payloads(domain, (const void *)(uintptr_t)event->payload.u64,
                              event->reserved > 0 ? (size_t)event->reserved : 0, &style,
                              &attributes.value);
    } else {
        attributes.value = payload_of(event);
    }
    uint32_t name = event->message_type == SS_NVTX_NO_MESSAGE && style.message != 0
                        ? style.message
                        : ss_nvtx_name_message(event->message_type, event->message);
    attributes.name = ss_nvtx_styled(domain, name, &style);
    return attributes;
}

uint32_t ss_nvtx_styled(uint32_t domain, uint32_t name, const struct ss_nvtx_style *style)
{
    uint32_t argb = style->argb;
    if (argb == 0 && style->category == 0) {
        return name;
    }
    if (argb != 0 && argb >> 24 == 0) { /* other NVTX tools ignore the alpha channel */
        argb |= 0xff000000;
    }
    return ss_define_styled(
        name, (struct ss_name_style){.argb = argb,
                                     .category = ss_nvtx_category(domain, style->category)});
}

/* --- ranges and marks ------------------------------------------------------------------------ */

static __attribute__((noinline)) int push_uncached(const char *message)
{
    struct ss_nvtx_attributes attributes = {0};
    attributes.name = ss_nvtx_name_numbered(message, &attributes.value);
    return ss_nvtx_push(0, attributes);
}

static int push(const char *message)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return SS_NVTX_NOT_TRACKED;
    }
    uint32_t name = ss_nvtx_name_cached(message);
    return name != 0 ? ss_nvtx_level(ss_event_push(0, name)) : push_uncached(message);
}

static int push_wide(const wchar_t *message)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return SS_NVTX_NOT_TRACKED;
    }
    return ss_nvtx_level(ss_event_push(0, ss_nvtx_name_wide(message)));
}

/* NCCL's domain; NULL: it has none. Its calls count also while nothing is recorded. */
static _Atomic(const void *) of_nccl;

bool ss_nvtx_is_nccl(const void *handle)
{
    return handle != NULL && handle == atomic_load_explicit(&of_nccl, memory_order_relaxed);
}

static bool push_of_nccl(const void *handle, const struct ss_nvtx_event *event)
{
    struct ss_nvtx_event copy;
    if (event == NULL) {
        return ss_nvtx_nccl_push(ss_nvtx_domain(handle), 0, NULL, 0);
    }
    event = complete(event, &copy);
    bool has_payloads = event->payload_type == SS_NVTX_EXTENDED && event->reserved > 0;
    return ss_nvtx_nccl_push(ss_nvtx_domain(handle),
                             ss_nvtx_name_message(event->message_type, event->message),
                             has_payloads ? (const void *)(uintptr_t)event->payload.u64 : NULL,
                             has_payloads ? (size_t)event->reserved : 0);
}

static int push_in(const void *handle, const struct ss_nvtx_event *event)
{
    if (ss_nvtx_is_nccl(handle) && push_of_nccl(handle, event)) {
        return SS_NVTX_NOT_TRACKED;
    }
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return SS_NVTX_NOT_TRACKED;
    }
    uint32_t domain = ss_nvtx_domain(handle);
    struct ss_nvtx_attributes attributes = ss_nvtx_read_event(domain, event);
    if (ss_nvtx_is_nccl(handle)) { /* the first of its arguments numbers a communicator */
        attributes.value.type = SS_RING_VALUE_NONE;
    }
    return ss_nvtx_push(domain, attributes);
}

static int push_event(const struct ss_nvtx_event *event)
{
    return push_in(NULL, event);
}

static int pop(void)
{
    return ss_nvtx_level(ss_event_pop(0));
}

static int pop_in(const void *handle)
{
    if (ss_nvtx_is_nccl(handle) && ss_nvtx_nccl_pop(ss_nvtx_domain(handle), NULL, 0)) {
        return SS_NVTX_NOT_TRACKED;
    }
    return ss_nvtx_level(ss_event_pop(ss_nvtx_domain(handle)));
}

static void mark(const char *message)
{
    if (ss_event_is_on(SS_RING_GATE_MARKS)) {
        ss_event_mark(0, ss_nvtx_name(message), NO_VALUE);
    }
}

static void mark_wide(const wchar_t *message)
{
    if (ss_event_is_on(SS_RING_GATE_MARKS)) {
        ss_event_mark(0, ss_nvtx_name_wide(message), NO_VALUE);
    }
}

static void mark_in(const void *handle, const struct ss_nvtx_event *event)
{
    if (ss_event_is_on(SS_RING_GATE_MARKS)) {
        uint32_t domain = ss_nvtx_domain(handle);
        struct ss_nvtx_attributes attributes = ss_nvtx_read_event(domain, event);
        ss_event_mark(domain, attributes.name, attributes.value);
    }
}

static void mark_event(const struct ss_nvtx_event *event)
{
    mark_in(NULL, event);
}

static uint64_t start(const char *message)
{
    struct ss_event_value value = {0};
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return 0;
    }
    uint32_t name = ss_nvtx_name_numbered(message, &value);
    return ss_event_begin(0, name, value);
}

static uint64_t start_wide(const wchar_t *message)
{
    return ss_event_is_on(SS_RING_GATE_RANGES)
               ? ss_event_begin(0, ss_nvtx_name_wide(message), NO_VALUE)
               : 0;
}

static uint64_t start_in(const void *handle, const struct ss_nvtx_event *event)
{
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return 0;
    }
    uint32_t domain = ss_nvtx_domain(handle);
    struct ss_nvtx_attributes attributes = ss_nvtx_read_event(domain, event);
    return ss_event_begin(domain, attributes.name, attributes.value);
}

static uint64_t start_event(const struct ss_nvtx_event *event)
{
    return start_in(NULL, event);
}

/* The recorder counts ids that never began. */
static void end(uint64_t id)
{
    ss_event_end(id);
}

static void end_in(const void *handle, uint64_t id)
{
    (void)handle; /* ids are valid in all domains */
    ss_event_end(id);
}

/* --- names ----------------------------------------------------------------------------------- */

static void name_category(uint32_t id, const char *name)
{
    ss_nvtx_name_category(0, id, ss_nvtx_name(name));
}

static void name_category_wide(uint32_t id, const wchar_t *name)
{
    ss_nvtx_name_category(0, id, ss_nvtx_name_wide(name));
}

static void name_category_in(const void *handle, uint32_t id, const char *name)
{
    ss_nvtx_name_category(ss_nvtx_domain(handle), id, ss_nvtx_name(name));
}

static void name_category_in_wide(const void *handle, uint32_t id, const wchar_t *name)
{
    ss_nvtx_name_category(ss_nvtx_domain(handle), id, ss_nvtx_name_wide(name));
}

static void name_thread(uint32_t tid, const char *name)
{
    if (name != NULL) {
        ss_event_thread_name((int32_t)tid, ss_nvtx_name(name));
    }
}

static void name_thread_wide(uint32_t tid, const wchar_t *name)
{
    if (name != NULL) {
        ss_event_thread_name((int32_t)tid, ss_nvtx_name_wide(name));
    }
}

/* The same text gives the same handle. */
static const void *register_string(const void *handle, const char *text)
{
    (void)handle; /* strings are valid in all domains */
    return ss_nvtx_string_handle(ss_nvtx_name(text));
}

static const void *register_string_wide(const void *handle, const wchar_t *text)
{
    (void)handle;
    return ss_nvtx_string_handle(ss_nvtx_name_wide(text));
}

static const void *create_domain(const char *name)
{
    const void *handle = ss_nvtx_domain_handle(ss_nvtx_domain_create(name));
    if (name != NULL && strcmp(name, SS_NVTX_NCCL_DOMAIN) == 0 && ss_nvtx_domain(handle) != 0) {
        atomic_store_explicit(&of_nccl, handle, memory_order_relaxed);
    }
    return handle;
}

static const void *create_domain_wide(const wchar_t *name)
{
    char bytes[SS_RING_MAX_TEXT_BYTES + 1];
    size_t length =
        name != NULL ? ss_nvtx_utf8_from_wide(name, sizeof bytes, bytes, sizeof bytes - 1) : 0;
    bytes[length] = '\0';
    return create_domain(bytes);
}

/* Every shared object that uses a domain of this name shares it: it is never destroyed. */
static void destroy_domain(const void *handle)
{
    (void)handle;
}

static void initialize(const void *reserved)
{
    (void)reserved;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const ss_nvtx_function core[SS_NVTX_CORE_COUNT] = {
    [SS_NVTX_MARK_EX] = (ss_nvtx_function)mark_event,
    [SS_NVTX_MARK_A] = (ss_nvtx_function)mark,
    [SS_NVTX_MARK_W] = (ss_nvtx_function)mark_wide,
    [SS_NVTX_START_EX] = (ss_nvtx_function)start_event,
    [SS_NVTX_START_A] = (ss_nvtx_function)start,
    [SS_NVTX_START_W] = (ss_nvtx_function)start_wide,
    [SS_NVTX_END] = (ss_nvtx_function)end,
    [SS_NVTX_PUSH_EX] = (ss_nvtx_function)push_event,
    [SS_NVTX_PUSH_A] = (ss_nvtx_function)push,
    [SS_NVTX_PUSH_W] = (ss_nvtx_function)push_wide,
    [SS_NVTX_POP] = (ss_nvtx_function)pop,
    [SS_NVTX_NAME_CATEGORY_A] = (ss_nvtx_function)name_category,
    [SS_NVTX_NAME_CATEGORY_W] = (ss_nvtx_function)name_category_wide,
    [SS_NVTX_NAME_THREAD_A] = (ss_nvtx_function)name_thread,
    [SS_NVTX_NAME_THREAD_W] = (ss_nvtx_function)name_thread_wide};

static const ss_nvtx_function core2[SS_NVTX_CORE2_COUNT] = {
    [SS_NVTX_DOMAIN_MARK] = (ss_nvtx_function)mark_in,
    [SS_NVTX_DOMAIN_START] = (ss_nvtx_function)start_in,
    [SS_NVTX_DOMAIN_END] = (ss_nvtx_function)end_in,
    [SS_NVTX_DOMAIN_PUSH] = (ss_nvtx_function)push_in,
    [SS_NVTX_DOMAIN_POP] = (ss_nvtx_function)pop_in,
    [SS_NVTX_RESOURCE_CREATE] = (ss_nvtx_function)ss_nvtx_resource_create,
    [SS_NVTX_RESOURCE_DESTROY] = (ss_nvtx_function)ss_nvtx_resource_destroy,
    [SS_NVTX_DOMAIN_CATEGORY_A] = (ss_nvtx_function)name_category_in,
    [SS_NVTX_DOMAIN_CATEGORY_W] = (ss_nvtx_function)name_category_in_wide,
    [SS_NVTX_REGISTER_A] = (ss_nvtx_function)register_string,
    [SS_NVTX_REGISTER_W] = (ss_nvtx_function)register_string_wide,
    [SS_NVTX_DOMAIN_CREATE_A] = (ss_nvtx_function)create_domain,
    [SS_NVTX_DOMAIN_CREATE_W] = (ss_nvtx_function)create_domain_wide,
    [SS_NVTX_DOMAIN_DESTROY] = (ss_nvtx_function)destroy_domain,
    [SS_NVTX_INITIALIZE] = (ss_nvtx_function)initialize};

const struct ss_nvtx_table ss_nvtx_core = {core, SS_NVTX_CORE_COUNT};
const struct ss_nvtx_table ss_nvtx_core2 = {core2, SS_NVTX_CORE2_COUNT};
