/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/device_preflight.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "counters/profiler.h"
#include "platform/device_backends.h"
#include "platform/procfs.h"

enum { PATH_BYTES = 4096 };
enum { STOP, WARN, OFF }; /* --preflight */

/* --- the program's Python --------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* As a shell finds it. */
static bool find_in_path(const char *name, const char *path, char *found, size_t size)
{
    while (path != NULL && *path != '\0') {
        int length = (int)strcspn(path, ":");
        int written = snprintf(found, size, "%.*s/%s", length, path, name);
        if (length > 0 && written > 0 && (size_t)written < size && access(found, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

static bool find_program(const char *name, const char *path, char *found, size_t size)
{
    if (strchr(name, '/') == NULL) {
        return find_in_path(name, path, found, size);
    }
    return (size_t)snprintf(found, size, "%s", name) < size;
}

/* The interpreter of a script: the first word of its first line, or the second after env. */
static bool read_interpreter(const char *script, char *interpreter, size_t size)
{
    char line[PATH_BYTES], first[PATH_BYTES] = "", second[PATH_BYTES] = "";
    int file = open(script, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, line, sizeof line - 1) : -1;
    if (file >= 0) {
        close(file);
    }
    if (got < 3 || line[0] != '#' || line[1] != '!') {
        return false;
    }
    line[got] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line + 2, "%4095s %4095s", first, second) < 1) {
        return false;
    }
    const char *found = strcmp(base_name(first), "env") == 0 ? second : first;
    return (size_t)snprintf(interpreter, size, "%s", found) < size;
}

static bool is_python(const char *program)
{
    return strncmp(base_name(program), "python", 6) == 0;
}

/* Links are not followed: in a virtual environment they lead out of it. */
bool ss_preflight_find_python(const char *program, const char *path, char *environment, size_t size)
{
    char found[PATH_BYTES], interpreter[PATH_BYTES];
    if (!find_program(program, path, found, sizeof found)) {
        return false;
    }
    if (!is_python(found)) {
        if (!read_interpreter(found, interpreter, sizeof interpreter) || !is_python(interpreter) ||
            !find_program(interpreter, path, found, sizeof found)) {
            return false;
        }
    }
    char *slash = strrchr(found, '/');
    *slash = '\0'; /* find_program's has one */
    slash = strrchr(found, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return (size_t)snprintf(environment, size, "%s", slash != NULL ? found : ".") < size;
}

static bool has_cuda_packages(const char *environment)
{
    static const char *const patterns[] = {
        "/lib/python3*/site-packages/torch/lib/libtorch_cuda.so",
        "/lib/python3*/site-packages/nvidia/*/lib/libcudart.so.*", "/lib/libcudart.so.*"};
    bool has = false;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !has; i++) {
        char pattern[PATH_BYTES];
        glob_t found;
        int written = snprintf(pattern, sizeof pattern, "%s%s", environment, patterns[i]);
        if (written > 0 && (size_t)written < sizeof pattern &&
            glob(pattern, 0, NULL, &found) == 0) {
            has = true;
            globfree(&found);
        }
    }
    return has;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* Programs that may use counters for as long as they run. */
static void find_holder(void *context, pid_t pid)
{
    static const char *const names[] = {"nv-hostengine", "dcgm-exporter", "dcgmproftester", "ncu"};
    struct ss_preflight_facts *facts = context;
    struct ss_procfs_stat stat;
    if (facts->holder[0] != '\0' || !ss_procfs_stat(pid, 0, &stat)) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(stat.comm, names[i], strlen(names[i])) == 0) {
            snprintf(facts->holder, sizeof facts->holder, "%.30s (process %d)", stat.comm,
                     (int)pid);
        }
    }
}

static void collect_work(struct ss_preflight_facts *facts, const char *environment)
{
    const struct ss_device_backend *cupti = ss_device_backend_named("cupti");
    const char *given = ss_env_get(SS_ENV_STEPSCOPE_CUPTI);
    facts->has_cuda_packages = has_cuda_packages(environment);
    if (given != NULL && given[0] != '\0') {
        snprintf(facts->cupti, sizeof facts->cupti, "%s", given);
    } else if (!ss_profiler_find_in_python(environment, facts->cupti, sizeof facts->cupti)) {
        ss_device_backend_find(cupti, ss_env_get(SS_ENV_LD_LIBRARY_PATH), facts->cupti,
                               sizeof facts->cupti);
    }
}

static void collect(const struct ss_record_plan *plan, struct ss_preflight_facts *facts,
                    struct ss_device_probe *probe)
{
    static const char device[] = "/dev/nvidiactl", of_wsl[] = "/dev/dxg";
    char environment[PATH_BYTES] = "";
    facts->has_device_file = access(device, F_OK) == 0 || access(of_wsl, F_OK) == 0;
    facts->is_one_of_many = ss_record_run_is_many(&plan->run);
    facts->knows_python = ss_preflight_find_python(plan->program[0], ss_env_get(SS_ENV_PATH),
                                                   environment, sizeof environment);
    ss_nvidia_driver_read("/proc/driver/nvidia", &facts->driver);
    ss_proc_status_read(0, &facts->host.self);
    if (!facts->has_counters && !facts->has_samples) {
        if (facts->knows_python) {
            collect_work(facts, environment);
        }
        return;
    }
    struct ss_device_probe_request request = {
        .counters = plan->counters, .samples = plan->has_samples, .environment = environment};
    ss_device_probe(&request, probe);
    facts->probe = probe;
    ss_procfs_each_id("/proc", find_holder, facts);
}

/* --- the whole -------------------------------------------------------------------------------- */

bool ss_device_preflight_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan)
{
    static const char *const ways[] = {"stop", "warn", "off", NULL};
    return ss_arguments_get_choice(arguments, "preflight", ways, STOP, &plan->preflight);
}

/* false: the program must not start. */
static bool print(const struct ss_record_plan *plan, const struct ss_preflight_facts *facts,
                  const struct ss_preflight_finding *findings, size_t count)
{
    const char *option = facts->has_counters ? "--counters" : "--gpu-metrics";
    bool stops = false;
    for (size_t i = 0; i < count; i++) {
        bool is_error = findings[i].is_certain && plan->preflight == STOP;
        ss_log(is_error ? SS_ERROR : SS_WARN, "record", "%s%s%s",
               facts->probe != NULL ? option : "", facts->probe != NULL ? ": " : "",
               findings[i].text);
        stops = stops || is_error;
    }
    if (stops) {
        ss_log(SS_ERROR, "record",
               "the program was not started; --preflight warn records it all the same");
    }
    return !stops;
}

bool ss_device_preflight(const struct ss_record_plan *plan)
{
    static struct ss_device_probe probe;
    struct ss_preflight_finding findings[SS_PREFLIGHT_MOST];
    struct ss_preflight_facts facts = {.has_counters = plan->counters != NULL,
                                       .has_samples = plan->has_samples};
    if (plan->preflight == OFF || plan->record.gpu == NULL || !plan->record.inject ||
        plan->program == NULL) {
        return true;
    }
    collect(plan, &facts, &probe);
    return print(plan, &facts, findings, ss_preflight_judge(&facts, findings));
}
