/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into the writer comes out of the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../manual_clock.h"
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

#define SECOND UINT64_C(1000000000)

/* All output of the reader, one line each, with names instead of refs where it can. */
struct log {
    struct ss_strbuf text;
    struct ss_vec_of(struct ss_trace_sample) samples;
    struct ss_vec_of(struct ss_trace_stack) stacks;
    struct ss_vec_of(struct ss_trace_frame) frames; /* texts are copies */
    unsigned processes, threads, clocks, attributes, sources;
};

static void log_init(struct log *log)
{
    memset(log, 0, sizeof *log);
    ss_strbuf_init(&log->text, 1 << 24);
}

static void log_fini(struct log *log)
{
    for (size_t i = 0; i < log->frames.count; i++) {
        ss_free((void *)(uintptr_t)log->frames.data[i].function.data);
    }
    ss_strbuf_fini(&log->text);
    ss_vec_fini(&log->samples);
    ss_vec_fini(&log->stacks);
    ss_vec_fini(&log->frames);
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *a)
{
    struct log *log = context;
    log->attributes++;
    ss_strbuf_append_format(&log->text, "attribute %.*s=", (int)a->key.length, a->key.data);
    if (a->is_integer) {
        ss_strbuf_append_format(&log->text, "%lld\n", (long long)a->integer);
    } else {
        ss_strbuf_append_view(&log->text, a->text);
        ss_strbuf_append_char(&log->text, '\n');
    }
    return SS_OK;
}

static enum ss_status on_source(void *context, const struct ss_trace_source *s)
{
    struct log *log = context;
    log->sources++;
    ss_strbuf_append_format(&log->text, "source %u %.*s %d %.*s\n", s->ref, (int)s->name.length,
                            s->name.data, (int)s->status, (int)s->reason.length, s->reason.data);
    return SS_OK;
}

static enum ss_status on_process(void *context, const struct ss_trace_process *p)
{
    struct log *log = context;
    log->processes++;
    ss_strbuf_append_format(&log->text, "process %u parent %u pid %d ppid %d ns %llu start %llu ",
                            p->ref, p->parent_ref, p->pid, p->parent_pid,
                            (unsigned long long)p->pid_namespace,
                            (unsigned long long)p->start_time_ticks);
    ss_strbuf_append_view(&log->text, p->cmdline);
    ss_strbuf_append_format(&log->text, "|%.*s|%.*s|%.*s|%.*s|%llu\n", (int)p->name.length,
                            p->name.data, (int)p->runtime.length, p->runtime.data,
                            (int)p->executable.length, p->executable.data, (int)p->label.length,
                            p->label.data, (unsigned long long)p->first_seen_ns);
    return SS_OK;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *t)
{
    struct log *log = context;
    log->threads++;
    ss_strbuf_append_format(&log->text, "thread %u of %u tid %d %s ", t->ref, t->process_ref,
                            t->tid, t->is_main ? "main" : "other");
    ss_strbuf_append_view(&log->text, t->name);
    ss_strbuf_append_char(&log->text, '\n');
    return SS_OK;
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *f)
{
    struct log *log = context;
    assert_int_equal(f->ref, log->frames.count + 1);
    struct ss_trace_frame copy = *f;
    size_t function = f->function.length, name = f->name.length, file = f->file.length;
    char *texts = ss_alloc(function + name + file + 1);
    memcpy(texts, f->function.data, function);
    memcpy(texts + function, f->name.data, name);
    memcpy(texts + function + name, f->file.data, file);
    copy.function.data = texts;
    copy.name.data = texts + function;
    copy.file.data = texts + function + name;
    ss_vec_push(&log->frames, copy);
    return SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *s)
{
    struct log *log = context;
    assert_int_equal(s->ref, log->stacks.count + 1);
    assert_true(s->parent_ref < s->ref);
    assert_in_range(s->frame_ref, 1, log->frames.count);
    ss_vec_push(&log->stacks, *s);
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *s)
{
    struct log *log = context;
    assert_true(s->stack_ref <= log->stacks.count);
    assert_in_range(s->thread_ref, 1, log->threads);
    ss_vec_push(&log->samples, *s);
    return SS_OK;
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *c)
{
    struct log *log = context;
    ss_strbuf_append_format(
        &log->text,
        "counts %u %u at %llu: %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
        "%llu %llu\n",
        c->source_ref, c->process_ref, (unsigned long long)c->time_ns, (unsigned long long)c->due,
        (unsigned long long)c->done, (unsigned long long)c->skipped, (unsigned long long)c->late,
        (unsigned long long)c->seen, (unsigned long long)c->ok, (unsigned long long)c->partial,
        (unsigned long long)c->lost, (unsigned long long)c->unchanged,
        (unsigned long long)c->dropped, (unsigned long long)c->retries,
        (unsigned long long)c->read_syscalls, (unsigned long long)c->processes_short);
    return SS_OK;
}

static enum ss_status on_note(void *context, const struct ss_trace_note *n)
{
    struct log *log = context;
    ss_strbuf_append_format(&log->text, "note %llu of %u %.*s ", (unsigned long long)n->time_ns,
                            n->process_ref, (int)n->kind.length, n->kind.data);
    ss_strbuf_append_view(&log->text, n->text);
    ss_strbuf_append_format(&log->text, " %lld\n", (long long)n->value);
    return SS_OK;
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *c)
{
    struct log *log = context;
    assert_true(c->monotonic_ns > 0 && c->boottime_ns > 0 && c->monotonic_raw_ns > 0 &&
                c->realtime_ns > SECOND);
    log->clocks++;
    return SS_OK;
}

static const struct ss_trace_visitor visitor = {.attribute = on_attribute,
                                                .source = on_source,
                                                .process = on_process,
                                                .thread = on_thread,
                                                .frame = on_frame,
                                                .stack = on_stack,
                                                .sample = on_sample,
                                                .counts = on_counts,
                                                .note = on_note,
                                                .clock = on_clock};

static const char *scratch_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/trace-%s-%d.pftrace", SS_TEST_BINARY_DIR, name, getpid());
    return path;
}

static struct manual_clock manual; /* of all writers here */

static struct ss_trace_writer *open_writer(const char *path,
                                           const struct ss_trace_writer_options *more)
{
    struct ss_trace_writer_options options =
        more != NULL ? *more : (struct ss_trace_writer_options){0};
    options.size = sizeof options;
    options.path = path;
    options.clock = &manual.clock;
    struct ss_trace_writer *writer;
    struct ss_error err = {0};
    if (ss_trace_writer_open(&options, &writer, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    return writer;
}

static void read_file(const char *path, struct log *log, struct ss_trace_summary *summary)
{
    struct ss_error err = {0};
    if (ss_trace_read(path, &visitor, log, summary, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(summary->damage, "");
    assert_int_equal(summary->lost_bytes, 0);
    assert_int_equal(summary->lost_samples, 0);
    assert_int_equal(summary->read_bytes, summary->file_bytes);
    assert_true(summary->sealed);
}

static struct ss_strview view(const char *text)
{
    return ss_strview_of(text);
}

static void put_basics(struct ss_trace_writer *writer)
{
    assert_int_equal(ss_trace_writer_attribute(
                         writer,
                         &(struct ss_trace_attribute){.key = view("boot_id"), .text = view("b-1")},
                         NULL),
                     SS_OK);
    assert_int_equal(
        ss_trace_writer_attribute(
            writer,
            &(struct ss_trace_attribute){.key = view("rank"), .is_integer = true, .integer = 3},
            NULL),
        SS_OK);
    assert_int_equal(
        ss_trace_writer_source(writer,
                               &(struct ss_trace_source){.ref = 1,
                                                         .name = view("python"),
                                                         .status = SS_SOURCE_RAN,
                                                         .reason = view("CPython 3.11")},
                               NULL),
        SS_OK);
    assert_int_equal(
        ss_trace_writer_process(writer,
                                &(struct ss_trace_process){.ref = 1,
                                                           .pid = 100,
                                                           .parent_pid = 99,
                                                           .pid_namespace = 4026531836,
                                                           .start_time_ticks = 12345,
                                                           .cmdline = view("python t.py"),
                                                           .name = view("t.py"),
                                                           .runtime = view("CPython 3.11.7"),
                                                           .executable = view("/usr/bin/python"),
                                                           .label = view("rank 3"),
                                                           .first_seen_ns = 5},
                                NULL),
        SS_OK);
    assert_int_equal(ss_trace_writer_thread(writer,
                                            &(struct ss_trace_thread){.ref = 1,
                                                                      .process_ref = 1,
                                                                      .tid = 100,
                                                                      .is_main = true,
                                                                      .name = view("MainThread")},
                                            NULL),
                     SS_OK);
}

static void put_frame(struct ss_trace_writer *writer, uint32_t ref, const char *function,
                      const char *name, int line)
{
    assert_int_equal(ss_trace_writer_frame(writer,
                                           &(struct ss_trace_frame){.ref = ref,
                                                                    .function = view(function),
                                                                    .name = view(name),
                                                                    .file = view("/lib/pkg/mod.py"),
                                                                    .short_file_offset = 5,
                                                                    .line = line,
                                                                    .first_line = 7,
                                                                    .kind = SS_FRAME_INTERPRETED,
                                                                    .is_installed = line == 44},
                                           NULL),
                     SS_OK);
}

static void put_stack(struct ss_trace_writer *writer, uint32_t ref, uint32_t parent, uint32_t frame)
{
    assert_int_equal(
        ss_trace_writer_stack(writer, &(struct ss_trace_stack){ref, parent, frame}, NULL), SS_OK);
}

static void put_sample(struct ss_trace_writer *writer, uint64_t time_ns, uint32_t thread,
                       uint32_t stack)
{
    assert_int_equal(ss_trace_writer_sample(writer,
                                            &(struct ss_trace_sample){.time_ns = time_ns,
                                                                      .thread_ref = thread,
                                                                      .stack_ref = stack,
                                                                      .weight = 1,
                                                                      .state = SS_STATE_ON_CPU,
                                                                      .gil = SS_GIL_HELD,
                                                                      .step = -1},
                                            NULL),
                     SS_OK);
}

static void test_every_field(void **state)
{
    (void)state;
    const char *path = scratch_path("fields");
    struct ss_trace_writer *writer = open_writer(path, NULL);
    put_basics(writer);
    put_frame(writer, 1, "<module>", "<module>", 3);
    put_frame(writer, 2, "Layer.forward", "forward", 44);
    put_frame(writer, 3, "odd", "other", -1);
    put_stack(writer, 1, 0, 1);
    put_stack(writer, 2, 1, 2);
    put_stack(writer, 3, 2, 3);
    struct ss_trace_name phase = {.ref = 8, .text = view("forward")};
    struct ss_trace_name range = {.ref = 9, .text = view("attention")};
    assert_int_equal(ss_trace_writer_name(writer, &phase, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_name(writer, &range, NULL), SS_OK);
    uint64_t now = manual.now.monotonic_ns;
    struct ss_trace_sample first = {.time_ns = now + 5,
                                    .thread_ref = 1,
                                    .stack_ref = 3,
                                    .weight = 17,
                                    .state = SS_STATE_UNINTERRUPTIBLE,
                                    .gil = SS_GIL_WAITED,
                                    .wait = SS_WAIT_OTHER,
                                    .partial = true,
                                    .window = 4,
                                    .step = 0,
                                    .phase_name = 8,
                                    .range_name = 9};
    struct ss_trace_sample second = {.time_ns = now - 5 * SECOND, /* before the unit began */
                                     .thread_ref = 1,
                                     .weight = 1,
                                     .state = SS_STATE_SLEEPING,
                                     .step = -1};
    assert_int_equal(ss_trace_writer_sample(writer, &first, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_sample(writer, &second, NULL), SS_OK);
    struct ss_trace_counts counts = {1, 1, now, 10, 9, 1, 2, 90, 80, 5, 3, 2, 6, 7, 8, 11};
    assert_int_equal(ss_trace_writer_counts(writer, &counts, NULL), SS_OK);
    struct ss_trace_note note = {now, 1, view("process-exit"), view("by signal"), -9};
    assert_int_equal(ss_trace_writer_note(writer, &note, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_close(writer, NULL), SS_OK);

    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);

    struct log log;
    log_init(&log);
    struct ss_trace_summary summary;
    read_file(path, &log, &summary);
    char expected[2048];
    snprintf(expected, sizeof expected,
             "attribute boot_id=b-1\n"
             "attribute rank=3\n"
             "source 1 python 1 CPython 3.11\n"
             "process 1 parent 0 pid 100 ppid 99 ns 4026531836 start 12345 "
             "python t.py|t.py|CPython 3.11.7|/usr/bin/python|rank 3|5\n"
             "thread 1 of 1 tid 100 main MainThread\n"
             "counts 1 1 at %llu: 10 9 1 2 90 80 5 3 2 6 7 8 11\n"
             "note %llu of 1 process-exit by signal -9\n",
             (unsigned long long)now, (unsigned long long)now);
    assert_string_equal(log.text.data, expected);
    assert_int_equal(log.samples.count, 2);
    assert_int_equal(log.samples.data[0].time_ns, second.time_ns); /* sorted */
    assert_int_equal(log.samples.data[0].stack_ref, 0);
    assert_int_equal(log.samples.data[0].state, SS_STATE_SLEEPING);
    assert_int_equal(log.samples.data[0].step, -1);
    const struct ss_trace_sample *got = &log.samples.data[1];
    assert_int_equal(got->time_ns, first.time_ns);
    assert_int_equal(got->thread_ref, 1);
    assert_int_equal(got->weight, first.weight);
    assert_int_equal(got->state, first.state);
    assert_int_equal(got->gil, first.gil);
    assert_int_equal(got->wait, first.wait);
    assert_true(got->partial);
    assert_int_equal(got->window, first.window);
    assert_int_equal(got->step, first.step);
    assert_int_equal(got->phase_name, 1); /* in order of first use */
    assert_int_equal(got->range_name, 2);
    assert_int_equal(got->stack_ref, 3);
    assert_int_equal(log.clocks, 1);
    assert_int_equal(log.frames.count, 3);
    const struct ss_trace_frame *frame = &log.frames.data[log.stacks.data[1].frame_ref - 1];
    assert_true(ss_strview_equal(frame->function, view("Layer.forward")));
    assert_true(ss_strview_equal(frame->name, view("forward")));
    assert_true(ss_strview_equal(frame->file, view("/lib/pkg/mod.py")));
    assert_int_equal(frame->short_file_offset, 5);
    assert_int_equal(frame->line, 44);
    assert_int_equal(frame->first_line, 7);
    assert_int_equal(frame->kind, SS_FRAME_INTERPRETED);
    assert_true(frame->is_installed);
    frame = &log.frames.data[log.stacks.data[2].frame_ref - 1];
    assert_true(ss_strview_equal(frame->name, view("other")));
    assert_false(frame->is_installed);
    assert_int_equal(frame->line, 0);
    assert_int_equal(summary.samples, 2);
    assert_int_equal(summary.first_ns, second.time_ns);
    assert_int_equal(summary.last_ns, first.time_ns);
    log_fini(&log);
    unlink(path);
}

/* Refs stay the same across restart points and every unit of the period is readable. */
static void test_restart_points(void **state)
{
    (void)state;
    const char *path = scratch_path("restart");
    struct ss_trace_writer_options options = {.unit_ns = 1, .restart_bytes = 2048};
    struct ss_trace_writer *writer = open_writer(path, &options);
    put_basics(writer);
    enum { FRAMES = 50, ROUNDS = 400 };
    for (uint32_t i = 1; i <= FRAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        put_frame(writer, i, name, name, (int)i);
        put_stack(writer, i, i - 1, i);
    }
    unsigned restarts = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t now = manual_clock_advance(&manual, 1000);
        put_sample(writer, now, 1, 1 + round * 7 % FRAMES);
        bool restarted = false;
        assert_int_equal(ss_trace_writer_tick(writer, now + 1000, &restarted, NULL), SS_OK);
        restarts += restarted;
    }
    assert_int_equal(ss_trace_writer_close(writer, NULL), SS_OK);
    assert_true(restarts > 10);
    struct log log;
    log_init(&log);
    struct ss_trace_summary summary;
    read_file(path, &log, &summary);
    assert_int_equal(log.samples.count, ROUNDS);
    assert_int_equal(log.frames.count, FRAMES);
    assert_int_equal(log.stacks.count, FRAMES);
    assert_int_equal(log.processes, 1);
    assert_int_equal(log.threads, 1);
    assert_int_equal(log.attributes, 2);
    assert_int_equal(log.sources, 1);
    assert_in_range(summary.restart_points, restarts, restarts + 1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t depth = 0, stack = log.samples.data[round].stack_ref;
        for (uint32_t at = stack; at != 0; at = log.stacks.data[at - 1].parent_ref) {
            depth++;
        }
        assert_int_equal(depth, 1 + round * 7 % FRAMES);
        char name[32];
        snprintf(name, sizeof name, "function_%u", depth);
        uint32_t frame = log.stacks.data[stack - 1].frame_ref;
        assert_true(ss_strview_equal(log.frames.data[frame - 1].function, view(name)));
    }
    log_fini(&log);
    unlink(path);
}

static void check_file(const char *path, uint64_t samples, size_t stacks, size_t attributes)
{
    struct log log;
    struct ss_trace_summary summary;
    log_init(&log);
    read_file(path, &log, &summary);
    assert_int_equal(log.samples.count, samples);
    assert_int_equal(log.stacks.count, stacks);
    assert_int_equal(log.attributes, attributes);
    assert_int_equal(log.processes, 1); /* the second is used by nothing */
    assert_int_equal(log.threads, 1);
    assert_int_equal(log.sources, 1);
    log_fini(&log);
    unlink(path);
}

static void begin_file(struct ss_trace_writer *writer, const char *path)
{
    const struct ss_trace_attribute own = {.key = view("window"), .is_integer = true};
    assert_int_equal(ss_trace_writer_begin(writer, path, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_attribute(writer, &own, NULL), SS_OK);
}

/* Two writers that share what they know, three files: each is complete. */
static void test_one_file_after_the_other(void **state)
{
    (void)state;
    char one[512], two[512], three[512];
    snprintf(one, sizeof one, "%s", scratch_path("one"));
    snprintf(two, sizeof two, "%s", scratch_path("two"));
    snprintf(three, sizeof three, "%s", scratch_path("three"));
    struct ss_trace_writer_options options = {.only_used = true};
    struct ss_trace_writer *first = open_writer(NULL, &options);
    struct ss_trace_process other = {.ref = 2, .pid = 101, .name = view("other")};
    uint64_t now = manual.now.monotonic_ns;
    put_basics(first);
    put_frame(first, 1, "a", "a", 1);
    put_stack(first, 1, 0, 1);
    assert_int_equal(ss_trace_writer_process(first, &other, NULL), SS_OK);
    begin_file(first, one);
    put_sample(first, now, 1, 1);
    assert_int_equal(ss_trace_writer_tick(first, now, NULL, NULL), SS_OK);
    put_frame(first, 2, "b", "b", 2);
    put_stack(first, 2, 1, 2);
    struct ss_trace_writer *second = open_writer(NULL, &options);
    assert_int_equal(ss_trace_writer_copy_definitions(second, first, NULL), SS_OK);
    begin_file(second, two);
    put_sample(second, now, 1, 2);
    put_sample(first, now + 1, 1, 1);
    assert_int_equal(ss_trace_writer_end(first, NULL), SS_OK);
    begin_file(first, three);
    put_sample(first, now + 2, 1, 2);
    assert_int_equal(ss_trace_writer_flush(first, NULL), SS_OK);
    put_sample(first, now + 3, 1, 2);
    put_sample(first, now + 4, 1, 1);
    assert_int_equal(ss_trace_writer_close(second, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_end(first, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_close(first, NULL), SS_OK);
    check_file(one, 2, 1, 3);
    check_file(two, 1, 2, 3);
    check_file(three, 3, 2, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_field),
                                       cmocka_unit_test(test_one_file_after_the_other),
                                       cmocka_unit_test(test_restart_points)};
    manual_clock_init(&manual, 5000 * SECOND);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
