/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>

#include "base/env.h"
#include "base/terminal.h"
#include "base/version.h"
#include "cli/checks/doctor_checks.h"
#include "cli/checks/doctor_text.h"
#include "cli/doctor/doctor_gpu.h"
#include "cli/doctor/doctor_gpu_work.h"
#include "cli/line/command.h"
#include "platform/device_backends.h"
#include "platform/runtime_library.h"
#include "record/recording/injection.h"
#include "record/run/ranks.h"
#include "record/run/ring_directory.h"
#include "record/sources/source_registry.h"
#include "serve/server.h"

enum { MAX_FINDINGS = 32 };

static const char *const level_names[] = {"ok", "limited", "no", "-"};
static const enum ss_style level_styles[] = {SS_STYLE_GREEN, SS_STYLE_YELLOW, SS_STYLE_RED,
                                             SS_STYLE_DIM};

static size_t examine_backends(struct ss_check *findings)
{
    for (size_t i = 0; i < ss_device_backend_count; i++) {
        const struct ss_device_backend *backend = &ss_device_backends[i];
        char library[4096] = "";
        ss_device_backend_find(backend, ss_env_get(SS_ENV_LD_LIBRARY_PATH), library,
                               sizeof library);
        ss_check_backend(backend, library, ss_device_backend_has_driver(backend), &findings[i]);
    }
    return ss_device_backend_count;
}

/* The sources that can be probed; the others have checks of their own. */
static size_t examine_sources(struct ss_check *findings)
{
    static const struct ss_source_setup setup = {.proc_root = "/proc", .sys_root = "/sys"};
    size_t count = 0;
    for (size_t i = 0; ss_sources[i] != NULL; i++) {
        if (ss_sources[i]->probe != NULL) {
            char reason[SS_SOURCE_REASON_BYTES];
            enum ss_source_state state = ss_sources[i]->probe(&setup, reason);
            ss_check_source(ss_sources[i], state, reason, &findings[count++]);
        }
    }
    return count + examine_backends(findings + count);
}

static void examine_injection(struct ss_check *finding)
{
    char library[4096];
    struct ss_strbuf foreign;
    ss_strbuf_init(&foreign, 65536);
    ss_injection_list_preset(&foreign);
    bool is_there = ss_runtime_library_find(library, sizeof library);
    ss_check_injection(is_there ? library : "", foreign.length > 0 ? foreign.data : "", finding);
    ss_strbuf_fini(&foreign);
}

static void examine_torch(struct ss_check *finding)
{
    char preload[4096], library[4096];
    bool is_there = ss_preload_find(preload, sizeof preload);
    bool has_library = ss_runtime_library_find(library, sizeof library);
    ss_check_torch(is_there ? preload : "", has_library, finding);
}

static void examine_build(struct ss_check *finding)
{
    char path[4096];
    struct ss_build_parts parts = {
        .has_server = ss_server_is_built(),
        .has_mpich = ss_libexec_find("mpi-mpich.so", path, sizeof path),
        .has_openmpi = ss_libexec_find("mpi-openmpi.so", path, sizeof path),
    };
    ss_check_build(&parts, finding);
}

/* Long: one line for each check. */
static size_t examine(struct ss_check *findings)
{
    size_t count = 0;
    struct ss_host_facts host;
    ss_host_facts_collect(&host);
    struct ss_ptrace_facts child, stranger;
    bool child_known = ss_ptrace_probe_child(&child);
    bool stranger_known = ss_ptrace_probe_stranger(&stranger);
    ss_check_record(&child, child_known, &findings[count++]);
    ss_check_attach(&stranger, stranger_known, &host, &findings[count++]);

    struct ss_python_installs installed = {0}, running = {0};
    ss_python_installs_find(ss_env_get(SS_ENV_PATH), ss_env_get(SS_ENV_HOME), &installed);
    ss_python_processes_find(&running);
    ss_check_python(&installed, &running, &findings[count++]);
    ss_vec_fini(&installed);
    ss_vec_fini(&running);

    ss_check_children(&host, &findings[count++]);
    count += examine_sources(findings + count);
    examine_injection(&findings[count++]);
    examine_torch(&findings[count++]);
    ss_check_clock(&host, &findings[count++]);

    struct ss_folder_facts folder;
    ss_folder_facts_collect(".", &folder);
    ss_check_folder("this folder", &folder, &findings[count++]);

    char rings[SS_RING_DIRECTORY_REASON_BYTES], why_not_first[SS_RING_DIRECTORY_REASON_BYTES];
    ss_ring_directory_probe(rings, why_not_first);
    ss_check_rings(rings, why_not_first, &findings[count++]);

    struct ss_rank_facts ranks;
    examine_build(&findings[count++]);
    ss_rank_find(0, &ranks);
    ss_check_launcher(&ranks, &findings[count++]);
    ss_check_processes(&host, &findings[count++]);
    ss_check_confinement(&host, &findings[count++]);
    struct ss_nvidia_driver driver;
    ss_nvidia_driver_read("/proc/driver/nvidia", &driver);
    ss_check_gpu_counters(&driver, &host, &findings[count++]);
    ss_check_machine(&host, &findings[count++]);
    return count;
}

static void show_text(const struct ss_check *findings, size_t count, bool works)
{
    for (size_t i = 0; i < count; i++) {
        const struct ss_check *finding = &findings[i];
        ss_doctor_print_line(&(struct ss_doctor_line){level_names[finding->verdict],
                                                      level_styles[finding->verdict], finding->name,
                                                      finding->text, finding->fix});
    }
    fprintf(ss_stdout(), "\n%s\n",
            works ? "Recording works here: stepscope record -- python train.py"
                  : "Recording does not work here; the lines marked \"no\" say why.");
}

static int show_json(const struct ss_check *findings, size_t count, bool works)
{
    json_t *checks = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct ss_check *finding = &findings[i];
        const char *verdict =
            finding->verdict == SS_CHECK_FACT ? "fact" : level_names[finding->verdict];
        json_array_append_new(checks, json_pack("{s:s, s:s, s:s+, s:s+}", "name", finding->name,
                                                "verdict", verdict, "text", finding->text, "",
                                                "fix", finding->fix, ""));
    }
    json_t *root = json_pack("{s:i, s:s, s:b, s:o}", "schema", 1, "stepscope", SS_VERSION, "works",
                             works, "checks", checks);
    int failed = root == NULL ? -1 : json_dumpf(root, ss_stdout_data(), JSON_INDENT(1));
    fputc('\n', ss_stdout_data());
    json_decref(root);
    return failed;
}

static int run(const struct ss_arguments *arguments)
{
    static const char *const choices[] = {"text", "json", NULL};
    int format;
    if (!ss_arguments_get_choice(arguments, "format", choices, 0, &format)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    if (arguments->positional_count > 0) {
        return ss_cli_usage(arguments, "takes no argument, not \"%s\"", arguments->positional[0]);
    }
    if (ss_arguments_has(arguments, "gpu-work")) {
        return ss_gpu_work_run(ss_arguments_get(arguments, "gpu-work"),
                               ss_arguments_has(arguments, "gpu-burst"));
    }
    if (ss_arguments_has(arguments, "gpu")) {
        return ss_doctor_gpu(arguments, format == 1);
    }
    struct ss_check findings[MAX_FINDINGS];
    size_t count = examine(findings);
    /* The first finding alone decides whether recording works; a full folder is a separate finding,
     * since -o can name another folder. */
    bool works = findings[0].verdict == SS_CHECK_OK;
    if (format == 1) {
        if (show_json(findings, count, works) != 0) {
            struct ss_error err;
            ss_fail(&err, SS_E_IO, "the findings could not be written");
            return ss_cli_error(arguments, &err);
        }
    } else {
        show_text(findings, count, works);
    }
    return works ? 0 : ss_status_exit_code(SS_E_CHECK);
}

static const struct ss_option options[] = {
    {"gpu", 0, NULL,
     "run kernels of known cost on the first CUDA device, record them, and say which claims of a "
     "recording hold on this machine; takes some 10 s",
     NULL, false},
    {"format", 0, "text|json", "output format (default text)", NULL, false},
    {"gpu-work", 0, "FILE", "be the program that --gpu records", NULL, true},
    {"gpu-burst", 0, NULL, "with --gpu-work: only a burst of launches", NULL, true},
    {0},
};

static const char *const examples[] = {
    "stepscope doctor",
    "what works on this machine, and the fix for what does not",
    "stepscope doctor --format json",
    "the same as JSON, for a script; the exit status is 0 when recording works",
    "stepscope doctor --gpu",
    "which claims about the work of devices hold here; the exit status is 0 when none fails",
    NULL,
};

const struct ss_command ss_command_doctor = {
    .name = "doctor",
    .summary = "check what works on this machine, and how to fix what does not",
    .synopsis = "[options]",
    .description =
        "Tests what a recording needs: reading the memory of a child and of another process, "
        "notification of new processes, the clock, folders, Python versions. Each line says ok, "
        "limited or no, the reason, and the fix.\nThe exit status is 0 when a program can be "
        "recorded, else 1.\nWith --gpu it tests recordings of devices instead: a program of known "
        "cost runs alone and recorded, and what was recorded is compared with what was asked for "
        "and with the device's own timer. Each line says that a claim holds or fails, or that it "
        "could not be measured, and why. The exit status is 0 when none fails, 1 when one does, "
        "and 4 when there is no device.",
    .options = options,
    .examples = examples,
    .run = run,
};
