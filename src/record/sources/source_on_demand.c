/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source "on-demand": follows the requests of `stepscope trigger` in the folder of the run
 * (record/windows/on_demand_folder.h), has the processes asked
 * (record/annotations/annotation_demands.h), and answers. It polls: notices of changes do not cross
 * machines.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/launchers.h"
#include "base/log.h"
#include "record/annotations/annotation_demands.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"
#include "record/windows/on_demand_folder.h"

static const char what[] = "requests of stepscope trigger";
/* Between two polls: all recorders of a run together ask its file server 1,000 times a second. */
enum { PERIOD_MS = 250, MS_FOR_EACH_RECORDER = 1, BUSY_PERIODS = 5, MOST_REFUSED = 1024 };
/* Requests that are older than this recorder are of an earlier run; ranks do not start together. */
enum { MOST_OLDER_S = 60 };

struct request {
    char name[SS_ON_DEMAND_NAME_BYTES];
    struct ss_on_demand_request request;
    bool is_refused, is_listed;
};

struct on_demand {
    struct ss_recorder *recorder;
    struct ss_on_demand_folder folder;
    char name[SS_ON_DEMAND_NAME_BYTES], said[SS_ON_DEMAND_NAME_BYTES + 8];
    int held_fd;
    time_t started_s; /* by the clock of the file system */
    uint64_t period_ns;
    struct ss_vec_of(struct request) requests;
    struct ss_strbuf text, written, failed, draft;
    uint64_t taken, refused;
    bool has_warned;
};

/* --- requests --------------------------------------------------------------------------------- */

static bool is_of_earlier_run(const struct on_demand *on_demand, const char *name)
{
    struct stat status;
    return fstatat(on_demand->folder.fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           status.st_mtime + MOST_OLDER_S < on_demand->started_s;
}

static void refuse(struct on_demand *on_demand, struct request *request, const char *why)
{
    request->is_refused = true;
    on_demand->refused++;
    ss_log(on_demand->has_warned ? SS_INFO : SS_WARN, "record", "a request was refused: %s", why);
    on_demand->has_warned = true;
}

static void read_request(struct on_demand *on_demand, struct request *request)
{
    struct ss_error err = {0};
    const char *name = request->name;
    if (is_of_earlier_run(on_demand, name)) {
        request->is_refused = true;
    } else if (ss_on_demand_read(&on_demand->folder, name, &on_demand->draft, &err) != SS_OK) {
        refuse(on_demand, request, err.message);
    } else if (!ss_on_demand_get_request(on_demand->draft.data, &on_demand->folder.key,
                                         &request->request)) {
        refuse(on_demand, request, "it was not signed with the token of this run");
    } else {
        on_demand->taken++;
    }
}

static void on_name(void *context, const char *name)
{
    struct on_demand *on_demand = context;
    if (!ss_on_demand_is_request(name)) {
        return;
    }
    size_t followed = 0;
    for (size_t i = 0; i < on_demand->requests.count; i++) {
        struct request *known = &on_demand->requests.data[i];
        if (strcmp(known->name, name) == 0) {
            known->is_listed = true;
            return;
        }
        followed += !known->is_refused;
    }
    if (followed < SS_ON_DEMAND_MOST_REQUESTS && on_demand->requests.count < MOST_REFUSED) {
        struct request request = {.is_listed = true};
        snprintf(request.name, sizeof request.name, "%s", name);
        read_request(on_demand, &request);
        ss_vec_push(&on_demand->requests, request);
    }
}

/* Those whose file is gone have no reader any more. */
static void forget_unlisted(struct on_demand *on_demand)
{
    size_t remaining = 0;
    for (size_t i = 0; i < on_demand->requests.count; i++) {
        const struct request *request = &on_demand->requests.data[i];
        if (request->is_listed) {
            on_demand->requests.data[remaining++] = *request;
        } else if (!request->is_refused) {
            ss_annotations_forget_demand(on_demand->recorder->annotations, request->request.id);
        }
    }
    on_demand->requests.count = remaining;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void put_answers(struct on_demand *on_demand, bool failed, struct ss_strbuf *text)
{
    ss_strbuf_clear(text);
    ss_annotations_put_answers(on_demand->recorder->annotations,
                               on_demand->recorder->options->output, failed, text);
}

static void write_answers(struct on_demand *on_demand, const struct ss_strbuf *text)
{
    struct ss_error err = {0};
    if (text->length == on_demand->written.length &&
        (text->length == 0 || memcmp(text->data, on_demand->written.data, text->length) == 0)) {
        return;
    }
    if (ss_on_demand_write(&on_demand->folder, on_demand->said, text->data, text->length, &err) ==
        SS_OK) {
        ss_strbuf_clear(&on_demand->written);
        ss_strbuf_append(&on_demand->written, text->data, text->length);
    } else if (!on_demand->has_warned) {
        ss_log(SS_WARN, "record", "a request has no answer: %s", err.message);
        on_demand->has_warned = true;
    }
}

static bool has_requests(const struct on_demand *on_demand)
{
    for (size_t i = 0; i < on_demand->requests.count; i++) {
        if (!on_demand->requests.data[i].is_refused) {
            return true;
        }
    }
    return false;
}

static void refresh(struct on_demand *on_demand)
{
    for (size_t i = 0; i < on_demand->requests.count; i++) {
        on_demand->requests.data[i].is_listed = false;
    }
    ss_on_demand_list(&on_demand->folder, on_name, on_demand);
    forget_unlisted(on_demand);
}

static uint64_t on_tick(void *source, uint64_t now_ns)
{
    struct on_demand *on_demand = source;
    struct ss_record_annotations *annotations = on_demand->recorder->annotations;
    if (annotations == NULL || on_demand->recorder->processes == NULL) {
        return now_ns + on_demand->period_ns;
    }
    refresh(on_demand);
    for (size_t i = 0; i < on_demand->requests.count; i++) {
        const struct request *request = &on_demand->requests.data[i];
        if (!request->is_refused) {
            ss_annotations_demand(annotations, &request->request, now_ns);
        }
    }
    uint64_t due_ns = ss_annotations_poll_demands(annotations, now_ns);
    if (ss_annotations_demands_want_flush(annotations)) {
        on_demand->recorder->flush_requested = true;
    }
    bool is_busy = has_requests(on_demand);
    on_demand->recorder->context.ticks_requested = is_busy && on_demand->recorder->awaits_request;
    on_demand->recorder->awaits_request = !is_busy && !ss_annotations_expect_windows(annotations);
    if (is_busy || on_demand->written.length > 0) {
        put_answers(on_demand, false, &on_demand->text);
        write_answers(on_demand, &on_demand->text);
    }
    uint64_t next_ns = now_ns + on_demand->period_ns / (is_busy ? BUSY_PERIODS : 1);
    return due_ns < next_ns && due_ns > now_ns ? due_ns : next_ns;
}

static void on_written(void *source)
{
    const struct on_demand *on_demand = source;
    if (on_demand->recorder->annotations != NULL) {
        ss_annotations_demands_written(on_demand->recorder->annotations);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void name_files(struct on_demand *on_demand, struct ss_on_demand_recorder *own)
{
    struct ss_rank_facts facts;
    ss_rank_facts_own(&facts);
    if (gethostname(own->host, sizeof own->host - 1) != 0 || own->host[0] == '\0') {
        snprintf(own->host, sizeof own->host, "host");
    }
    for (char *at = own->host; *at != '\0'; at++) {
        *at = *at == '/' || *at == ' ' || *at == '.' || (unsigned char)*at < 32 ? '-' : *at;
    }
    uint64_t recorders = facts.has[SS_WORLD_SIZE] ? facts.numbers[SS_WORLD_SIZE] : 1;
    uint64_t period_ms = recorders * MS_FOR_EACH_RECORDER;
    own->period_ms = period_ms < PERIOD_MS ? PERIOD_MS
                     : period_ms > 60000   ? 60000
                                           : (uint32_t)period_ms;
    own->pid = (int32_t)getpid();
    own->rank = facts.has[SS_RANK] && facts.numbers[SS_RANK] < INT32_MAX
                    ? (int32_t)facts.numbers[SS_RANK]
                    : -1;
    on_demand->period_ns = own->period_ms * UINT64_C(1000000);
    snprintf(on_demand->name, sizeof on_demand->name, "%s.%d", own->host, (int)own->pid);
    snprintf(on_demand->said, sizeof on_demand->said, "%s" SS_ON_DEMAND_SAID_SUFFIX,
             on_demand->name);
}

static void remove_abandoned(void *context, const char *name)
{
    const struct ss_on_demand_folder *folder = context;
    char said[SS_ON_DEMAND_NAME_BYTES + 8];
    bool has_locks;
    if (ss_on_demand_is_recorder(name) && ss_on_demand_is_abandoned(folder, name, &has_locks) &&
        has_locks) {
        snprintf(said, sizeof said, "%s" SS_ON_DEMAND_SAID_SUFFIX, name);
        ss_on_demand_remove(folder, name);
        ss_on_demand_remove(folder, said);
    }
}

static enum ss_status join(struct on_demand *on_demand, const char *path, struct ss_error *err)
{
    struct ss_on_demand_recorder own = {.pid = 0};
    struct ss_strbuf text;
    struct stat status;
    SS_TRY(ss_on_demand_folder_create(&on_demand->folder, path, err));
    ss_on_demand_list(&on_demand->folder, remove_abandoned, &on_demand->folder);
    name_files(on_demand, &own);
    ss_strbuf_init(&text, SS_ON_DEMAND_REQUEST_BYTES);
    ss_on_demand_put_recorder(&text, &own);
    on_demand->held_fd =
        ss_on_demand_hold(&on_demand->folder, on_demand->name, text.data, text.length, err);
    ss_strbuf_fini(&text);
    if (on_demand->held_fd < 0) {
        return err->status;
    }
    on_demand->started_s = fstat(on_demand->held_fd, &status) == 0 ? status.st_mtime : 0;
    return SS_OK;
}

static void free_all(struct on_demand *on_demand)
{
    ss_on_demand_folder_close(&on_demand->folder);
    ss_vec_fini(&on_demand->requests);
    ss_strbuf_fini(&on_demand->text);
    ss_strbuf_fini(&on_demand->written);
    ss_strbuf_fini(&on_demand->failed);
    ss_strbuf_fini(&on_demand->draft);
    ss_free(on_demand);
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    const char *path = recorder->options->on_demand;
    struct ss_error err = {0};
    if (path == NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "not requested (--on-demand)");
        return SS_SOURCE_NOT_REQUESTED;
    }
    struct on_demand *on_demand = ss_alloc_zero(1, sizeof *on_demand);
    on_demand->recorder = recorder;
    on_demand->held_fd = -1;
    on_demand->folder.fd = -1;
    ss_strbuf_init(&on_demand->text, SS_ON_DEMAND_FILE_BYTES);
    ss_strbuf_init(&on_demand->written, SS_ON_DEMAND_FILE_BYTES);
    ss_strbuf_init(&on_demand->failed, SS_ON_DEMAND_FILE_BYTES);
    ss_strbuf_init(&on_demand->draft, SS_ON_DEMAND_FILE_BYTES);
    if (join(on_demand, path, &err) != SS_OK) {
        ss_log(SS_WARN, "record", "no window can be requested: %s", err.message);
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%.*s", SS_SOURCE_REASON_BYTES - 1, err.message);
        free_all(on_demand);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    *source = on_demand;
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s, in %.*s", what, SS_SOURCE_REASON_BYTES - 64,
             path);
    return SS_SOURCE_RUNS;
}

/* The last windows are drained: the answers name files that will be complete. */
static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct on_demand *on_demand = source;
    (void)now_ns;
    if (on_demand->recorder->annotations != NULL) {
        put_answers(on_demand, true, &on_demand->failed);
        ss_annotations_demands_written(on_demand->recorder->annotations);
        put_answers(on_demand, false, &on_demand->text);
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%llu requests, %llu refused",
             (unsigned long long)on_demand->taken, (unsigned long long)on_demand->refused);
    return SS_SOURCE_RUNS;
}

static void find_others(void *context, const char *name)
{
    *(bool *)context = *(bool *)context || ss_on_demand_is_recorder(name);
}

static void remove_leftover(void *context, const char *name)
{
    const struct ss_on_demand_folder *folder = context;
    if (strcmp(name, "token") == 0 || ss_on_demand_is_said(name)) {
        ss_on_demand_remove(folder, name);
    }
}

/* The last poll may have been before a trigger took its request back. */
static bool is_read(const struct on_demand *on_demand)
{
    for (size_t i = 0; i < on_demand->requests.count; i++) {
        const struct request *request = &on_demand->requests.data[i];
        if (!request->is_refused &&
            faccessat(on_demand->folder.fd, request->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            return true;
        }
    }
    return false;
}

/* A trigger that waits reads the last answers; the last recorder removes the folder. */
static void release(void *source)
{
    struct on_demand *on_demand = source;
    const struct ss_on_demand_folder *folder = &on_demand->folder;
    bool has_failed = on_demand->recorder->context.error.status != SS_OK;
    bool has_others = false, has_readers = is_read(on_demand);
    if (has_readers) {
        write_answers(on_demand, has_failed ? &on_demand->failed : &on_demand->text);
    }
    ss_on_demand_remove(folder, on_demand->name);
    close(on_demand->held_fd);
    ss_on_demand_list(folder, find_others, &has_others);
    if (!has_readers) {
        ss_on_demand_remove(folder, on_demand->said);
    }
    if (!has_others && !has_readers) {
        ss_on_demand_list(folder, remove_leftover, (void *)folder);
        rmdir(folder->path);
    }
    free_all(on_demand);
}

const struct ss_source_ops ss_source_on_demand = {.name = "on-demand",
                                                  .summary = what,
                                                  .start = start,
                                                  .tick = on_tick,
                                                  .written = on_written,
                                                  .stop = stop,
                                                  .release = release};
