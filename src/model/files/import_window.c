/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/import_window.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"

enum { BLOCK_BYTES = 1 << 20, MOST_BYTES = 64 << 20, PROGRESS_BYTES = 8 << 20 };

void ss_import_window_init(struct ss_import_window *window, const struct ss_import_file *file,
                           const struct ss_model_load *load)
{
    struct stat status;
    *window = (struct ss_import_window){.file = file, .load = load};
    window->capacity = file->head_length > BLOCK_BYTES ? file->head_length : BLOCK_BYTES;
    window->data = ss_alloc(window->capacity);
    window->end = file->head_length;
    if (window->end > 0) {
        memcpy(window->data, file->head, window->end);
    }
    if (file->fd >= 0 && fstat(file->fd, &status) == 0) {
        window->file_bytes = (uint64_t)status.st_size;
    }
}

void ss_import_window_fini(struct ss_import_window *window)
{
    ss_free(window->data);
}

uint64_t ss_import_window_offset(const struct ss_import_window *window)
{
    return window->offset + window->begin;
}

void ss_import_window_count_skipped(struct ss_import_window *window, uint64_t offset,
                                    const char *reason)
{
    if (window->skipped++ == 0) {
        window->first_skipped = offset;
        window->skip_reason = reason;
    }
}

enum ss_status ss_import_window_refused(const struct ss_import_window *window, struct ss_error *err)
{
    return window->status == SS_E_LIMIT ? ss_fail(err, SS_E_LIMIT, "%s", window->err.message)
                                        : SS_OK;
}

void ss_import_window_report(const struct ss_import_window *window)
{
    const char *path = window->file->path;
    if (window->skipped > 0) {
        ss_log(SS_WARN, "model",
               "%s: %" PRIu64 " event%s skipped, the first at byte %" PRIu64 ": %s", path,
               window->skipped, window->skipped == 1 ? "" : "s", window->first_skipped,
               window->skip_reason);
    }
    if (window->status != SS_OK) {
        ss_log(SS_WARN, "model", "%s", window->err.message);
    } else if (window->is_cut) {
        ss_log(SS_WARN, "model", "%s: the file ends within its events: what follows is missing",
               path);
    }
}

struct ss_builder_skipped ss_import_window_skipped(const struct ss_import_window *window)
{
    return (struct ss_builder_skipped){.events = window->skipped,
                                       .first_offset = window->first_skipped,
                                       .reason = window->skip_reason,
                                       .is_cut = window->is_cut || window->status != SS_OK};
}

static void report_progress(struct ss_import_window *window)
{
    uint64_t at = window->offset + window->end;
    if (window->load->progress != NULL && at - window->reported >= PROGRESS_BYTES) {
        window->reported = at;
        window->load->progress(window->load->progress_context, window->file->path, at,
                               window->file_bytes > at ? window->file_bytes : at);
    }
}

bool ss_import_window_refill(struct ss_import_window *window)
{
    if (window->at_end) {
        return false;
    }
    if (window->begin > 0) {
        window->end -= window->begin;
        memmove(window->data, window->data + window->begin, window->end);
        window->offset += window->begin;
        window->begin = 0;
    }
    if (window->end == window->capacity) {
        if (window->capacity >= MOST_BYTES) {
            return false;
        }
        window->capacity *= 2;
        window->data = ss_realloc(window->data, window->capacity, 1);
    }
    size_t got = 0;
    window->status = ss_import_read(window->file, window->data + window->end,
                                    window->capacity - window->end, &got, &window->err);
    window->end += window->status == SS_OK ? got : 0;
    window->at_end = window->status != SS_OK || got == 0;
    report_progress(window);
    return !window->at_end;
}
