/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_copies.h"

#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "base/shared_names.h"
#include "inject/torch/torch_check.h"
#include "inject/torch/torch_library.h"

_Thread_local const struct ss_torch_call *ss_torch_copies_of;

static struct direction {
    uint32_t domain, name;
} to_device, to_host;

/* Per thread: its observer, and the copy that is being recorded. */
static _Thread_local uint64_t observer;
static _Thread_local const struct ss_torch_call *copy;
static _Thread_local uint32_t copy_domain;

/* NULL: within one memory, or between two devices. */
static const struct direction *direction_of(const struct ss_torch_call *call)
{
    size_t count;
    const struct ss_torch_value *inputs = ss_torch_inputs(&ss_torch_layout, call, &count);
    if (count < 2) {
        return NULL;
    }
    int to = ss_torch_device_of(&ss_torch_layout, &inputs[0]);
    int from = ss_torch_device_of(&ss_torch_layout, &inputs[1]);
    if (to < 0 || from < 0 || to == from) {
        return NULL;
    }
    return from == SS_TORCH_CPU ? &to_device : to == SS_TORCH_CPU ? &to_host : NULL;
}

static void **on_start(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    if (copy != NULL || strcmp(ss_torch_library.name_of(call), "aten::copy_") != 0) {
        return context;
    }
    const struct direction *direction = direction_of(call);
    if (direction != NULL && ss_event_push(direction->domain, direction->name) >= 0) {
        copy = call;
        copy_domain = direction->domain;
    }
    return context;
}

static void on_end(const struct ss_torch_call *call, void *context)
{
    (void)context;
    if (copy == call) {
        copy = NULL;
        ss_event_pop(copy_domain);
    }
}

static uint32_t copy_named(const char *text)
{
    return ss_define_styled(ss_define_name(text, strlen(text)),
                            (struct ss_name_style){.type = SS_EVENT_TYPE_copy});
}

bool ss_torch_copies_init(void)
{
    if (ss_torch_layout.inputs == 0 || ss_torch_layout.device == 0 ||
        ss_torch_library.add_here == NULL) {
        return false;
    }
    to_device =
        (struct direction){ss_define_domain(ss_domain_torch_data, sizeof ss_domain_torch_data - 1),
                           copy_named("host to device")};
    to_host =
        (struct direction){ss_define_domain(ss_domain_torch_copy, sizeof ss_domain_torch_copy - 1),
                           copy_named("device to host")};
    return true;
}

void ss_torch_copies_begin(const struct ss_torch_call *call)
{
    if (ss_torch_copies_of == NULL) {
        ss_torch_copies_of = call;
        observer = ss_torch_library.add_here((struct ss_torch_observer){
            on_start, on_end, 1, .scopes[SS_TORCH_FUNCTION] = true, .needs_inputs = true});
    }
}

void ss_torch_copies_end(void)
{
    ss_torch_library.remove(observer);
    ss_torch_copies_of = NULL;
}
