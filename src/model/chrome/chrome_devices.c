/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chrome/chrome_devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/device_api.h"

/* Of the calls and works of a file that are compared: enough to see each name. */
enum { MOST_COMPARED = 1 << 20 };

void ss_chrome_devices_fini(struct ss_chrome_devices *devices)
{
    ss_vec_fini(&devices->calls);
    ss_vec_fini(&devices->works);
    ss_vec_fini(&devices->names);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static bool begins_with(struct ss_strview text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.length >= length && strncasecmp(text.data, prefix, length) == 0;
}

static bool ends_with(struct ss_strview text, const char *suffix)
{
    size_t length = strlen(suffix);
    return text.length > length && memcmp(text.data + text.length - length, suffix, length) == 0;
}

static bool contains(struct ss_strview text, const char *word)
{
    return text.length > 0 && memmem(text.data, text.length, word, strlen(word)) != NULL;
}

/* "Ascend Hardware", "/device:TPU:0", "NPU 3": not "GPU 0 (python)", which kineto writes as a
 * label. */
bool ss_chrome_names_device(struct ss_strview name)
{
    return ends_with(name, " Hardware") || begins_with(name, "/device:");
}

/* A device that waits does no work. */
static enum ss_chrome_kind kind_of_work(struct ss_strview name)
{
    return contains(name, "wait") || contains(name, "Wait") || contains(name, "WAIT")
               ? SS_CHROME_DEVICE_SYNC
           : begins_with(name, "memcpy") ? SS_CHROME_COPY
           : begins_with(name, "memset") ? SS_CHROME_MEMSET
                                         : SS_CHROME_KERNEL;
}

/* Threads of XLA's devices that show the same work again, by module, step or source. */
static bool is_repeated_work(const struct ss_chrome_thread *thread)
{
    static const char *const rows[] = {
        "XLA Modules", "Steps",       "Framework Name Scope", "TensorFlow Name Scope",
        "Source code", "XLA TraceMe", "Framework Ops",        "Async XLA Ops"};
    for (size_t i = 0; thread->name != NULL && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(thread->name, rows[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum ss_chrome_kind kind_by_process(struct ss_chrome_rows *rows,
                                           const struct ss_chrome_event *event)
{
    uint32_t process = ss_chrome_process(rows, &event->pid);
    if (!rows->processes.data[process].is_named_device) {
        return SS_CHROME_OTHER;
    }
    uint32_t thread = ss_chrome_thread(rows, &event->pid, &event->tid);
    return is_repeated_work(&rows->threads.data[thread]) ? SS_CHROME_DEVICE_ANNOTATION
                                                         : kind_of_work(event->name.raw);
}

/* Calls are of the process that the file is about, which has threads; its devices are not. */
static bool is_of_owner(struct ss_chrome_rows *rows, const struct ss_chrome_event *event)
{
    return rows->owner == 0 || ss_chrome_process(rows, &event->pid) == rows->owner - 1;
}

/* Categories of our own exports: elsewhere they may mean anything. */
static enum ss_chrome_kind kind_of_own(struct ss_strview category)
{
    static const struct {
        const char *category;
        enum ss_chrome_kind kind;
    } own[] = {{"runtime", SS_CHROME_API},   {"driver", SS_CHROME_API},
               {"memcpy", SS_CHROME_COPY},   {"copy", SS_CHROME_COPY},
               {"memset", SS_CHROME_MEMSET}, {"synchronisation", SS_CHROME_DEVICE_SYNC}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (ss_strview_equal(category, ss_strview_of(own[i].category))) {
            return own[i].kind;
        }
    }
    return SS_CHROME_OTHER;
}

enum ss_chrome_kind ss_chrome_kind_of_event(struct ss_chrome_rows *rows,
                                            const struct ss_chrome_event *event)
{
    enum ss_chrome_kind kind = ss_chrome_kind_of(rows, event->category);
    if (kind != SS_CHROME_OTHER || event->phase != 'X') {
        return kind;
    }
    struct ss_strview category = event->category.raw;
    if (ends_with(category, "_runtime") || ends_with(category, "_driver")) {
        return SS_CHROME_API;
    }
    bool has_correlation = contains(event->arguments, "\"correlation\"");
    if (rows->is_ours) {
        return has_correlation ? kind_of_own(category) : SS_CHROME_OTHER;
    }
    kind = kind_by_process(rows, event);
    if (kind == SS_CHROME_OTHER && rows->is_xprof && event->name.raw.length > 1 &&
        event->name.raw.data[0] == '$') {
        return SS_CHROME_PYTHON;
    }
    if (kind == SS_CHROME_OTHER && category.length > 0 && has_correlation &&
        !is_of_owner(rows, event)) {
        kind = kind_of_work(event->name.raw);
    }
    return kind;
}

/* --- launches --------------------------------------------------------------------------------- */

static enum ss_chrome_call_name call_name(struct ss_strview text)
{
    enum ss_event_type type = ss_device_call_type(text);
    bool is_known = type == SS_EVENT_TYPE_launch || type == SS_EVENT_TYPE_synchronisation;
    return is_known ? SS_CHROME_CALL_KNOWN : SS_CHROME_CALL_UNKNOWN;
}

void ss_chrome_devices_add_call(struct ss_chrome_devices *devices, uint64_t correlation,
                                struct ss_strview text, uint32_t name)
{
    if (correlation == 0 || devices->calls.count >= MOST_COMPARED) {
        return;
    }
    if (name >= devices->names.count) {
        ss_vec_resize(&devices->names, (size_t)name + 1);
    }
    uint8_t *known = &devices->names.data[name];
    if (*known == SS_CHROME_CALL_NEW) {
        *known = (uint8_t)call_name(text);
    }
    if (*known == SS_CHROME_CALL_UNKNOWN) {
        ss_vec_push(&devices->calls, (struct ss_chrome_call){(uint32_t)correlation, name});
    }
}

void ss_chrome_devices_add_work(struct ss_chrome_devices *devices, uint64_t correlation)
{
    if (correlation != 0 && devices->works.count < MOST_COMPARED) {
        ss_vec_push(&devices->works, (uint32_t)correlation);
    }
}

static int compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

void ss_chrome_devices_end(struct ss_chrome_devices *devices, struct ss_model_builder *builder)
{
    if (devices->calls.count == 0 || devices->works.count == 0) {
        return;
    }
    qsort(devices->works.data, devices->works.count, sizeof(uint32_t), compare);
    for (size_t i = 0; i < devices->calls.count; i++) {
        const struct ss_chrome_call *call = &devices->calls.data[i];
        if (bsearch(&call->correlation, devices->works.data, devices->works.count, sizeof(uint32_t),
                    compare) != NULL) {
            ss_model_builder_set_type(builder, call->name, SS_EVENT_TYPE_launch);
        }
    }
}
