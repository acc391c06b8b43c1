/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording/frame_table.h"

#include <dirent.h>
#include <fcntl.h>
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
    struct ss_vec_of(uint8_t) installed;         /* by string id of a file; 0 unknown */
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
    ss_vec_fini(&table->installed);
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

/* --- installed packages ----------------------------------------------------------------------- */

/* Whether the installer's list of files, of which the start is enough, has the package: a line
 * "pkg/__init__.py,sha256=…" or "pkg.py,…". */
static bool lists_package(const char *path, struct ss_strview package)
{
    char text[4096] = "\n";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t length = fd >= 0 ? read(fd, text + 1, sizeof text - 2) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[length > 0 ? 1 + length : 0] = '\0';
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        size_t rest = strlen(at + 1);
        char next = rest > package.length ? at[1 + package.length] : '\0';
        if (memcmp(at + 1, package.data, package.length < rest ? package.length : rest) == 0 &&
            (next == '/' || next == ',')) {
            return true;
        }
    }
    return false;
}

/* Whether an installer put the package into this folder, as `pip install --target` does. */
static bool has_metadata(pid_t pid, struct ss_strview folder, struct ss_strview package)
{
    static const char ending[] = ".dist-info";
    char path[PATH_MAX + NAME_MAX + 64];
    snprintf(path, sizeof path, "/proc/%d/root/%.*s", (int)pid, (int)folder.length, folder.data);
    DIR *entries = opendir(path);
    size_t used = strlen(path);
    bool found = false;
    struct dirent *entry;
    while (entries != NULL && !found && (entry = readdir(entries)) != NULL) {
        size_t size = strlen(entry->d_name);
        if (size > sizeof ending - 1 &&
            strcmp(entry->d_name + size - (sizeof ending - 1), ending) == 0) {
            snprintf(path + used, sizeof path - used, "/%s/RECORD", entry->d_name);
            found = lists_package(path, package);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return found;
}

bool ss_is_installed_file(pid_t pid, struct ss_strview file, size_t short_offset)
{
    bool is_usual = memmem(file.data, file.length, "-packages/", 10) != NULL ||
                    memmem(file.data, file.length, "/lib/python", 11) != NULL;
    if (is_usual || file.length >= PATH_MAX || file.length == 0 || file.data[0] != '/' ||
        short_offset >= file.length) {
        return false;
    }
    const char *begin = file.data + short_offset;
    size_t rest = file.length - short_offset;
    const char *slash = memchr(begin, '/', rest);
    return has_metadata(pid, (struct ss_strview){file.data, short_offset},
                        (struct ss_strview){begin, slash != NULL ? (size_t)(slash - begin) : rest});
}

/* Known by file: its folder is searched once. */
static bool is_installed(struct ss_frame_table *table, pid_t pid, uint32_t id,
                         struct ss_strview file, uint32_t short_offset)
{
    enum { UNKNOWN, NO, YES };
    if (id >= table->installed.count) {
        ss_vec_resize(&table->installed, (size_t)id + 64);
    }
    uint8_t *known = &table->installed.data[id];
    if (*known == UNKNOWN) {
        *known = ss_is_installed_file(pid, file, short_offset) ? YES : NO;
    }
    return *known == YES;
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

static enum ss_status put_frame(struct ss_frame_table *table, pid_t pid,
                                const struct ss_python_frame *frame, uint32_t ref,
                                struct ss_error *err)
{
    char whole[PATH_MAX];
    struct ss_strview file = ss_whole_file(pid, frame->file, whole);
    uint32_t id = table->frames.data[ref - 1].file;
    uint32_t added = (uint32_t)(file.length - frame->file.length);
    uint32_t short_offset = added + short_offset_of(table, pid, id);
    struct ss_trace_frame record = {.ref = ref,
                                    .function = frame->function,
                                    .name = frame->name,
                                    .file = file,
                                    .short_file_offset = short_offset,
                                    .line = frame->line,
                                    .first_line = frame->first_line,
                                    .kind = SS_FRAME_INTERPRETED,
                                    .is_installed =
                                        is_installed(table, pid, id, file, short_offset)};
    return ss_recording_frame(table->recording, &record, err);
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
    return put_frame(table, pid, frame, *ref, err);
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
