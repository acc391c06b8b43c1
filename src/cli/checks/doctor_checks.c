/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/checks/doctor_checks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/version.h"
#include "unwind/cpython_layout.h"

enum { NAMED_PYTHONS = 8, NAMED_PROCESSES = 3, LOW_DISK_MIB = 1024, NO_DISK_MIB = 16 };

static void say(struct ss_check *finding, const char *name, enum ss_check_result verdict,
                const char *format, ...) SS_PRINTF(4, 5);
static void say(struct ss_check *finding, const char *name, enum ss_check_result verdict,
                const char *format, ...)
{
    *finding = (struct ss_check){.name = name, .verdict = verdict};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

static void fix(struct ss_check *finding, const char *text)
{
    snprintf(finding->fix, sizeof finding->fix, "%s", text);
}

static void say_refused(struct ss_check *finding, const char *name, enum ss_check_result verdict,
                        const struct ss_ptrace_facts *facts)
{
    struct ss_ptrace_diagnosis advice;
    ss_ptrace_diagnose(facts, ss_ptrace_classify(facts), &advice);
    say(finding, name, verdict, "%s", advice.reason);
    fix(finding, advice.fix);
}

void ss_check_record(const struct ss_ptrace_facts *child, bool probed, struct ss_check *finding)
{
    const char *name = "record a program";
    if (!probed) {
        say(finding, name, SS_CHECK_NO, "no child process could be started");
        fix(finding,
            "raise the limit of processes (ulimit -u, or the pids limit of the container)");
    } else if (ss_ptrace_classify(child) != SS_PTRACE_ALLOWED) {
        say_refused(finding, name, SS_CHECK_NO, child);
    } else {
        say(finding, name, SS_CHECK_OK, "the memory of a child process can be read");
    }
}

void ss_check_attach(const struct ss_ptrace_facts *stranger, bool probed,
                     const struct ss_host_facts *host, struct ss_check *finding)
{
    const char *name = "attach to a process";
    if (!probed) {
        say(finding, name, SS_CHECK_NO, "could not be tried: no child process could be started");
    } else if (ss_ptrace_classify(stranger) != SS_PTRACE_ALLOWED) {
        say_refused(finding, name, SS_CHECK_LIMITED, stranger);
    } else {
        say(finding, name, SS_CHECK_OK, "processes of %s can be read",
            ss_proc_status_can(&host->self, SS_CAP_SYS_PTRACE) ? "every user" : "your own user");
    }
}

/* Several builds of one version are one entry; running processes are entries of their own. */
static bool is_listed_before(const struct ss_python_installs *list, size_t index)
{
    const struct ss_python_install *python = &list->data[index];
    for (size_t i = 0; i < index && python->pid == 0; i++) {
        if (list->data[i].major == python->major && list->data[i].minor == python->minor) {
            return true;
        }
    }
    return false;
}

/* What the sampler has a layout for. */
static bool is_readable(const struct ss_python_install *python)
{
    return ss_cpython_layout_next(NULL, (uint16_t)(python->major << 8 | python->minor)) != NULL;
}

/* "3.8 to 3.15" */
static const char *readable_versions(char text[32])
{
    uint16_t oldest = UINT16_MAX, newest = 0;
    const struct ss_cpython_layout *layout = NULL;
    while ((layout = ss_cpython_layout_next(layout, 0)) != NULL) {
        oldest = layout->version < oldest ? layout->version : oldest;
        newest = layout->version > newest ? layout->version : newest;
    }
    snprintf(text, 32, "%d.%d to %d.%d", oldest >> 8, oldest & 0xff, newest >> 8, newest & 0xff);
    return text;
}

static void list_pythons(const struct ss_python_installs *list, bool readable,
                         struct ss_strbuf *out)
{
    size_t fitting = 0, shown = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct ss_python_install *python = &list->data[i];
        if (is_readable(python) != readable || is_listed_before(list, i)) {
            continue;
        }
        fitting++;
        if (shown == (python->pid != 0 ? NAMED_PROCESSES : NAMED_PYTHONS)) {
            continue;
        }
        shown++;
        ss_strbuf_append_format(out, "%s%d.%d", shown > 1 ? ", " : "", python->major,
                                python->minor);
        if (python->pid != 0) {
            ss_strbuf_append_format(out, " (process %d)", (int)python->pid);
        }
    }
    if (fitting > shown) {
        ss_strbuf_append_format(out, " and %zu more", fitting - shown);
    }
}

void ss_check_python(const struct ss_python_installs *installed,
                     const struct ss_python_installs *running, struct ss_check *finding)
{
    struct ss_strbuf readable, other, processes;
    char versions[32];
    ss_strbuf_init(&readable, 160);
    ss_strbuf_init(&other, 96);
    ss_strbuf_init(&processes, 160);
    list_pythons(installed, true, &readable);
    list_pythons(installed, false, &other);
    list_pythons(running, true, &processes);
    bool any = readable.length > 0 || processes.length > 0;
    say(finding, "python", any ? SS_CHECK_OK : SS_CHECK_LIMITED, "%s%s%s%s%s%s%s",
        readable.length > 0 ? "CPython " : "no CPython ",
        readable.length > 0 ? readable.data : readable_versions(versions),
        readable.length > 0 ? "" : " found", processes.length > 0 ? "; running: " : "",
        processes.data, other.length > 0 ? "; cannot be recorded: " : "", other.data);
    if (!any) {
        fix(finding, "install one, or put its folder into PATH; a program that brings its own "
                     "interpreter can be recorded anyway");
    }
    ss_strbuf_fini(&readable);
    ss_strbuf_fini(&other);
    ss_strbuf_fini(&processes);
}

void ss_check_children(const struct ss_host_facts *host, struct ss_check *finding)
{
    const char *name = "follow children";
    if (host->perf_errno == 0) {
        say(finding, name, SS_CHECK_OK, "the kernel reports every new process (perf_event_open)");
        return;
    }
    if (!host->perf_known || host->perf_errno == ENOENT || host->perf_errno == ENOSYS) {
        say(finding, name, SS_CHECK_LIMITED,
            "this kernel or sandbox offers no perf events: children are found by polling, and "
            "those that live only a few ms may be missed");
        fix(finding,
            host->in_container ? "start the container with --security-opt seccomp=unconfined" : "");
        return;
    }
    say(finding, name, SS_CHECK_LIMITED,
        "perf events are refused (kernel.perf_event_paranoid is %d%s): children are found by "
        "polling, and those that live only a few ms may be missed",
        host->perf_paranoid, host->self.seccomp == 2 ? ", and a seccomp filter is active" : "");
    if (host->perf_paranoid > 2) {
        fix(finding, "sudo sysctl kernel.perf_event_paranoid=2");
    } else {
        fix(finding, "start the container with --cap-add=PERFMON or --security-opt "
                     "seccomp=unconfined");
    }
}

void ss_check_clock(const struct ss_host_facts *host, struct ss_check *finding)
{
    static const char *const fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                       "arch_sys_counter"};
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++) {
        if (strcmp(host->clock_source, fast[i]) == 0) {
            say(finding, "clock", SS_CHECK_OK, "%s: read without a system call",
                host->clock_source);
            return;
        }
    }
    if (host->clock_source[0] == '\0') {
        say(finding, "clock", SS_CHECK_FACT, "the kernel does not publish its clock source");
        return;
    }
    say(finding, "clock", SS_CHECK_LIMITED,
        "%s: each reading is a system call, so the recorder uses more CPU", host->clock_source);
    fix(finding, "boot with clocksource=tsc where the processor's counter is reliable");
}

void ss_check_folder(const char *name, const struct ss_folder_facts *folder,
                     struct ss_check *finding)
{
    if (folder->error != 0) {
        say(finding, name, SS_CHECK_NO, "%s: %s", folder->path, strerror(folder->error));
        fix(finding, "go to a folder that exists, or name one with -o");
        return;
    }
    double gib = (double)folder->free_bytes / (1 << 30);
    uint64_t mib = folder->free_bytes >> 20;
    if (!folder->writable) {
        say(finding, name, SS_CHECK_LIMITED, "%s (%s) cannot be written", folder->path,
            folder->file_system);
        fix(finding, "name a writable folder with -o");
    } else if (mib < NO_DISK_MIB || folder->free_inodes == 0) {
        say(finding, name, SS_CHECK_NO, "%s (%s) is full: %" PRIu64 " MiB and %s free",
            folder->path, folder->file_system, mib,
            folder->free_inodes == 0 ? "no inode" : "inodes");
        fix(finding, "make room, or name another folder with -o");
    } else if (mib < LOW_DISK_MIB) {
        say(finding, name, SS_CHECK_LIMITED, "%s (%s) has %" PRIu64 " MiB left", folder->path,
            folder->file_system, mib);
        fix(finding, "make room, or name another folder with -o");
    } else if (folder->free_bytes < folder->size_bytes / 20) {
        say(finding, name, SS_CHECK_LIMITED,
            "%s (%s): %.1f GiB free, less than 5 %% of the disk: a recording ends when it has "
            "taken "
            "half of that",
            folder->path, folder->file_system, gib);
        fix(finding, "make room, or name another folder with -o");
    } else {
        say(finding, name, SS_CHECK_OK, "%s (%s): %.1f GiB free%s", folder->path,
            folder->file_system, gib,
            ss_file_system_is_remote(folder->file_system) ? ", over the network" : "");
    }
}

void ss_check_rings(const char *folder, const char *why, struct ss_check *finding)
{
    const char *name = "ring directory";
    if (folder[0] == '\0') {
        say(finding, name, SS_CHECK_LIMITED,
            "annotations, and steps and operators of PyTorch, are not recorded: %.400s", why);
        fix(finding, "make room in /dev/shm, or set TMPDIR to a folder of your own");
    } else if (why[0] != '\0') {
        say(finding, name, SS_CHECK_LIMITED, "%.120s, because %.360s", folder, why);
        fix(finding, "make room in /dev/shm (docker run --shm-size), and remove what others have "
                     "put there under this name");
    } else {
        say(finding, name, SS_CHECK_OK, "%.400s", folder);
    }
}

void ss_check_processes(const struct ss_host_facts *host, struct ss_check *finding)
{
    if (host->proc_hidepid) {
        say(finding, "processes", SS_CHECK_FACT,
            "/proc hides other users' processes (hidepid); your own are visible");
    } else {
        say(finding, "processes", SS_CHECK_OK, "/proc shows all of them");
    }
}

void ss_check_confinement(const struct ss_host_facts *host, struct ss_check *finding)
{
    static const char *const seccomp[] = {"none", "strict", "a filter"};
    say(finding, "confinement", SS_CHECK_FACT, "%s, user %u, %s CAP_SYS_PTRACE, seccomp: %s%s",
        host->in_container ? "a container" : "no container", (unsigned)host->self.uid[1],
        ss_proc_status_can(&host->self, SS_CAP_SYS_PTRACE) ? "with" : "without",
        host->self.seccomp >= 0 && host->self.seccomp <= 2 ? seccomp[host->self.seccomp]
                                                           : "unknown",
        host->self.no_new_privs ? ", no new privileges" : "");
}

/* A source that is unavailable is a fact, no defect: a machine may have no GPU. A source that runs
 * without part of its data is limited. */
void ss_check_source(const struct ss_source_ops *source, enum ss_source_state state,
                     const char *reason, struct ss_check *finding)
{
    say(finding, source->name,
        state == SS_SOURCE_LIMITED ? SS_CHECK_LIMITED
        : state == SS_SOURCE_RUNS  ? SS_CHECK_OK
                                   : SS_CHECK_FACT,
        "%s", reason);
}

void ss_check_injection(const char *library, const char *foreign, struct ss_check *finding)
{
    const char *name = "injection";
    if (library[0] == '\0') {
        say(finding, name, SS_CHECK_LIMITED,
            "libstepscope.so.0 is neither beside this program nor in its ../lib: annotations of "
            "programs with ITT or NVTX are not recorded");
        fix(finding, "install stepscope with its libraries");
    } else if (foreign[0] != '\0') {
        say(finding, name, SS_CHECK_LIMITED, "another tool's is left as it is: %s", foreign);
        fix(finding, "unset it to have stepscope record these annotations");
    } else {
        say(finding, name, SS_CHECK_OK, "programs with ITT or NVTX load %s", library);
    }
}

/* Without a device of this kind, nothing is missing. */
void ss_check_backend(const struct ss_device_backend *backend, const char *library, bool has_driver,
                      struct ss_check *finding)
{
    const char *name = backend->name;
    const char *driver = has_driver ? "" : ", and no driver: there is no device";
    if (backend->unsupported != NULL) {
        say(finding, name, SS_CHECK_FACT, "%s devices are not recorded: %s%s", backend->vendor,
            backend->unsupported, library[0] != '\0' ? "; its library is here" : "");
    } else if (library[0] != '\0') {
        say(finding, name, SS_CHECK_OK, "%s devices: %s%s", backend->vendor, library, driver);
    } else {
        say(finding, name, has_driver ? SS_CHECK_LIMITED : SS_CHECK_FACT,
            "%s devices: its library is not found%s", backend->vendor, driver);
        if (has_driver) {
            fix(finding, backend->fix);
        }
    }
}

void ss_check_torch(const char *preload, bool has_library, struct ss_check *finding)
{
    const char *name = "torch";
    if (preload[0] == '\0' || !has_library) {
        say(finding, name, SS_CHECK_LIMITED,
            "%s: steps, phases and operators of PyTorch programs are not recorded",
            preload[0] == '\0' ? "preload.so is neither in the libexec beside this program nor in "
                                 "its ../libexec/stepscope"
                               : "preload.so has no libstepscope.so.0 to load");
        fix(finding, "install stepscope with its libraries");
    } else {
        say(finding, name, SS_CHECK_OK,
            "steps, phases and operators of PyTorch programs: by %.300s in LD_PRELOAD, else by "
            "PYTHONPATH",
            preload);
    }
}

void ss_check_build(const struct ss_build_parts *parts, struct ss_check *finding)
{
    const char *name = "this build";
    const struct {
        bool is_there;
        const char *lack, *package;
    } all[] = {
        {parts->has_server, "the server of `stepscope view`", "libmicrohttpd-dev"},
        {parts->has_mpich, "MPI of MPICH, Intel and Cray", "libmpich-dev"},
        {parts->has_openmpi, "Open MPI", "libopenmpi-dev"},
    };
    struct ss_strbuf lacks, packages;
    ss_strbuf_init(&lacks, sizeof finding->text);
    ss_strbuf_init(&packages, sizeof finding->fix);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].is_there) {
            ss_strbuf_append_format(&lacks, "%s%s", lacks.length > 0 ? ", " : "", all[i].lack);
            ss_strbuf_append_format(&packages, " %s", all[i].package);
        }
    }
    if (lacks.length == 0) {
        say(finding, name, SS_CHECK_OK, "stepscope %s, with all its parts", SS_VERSION);
    } else {
        say(finding, name, SS_CHECK_LIMITED, "stepscope %s, without %s", SS_VERSION, lacks.data);
        snprintf(finding->fix, sizeof finding->fix,
                 "install the wheel, or build with the packages%s", packages.data);
    }
    ss_strbuf_fini(&lacks);
    ss_strbuf_fini(&packages);
}

void ss_check_launcher(const struct ss_rank_facts *ranks, struct ss_check *finding)
{
    char text[300];
    ss_rank_facts_text(ranks, text, sizeof text);
    bool is_many =
        ranks->has[SS_RANK] && !(ranks->has[SS_WORLD_SIZE] && ranks->numbers[SS_WORLD_SIZE] == 1);
    if (ranks->has[SS_RANK]) {
        say(finding, "launcher", SS_CHECK_FACT, "%s%s%s%s", text,
            ranks->run_id[0] != '\0' ? "; run " : "", ranks->run_id,
            is_many ? "; all ranks record into one folder" : "");
    } else if (ranks->job[0] != '\0') {
        say(finding, "launcher", SS_CHECK_FACT,
            "job %s, but this process is not one of its ranks: srun, mpiexec or torchrun starts "
            "them, "
            "each with a recorder, as in srun stepscope record -- PROGRAM",
            ranks->job);
    } else {
        say(finding, "launcher", SS_CHECK_FACT, "none: a program is recorded as one process");
    }
}

/* CAP_PERFMON counts from the driver's release 565 on. */
void ss_check_gpu_counters(const struct ss_nvidia_driver *driver, const struct ss_host_facts *host,
                           struct ss_check *finding)
{
    enum { FIRST_WITH_PERFMON = 565 };
    const char *name = "counters of GPUs";
    bool is_admin =
        ss_proc_status_can(&host->self, SS_CAP_SYS_ADMIN) ||
        (ss_proc_status_can(&host->self, SS_CAP_PERFMON) && driver->release >= FIRST_WITH_PERFMON);
    if (!driver->is_loaded) {
        say(finding, name, SS_CHECK_FACT, "no driver of NVIDIA is loaded");
    } else if (!driver->knows_permission) {
        say(finding, name, SS_CHECK_FACT,
            "the driver does not say who may use them: /proc/driver/nvidia/params is not readable");
    } else if (driver->is_admin_only && !is_admin) {
        say(finding, name, SS_CHECK_LIMITED,
            "the driver gives them to administrators only: record --gpu-metrics and --counters "
            "are refused; kernels are recorded all the same");
        fix(finding,
            "set NVreg_RestrictProfilingToAdminUsers=0 for the module nvidia and load it again, "
            "or run with CAP_SYS_ADMIN (in a container: --cap-add=SYS_ADMIN)");
    } else {
        say(finding, name, SS_CHECK_OK,
            driver->is_admin_only ? "given to administrators, which this process is"
                                  : "the driver gives them to every user");
    }
}

void ss_check_machine(const struct ss_host_facts *host, struct ss_check *finding)
{
    say(finding, "machine", SS_CHECK_FACT, "%s, %d %s usable", host->kernel, host->cores,
        host->cores == 1 ? "core" : "cores");
}
