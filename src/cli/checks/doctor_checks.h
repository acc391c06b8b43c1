/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the facts of a machine for a recording: pure functions from facts to findings, one
 * finding per line of `stepscope doctor`. Immutable inputs; thread-safe. */
#ifndef SS_CLI_CHECKS_DOCTOR_CHECKS_H
#define SS_CLI_CHECKS_DOCTOR_CHECKS_H

#include "base/launchers.h"
#include "platform/device_backends.h"
#include "platform/host_facts.h"
#include "platform/nvidia_driver.h"
#include "platform/ptrace_access.h"
#include "platform/python_installs.h"
#include "source/source.h"

enum ss_check_result {
    SS_CHECK_OK,
    SS_CHECK_LIMITED, /* works, with a loss that the text names */
    SS_CHECK_NO,      /* does not work */
    SS_CHECK_FACT     /* neither good nor bad */
};

struct ss_check {
    const char *name; /* the topic, for people and JSON */
    enum ss_check_result verdict;
    char text[512];
    char fix[320]; /* "": nothing to do */
};

/* `probed`: false when no child process could be created. */
void ss_check_record(const struct ss_ptrace_facts *child, bool probed, struct ss_check *finding);
void ss_check_attach(const struct ss_ptrace_facts *stranger, bool probed,
                     const struct ss_host_facts *host, struct ss_check *finding);
void ss_check_python(const struct ss_python_installs *installed,
                     const struct ss_python_installs *running, struct ss_check *finding);
void ss_check_children(const struct ss_host_facts *host, struct ss_check *finding);
void ss_check_clock(const struct ss_host_facts *host, struct ss_check *finding);
void ss_check_folder(const char *name, const struct ss_folder_facts *folder,
                     struct ss_check *finding);
/* The ring directory of annotated programs. `folder`: "": there is none; `why`: why it is not in
 * the first root; "": it is. */
void ss_check_rings(const char *folder, const char *why, struct ss_check *finding);
void ss_check_processes(const struct ss_host_facts *host, struct ss_check *finding);
void ss_check_confinement(const struct ss_host_facts *host, struct ss_check *finding);
/* For one row of source/registry.h: the result of its probe. */
void ss_check_source(const struct ss_source_ops *source, enum ss_source_state state,
                     const char *reason, struct ss_check *finding);
/* `library`: libstepscope; "": not found. `foreign`: variables that another tool has set; "":
 * none. */
void ss_check_injection(const char *library, const char *foreign, struct ss_check *finding);
/* `preload`: preload.so; "": not found. `has_library`: libstepscope, which preload.so loads, is
 * found. */
/* `library`: of the backend; "": not found. */
void ss_check_backend(const struct ss_device_backend *backend, const char *library, bool has_driver,
                      struct ss_check *finding);
void ss_check_torch(const char *preload, bool has_library, struct ss_check *finding);
/* What this build of stepscope was made without. */
struct ss_build_parts {
    bool has_server;             /* of `stepscope view` */
    bool has_mpich, has_openmpi; /* the libraries that observe the ABIs of MPI */
};
void ss_check_build(const struct ss_build_parts *parts, struct ss_check *finding);
/* The rank of this process, and which launcher says so. */
void ss_check_launcher(const struct ss_rank_facts *ranks, struct ss_check *finding);
/* Whether counters of GPUs may be sampled (record --gpu-metrics) and measured. */
void ss_check_gpu_counters(const struct ss_nvidia_driver *driver, const struct ss_host_facts *host,
                           struct ss_check *finding);
void ss_check_machine(const struct ss_host_facts *host, struct ss_check *finding);

#endif
