/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test that is its own recorder: what it marks by libstepscope becomes a line of text for each
 * event, "KIND name=… domain=… group=… number=… reduction=… value=… category=… colour=…", without
 * what is not there.
 */
#ifndef SS_TEST_OWN_RECORDING_H
#define SS_TEST_OWN_RECORDING_H

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "ring/folder.h"
#include "source/annot.h"
#include "source/ring_file.h"

enum { OWN_MAX_NAMES = 65536, OWN_LOG_BYTES = 1 << 20 };

struct own_recording {
    struct ss_ring_file *file;
    struct ss_stamp_clock clock;
    struct ss_annot *annot;
    char *names[OWN_MAX_NAMES];
    uint32_t categories[OWN_MAX_NAMES], colours[OWN_MAX_NAMES];
    char *domains[SS_RING_MAX_DOMAINS];
    uint32_t units[OWN_MAX_NAMES], kinds[OWN_MAX_NAMES];
    uint64_t last_ns; /* of the last event */
    int32_t last_tid;
    size_t used;
    char log[OWN_LOG_BYTES];
};

static inline void own_on_name(void *context, const struct ss_annot_name *name)
{
    struct own_recording *own = context;
    free(own->names[name->id]);
    own->names[name->id] = strndup(name->text.data, name->text.length);
    own->categories[name->id] = name->category;
    own->colours[name->id] = name->argb;
}

static inline void own_on_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct own_recording *own = context;
    free(own->domains[id]);
    own->domains[id] = strndup(text.data, text.length);
}

static inline void own_on_counter(void *context, const struct ss_annot_counter *counter)
{
    struct own_recording *own = context;
    own->units[counter->name] = counter->unit;
    own->kinds[counter->name] = counter->kind;
}

__attribute__((format(printf, 2, 3))) static inline void own_say(struct own_recording *own,
                                                                 const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(own->log + own->used, sizeof own->log - own->used, format, list);
    va_end(list);
    if ((size_t)length < sizeof own->log - own->used) {
        own->used += (size_t)length;
    }
}

static inline void own_on_event(void *context, const struct ss_annot_event *event)
{
    static const char *const kinds[] = {
        [SS_ANNOT_RANGE_BEGIN] = "push", [SS_ANNOT_RANGE_END] = "pop",
        [SS_ANNOT_MARK] = "mark",        [SS_ANNOT_ASYNC_BEGIN] = "begin",
        [SS_ANNOT_ASYNC_END] = "end",    [SS_ANNOT_FLOW] = "flow",
        [SS_ANNOT_COUNT] = "count",      [SS_ANNOT_STEP] = "step",
        [SS_ANNOT_EPOCH] = "epoch",      [SS_ANNOT_PHASE] = "phase",
        [SS_ANNOT_WINDOW] = "window",    [SS_ANNOT_THREAD_NAME] = "thread",
        [SS_ANNOT_FACT] = "fact",        [SS_ANNOT_PROCESS_END] = "over"};
    struct own_recording *own = context;
    double real;
    own->last_ns = event->time_ns;
    own->last_tid = event->tid;
    own_say(own, "%s", kinds[event->kind]);
    if (event->name != 0) {
        own_say(own, " name=%s", own->names[event->name]);
    }
    if (event->domain != 0) {
        own_say(own, " domain=%s", own->domains[event->domain]);
    }
    if (event->collective.group != 0) {
        own_say(own, " group=%s/%" PRIu32, own->names[event->collective.group],
                event->collective.size);
    }
    if (event->collective.is_described && event->collective.sequence >= 0) {
        own_say(own, " number=%" PRId64, event->collective.sequence);
    }
    if (event->collective.reduction != 0) {
        own_say(own, " reduction=%" PRIu32, event->collective.reduction);
    }
    if (event->value_type == SS_RING_VALUE_DOUBLE) {
        memcpy(&real, &event->value, sizeof real);
        own_say(own, " value=%g", real);
    } else if (event->value_type == SS_RING_VALUE_NAME) {
        own_say(own, " value=\"%s\"", own->names[event->value]);
    } else if (event->value_type == SS_RING_VALUE_UNSIGNED) {
        own_say(own, " value=%" PRIu64 "u", event->value);
    } else if (event->value_type == SS_RING_VALUE_SIGNED) {
        own_say(own, " value=%" PRId64, (int64_t)event->value);
    }
    if (event->name != 0 && own->categories[event->name] != 0) {
        own_say(own, " category=%s", own->names[own->categories[event->name]]);
    }
    if (event->name != 0 && own->colours[event->name] != 0) {
        own_say(own, " colour=%08x", own->colours[event->name]);
    }
    own_say(own, "%s\n", event->unseen_end ? " unseen" : "");
}

/* Call first in main: the library searches its folder when it is loaded, so that the program starts
 * itself again with one. */
static inline void own_recording_folder(char **argv)
{
    if (getenv("STEPSCOPE_RINGS") == NULL) {
        char path[] = "/tmp/stepscope-test-XXXXXX", page[600];
        if (mkdtemp(path) == NULL) {
            exit(1);
        }
        snprintf(page, sizeof page, "%s/" SS_RING_RECORDER_FILE, path);
        FILE *file = fopen(page, "w");
        if (file == NULL || chmod(page, 0600) != 0 || ftruncate(fileno(file), 4096) != 0) {
            exit(1);
        }
        fclose(file);
        setenv("STEPSCOPE_RINGS", path, 1);
        execv("/proc/self/exe", argv);
        exit(1);
    }
}

static inline void own_recording_remove_folder(void)
{
    const char *folder = getenv("STEPSCOPE_RINGS");
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    char path[600];
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') {
            unlink(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    if (folder != NULL) {
        rmdir(folder);
    }
}

static inline bool own_recording_start(struct own_recording *own)
{
    const char *folder = getenv("STEPSCOPE_RINGS");
    DIR *entries = folder != NULL ? opendir(folder) : NULL;
    char path[600] = "";
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        pid_t pid;
        uint64_t start;
        if (ss_ring_file_parse_name(entry->d_name, &pid, &start) && pid == getpid()) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    memset(own, 0, sizeof *own);
    if (path[0] == '\0' || ss_ring_file_open(path, &own->file, NULL) != SS_OK) {
        return false;
    }
    struct ss_ring_memory memory = ss_ring_file_memory(own->file);
    struct ss_annot_sink sink = {own, own_on_name, own_on_domain, own_on_counter, own_on_event};
    struct ss_ring_request request = {
        .gate = SS_RING_GATE_ALL, .recorder_pid = getpid(), .now_ns = ss_clock_monotonic_ns()};
    ss_stamp_clock_read(&own->clock);
    if (ss_annot_open(&memory, &own->clock, 0, &sink, &own->annot, NULL) != SS_OK) {
        return false;
    }
    ss_annot_start(own->annot, &request, true);
    return true;
}

/* What was marked since the last time. */
static inline const char *own_recording_read(struct own_recording *own)
{
    own->used = 0;
    own->log[0] = '\0';
    ss_stamp_clock_read(&own->clock);
    ss_annot_drain(own->annot, ss_clock_monotonic_ns());
    return own->log;
}

static inline void own_recording_stop(struct own_recording *own)
{
    ss_annot_stop(own->annot);
    ss_annot_free(own->annot);
    ss_ring_file_close(own->file);
    for (size_t i = 0; i < OWN_MAX_NAMES; i++) {
        free(own->names[i]);
    }
    for (size_t i = 0; i < SS_RING_MAX_DOMAINS; i++) {
        free(own->domains[i]);
    }
}

#endif
