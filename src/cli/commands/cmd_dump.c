/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/line/command.h"
#include "platform/memory.h"
#include "platform/procfs.h"
#include "record/recording/frame_table.h"
#include "source/python_locate.h"
#include "unwind/python.h"
#include "view/output/text_cell.h"

enum {
    TRIES = 20, /* an interpreter that is starting up gets a second */
    RETRY_MS = 50,
    WALK_TRIES = 50, /* a stack that keeps changing */
    MAX_PROCESSES = 65536,
    MAX_NAME_BYTES = 4096,
    MAX_LINE_BYTES = 1 << 20,
};

/* --- /proc --- */

typedef struct ss_vec_of(pid_t) pid_list;

static void add_id(void *context, pid_t id)
{
    pid_list *ids = context;
    if (ids->count < MAX_PROCESSES) {
        ss_vec_push(ids, id);
    }
}

static void put_command_line(pid_t pid, struct ss_strbuf *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_NAME_BYTES);
    ss_procfs_cmdline(pid, false, &text);
    for (size_t i = 0; i < text.length; i++) {
        text.data[i] = (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i];
    }
    ss_utf8_append_valid(out, text.data, text.length);
    ss_strbuf_fini(&text);
}

static void put_executable(pid_t pid, struct ss_strbuf *out)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_NAME_BYTES);
    ss_procfs_link(pid, "exe", &text);
    ss_utf8_append_valid(out, text.data, text.length);
    ss_strbuf_fini(&text);
}

/* Appends the descendants of the processes in `family` to it. */
static void add_descendants(pid_list *family)
{
    pid_list all = {0};
    ss_procfs_each_id("/proc", add_id, &all);
    for (size_t i = 0; i < family->count; i++) {
        for (size_t k = 0; k < all.count && family->count < MAX_PROCESSES; k++) {
            struct ss_procfs_stat stat;
            if (ss_procfs_stat(all.data[k], 0, &stat) && stat.parent_pid == family->data[i]) {
                ss_vec_push(family, all.data[k]);
            }
        }
    }
    ss_vec_fini(&all);
}

/* --- dump --- */

struct dump_thread {
    pid_t tid; /* in our pid namespace; 0: unknown */
    uint64_t pthread;
    char *name;
    bool is_active, holds_gil, is_partial, is_lost;
    uint32_t *frames; /* innermost first */
    uint32_t depth;
};

struct dump {
    pid_t pid;
    struct ss_memory_reader *reader;
    struct ss_python *python;
    struct ss_vec_of(struct dump_thread) threads;
    bool full_filenames;
};

static void dump_close(struct dump *dump)
{
    for (size_t i = 0; i < dump->threads.count; i++) {
        ss_free(dump->threads.data[i].name);
        ss_free(dump->threads.data[i].frames);
    }
    ss_vec_fini(&dump->threads);
    ss_python_close(dump->python);
    ss_memory_close(dump->reader);
}

static enum ss_status dump_open(struct dump *dump, struct ss_error *err)
{
    struct ss_python_location location;
    struct ss_python_options options = {
        .size = sizeof options, .pid_in_namespace = ss_procfs_inner_tid(dump->pid, dump->pid)};
    SS_TRY(ss_memory_open(dump->pid, &dump->reader, err));
    enum ss_status status = SS_E_AGAIN;
    for (int i = 0; i < TRIES && status == SS_E_AGAIN; i++) {
        if (i > 0) {
            nanosleep(&(struct timespec){0, RETRY_MS * 1000000L}, NULL);
        }
        SS_TRY(ss_python_locate(dump->pid, &location, err));
        status = ss_python_open(dump->reader, &location, &options, &dump->python, err);
    }
    return status;
}

static void read_thread(struct dump *dump, struct ss_python_thread *thread, pid_t tid)
{
    struct dump_thread row = {.tid = tid, .pthread = thread->pthread};
    struct ss_python_stack stack = {0};
    enum ss_python_result result = SS_PYTHON_LOST;
    for (int i = 0; i < WALK_TRIES; i++) {
        result = ss_python_walk_thread(dump->python, thread, &stack);
        if (result == SS_PYTHON_OK || result == SS_PYTHON_EMPTY) {
            break;
        }
    }
    row.holds_gil = stack.holds_gil;
    struct ss_procfs_stat stat;
    row.is_active = tid != 0 && ss_procfs_stat(dump->pid, tid, &stat) && stat.state == 'R';
    row.is_partial = result == SS_PYTHON_PARTIAL;
    row.is_lost = result == SS_PYTHON_LOST;
    row.depth = row.is_lost ? 0 : stack.depth;
    row.frames = ss_alloc_zero(row.depth, sizeof *row.frames);
    for (uint32_t i = 0; i < row.depth; i++) {
        row.frames[i] = stack.frames[row.depth - 1 - i];
    }
    ss_vec_push(&dump->threads, row);
}

static void set_name(void *context, uint64_t pthread, struct ss_strview text)
{
    struct dump *dump = context;
    for (size_t i = 0; i < dump->threads.count; i++) {
        if (dump->threads.data[i].pthread == pthread && dump->threads.data[i].name == NULL) {
            dump->threads.data[i].name = ss_strndup(text.data, text.length);
        }
    }
}

/* The system's names for threads that `threading` does not know. */
static void name_remaining(struct dump *dump)
{
    for (size_t i = 0; i < dump->threads.count; i++) {
        struct dump_thread *thread = &dump->threads.data[i];
        struct ss_procfs_stat stat;
        if (thread->name == NULL && thread->tid != 0 &&
            ss_procfs_stat(dump->pid, thread->tid, &stat)) {
            struct ss_strbuf name;
            ss_strbuf_init(&name, MAX_NAME_BYTES);
            ss_utf8_append_valid(&name, stat.comm, strlen(stat.comm));
            thread->name = ss_strndup(name.data, name.length);
            ss_strbuf_fini(&name);
        }
    }
}

/* The ids of the process's tasks in our pid namespace, and in its own. */
struct task_ids {
    pid_list outer, inner;
};

static pid_t find_outer(const struct task_ids *ids, pid_t inner)
{
    for (size_t i = 0; i < ids->outer.count; i++) {
        if (ids->inner.data[i] == inner) {
            return ids->outer.data[i];
        }
    }
    return 0;
}

static enum ss_status dump_read(struct dump *dump, struct ss_error *err)
{
    struct task_ids ids = {0};
    char path[64];
    SS_TRY(ss_python_update_threads(dump->python, true, NULL, NULL, err));
    snprintf(path, sizeof path, "/proc/%d/task", (int)dump->pid);
    ss_procfs_each_id(path, add_id, &ids.outer);
    for (size_t i = 0; i < ids.outer.count; i++) {
        ss_vec_push(&ids.inner, ss_procfs_inner_tid(dump->pid, ids.outer.data[i]));
    }
    for (size_t i = 0; i < ss_python_thread_count(dump->python); i++) {
        struct ss_python_thread *thread = ss_python_thread_at(dump->python, i);
        read_thread(dump, thread, find_outer(&ids, thread->tid));
    }
    ss_vec_fini(&ids.outer);
    ss_vec_fini(&ids.inner);
    ss_python_thread_names(dump->python, set_name, dump);
    name_remaining(dump);
    return SS_OK;
}

static struct ss_strview short_file(pid_t pid, struct ss_strview file)
{
    char *text = ss_strndup(file.data, file.length);
    size_t offset = ss_short_file_offset(pid, text);
    ss_free(text);
    return offset <= file.length ? (struct ss_strview){file.data + offset, file.length - offset}
                                 : file;
}

/* --- text --- */

static void put_clean(struct ss_strbuf *out, pid_t pid, void (*put)(pid_t, struct ss_strbuf *))
{
    struct ss_strbuf raw;
    ss_strbuf_init(&raw, MAX_NAME_BYTES * 4);
    put(pid, &raw);
    ss_text_append_clean(out, (struct ss_strview){raw.data, raw.length});
    ss_strbuf_fini(&raw);
}

static void put_frame(struct ss_strbuf *text, const struct dump *dump, uint32_t id, bool colour)
{
    struct ss_python_frame frame;
    ss_python_frame_get(dump->python, id, &frame);
    struct ss_strview file = dump->full_filenames ? frame.file : short_file(dump->pid, frame.file);
    ss_strbuf_append_format(text, "    %s", colour ? SS_BOLD : "");
    ss_text_append_clean(text, frame.function);
    ss_strbuf_append_text(text, colour ? SS_OFF : "");
    if (file.length > 0) {
        ss_strbuf_append_text(text, " (");
        ss_text_append_clean(text, file);
        if (frame.line > 0) {
            ss_strbuf_append_format(text, ":%d", frame.line);
        }
        ss_strbuf_append_char(text, ')');
    }
    ss_strbuf_append_char(text, '\n');
}

static void print_text(const struct dump *dump)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_LINE_BYTES);
    ss_strbuf_append_format(&text, "Process %d: ", (int)dump->pid);
    put_clean(&text, dump->pid, put_command_line);
    ss_strbuf_append_format(&text, "\nPython v%s (", ss_python_version(dump->python));
    put_clean(&text, dump->pid, put_executable);
    ss_strbuf_append_text(&text, ")\n\n");
    bool colour = ss_cli_use_colour(STDOUT_FILENO);
    for (size_t i = 0; i < dump->threads.count; i++) {
        const struct dump_thread *thread = &dump->threads.data[i];
        ss_strbuf_append_format(&text, "Thread %d (%s%s)", (int)thread->tid,
                                thread->is_active ? "active" : "idle",
                                thread->holds_gil ? "+gil" : "");
        if (thread->name != NULL) {
            ss_strbuf_append_text(&text, ": \"");
            ss_text_append_clean(&text, ss_strview_of(thread->name));
            ss_strbuf_append_char(&text, '"');
        }
        ss_strbuf_append_char(&text, '\n');
        bool is_whole = !thread->is_partial && !thread->is_lost;
        if (!is_whole && thread->depth < SS_PYTHON_MAX_DEPTH) {
            ss_strbuf_append_text(&text, "    (the innermost frames kept changing)\n");
        }
        for (uint32_t k = 0; k < thread->depth; k++) {
            put_frame(&text, dump, thread->frames[k], colour);
        }
        fwrite(text.data, 1, text.length, ss_stdout());
        ss_strbuf_clear(&text);
    }
    fwrite(text.data, 1, text.length, ss_stdout());
    ss_strbuf_fini(&text);
}

/* --- JSON --- */

static json_t *json_view(struct ss_strview view)
{
    return json_stringn(view.data, view.length);
}

static json_t *frames_to_json(const struct dump *dump, const struct dump_thread *thread)
{
    json_t *frames = json_array();
    for (uint32_t i = 0; i < thread->depth; i++) {
        struct ss_python_frame frame;
        ss_python_frame_get(dump->python, thread->frames[i], &frame);
        json_array_append_new(
            frames,
            json_pack("{s:o, s:o, s:o, s:o, s:i, s:i}", "name", json_view(frame.name), "qualname",
                      json_view(frame.function), "filename", json_view(frame.file),
                      "short_filename", json_view(short_file(dump->pid, frame.file)), "line",
                      (int)frame.line, "first_line", (int)frame.first_line));
    }
    return frames;
}

static json_t *dump_to_json(const struct dump *dump)
{
    struct ss_strbuf command, executable;
    ss_strbuf_init(&command, MAX_NAME_BYTES * 4);
    ss_strbuf_init(&executable, MAX_NAME_BYTES * 4);
    put_command_line(dump->pid, &command);
    put_executable(dump->pid, &executable);
    json_t *threads = json_array();
    for (size_t i = 0; i < dump->threads.count; i++) {
        const struct dump_thread *thread = &dump->threads.data[i];
        json_t *row = json_pack(
            "{s:i, s:I, s:i, s:s?, s:b, s:b, s:b, s:o, s:{s:i, s:s, s:s, s:s}}", "pid",
            (int)dump->pid, "thread_id", (json_int_t)thread->pthread, "os_thread_id",
            (int)thread->tid, "thread_name", thread->name, "active", (int)thread->is_active,
            "owns_gil", (int)thread->holds_gil, "complete",
            (int)(!thread->is_partial && !thread->is_lost), "frames", frames_to_json(dump, thread),
            "process_info", "pid", (int)dump->pid, "command_line", command.data, "executable",
            executable.data, "python", ss_python_version(dump->python));
        json_array_append_new(threads, row);
    }
    ss_strbuf_fini(&command);
    ss_strbuf_fini(&executable);
    return threads;
}

/* --- command --- */

static int dump_process(const struct ss_arguments *arguments, pid_t pid, json_t *json,
                        bool is_child, bool is_first)
{
    struct dump dump = {.pid = pid,
                        .full_filenames = ss_arguments_has(arguments, "full-filenames")};
    struct ss_error err;
    int exit_code = 0;
    enum ss_status status = dump_open(&dump, &err);
    if (status == SS_OK) {
        status = dump_read(&dump, &err);
    }
    if (status == SS_OK) {
        if (json != NULL) {
            json_t *threads = dump_to_json(&dump);
            json_array_extend(json, threads);
            json_decref(threads);
        } else {
            fputs(is_first ? "" : "\n", ss_stdout());
            print_text(&dump);
        }
    } else if (!is_child || (status != SS_E_NOTFOUND && status != SS_E_GONE)) {
        /* A child that is not a Python program, or has just ended, is not an error. */
        exit_code = ss_cli_error(arguments, &err);
    }
    dump_close(&dump);
    return exit_code;
}

static bool get_pid(const struct ss_arguments *arguments, pid_t *pid)
{
    const char *text = ss_arguments_get(arguments, "pid");
    char *end = NULL;
    errno = 0;
    /* Decimal or 0x hexadecimal, as in py-spy. */
    long value = text != NULL ? strtol(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10) : 0;
    if (text == NULL || errno != 0 || end == text || *end != '\0' || value <= 0 ||
        value > INT_MAX) {
        return false;
    }
    *pid = (pid_t)value;
    return true;
}

static int run(const struct ss_arguments *arguments)
{
    pid_t pid;
    pid_list family = {0};
    if (arguments->positional_count > 0) {
        return ss_cli_usage(arguments, "unexpected \"%s\"", arguments->positional[0]);
    }
    if (!ss_arguments_has(arguments, "pid")) {
        return ss_cli_usage(arguments, "no process given: name one with -p PID");
    }
    if (!get_pid(arguments, &pid)) {
        return ss_cli_usage(arguments, "\"%s\" is not a process id",
                            ss_arguments_get(arguments, "pid"));
    }
    ss_vec_push(&family, pid);
    if (ss_arguments_has(arguments, "subprocesses")) {
        add_descendants(&family);
    }
    json_t *json = ss_arguments_has(arguments, "json") ? json_array() : NULL;
    int exit_code = 0;
    for (size_t i = 0; i < family.count; i++) {
        int code = dump_process(arguments, family.data[i], json, i > 0, i == 0);
        exit_code = exit_code != 0 ? exit_code : code;
    }
    if (json != NULL && (exit_code == 0 || json_array_size(json) > 0)) {
        json_dumpf(json, ss_stdout_data(), JSON_INDENT(2));
        fputc('\n', ss_stdout_data());
    }
    json_decref(json);
    ss_vec_fini(&family);
    return exit_code;
}

static const struct ss_option options[] = {
    {"pid", 'p', "PID", "process to inspect", "Target", false},
    {"subprocesses", 's', NULL, "also its child processes", NULL, false},
    {"json", 'j', NULL, "print JSON", "Output", false},
    {"full-filenames", 0, NULL, "full paths, not shortened to their package", NULL, false},
    {"nonblocking", 0, NULL,
     "accepted for compatibility with py-spy: stepscope never stops a "
     "process",
     NULL, true},
    {0}};

static const char *const examples[] = {
    "stepscope dump -p 4711", "where every Python thread of process 4711 is right now",
    "stepscope dump -p 4711 -s --json", "the same with its children, as JSON for scripts", NULL};

const struct ss_command ss_command_dump = {
    .name = "dump",
    .summary = "print the stacks of all threads of a running process",
    .synopsis = "[options] -p PID",
    .description = "Prints the Python stack of every thread of a running process, the innermost "
                   "function first. The process is not stopped; a stack that changes while it is "
                   "read is read again.",
    .options = options,
    .examples = examples,
    .run = run,
};
