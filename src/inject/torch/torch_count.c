/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_count.h"

#include <unistd.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/process.h"
#include "base/shared_names.h"
#include "inject/torch/torch_check.h"
#include "inject/torch/torch_flops.h"
#include "inject/torch/torch_library.h"

static uint32_t domain;
static uint64_t observer, range;
static pid_t counting_pid; /* 0: none. A forked child inherits the observer */

/* A counted operator calls others that would count as well: only the outermost counts. Per thread:
 * the number of open operators, and the depth of the one that is counted (1: the outermost). */
static _Thread_local uint16_t open_operators, counted;

static void **on_start(void **context, const struct ss_torch_call *call)
{
    size_t count;
    *context = NULL;
    open_operators++;
    if (counted != 0) {
        return context;
    }
    const char *name = ss_torch_library.name_of(call);
    const struct ss_torch_value *inputs = ss_torch_inputs(&ss_torch_layout, call, &count);
    uint64_t flops = ss_torch_flops_of(&ss_torch_layout, name, inputs, count);
    if (flops != 0) {
        counted = open_operators;
        ss_event_mark(domain, ss_define_name(name, strlen(name)),
                      (struct ss_event_value){flops, SS_RING_VALUE_UNSIGNED});
    }
    return context;
}

static void on_end(const struct ss_torch_call *call, void *context)
{
    (void)call;
    (void)context;
    if (counted == open_operators) {
        counted = 0;
    }
    if (open_operators > 0) {
        open_operators--;
    }
}

const char *ss_torch_count_unavailable(void)
{
    const struct ss_torch_layout *layout = &ss_torch_layout;
    return layout->inputs == 0  ? "the arguments of operators were not found"
           : layout->sizes == 0 ? "the sizes of tensors were not found"
           : layout->list == 0  ? "the lists among arguments were not found"
                                : NULL;
}

void ss_torch_count_begin(void)
{
    if (counting_pid != 0 || ss_torch_count_unavailable() != NULL) {
        return;
    }
    counting_pid = ss_process_pid();
    domain = ss_define_domain(ss_domain_torch_flops, sizeof ss_domain_torch_flops - 1);
    range = ss_event_begin(domain, ss_define_name("counted", 7), (struct ss_event_value){0});
    observer = ss_torch_library.add((struct ss_torch_observer){
        on_start, on_end, 1, .scopes[SS_TORCH_FUNCTION] = true, .needs_inputs = true});
}

void ss_torch_count_end(void)
{
    if (counting_pid != 0) {
        ss_torch_library.remove(observer);
        ss_event_end(counting_pid == ss_process_pid() ? range : 0); /* the range is its parent's */
        counting_pid = 0;
    }
}
