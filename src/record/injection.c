/* SPDX-License-Identifier: Apache-2.0 */
#include "record/injection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/runtime_library.h"
#include "record/context.h"
#include "record/launch.h"
#include "record/source_registry.h"

/* A list of the dynamic linker has spaces and colons as separators. */
static void find_preload(const struct ss_record_options *options, struct ss_injection *injection)
{
    if (options->no_torch) {
        snprintf(injection->no_preload, sizeof injection->no_preload, "--no-torch");
    } else if (!ss_preload_find(injection->preload, sizeof injection->preload)) {
        snprintf(injection->no_preload, sizeof injection->no_preload,
                 SS_PRELOAD " is neither in %s/libexec nor in its ../libexec/stepscope: install it "
                            "there",
                 injection->preload);
        injection->preload[0] = '\0';
    } else if (strpbrk(injection->preload, " :") != NULL) {
        snprintf(injection->no_preload, sizeof injection->no_preload,
                 "LD_PRELOAD takes no path with a space or colon: install stepscope in another "
                 "folder than %s",
                 injection->preload);
        injection->preload[0] = '\0';
    }
}

/* A list of folders has colons as separators. */
static void find_python(const struct ss_record_options *options, struct ss_injection *injection)
{
    char preload[4096];
    if (options->no_torch || !ss_preload_find(preload, sizeof preload) ||
        !ss_python_folder_find(injection->python, sizeof injection->python) ||
        strchr(injection->python, ':') != NULL) {
        injection->python[0] = '\0';
    }
}

static void find_torch(const struct ss_record_options *options, struct ss_injection *injection)
{
    find_preload(options, injection);
    find_python(options, injection);
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
        find_torch(options, injection);
    }
}

/* The value that the user has set, which stays; NULL: none. */
static const char *user_value(const struct ss_child_env *row)
{
    bool is_ours_alone = row->injected != NULL && row->separator == 0;
    const char *present = is_ours_alone ? getenv(row->name) : NULL;
    return present != NULL && !ss_runtime_library_is(present) ? present : NULL;
}

void ss_injection_list_preset(struct ss_strbuf *text)
{
    for (size_t i = 0; i < ss_child_env_count; i++) {
        const char *value = user_value(&ss_child_env_table[i]);
        if (value != NULL) {
            ss_strbuf_append_format(text, "%s%s (%s)", text->length > 0 ? ", " : "",
                                    ss_child_env_table[i].name, value);
        }
    }
}

/* The row of child_env.def that loads stepscope for this source. */
static const struct ss_child_env *row_of(const char *name)
{
    size_t i = 0;
    while (ss_child_env_table[i].injected == NULL ||
           strcmp(ss_child_env_table[i].injected, name) != 0) {
        i++;
    }
    return &ss_child_env_table[i];
}

static enum ss_source_state describe_preload(const struct ss_injection *injection,
                                             const char *variable, char *reason)
{
    if (injection->preload[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s=%s", variable, injection->preload);
        return SS_SOURCE_RUNS;
    }
    if (injection->python[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "PYTHONPATH=%s; %.300s", injection->python,
                 injection->no_preload);
        return SS_SOURCE_RUNS;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", injection->no_preload);
    return strcmp(injection->no_preload, "--no-torch") == 0 ? SS_SOURCE_NOT_REQUESTED
                                                            : SS_SOURCE_NOT_AVAILABLE;
}

static enum ss_source_state describe_library(const struct ss_injection *injection,
                                             const struct ss_child_env *row, char *reason)
{
    const char *present = getenv(row->name);
    if (user_value(row) != NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s is set already (%s) and was left as it is",
                 row->name, present);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s=%s", row->name,
             present != NULL ? present : injection->library);
    return SS_SOURCE_RUNS;
}

static enum ss_source_state start(const struct ss_record_context *context, const char *name,
                                  char *reason)
{
    const struct ss_injection *injection = context->injection;
    const struct ss_child_env *row = row_of(name);
    if (injection->is_off) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", injection->reason);
        return injection->is_refused ? SS_SOURCE_NOT_REQUESTED : SS_SOURCE_NOT_AVAILABLE;
    }
    return row->separator != 0 ? describe_preload(injection, row->name, reason)
                               : describe_library(injection, row, reason);
}

/* What they record arrives in the rings of the programs that load libstepscope. */
static enum ss_source_state start_torch(const struct ss_source_setup *setup, void **source,
                                        char *reason)
{
    (void)source;
    return start(setup->recorder, ss_source_torch.name, reason);
}

static enum ss_source_state start_itt(const struct ss_source_setup *setup, void **source,
                                      char *reason)
{
    (void)source;
    return start(setup->recorder, ss_source_itt.name, reason);
}

static enum ss_source_state start_nvtx(const struct ss_source_setup *setup, void **source,
                                       char *reason)
{
    (void)source;
    return start(setup->recorder, ss_source_nvtx.name, reason);
}

const struct ss_source_ops ss_source_torch = {
    .name = "torch",
    .summary = "steps, phases, operators, modules and memory of PyTorch programs",
    .start = start_torch,
};

const struct ss_source_ops ss_source_itt = {
    .name = "itt",
    .summary = "annotations of programs with ITT",
    .start = start_itt,
};

const struct ss_source_ops ss_source_nvtx = {
    .name = "nvtx",
    .summary = "annotations of programs with NVTX 3",
    .start = start_nvtx,
};
