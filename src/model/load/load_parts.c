/* SPDX-License-Identifier: Apache-2.0 */
#include "model/load/load_parts.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "model/files/importer.h"
#include "model/load/part_wire.h"
#include "trace/reader.h"

enum { MOST_THREADS = 64, PARTS_PER_THREAD = 2, TRACE_HEAD_BYTES = 64 };

#define SECOND_NS UINT64_C(1000000000)

enum slot_state { SLOT_FREE, SLOT_LOADING, SLOT_READY, SLOT_FAILED };

struct slot {
    enum slot_state state;
    struct ss_model model;
};

struct ss_load_parts {
    const struct ss_part_file *files;
    size_t count;
    struct ss_model_load load;
    size_t stride;  /* processes that load; file i is that of worker i % stride, this one's of 0 */
    size_t arrived; /* files before it are taken, by whomever they were loaded */
    struct ss_wire_buffer message;
    unsigned thread_count;
    pthread_t threads[MOST_THREADS];
    void (*progress)(void *context, const char *path, uint64_t done, uint64_t all);
    /* Under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next, taken; /* own files before them are being loaded, are taken */
    bool stops;
    struct slot slots[MOST_THREADS * PARTS_PER_THREAD]; /* own file i is in slot i % window */
    size_t window;
};

/* Messages about what was skipped come from loading as usual. */
static bool is_clean(const struct ss_model *part)
{
    for (size_t i = 0; i < part->inputs.count; i++) {
        const struct ss_model_input *input = &part->inputs.data[i];
        if (input->skipped.events > 0 || input->skipped.is_cut) {
            return false;
        }
    }
    return part->inputs.count == 1;
}

/* A recording of stepscope, as most files are; only its first bytes are read. */
static bool is_trace(const char *path)
{
    char head[TRACE_HEAD_BYTES];
    struct stat info;
    int fd =
        stat(path, &info) == 0 && S_ISREG(info.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 && ss_trace_is_trace(head, (size_t)got);
}

/* Whether a file can be loaded by itself. Not a pipe, which can be read only once, nor files
 * without times, which are merged line by line. */
static bool is_loadable(const char *path)
{
    if (is_trace(path)) {
        return true;
    }
    const struct ss_importer *importer = ss_importer_of_file(path);
    return importer != NULL && importer->kind != SS_INPUT_RAW;
}

/* false: nothing is left in `part`. */
static bool load_part(const struct ss_load_parts *parts, size_t index, struct ss_model *part)
{
    const struct ss_part_file *file = &parts->files[index];
    struct ss_error ignored;
    if (!is_loadable(file->path)) {
        return false;
    }
    ss_model_init(part);
    bool is_loaded =
        ss_import_file(part, file->path, file->is_named, &parts->load, &ignored) == SS_OK &&
        is_clean(part);
    if (!is_loaded) {
        ss_model_fini(part);
    }
    return is_loaded;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* The next of the own files, when its slot is free. false: there is none. */
static bool next_file(struct ss_load_parts *parts, size_t *own)
{
    pthread_mutex_lock(&parts->lock);
    while (!parts->stops && parts->next * parts->stride < parts->count &&
           parts->next >= parts->taken + parts->window) {
        pthread_cond_wait(&parts->changed, &parts->lock);
    }
    bool has_next = !parts->stops && parts->next * parts->stride < parts->count;
    if (has_next) {
        *own = parts->next++;
        parts->slots[*own % parts->window].state = SLOT_LOADING;
    }
    pthread_mutex_unlock(&parts->lock);
    return has_next;
}

static void *run(void *argument)
{
    struct ss_load_parts *parts = argument;
    for (size_t own; next_file(parts, &own);) {
        struct slot *slot = &parts->slots[own % parts->window];
        bool is_loaded = load_part(parts, own * parts->stride, &slot->model);
        pthread_mutex_lock(&parts->lock);
        slot->state = is_loaded ? SLOT_READY : SLOT_FAILED;
        pthread_cond_broadcast(&parts->changed);
        pthread_mutex_unlock(&parts->lock);
    }
    return NULL;
}

/* Without a thread, parts are loaded when they are taken. */
static void start_threads(struct ss_load_parts *parts, unsigned wanted)
{
    unsigned most = wanted < MOST_THREADS ? wanted : MOST_THREADS;
    size_t own = (parts->count + parts->stride - 1) / parts->stride;
    most = most < own ? most : (unsigned)own;
    parts->window = (size_t)(most > 0 ? most : 1) * PARTS_PER_THREAD;
    bool has_threads = most > 1 || parts->load.loads_aside;
    parts->load.progress = has_threads ? NULL : parts->load.progress; /* it is the caller's */
    while (has_threads && parts->thread_count < most &&
           ss_thread_start("stepscope-load", run, parts, &parts->threads[parts->thread_count])) {
        parts->thread_count++;
    }
}

/* --- workers ---------------------------------------------------------------------------------- */

static enum ss_status request_all(struct ss_load_parts *parts, struct ss_error *err)
{
    const struct ss_part_workers *workers = parts->load.workers;
    const char **paths = ss_alloc((parts->count + 1) * sizeof *paths);
    bool *is_named = ss_alloc((parts->count + 1) * sizeof *is_named);
    enum ss_status status = SS_OK;
    for (size_t i = 0; i < parts->count; i++) {
        paths[i] = parts->files[i].path;
        is_named[i] = parts->files[i].is_named;
    }
    for (unsigned i = 1; i < parts->stride && status == SS_OK; i++) {
        const struct ss_part_paths own = {paths, is_named, parts->count, i, parts->stride};
        ss_part_request_encode(&parts->load, &own, &parts->message);
        status =
            workers->request(workers->context, i, parts->message.data, parts->message.length, err);
    }
    ss_free(paths);
    ss_free(is_named);
    return status;
}

static enum ss_status receive(struct ss_load_parts *parts, size_t index, struct ss_error *err)
{
    const struct ss_part_workers *workers = parts->load.workers;
    return workers->receive(workers->context, (unsigned)(index % parts->stride), &parts->message,
                            err);
}

static enum ss_status take_of_worker(struct ss_load_parts *parts, size_t index,
                                     struct ss_model *part, struct ss_error *err)
{
    SS_TRY(receive(parts, index, err));
    if (parts->message.length == 1) {
        return SS_E_GONE;
    }
    enum ss_status status = ss_part_decode(parts->message.data, parts->message.length, part, err);
    if (status != SS_OK) {
        ss_model_fini(part);
    }
    return status;
}

/* --- begin, take, end ------------------------------------------------------------------------- */

enum ss_status ss_load_parts_begin(const struct ss_part_file *files, size_t count,
                                   const struct ss_model_load *load, struct ss_load_parts **begun,
                                   struct ss_error *err)
{
    struct ss_load_parts *parts = ss_alloc_zero(1, sizeof *parts);
    *begun = parts;
    parts->files = files;
    parts->count = count;
    parts->load = *load;
    parts->load.quiet = true;
    parts->stride = load->workers != NULL ? (size_t)load->workers->count + 1 : 1;
    parts->window = PARTS_PER_THREAD;
    pthread_mutex_init(&parts->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&parts->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    enum ss_status status = request_all(parts, err);
    if (status != SS_OK) {
        parts->arrived = count; /* nothing will */
        return status;
    }
    parts->progress = load->progress;
    start_threads(parts, load->threads);
    return SS_OK;
}

/* Waits a second at most. */
static void wait_for_change(struct ss_load_parts *parts)
{
    uint64_t until_ns = ss_clock_now_ns(NULL) + SECOND_NS;
    const struct timespec until = {(time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS)};
    pthread_cond_timedwait(&parts->changed, &parts->lock, &until);
}

static enum ss_status take_of_thread(struct ss_load_parts *parts, size_t index,
                                     struct ss_model *part)
{
    struct slot *slot = &parts->slots[index / parts->stride % parts->window];
    pthread_mutex_lock(&parts->lock);
    while (slot->state != SLOT_READY && slot->state != SLOT_FAILED) {
        if (parts->progress != NULL) {
            pthread_mutex_unlock(&parts->lock);
            parts->progress(parts->load.progress_context, parts->files[index].path, index,
                            parts->count);
            pthread_mutex_lock(&parts->lock);
        }
        if (slot->state != SLOT_READY && slot->state != SLOT_FAILED) {
            wait_for_change(parts);
        }
    }
    bool is_loaded = slot->state == SLOT_READY;
    if (is_loaded) {
        *part = slot->model;
    }
    slot->state = SLOT_FREE;
    parts->taken++;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->lock);
    return is_loaded ? SS_OK : SS_E_GONE;
}

enum ss_status ss_load_parts_take(struct ss_load_parts *parts, size_t index, struct ss_model *part,
                                  struct ss_error *err)
{
    parts->arrived = index + 1;
    if (index % parts->stride != 0) {
        return take_of_worker(parts, index, part, err);
    }
    return parts->thread_count > 0         ? take_of_thread(parts, index, part)
           : load_part(parts, index, part) ? SS_OK
                                           : SS_E_GONE;
}

/* What workers still send, they must be rid of before the next request. */
static void drop_messages(struct ss_load_parts *parts)
{
    struct ss_error ignored;
    for (size_t i = parts->arrived; i < parts->count; i++) {
        if (i % parts->stride != 0 && receive(parts, i, &ignored) != SS_OK) {
            return;
        }
    }
}

void ss_load_parts_end(struct ss_load_parts *parts)
{
    pthread_mutex_lock(&parts->lock);
    parts->stops = true;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->lock);
    for (unsigned i = 0; i < parts->thread_count; i++) {
        pthread_join(parts->threads[i], NULL);
    }
    drop_messages(parts);
    ss_wire_fini(&parts->message);
    for (size_t i = 0; i < parts->window; i++) {
        if (parts->slots[i].state == SLOT_READY) {
            ss_model_fini(&parts->slots[i].model);
        }
    }
    pthread_cond_destroy(&parts->changed);
    pthread_mutex_destroy(&parts->lock);
    ss_free(parts);
}
