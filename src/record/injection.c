/* SPDX-License-Identifier: Apache-2.0 */
#include "record/injection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/runtime_library.h"
#include "record/launch.h"

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
    } else if (rings[0] == '\0') {
        snprintf(injection->reason, sizeof injection->reason, "no annotations can be recorded");
    } else if (!ss_runtime_library_find(injection->library, sizeof injection->library)) {
        snprintf(injection->reason, sizeof injection->reason,
                 SS_RUNTIME_LIBRARY " is neither in %s nor in its ../lib: install it there",
                 injection->library[0] != '\0' ? injection->library : "stepscope's folder");
        injection->is_missing = true;
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

static void describe(const struct ss_injection *injection, const struct ss_child_env *row,
                     struct ss_trace_source *source, char *text, size_t size)
{
    const char *present = getenv(row->name);
    if (injection->is_off) {
        source->status = injection->is_missing ? SS_SOURCE_UNAVAILABLE : SS_SOURCE_OFF;
        snprintf(text, size, "%s", injection->reason);
    } else if (row->separator != 0 && injection->preload[0] == '\0' &&
               injection->python[0] != '\0') {
        source->status = SS_SOURCE_RAN;
        snprintf(text, size, "PYTHONPATH=%s; %.300s", injection->python, injection->no_preload);
    } else if (row->separator != 0 && injection->preload[0] == '\0') {
        source->status = strcmp(injection->no_preload, "--no-torch") == 0 ? SS_SOURCE_OFF
                                                                          : SS_SOURCE_UNAVAILABLE;
        snprintf(text, size, "%s", injection->no_preload);
    } else if (row->separator != 0) {
        source->status = SS_SOURCE_RAN;
        snprintf(text, size, "%s=%s", row->name, injection->preload);
    } else if (user_value(row) != NULL) {
        source->status = SS_SOURCE_UNAVAILABLE;
        snprintf(text, size, "%s is set already (%s) and was left as it is", row->name, present);
    } else {
        source->status = SS_SOURCE_RAN;
        snprintf(text, size, "%s=%s", row->name, present != NULL ? present : injection->library);
    }
}

enum ss_status ss_injection_write_sources(const struct ss_injection *injection,
                                          struct ss_recording *recording, struct ss_error *err)
{
    for (size_t i = 0; i < ss_child_env_count; i++) {
        const struct ss_child_env *row = &ss_child_env_table[i];
        if (row->injected == NULL) {
            continue;
        }
        char text[4500];
        struct ss_trace_source source = {.ref = ss_recording_new_source(recording),
                                         .name = ss_strview_of(row->injected)};
        describe(injection, row, &source, text, sizeof text);
        source.reason = ss_strview_of(text);
        SS_TRY(ss_recording_source(recording, &source, err));
    }
    return SS_OK;
}
