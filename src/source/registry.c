/* SPDX-License-Identifier: Apache-2.0 */
#include "source/registry.h"

#include <stdio.h>

#include "platform/ptrace_access.h"
#include "source/host.h"
#include "source/nvml.h"

static enum ss_source_state probe_python(const struct ss_source_setup *setup, char *reason)
{
    (void)setup;
    struct ss_ptrace_facts child;
    bool readable =
        ss_ptrace_probe_child(&child) && ss_ptrace_classify(&child) == SS_PTRACE_ALLOWED;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "the memory of a child process %s be read",
             readable ? "can" : "cannot");
    return readable ? SS_SOURCE_RUNS : SS_SOURCE_NOT_AVAILABLE;
}

const struct ss_source_ops ss_source_python = {
    .name = "python",
    .summary = "stacks read from outside, the program is never stopped",
    .probe = probe_python,
};

const struct ss_source_ops *const ss_sources[] = {&ss_source_python, &ss_source_host,
                                                  &ss_source_nvml, NULL};
