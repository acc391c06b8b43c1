/* SPDX-License-Identifier: Apache-2.0 */
#include "record/frame_table.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/vec.h"

/* Maximum of stack nodes: 16 bytes each here, plus the writer's share. Only runaway recursion with
 * ever-new lines exceeds it; deeper nodes are then cut off and flagged. */
enum { MAX_STACKS = 1 << 21, FIRST_SLOTS = 1 << 12 };

struct frame_key {
    uint32_t function, name, file;
    int32_t line, first_line;
};

struct stack_key {
    uint32_t parent, frame;
};

struct ss_frame_table {
    struct ss_recording *recording;
    struct ss_intern strings;
    struct ss_vec_of(struct frame_key) frames;   /* ref - 1 */
    struct ss_vec_of(struct stack_key) stacks;   /* ref - 1 */
    uint32_t *frame_slots, *stack_slots;         /* 0 free, else ref */
    uint32_t frame_slot_count, stack_slot_count; /* powers of two */
    struct ss_vec_of(uint32_t) short_offsets;    /* by string id of a file; 0 unknown, else +1 */
};

struct ss_frame_table *ss_frame_table_new(struct ss_recording *recording)
{
    struct ss_frame_table *table = ss_alloc_zero(1, sizeof *table);
    table->recording = recording;
    ss_intern_init(&table->strings);
    table->frame_slot_count = table->stack_slot_count = FIRST_SLOTS;
    table->frame_slots = ss_alloc_zero(FIRST_SLOTS, sizeof *table->frame_slots);
    table->stack_slots = ss_alloc_zero(FIRST_SLOTS, sizeof *table->stack_slots);
    return table;
}

void ss_frame_table_free(struct ss_frame_table *table)
{
    if (table == NULL) {
        return;
    }
    ss_intern_fini(&table->strings);
    ss_vec_fini(&table->frames);
    ss_vec_fini(&table->stacks);
    ss_vec_fini(&table->short_offsets);
    ss_free(table->frame_slots);
    ss_free(table->stack_slots);
    ss_free(table);
}

static uint32_t frame_hash(const struct frame_key *key)
{
    return ss_hash_bytes(key, sizeof *key);
}

static uint32_t stack_hash(const struct stack_key *key)
{
    return (uint32_t)ss_hash_u64((uint64_t)key->parent << 32 | key->frame);
}

static void grow_frames(struct ss_frame_table *table)
{
    uint32_t count = table->frame_slot_count * 2;
    uint32_t *slots = ss_alloc_zero(count, sizeof *slots);
    for (size_t i = 0; i < table->frames.count; i++) {
        uint32_t slot = frame_hash(&table->frames.data[i]) & (count - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (count - 1);
        }
        slots[slot] = (uint32_t)i + 1;
    }
    ss_free(table->frame_slots);
    table->frame_slots = slots;
    table->frame_slot_count = count;
}

static void grow_stacks(struct ss_frame_table *table)
{
    uint32_t count = table->stack_slot_count * 2;
    uint32_t *slots = ss_alloc_zero(count, sizeof *slots);
    for (size_t i = 0; i < table->stacks.count; i++) {
        uint32_t slot = stack_hash(&table->stacks.data[i]) & (count - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (count - 1);
        }
        slots[slot] = (uint32_t)i + 1;
    }
    ss_free(table->stack_slots);
    table->stack_slots = slots;
    table->stack_slot_count = count;
}

uint32_t ss_short_file_offset(pid_t pid, const char *file)
{
    /* Pseudo-files (<string>, <frozen x>) and names without folders are already short. */
    const char *slash = strrchr(file, '/');
    if (slash == NULL || file[0] == '<') {
        return 0;
    }
    const char *below = file[0] == '/' ? "root" : "cwd";
    size_t start = (size_t)(slash - file) + 1;
    while (start > 1) {
        char path[4352];
        int length = snprintf(path, sizeof path, "/proc/%d/%s/%.*s__init__.py", (int)pid, below,
                              (int)start, file);
        if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0) {
            break;
        }
        start--;
        while (start > 0 && file[start - 1] != '/') {
            start--;
        }
    }
    return (uint32_t)start;
}

struct ss_strview ss_whole_file(pid_t pid, struct ss_strview file, char whole[PATH_MAX])
{
    char path[PATH_MAX + 32];
    bool is_pseudo = file.length == 0 || file.data[0] == '<' || file.data[0] == '/';
    if (is_pseudo || file.length >= PATH_MAX) {
        return file;
    }
    snprintf(path, sizeof path, "/proc/%d/cwd/%.*s", (int)pid, (int)file.length, file.data);
    if (access(path, F_OK) != 0) {
        return file;
    }
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    ssize_t folder = readlink(path, whole, PATH_MAX - 1);
    if (folder <= 0 || whole[0] != '/' || (size_t)folder + 1 + file.length >= PATH_MAX) {
        return file;
    }
    size_t length = (size_t)folder;
    if (whole[length - 1] != '/') {
        whole[length++] = '/';
    }
    memcpy(whole + length, file.data, file.length);
    return (struct ss_strview){whole, length + file.length};
}

static uint32_t short_offset_of(struct ss_frame_table *table, pid_t pid, uint32_t file)
{
    if (file >= table->short_offsets.count) {
        ss_vec_resize(&table->short_offsets, (size_t)file + 64);
    }
    uint32_t *known = &table->short_offsets.data[file];
    if (*known == 0) {
        *known = ss_short_file_offset(pid, ss_intern_text(&table->strings, file)) + 1;
    }
    return *known - 1;
}

enum ss_status ss_frame_table_frame(struct ss_frame_table *table, pid_t pid,
                                    const struct ss_python_frame *frame, uint32_t *ref,
                                    struct ss_error *err)
{
    struct frame_key key = {
        .function = ss_intern_put(&table->strings, frame->function.data, frame->function.length),
        .name = ss_intern_put(&table->strings, frame->name.data, frame->name.length),
        .file = ss_intern_put(&table->strings, frame->file.data, frame->file.length),
        .line = frame->line,
        .first_line = frame->first_line};
    uint32_t slot = frame_hash(&key) & (table->frame_slot_count - 1);
    while (table->frame_slots[slot] != 0) {
        uint32_t found = table->frame_slots[slot];
        if (memcmp(&table->frames.data[found - 1], &key, sizeof key) == 0) {
            *ref = found;
            return SS_OK;
        }
        slot = (slot + 1) & (table->frame_slot_count - 1);
    }
    ss_vec_push(&table->frames, key);
    *ref = (uint32_t)table->frames.count;
    table->frame_slots[slot] = *ref;
    if (table->frames.count * 2 > table->frame_slot_count) {
        grow_frames(table);
    }
    char whole[PATH_MAX];
    struct ss_strview file = ss_whole_file(pid, frame->file, whole);
    uint32_t added = (uint32_t)(file.length - frame->file.length);
    struct ss_trace_frame record = {.ref = *ref,
                                    .function = frame->function,
                                    .name = frame->name,
                                    .file = file,
                                    .short_file_offset =
                                        added + short_offset_of(table, pid, key.file),
                                    .line = frame->line,
                                    .first_line = frame->first_line,
                                    .kind = SS_FRAME_INTERPRETED};
    return ss_recording_frame(table->recording, &record, err);
}

enum ss_status ss_frame_table_stack(struct ss_frame_table *table, uint32_t parent_ref,
                                    uint32_t frame_ref, uint32_t *ref, struct ss_error *err)
{
    struct stack_key key = {parent_ref, frame_ref};
    uint32_t slot = stack_hash(&key) & (table->stack_slot_count - 1);
    while (table->stack_slots[slot] != 0) {
        uint32_t found = table->stack_slots[slot];
        if (table->stacks.data[found - 1].parent == parent_ref &&
            table->stacks.data[found - 1].frame == frame_ref) {
            *ref = found;
            return SS_OK;
        }
        slot = (slot + 1) & (table->stack_slot_count - 1);
    }
    if (table->stacks.count >= MAX_STACKS) {
        *ref = 0;
        return SS_OK;
    }
    ss_vec_push(&table->stacks, key);
    *ref = (uint32_t)table->stacks.count;
    table->stack_slots[slot] = *ref;
    if (table->stacks.count * 2 > table->stack_slot_count) {
        grow_stacks(table);
    }
    struct ss_trace_stack record = {.ref = *ref, .parent_ref = parent_ref, .frame_ref = frame_ref};
    return ss_recording_stack(table->recording, &record, err);
}

size_t ss_frame_table_memory_bytes(const struct ss_frame_table *table)
{
    return table->strings.arena.total_bytes + table->strings.slot_count * sizeof(uint32_t) +
           table->frames.capacity * sizeof(struct frame_key) +
           table->stacks.capacity * sizeof(struct stack_key) +
           (table->frame_slot_count + table->stack_slot_count) * sizeof(uint32_t);
}
