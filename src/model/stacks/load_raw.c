/* SPDX-License-Identifier: Apache-2.0 */
/* Folded files, streamed: memory grows with the distinct frames and stacks, not with the file
 * size. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "model/core/index.h"
#include "model/core/origin.h"
#include "model/core/piece_table.h"
#include "model/files/importer.h"
#include "model/files/raw_line.h"

enum {
    READ_BYTES = 256 * 1024,
    MAX_LINE_BYTES = 16 * 1024 * 1024,
    MAX_STACK_NODES = 0x3ffff000,
    MAX_THREADS = 1 << 20, /* of one file */
    MAX_LABELS = 64,       /* of one line; the rest names no process or thread */
    MAX_LISTED_LINES = 5
};

/* Rows of a label text; 0: not created yet. */
struct label_rows {
    uint32_t process, thread;
};

struct boundary {
    uint32_t end, node;
};

/* The stack of the previous line: most lines share its outer calls. */
struct previous {
    struct ss_vec_of(char) text;
    struct ss_vec_of(struct boundary) frames; /* end of each frame piece, and its node */
    uint32_t thread;
};

struct piece {
    struct ss_strview text;
    uint32_t hash;
};

struct label {
    struct ss_strview text;
    enum ss_raw_piece kind;
};

struct loader {
    struct ss_model *model;
    const struct ss_model_load *load;
    const char *name;
    uint32_t input;
    struct ss_piece_table pieces;
    /* Of the current line: */
    struct ss_vec_of(struct label) leading;
    struct ss_vec_of(struct piece) split; /* frames */
    struct previous previous;
    struct ss_intern labels; /* leading labels of a line → their process and thread */
    struct ss_vec_of(struct label_rows) of_labels;
    uint64_t line_number;
    uint64_t lines, readable, skipped;
    uint64_t others; /* skipped lines that are not folded stacks at all */
    uint64_t skipped_at[MAX_LISTED_LINES];
    enum ss_raw_result first_reason;
    struct ss_error *err;
};

static uint32_t *label_slot(struct loader *loader, const char *begin, const char *end, bool thread)
{
    uint32_t text = ss_intern_put(&loader->labels, begin, (size_t)(end - begin));
    if (text >= loader->of_labels.count) {
        ss_vec_resize(&loader->of_labels, (size_t)text + 1);
    }
    struct label_rows *rows = &loader->of_labels.data[text];
    return thread ? &rows->thread : &rows->process;
}

/* The process of the labels [begin, end), the last of which is `piece`. */
static uint32_t process_of(struct loader *loader, const char *begin, const char *end,
                           struct ss_strview piece, uint32_t parent)
{
    uint32_t *known = label_slot(loader, begin, end, false);
    if (*known == 0) {
        int32_t pid = -1;
        struct ss_strview cmdline = {"", 0};
        if (piece.length > 0) {
            ss_raw_parse_process(piece, &pid, &cmdline);
        }
        struct ss_model *model = loader->model;
        *known = ss_model_add_process(model, loader->input, pid, parent);
        model->processes.data[*known].cmdline =
            ss_intern_put(&model->strings, cmdline.data, cmdline.length);
    }
    return *known;
}

static uint32_t add_thread(struct loader *loader, uint32_t process, int64_t tid,
                           struct ss_strview name)
{
    struct ss_model *model = loader->model;
    uint32_t id = ss_model_add_thread(model, process, tid);
    model->inputs.data[loader->input].threads++;
    struct ss_model_thread *thread = &model->threads.data[id];
    thread->name = ss_intern_put(&model->strings, name.data, name.length);
    /* Without labels, all threads of the process share one row, which counts as the main thread. */
    thread->is_main = tid < 0 || tid == model->processes.data[process].pid ||
                      strcmp(ss_model_text(model, thread->name), "MainThread") == 0;
    return id;
}

/* The thread that the line's leading labels name; they are [begin, end). */
static uint32_t thread_of(struct loader *loader, const char *begin, const char *end)
{
    uint32_t known = *label_slot(loader, begin, end, true);
    if (known != 0) {
        return known;
    }
    uint32_t process = 0;
    int64_t tid = -1;
    struct ss_strview name = {"", 0};
    for (size_t i = 0; i < loader->leading.count; i++) {
        const struct label *label = &loader->leading.data[i];
        if (label->kind == SS_RAW_PROCESS) {
            const char *label_end = label->text.data + label->text.length;
            process = process_of(loader, begin, label_end, label->text, process);
        } else {
            ss_raw_parse_thread(label->text, &tid, &name);
        }
    }
    if (process == 0) {
        process = process_of(loader, begin, begin, (struct ss_strview){begin, 0}, 0);
    }
    uint32_t thread = add_thread(loader, process, tid, name);
    *label_slot(loader, begin, end, true) = thread;
    return thread;
}

static uint32_t make_frame(struct loader *loader, struct ss_strview piece)
{
    struct ss_raw_frame raw;
    ss_raw_parse_frame(piece, &raw);
    struct ss_intern *strings = &loader->model->strings;
    uint32_t name = ss_intern_put(strings, raw.name.data, raw.name.length);
    uint32_t path = ss_intern_put(strings, raw.path.data, raw.path.length);
    bool native = ss_path_is_native(raw.path);
    struct ss_model_frame frame = {.function = name,
                                   .name = name,
                                   .file = path,
                                   .short_file = path,
                                   .line = raw.line,
                                   .first_line = -1,
                                   .kind = native                ? SS_FRAME_NATIVE
                                           : raw.path.length > 0 ? SS_FRAME_INTERPRETED
                                                                 : SS_FRAME_UNKNOWN,
                                   .origin = native ? SS_ORIGIN_NATIVE
                                                    : ss_origin_of_short_path(raw.path)};
    return ss_model_frame_id(loader->model, &frame);
}

static uint32_t frame_of(struct loader *loader, struct ss_strview piece, uint32_t hash)
{
    struct ss_piece_slot *slot = ss_piece_table_put(&loader->pieces, piece, hash);
    if (slot->frame == 0) {
        slot->frame = make_frame(loader, piece);
    }
    return slot->frame;
}

static size_t common_length(const char *a, const char *b, size_t length)
{
    size_t common = 0;
    for (; common + 8 <= length; common += 8) {
        uint64_t x, y;
        memcpy(&x, a + common, 8);
        memcpy(&y, b + common, 8);
        if (x != y) {
            break;
        }
    }
    while (common < length && a[common] == b[common]) {
        common++;
    }
    return common;
}

/* Truncates `previous` to what it shares with this stack; returns where to continue. */
static size_t truncate_to_shared(struct previous *previous, struct ss_strview stack)
{
    size_t shorter = stack.length < previous->text.count ? stack.length : previous->text.count;
    size_t common = shorter > 0 ? common_length(stack.data, previous->text.data, shorter) : 0;
    size_t frames = previous->frames.count;
    while (frames > 0) {
        uint32_t end = previous->frames.data[frames - 1].end;
        if (end <= common && (end == stack.length || stack.data[end] == ';')) {
            break;
        }
        frames--;
    }
    previous->frames.count = frames;
    previous->text.count = common;
    return frames > 0 ? previous->frames.data[frames - 1].end : 0;
}

static void store_previous(struct previous *previous, struct ss_strview stack, bool guessed)
{
    if (guessed) { /* the next line might split the shared text differently */
        ss_vec_clear(&previous->text);
        ss_vec_clear(&previous->frames);
        return;
    }
    size_t known = previous->text.count;
    ss_vec_reserve(&previous->text, stack.length + 1);
    memcpy(previous->text.data + known, stack.data + known, stack.length - known);
    previous->text.count = stack.length;
}

/* Splits the part from `start`, which differs from the previous line; returns the end of the
 * leading labels. */
static const char *split_stack(struct loader *loader, struct ss_strview stack, size_t start,
                               bool *guessed)
{
    struct ss_raw_cursor cursor = {.at = stack.data + start, .end = stack.data + stack.length};
    const char *labels_end = stack.data;
    struct piece piece;
    enum ss_raw_piece kind;
    ss_vec_clear(&loader->split);
    ss_vec_clear(&loader->leading);
    while (ss_raw_next(&cursor, &piece.text, &kind)) {
        if (kind == SS_RAW_FRAME) {
            piece.hash = ss_piece_table_begin(&loader->pieces, piece.text);
            ss_vec_push(&loader->split, piece);
        } else if (loader->split.count == 0) {
            /* Each label costs a key of its whole prefix; real labels nest a few levels deep. */
            if (loader->leading.count < MAX_LABELS) {
                ss_vec_push(&loader->leading, (struct label){piece.text, kind});
            }
            labels_end = cursor.at;
        }
    }
    *guessed = cursor.guessed;
    return labels_end;
}

/* The node and thread of a stack. Searches only the part that differs from the previous line. */
static uint32_t read_stack(struct loader *loader, struct ss_strview stack, uint32_t *thread)
{
    struct previous *previous = &loader->previous;
    size_t start = truncate_to_shared(previous, stack);
    bool shares = previous->frames.count > 0, guessed;
    uint32_t node = shares ? previous->frames.data[previous->frames.count - 1].node : 0;
    const char *labels_end = split_stack(loader, stack, start, &guessed);
    for (size_t i = 0; i < loader->split.count; i++) {
        const struct piece *piece = &loader->split.data[i];
        uint32_t frame = frame_of(loader, piece->text, piece->hash);
        uint32_t end = (uint32_t)(piece->text.data + piece->text.length - stack.data);
        node = ss_model_stack_id(loader->model, node, frame);
        ss_vec_push(&previous->frames, (struct boundary){end, node});
    }
    /* Labels come before the first frame: a stack that shares a frame shares its thread. */
    if (!shares) {
        previous->thread = thread_of(loader, stack.data, labels_end);
    }
    *thread = previous->thread;
    store_previous(previous, stack, guessed);
    return node;
}

static void add_stack(struct loader *loader, struct ss_strview stack, uint64_t count)
{
    struct ss_model *model = loader->model;
    uint32_t thread;
    uint32_t node = read_stack(loader, stack, &thread);
    struct ss_model_total total = {
        .thread = thread, .stack = node, .samples = count, .records = count};
    ss_model_add_total(model, &total);
    if (loader->load->keep_lines) {
        ss_vec_push(&model->lines, (struct ss_model_line){thread, node, count});
    }
    model->index->total_samples += count;
    model->inputs.data[loader->input].samples += count;
}

static enum ss_status skip_line(struct loader *loader, enum ss_raw_result reason)
{
    if (loader->load->strict) {
        return ss_fail(loader->err, SS_E_FORMAT,
                       "%s:%" PRIu64
                       ": unreadable: the line has %s (without --strict it is skipped)",
                       loader->name, loader->line_number, ss_raw_result_text(reason));
    }
    if (loader->skipped == 0) {
        loader->first_reason = reason;
    }
    if (loader->skipped < MAX_LISTED_LINES) {
        loader->skipped_at[loader->skipped] = loader->line_number;
    }
    loader->skipped++;
    loader->others += reason == SS_RAW_NO_COUNT || reason == SS_RAW_NUL;
    loader->lines++;
    return SS_OK;
}

static enum ss_status read_line(struct loader *loader, struct ss_strview line)
{
    loader->line_number++;
    struct ss_strview stack = {"", 0};
    uint64_t count = 0;
    enum ss_raw_result result =
        line.length > MAX_LINE_BYTES ? SS_RAW_LONG : ss_raw_split(line, &stack, &count);
    if (result == SS_RAW_BLANK) {
        return SS_OK;
    }
    if (result == SS_RAW_OK && count > INT64_MAX - loader->model->index->total_samples) {
        result = SS_RAW_TOTAL_LARGE;
    }
    if (result != SS_RAW_OK) {
        return skip_line(loader, result);
    }
    if (loader->model->stacks.count + stack.length / 2 > MAX_STACK_NODES ||
        loader->labels.count > MAX_THREADS) {
        return ss_fail(loader->err, SS_E_LIMIT,
                       "%s:%" PRIu64 ": more than %d stack nodes or %d labelled threads: split "
                       "the file",
                       loader->name, loader->line_number, MAX_STACK_NODES, MAX_THREADS);
    }
    loader->lines++;
    loader->readable++;
    add_stack(loader, stack, count);
    return SS_OK;
}

/* Bytes of a line whose newline is not read yet. A line that grows too long is dropped while it is
 * read, so that an endless line costs no memory. */
struct pending {
    struct ss_vec_of(char) bytes;
    bool dropping;
};

static void append_pending(struct pending *pending, const char *at, size_t length)
{
    if (pending->dropping || pending->bytes.count + length > MAX_LINE_BYTES) {
        pending->dropping = true;
        ss_vec_clear(&pending->bytes);
        return;
    }
    if (length == 0) {
        return; /* memcpy must not get NULL, not even for 0 bytes */
    }
    ss_vec_reserve(&pending->bytes, pending->bytes.count + length);
    memcpy(pending->bytes.data + pending->bytes.count, at, length);
    pending->bytes.count += length;
}

static enum ss_status end_pending(struct loader *loader, struct pending *pending)
{
    enum ss_status status;
    if (pending->dropping) {
        loader->line_number++;
        status = skip_line(loader, SS_RAW_LONG);
    } else {
        status = read_line(loader, (struct ss_strview){pending->bytes.data, pending->bytes.count});
    }
    pending->dropping = false;
    ss_vec_clear(&pending->bytes);
    return status;
}

static enum ss_status read_block(struct loader *loader, struct pending *pending, const char *at,
                                 size_t length)
{
    const char *end = at + length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL) {
            append_pending(pending, at, (size_t)(end - at));
            break;
        }
        if (pending->bytes.count > 0 || pending->dropping) {
            append_pending(pending, at, (size_t)(newline - at));
            SS_TRY(end_pending(loader, pending));
        } else {
            SS_TRY(read_line(loader, (struct ss_strview){at, (size_t)(newline - at)}));
        }
        at = newline + 1;
    }
    return SS_OK;
}

/* A hole in a file is one endless line of any size, and costs nothing to create: where the line is
 * dropped anyway, its bytes need not be read. */
static void skip_hole(int fd)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    off_t data = at >= 0 ? lseek(fd, at, SEEK_DATA) : -1;
    if (at >= 0 && data < 0 && errno == ENXIO) {
        lseek(fd, 0, SEEK_END);
    } else if (at >= 0 && data < 0) {
        lseek(fd, at, SEEK_SET); /* the file system does not support holes */
    }
}

static enum ss_status read_all(struct loader *loader, const struct ss_import_file *file)
{
    struct pending pending = {0};
    char *buffer = ss_alloc(READ_BYTES);
    enum ss_status status = read_block(loader, &pending, file->head, file->head_length);
    while (status == SS_OK) {
        if (pending.dropping && file->fd >= 0) {
            skip_hole(file->fd);
        }
        size_t got;
        status = ss_import_read(file, buffer, READ_BYTES, &got, loader->err);
        if (status != SS_OK || got == 0) {
            break;
        }
        status = read_block(loader, &pending, buffer, got);
    }
    if (status == SS_OK && (pending.bytes.count > 0 || pending.dropping)) {
        status = end_pending(loader, &pending);
    }
    ss_vec_fini(&pending.bytes);
    ss_free(buffer);
    return status;
}

static void warn_skipped(const struct loader *loader)
{
    char list[160];
    size_t used = 0;
    for (uint64_t i = 0; i < loader->skipped && i < MAX_LISTED_LINES; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64, i > 0 ? ", " : "",
                                 loader->skipped_at[i]);
    }
    ss_log(SS_WARN, "model",
           "%s: %" PRIu64 " of %" PRIu64 " lines skipped (line%s %s%s): the first "
           "has %s",
           loader->name, loader->skipped, loader->lines, loader->skipped > 1 ? "s" : "", list,
           loader->skipped > MAX_LISTED_LINES ? ", …" : "",
           ss_raw_result_text(loader->first_reason));
}

static enum ss_status finish(struct loader *loader)
{
    struct ss_model_input *input = &loader->model->inputs.data[loader->input];
    input->lines = loader->lines;
    input->skipped_lines = loader->skipped;
    if (loader->readable == 0 && loader->skipped > 0) {
        return ss_fail(loader->err, SS_E_FORMAT,
                       "%s: none of its %" PRIu64 " lines is a folded stack (the first has %s); "
                       "stepscope reads its own traces and py-spy's raw format",
                       loader->name, loader->lines, ss_raw_result_text(loader->first_reason));
    }
    if (10 * loader->others > loader->lines) {
        return ss_fail(loader->err, SS_E_FORMAT,
                       "%s is not a file of folded stacks: %" PRIu64 " of its %" PRIu64
                       " lines are none (line %" PRIu64 " has %s)",
                       loader->name, loader->others, loader->lines, loader->skipped_at[0],
                       ss_raw_result_text(loader->first_reason));
    }
    if (loader->skipped > 0 && !loader->load->quiet) {
        warn_skipped(loader);
    }
    return SS_OK;
}

/* A folder may hold any file: it is probably raw when nine in ten of its first lines are folded
 * stacks. A named file is read as one to its end, and refused there if fewer are. */
static enum ss_import_match probe_raw(const char *head, size_t length)
{
    size_t good = 0, bad = 0;
    const char *end = head + length;
    for (const char *at = head; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL && length == SS_IMPORT_HEAD_BYTES && good + bad > 0) {
            break; /* truncated by the end of the head */
        }
        newline = newline != NULL ? newline : end;
        struct ss_strview stack;
        uint64_t count;
        enum ss_raw_result result =
            ss_raw_split((struct ss_strview){at, (size_t)(newline - at)}, &stack, &count);
        good += result == SS_RAW_OK;
        bad += result != SS_RAW_OK && result != SS_RAW_BLANK;
        at = newline + 1;
    }
    return good >= 9 * bad && good > 0 ? SS_IMPORT_LIKELY : SS_IMPORT_UNLIKELY;
}

static enum ss_status load_raw(struct ss_model *model, const struct ss_import_file *file,
                               const struct ss_model_load *load, struct ss_error *err)
{
    if (load->has_time_range || load->has_steps) {
        return ss_fail(err, SS_E_USAGE,
                       "%s is a raw file, which has no times: %s need "
                       "a trace (.pftrace)",
                       file->path, load->has_steps ? "steps" : "times");
    }
    struct loader loader = {.model = model,
                            .load = load,
                            .name = file->path,
                            .input = ss_model_new_input(model, SS_INPUT_RAW, file->path),
                            .err = err};
    ss_piece_table_init(&loader.pieces);
    ss_intern_init(&loader.labels);
    enum ss_status status = read_all(&loader, file);
    if (status == SS_OK) {
        status = finish(&loader);
    }
    ss_piece_table_fini(&loader.pieces);
    ss_intern_fini(&loader.labels);
    ss_vec_fini(&loader.leading);
    ss_vec_fini(&loader.split);
    ss_vec_fini(&loader.previous.text);
    ss_vec_fini(&loader.previous.frames);
    ss_vec_fini(&loader.of_labels);
    return status;
}

enum ss_status ss_model_add_raw_memory(struct ss_model *model, const char *name, const void *bytes,
                                       size_t length, const struct ss_model_load *load,
                                       struct ss_error *err)
{
    struct ss_import_file file = {.path = name, .head = bytes, .head_length = length, .fd = -1};
    return load_raw(model, &file, load, err);
}

const struct ss_importer ss_importer_raw = {.name = "raw",
                                            .summary = "folded stacks, as py-spy's raw format",
                                            .kind = SS_INPUT_RAW,
                                            .probe = probe_raw,
                                            .load = load_raw};
