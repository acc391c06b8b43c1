/* SPDX-License-Identifier: Apache-2.0 */
#include "model/load_parts.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "model/importer.h"
#include "trace/reader.h"

enum { MOST_THREADS = 64, PARTS_PER_THREAD = 2, TRACE_HEAD_BYTES = 64 };

enum slot_state { SLOT_FREE, SLOT_LOADING, SLOT_READY, SLOT_FAILED };

struct slot {
    enum slot_state state;
    struct ss_model model;
};

struct ss_load_parts {
    const struct ss_part_file *files;
    size_t count;
    struct ss_model_load load;
    unsigned thread_count;
    pthread_t threads[MOST_THREADS];
    /* Under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next, taken; /* files before them are being loaded, are taken */
    bool stops;
    struct slot slots[MOST_THREADS * PARTS_PER_THREAD]; /* file i is in slot i % window */
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

/* The next file, when its slot is free. false: there is none. */
static bool next_file(struct ss_load_parts *parts, size_t *index)
{
    pthread_mutex_lock(&parts->lock);
    while (!parts->stops && parts->next < parts->count &&
           parts->next >= parts->taken + parts->window) {
        pthread_cond_wait(&parts->changed, &parts->lock);
    }
    bool has_next = !parts->stops && parts->next < parts->count;
    if (has_next) {
        *index = parts->next++;
        parts->slots[*index % parts->window].state = SLOT_LOADING;
    }
    pthread_mutex_unlock(&parts->lock);
    return has_next;
}

static void *run(void *argument)
{
    struct ss_load_parts *parts = argument;
    for (size_t index; next_file(parts, &index);) {
        struct slot *slot = &parts->slots[index % parts->window];
        bool is_loaded = load_part(parts, index, &slot->model);
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
    most = most < parts->count ? most : (unsigned)parts->count;
    parts->window = (size_t)(most > 0 ? most : 1) * PARTS_PER_THREAD;
    while (most > 1 && parts->thread_count < most &&
           ss_thread_start("stepscope-load", run, parts, &parts->threads[parts->thread_count])) {
        parts->thread_count++;
    }
}

struct ss_load_parts *ss_load_parts_begin(const struct ss_part_file *files, size_t count,
                                          const struct ss_model_load *load)
{
    struct ss_load_parts *parts = ss_alloc_zero(1, sizeof *parts);
    parts->files = files;
    parts->count = count;
    parts->load = *load;
    parts->load.quiet = true;
    parts->load.progress = load->threads > 1 ? NULL : load->progress;
    pthread_mutex_init(&parts->lock, NULL);
    pthread_cond_init(&parts->changed, NULL);
    start_threads(parts, load->threads);
    return parts;
}

enum ss_status ss_load_parts_take(struct ss_load_parts *parts, size_t index, struct ss_model *part,
                                  struct ss_error *err)
{
    (void)err;
    if (parts->thread_count == 0) {
        return load_part(parts, index, part) ? SS_OK : SS_E_GONE;
    }
    struct slot *slot = &parts->slots[index % parts->window];
    pthread_mutex_lock(&parts->lock);
    while (slot->state != SLOT_READY && slot->state != SLOT_FAILED) {
        pthread_cond_wait(&parts->changed, &parts->lock);
    }
    bool is_loaded = slot->state == SLOT_READY;
    *part = is_loaded ? slot->model : *part;
    slot->state = SLOT_FREE;
    parts->taken = index + 1;
    pthread_cond_broadcast(&parts->changed);
    pthread_mutex_unlock(&parts->lock);
    return is_loaded ? SS_OK : SS_E_GONE;
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
    for (size_t i = 0; i < parts->window; i++) {
        if (parts->slots[i].state == SLOT_READY) {
            ss_model_fini(&parts->slots[i].model);
        }
    }
    pthread_cond_destroy(&parts->changed);
    pthread_mutex_destroy(&parts->lock);
    ss_free(parts);
}
