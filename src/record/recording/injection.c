/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording/injection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/runtime_library.h"
#include "record/run/launch.h"
#include "record/run/library_link.h"

enum { PATH_BYTES = sizeof((struct ss_injection *)NULL)->preload };

/* Separators of the dynamic linker's lists, and of lists of folders and libraries. */
static const char preload_separators[] = " :", list_separators[] = ":";

static void link_preload(const char *rings, char *path, char *reason, size_t size)
{
    if (!ss_library_link(rings, preload_separators, path, PATH_BYTES)) {
        snprintf(reason, size,
                 "LD_PRELOAD takes no path with a space or colon, and no link to it could be made "
                 "beside %s: install stepscope in another folder than %s",
                 rings, path);
        path[0] = '\0';
    }
}

static void find_preload(const struct ss_record_options *options, const char *rings,
                         struct ss_injection *injection)
{
    if (options->no_torch) {
        snprintf(injection->no_preload, sizeof injection->no_preload, "--no-torch");
    } else if (!ss_preload_find(injection->preload, sizeof injection->preload)) {
        snprintf(injection->no_preload, sizeof injection->no_preload,
                 SS_PRELOAD " is neither in %s/libexec nor in its ../libexec/stepscope: install it "
                            "there",
                 injection->preload);
        injection->preload[0] = '\0';
    } else {
        link_preload(rings, injection->preload, injection->no_preload,
                     sizeof injection->no_preload);
    }
}

static void find_mpi(const struct ss_record_options *options, const char *rings,
                     struct ss_injection *injection)
{
    if (options->no_mpi) {
        snprintf(injection->no_mpi, sizeof injection->no_mpi, "--no-mpi");
    } else if (!ss_mpi_preload_find(injection->mpi, sizeof injection->mpi)) {
        snprintf(injection->no_mpi, sizeof injection->no_mpi,
                 "this stepscope was built without the headers of an MPI");
        injection->mpi[0] = '\0';
    } else {
        link_preload(rings, injection->mpi, injection->no_mpi, sizeof injection->no_mpi);
    }
}

static void find_python(const struct ss_record_options *options, const char *rings,
                        struct ss_injection *injection)
{
    char preload[PATH_BYTES];
    if (options->no_torch || !ss_preload_find(preload, sizeof preload) ||
        !ss_python_folder_find(injection->python, sizeof injection->python) ||
        !ss_library_link(rings, list_separators, injection->python, sizeof injection->python)) {
        injection->python[0] = '\0';
    }
}

static void find_rocm(const char *rings, struct ss_injection *injection)
{
    if (!ss_rocm_tool_find(injection->rocm, sizeof injection->rocm) ||
        !ss_library_link(rings, list_separators, injection->rocm, sizeof injection->rocm)) {
        injection->rocm[0] = '\0';
    }
}

static void find_torch(const struct ss_record_options *options, const char *rings,
                       struct ss_injection *injection)
{
    find_preload(options, rings, injection);
    find_python(options, rings, injection);
    if (injection->preload[0] != '\0' || injection->python[0] != '\0') {
        snprintf(injection->torch, sizeof injection->torch, "%s",
                 options->torch != NULL ? options->torch : "depth=2");
    }
}

void ss_injection_find(const struct ss_record_options *options, const char *rings,
                       struct ss_injection *injection)
{
    *injection = (struct ss_injection){.is_off = true};
    if (options->attach_pid != 0) {
        snprintf(injection->reason, sizeof injection->reason,
                 "set when a program starts, not with --pid");
    } else if (!options->inject) {
        snprintf(injection->reason, sizeof injection->reason, "--no-inject");
        injection->is_refused = true;
    } else if (rings[0] == '\0') {
        snprintf(injection->reason, sizeof injection->reason, "no annotations can be recorded");
    } else if (!ss_runtime_library_find(injection->library, sizeof injection->library)) {
        snprintf(injection->reason, sizeof injection->reason,
                 SS_RUNTIME_LIBRARY " is neither in %s nor in its ../lib: install it there",
                 injection->library[0] != '\0' ? injection->library : "stepscope's folder");
    } else {
        injection->is_off = false;
        find_torch(options, rings, injection);
        find_mpi(options, rings, injection);
        find_rocm(rings, injection);
    }
}

const char *ss_injection_user_value(const struct ss_child_env *row)
{
    bool is_ours_alone = row->injected != NULL && row->separator == 0;
    const char *present = is_ours_alone ? getenv(row->name) : NULL;
    return present != NULL && !ss_runtime_library_is(present) ? present : NULL;
}

void ss_injection_list_preset(struct ss_strbuf *text)
{
    for (size_t i = 0; i < ss_child_env_count; i++) {
        const char *value = ss_injection_user_value(&ss_child_env_table[i]);
        if (value != NULL) {
            ss_strbuf_append_format(text, "%s%s (%s)", text->length > 0 ? ", " : "",
                                    ss_child_env_table[i].name, value);
        }
    }
}
