/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, instants, flows and counters: what goes into the writer comes out of the reader, also
 * late, across restart points and through repair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "sample_recording.h"
#include "trace/rewrite.h"
#include "trace/writer_tracks.h"

#define START RECORDING_START

/* All output of the reader about tracks, one line each. */
struct log {
    struct ss_strbuf text;
    struct ss_strbuf tracks;
    char labels[64][64]; /* by ref: the refs themselves depend on which came first */
    uint64_t events, counters;
    bool quiet; /* counts only */
};

static enum ss_status on_track(void *context, const struct ss_trace_track *t)
{
    struct log *log = context;
    static const char *const kinds[] = {"ranges", "async", "counter", "steps", "phases", "group"};
    if (t->ref < 64) {
        snprintf(log->labels[t->ref], sizeof log->labels[0], "%s:%.*s", kinds[t->kind],
                 (int)t->name.length, t->name.data);
        ss_strbuf_append_format(&log->tracks, "%s of %u/%u in '%s' rank %d, %d ",
                                log->labels[t->ref], t->process_ref, t->thread_ref,
                                log->labels[t->parent_ref], t->rank, (int)t->counter);
        ss_strbuf_append_view(&log->tracks, t->unit);
        ss_strbuf_append_char(&log->tracks, '\n');
    }
    return SS_OK;
}

static enum ss_status on_name(void *context, const struct ss_trace_name *n)
{
    struct log *log = context;
    if (!log->quiet) {
        ss_strbuf_append_format(&log->text, "name %u ", n->ref);
        ss_strbuf_append_view(&log->text, n->text);
        ss_strbuf_append_char(&log->text, '|');
        ss_strbuf_append_view(&log->text, n->category);
        ss_strbuf_append_format(&log->text, "|%x", n->colour);
        if (n->line > 0) {
            ss_strbuf_append_text(&log->text, " in ");
            ss_strbuf_append_view(&log->text, n->file);
            ss_strbuf_append_format(&log->text, ":%u", n->line);
        }
        ss_strbuf_append_char(&log->text, '\n');
    }
    return SS_OK;
}

static void append_value(struct ss_strbuf *text, const struct ss_trace_value *value)
{
    switch (value->type) {
    case SS_VALUE_INT:
        ss_strbuf_append_format(text, " int %lld", (long long)value->integer);
        break;
    case SS_VALUE_UINT:
        ss_strbuf_append_format(text, " uint %llu", (unsigned long long)value->natural);
        break;
    case SS_VALUE_REAL:
        ss_strbuf_append_format(text, " real %g", value->real);
        break;
    case SS_VALUE_TEXT:
        ss_strbuf_append_text(text, " text ");
        ss_strbuf_append_view(text, value->text);
        break;
    case SS_VALUE_NONE:
        break;
    }
}

static enum ss_status on_event(void *context, const struct ss_trace_event *e)
{
    struct log *log = context;
    static const char *const kinds[] = {"begin", "end", "instant"};
    log->events++;
    if (!log->quiet) {
        ss_strbuf_append_format(&log->text, "%lld %s on %s.%u name %u flags %u",
                                (long long)(e->time_ns - START), kinds[e->kind],
                                log->labels[e->track_ref], e->lane, e->name_ref, e->flags);
        if (e->flow != SS_FLOW_NONE) {
            ss_strbuf_append_format(&log->text, " flow %d %llx", (int)e->flow,
                                    (unsigned long long)e->flow_id);
        }
        append_value(&log->text, &e->payload);
        ss_strbuf_append_char(&log->text, '\n');
    }
    return SS_OK;
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *c)
{
    struct log *log = context;
    log->counters++;
    if (!log->quiet) {
        ss_strbuf_append_format(&log->text, "%lld value on %s: ", (long long)(c->time_ns - START),
                                log->labels[c->track_ref]);
        if (c->is_integer) {
            ss_strbuf_append_format(&log->text, "%lld\n", (long long)c->integer);
        } else {
            ss_strbuf_append_format(&log->text, "%g real\n", c->real);
        }
    }
    return SS_OK;
}

static enum ss_status on_line(void *context, const struct ss_trace_line *l)
{
    struct log *log = context;
    ss_strbuf_append_format(&log->text, "%lld line %u of name %u in process %u: %llu in %llu ns\n",
                            (long long)(l->time_ns - START), l->line, l->name_ref, l->process_ref,
                            (unsigned long long)l->hits, (unsigned long long)l->total_ns);
    return SS_OK;
}

static const struct ss_trace_visitor visitor = {
    .track = on_track, .name = on_name, .event = on_event, .counter = on_counter, .line = on_line};

static void log_read(const char *path, struct log *log, struct ss_trace_summary *summary)
{
    bool quiet = log->quiet;
    *log = (struct log){.quiet = quiet};
    ss_strbuf_init(&log->text, 1 << 24);
    ss_strbuf_init(&log->tracks, 1 << 24);
    MUST(ss_trace_read(path, &visitor, log, summary, must_err));
}

static void log_fini(struct log *log)
{
    ss_strbuf_fini(&log->text);
    ss_strbuf_fini(&log->tracks);
}

static struct ss_trace_writer *open_writer(const char *path, struct ss_trace_writer_options options)
{
    struct ss_trace_writer *writer;
    options.size = sizeof options;
    options.path = path;
    options.replay = true;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    PUT(clock, writer, START, START + 5, START - 9, START + (1ull << 60), 50);
    return writer;
}

static void put_track(struct ss_trace_writer *writer, struct ss_trace_track track)
{
    MUST(ss_trace_writer_track(writer, &track, must_err));
}

static void put_name(struct ss_trace_writer *writer, uint32_t ref, const char *text,
                     const char *category, uint32_t colour)
{
    PUT(name, writer, .ref = ref, .text = ss_strview_of(text), .category = ss_strview_of(category),
        .colour = colour);
}

static void put_event(struct ss_trace_writer *writer, struct ss_trace_event event)
{
    event.time_ns += START;
    MUST(ss_trace_writer_event(writer, &event, must_err));
}

/* Thread 1 belongs to process 2, as recording_define has it. */
static void put_everything(struct ss_trace_writer *writer)
{
    put_track(writer, (struct ss_trace_track){.ref = 1, .kind = SS_TRACK_RANGES, .thread_ref = 1});
    put_track(writer, (struct ss_trace_track){.ref = 2,
                                              .kind = SS_TRACK_RANGES,
                                              .thread_ref = 1,
                                              .name = ss_strview_of("oneDNN")});
    put_track(writer, (struct ss_trace_track){.ref = 3,
                                              .kind = SS_TRACK_STEPS,
                                              .process_ref = 2,
                                              .name = ss_strview_of("step")});
    put_track(writer,
              (struct ss_trace_track){
                  .ref = 4, .kind = SS_TRACK_GROUP, .name = ss_strview_of("host"), .rank = 9});
    put_track(writer, (struct ss_trace_track){.ref = 5,
                                              .kind = SS_TRACK_COUNTER,
                                              .parent_ref = 4,
                                              .name = ss_strview_of("memory used"),
                                              .unit = ss_strview_of("bytes")});
    put_track(writer, (struct ss_trace_track){.ref = 6,
                                              .kind = SS_TRACK_COUNTER,
                                              .process_ref = 2,
                                              .name = ss_strview_of("tokens"),
                                              .unit = ss_strview_of("tokens/s"),
                                              .counter = SS_COUNTER_DELTA});
    put_track(writer, (struct ss_trace_track){.ref = 7,
                                              .kind = SS_TRACK_ASYNC,
                                              .process_ref = 2,
                                              .name = ss_strview_of("requests")});
    put_name(writer, 1, "load \xff", "io", 0);
    put_name(writer, 2, "matmul", "", 0xff00ff00);
    put_event(writer, (struct ss_trace_event){.time_ns = 10, .track_ref = 1, .name_ref = 1});
    put_event(writer, (struct ss_trace_event){
                          .time_ns = 20,
                          .track_ref = 2,
                          .name_ref = 2,
                          .flags = SS_EVENT_BEGIN_UNSEEN,
                          .payload = {SS_VALUE_TEXT, {.text = ss_strview_of("k=\xfe")}}});
    put_event(writer, (struct ss_trace_event){.time_ns = 30,
                                              .track_ref = 1,
                                              .name_ref = 2,
                                              .kind = SS_EVENT_INSTANT,
                                              .flow = SS_FLOW_THROUGH,
                                              .flow_id = 0xabcdefull << 40,
                                              .payload = {SS_VALUE_REAL, {.real = 0.5}}});
    put_event(writer, (struct ss_trace_event){.time_ns = 40,
                                              .track_ref = 2,
                                              .kind = SS_EVENT_END,
                                              .flags = SS_EVENT_END_UNSEEN});
    put_event(writer, (struct ss_trace_event){.time_ns = 50,
                                              .track_ref = 1,
                                              .kind = SS_EVENT_END,
                                              .payload = {SS_VALUE_INT, {.integer = -7}}});
    put_event(writer, (struct ss_trace_event){.time_ns = 15,
                                              .track_ref = 3,
                                              .payload = {SS_VALUE_UINT, {.natural = 12}}});
    put_event(writer, (struct ss_trace_event){.time_ns = 55, .track_ref = 3, .kind = SS_EVENT_END});
    struct ss_trace_counter tokens = {
        .time_ns = START + 60, .track_ref = 6, .is_integer = true, .integer = 5};
    MUST(ss_trace_writer_counter(writer, &tokens, must_err));
    tokens.time_ns++;
    MUST(ss_trace_writer_counter(writer, &tokens, must_err));
    struct ss_trace_counter part = {.time_ns = START + 62, .track_ref = 6, .real = 0.25};
    MUST(ss_trace_writer_counter(writer, &part, must_err));
    PUT(counter, writer, .time_ns = START + 70, .track_ref = 5, .is_integer = true,
        .integer = 1ll << 40);
}

static const char every_track[] = "ranges: of 2/1 in '' rank 0, 0 \n"
                                  "ranges:oneDNN of 2/1 in '' rank 0, 0 \n"
                                  "steps:step of 2/0 in '' rank 0, 0 \n"
                                  "counter:tokens of 2/0 in '' rank 0, 1 tokens/s\n"
                                  "group:host of 0/0 in '' rank 9, 0 \n"
                                  "counter:memory used of 0/0 in 'group:host' rank 0, 0 bytes\n";
static const char every_event[] =
    "15 begin on steps:step.0 name 0 flags 0 uint 12\n"
    "55 end on steps:step.0 name 0 flags 0\n"
    "60 value on counter:tokens: 5\n"
    "61 value on counter:tokens: 10\n"
    "62 value on counter:tokens: 10.25 real\n"
    "70 value on counter:memory used: 1099511627776\n"
    "name 1 load \xff|io|0\n"
    "name 2 matmul||ff00ff00\n"
    "10 begin on ranges:.0 name 1 flags 0\n"
    "30 instant on ranges:.0 name 2 flags 0 flow 1 abcdef0000000000 real 0.5\n"
    "50 end on ranges:.0 name 0 flags 0 int -7\n"
    "20 begin on ranges:oneDNN.0 name 2 flags 2 text k=\xfe\n"
    "40 end on ranges:oneDNN.0 name 0 flags 1\n";

static void test_every_field(void **state)
{
    (void)state;
    char path[512], again[600];
    snprintf(path, sizeof path, "%s", recording_path("tracks"));
    snprintf(again, sizeof again, "%s.repaired", path);
    struct ss_trace_writer *writer = open_writer(path, (struct ss_trace_writer_options){0});
    put_everything(writer);
    MUST(ss_trace_writer_close(writer, must_err));
    struct log log = {0}, repaired = {0};
    struct ss_trace_summary summary;
    log_read(path, &log, &summary);
    assert_string_equal(log.tracks.data, every_track);
    assert_string_equal(log.text.data, every_event);
    assert_int_equal(summary.events, 7);
    assert_int_equal(summary.counter_values, 4);
    assert_int_equal(summary.lost_events, 0);
    assert_int_equal(summary.first_event_ns, START + 10);
    assert_int_equal(summary.last_event_ns, START + 70);
    MUST(ss_trace_repair(path, again, &summary, must_err));
    log_read(again, &repaired, &summary);
    assert_string_equal(repaired.text.data, every_event);
    assert_int_equal(repaired.tracks.length, log.tracks.length);
    log_fini(&log);
    log_fini(&repaired);
    unlink(path);
    unlink(again);
}

static void put_function(struct ss_trace_writer *writer, uint32_t ref, const char *file,
                         uint32_t line)
{
    struct ss_trace_name name = {.ref = ref,
                                 .text = ss_strview_of("Net.forward"),
                                 .category = ss_strview_of("function"),
                                 .file = ss_strview_of(file),
                                 .line = line};
    MUST(ss_trace_writer_name(writer, &name, must_err));
}

static void test_lines_of_functions(void **state)
{
    (void)state;
    static const char wanted[] = "name 1 Net.forward|function|0 in /a/\xff.py:7\n"
                                 "name 2 Net.forward|function|0 in /b.py:7\n"
                                 "5 line 8 of name 1 in process 2: 3 in 1000 ns\n"
                                 "6 line 9 of name 1 in process 2: 0 in 70 ns\n"
                                 "7 line 8 of name 2 in process 2: 1 in 0 ns\n";
    char path[512], again[600];
    snprintf(path, sizeof path, "%s", recording_path("lines"));
    snprintf(again, sizeof again, "%s.repaired", path);
    struct ss_trace_writer *writer = open_writer(path, (struct ss_trace_writer_options){0});
    put_function(writer, 1, "/a/\xff.py", 7);
    put_function(writer, 2, "/b.py", 7);
    struct ss_trace_line lines[] = {
        {START + 5, 2, 1, 8, 3, 1000}, {START + 6, 2, 1, 9, 0, 70}, {START + 7, 2, 2, 8, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        MUST(ss_trace_writer_line(writer, &lines[i], must_err));
    }
    lines[0].name_ref = 3;
    assert_int_equal(ss_trace_writer_line(writer, &lines[0], NULL), SS_E_BUG);
    MUST(ss_trace_writer_close(writer, must_err));
    struct log log = {0}, repaired = {0};
    struct ss_trace_summary summary;
    log_read(path, &log, &summary);
    assert_string_equal(log.text.data, wanted);
    assert_int_equal(summary.lost_events, 0);
    MUST(ss_trace_repair(path, again, &summary, must_err));
    log_read(again, &repaired, &summary);
    assert_string_equal(repaired.text.data, wanted);
    log_fini(&log);
    log_fini(&repaired);
    unlink(path);
    unlink(again);
}

/* Ranges of one id each: what overlaps is in different lanes, and a lane is used again only for
 * what begins later, also when an earlier range is written after a later one. */
static void test_async(void **state)
{
    (void)state;
    const char *path = recording_path("async");
    struct ss_trace_writer *writer = open_writer(path, (struct ss_trace_writer_options){0});
    put_track(writer,
              (struct ss_trace_track){
                  .ref = 1, .kind = SS_TRACK_ASYNC, .process_ref = 2, .name = ss_strview_of("io")});
    put_name(writer, 1, "read", "", 0);
    static const struct {
        uint64_t time_ns, id;
        bool is_end, taken;
    } steps[] = {{10, 1, false, true}, {20, 2, false, true}, {25, 1, false, false},
                 {30, 1, true, true},  {40, 3, false, true}, {35, 4, false, true},
                 {50, 4, true, true},  {60, 9, true, false}, {45, 2, true, true},
                 {38, 3, true, true},  {5, 5, false, true}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct ss_trace_event event = {
            .time_ns = START + steps[i].time_ns, .track_ref = 1, .name_ref = 1};
        bool taken;
        if (steps[i].is_end) {
            MUST(ss_trace_writer_async_end(writer, steps[i].id, &event, &taken, must_err));
        } else {
            MUST(ss_trace_writer_async_begin(writer, steps[i].id, &event, &taken, must_err));
        }
        assert_int_equal(taken, steps[i].taken);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct log log = {0};
    struct ss_trace_summary summary;
    log_read(path, &log, &summary);
    assert_string_equal(log.text.data, "name 1 read||0\n"
                                       "5 begin on async:io.4 name 1 flags 0\n"
                                       "10 begin on async:io.1 name 1 flags 0\n"
                                       "20 begin on async:io.2 name 1 flags 0\n"
                                       "30 end on async:io.1 name 0 flags 0\n"
                                       "35 begin on async:io.3 name 1 flags 0\n"
                                       "40 begin on async:io.1 name 1 flags 0\n"
                                       "40 end on async:io.1 name 0 flags 0\n"
                                       "45 end on async:io.2 name 0 flags 0\n"
                                       "50 end on async:io.3 name 0 flags 0\n");
    log_fini(&log);
    unlink(path);
}

/* Many units and restart points, more tracks than sequences, some of it late: nothing is lost. */
static void test_restarts_and_late_events(void **state)
{
    (void)state;
    enum { TRACKS = 1100, ROUNDS = 40 };
    const char *path = recording_path("late");
    struct ss_trace_writer *writer = open_writer(
        path, (struct ss_trace_writer_options){.unit_bytes = 20000, .restart_bytes = 60000});
    for (uint32_t i = 1; i <= TRACKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "domain %u", i);
        put_track(writer, (struct ss_trace_track){.ref = i,
                                                  .kind = SS_TRACK_RANGES,
                                                  .thread_ref = 1 + i % RECORDING_THREADS,
                                                  .name = ss_strview_of(name)});
        put_name(writer, i, name, i % 2 ? "odd" : "", i);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t now = START + round * RECORDING_SECOND;
        PUT(clock, writer, now, now + 5, now - 9, now + (1ull << 60), 50);
        for (uint32_t i = 1; i <= TRACKS; i++) {
            struct ss_trace_event begin = {
                .time_ns = now - 3 * RECORDING_SECOND + i, .track_ref = i, .name_ref = i};
            begin.time_ns += i % 2 ? 3 * RECORDING_SECOND : 0;
            MUST(ss_trace_writer_range(writer, &begin, begin.time_ns + 9, must_err));
        }
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct log log = {.quiet = true};
    struct ss_trace_summary summary;
    log_read(path, &log, &summary);
    assert_int_equal(summary.events, 2 * TRACKS * ROUNDS);
    assert_int_equal(log.events, summary.events);
    assert_int_equal(summary.lost_events, 0);
    assert_true(summary.restart_points > 5);
    assert_int_equal(summary.first_event_ns, START - 3 * RECORDING_SECOND + 2);
    log_fini(&log);
    unlink(path);
}

static void refuse(struct ss_trace_writer *writer, struct ss_trace_track track, const char *why)
{
    struct ss_error err = {0};
    assert_int_equal(ss_trace_writer_track(writer, &track, &err), SS_E_BUG);
    assert_non_null(strstr(err.message, why));
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const char *path = recording_path("refused");
    struct ss_trace_writer *writer = open_writer(path, (struct ss_trace_writer_options){0});
    refuse(writer, (struct ss_trace_track){.ref = 0}, "out of range");
    refuse(writer, (struct ss_trace_track){.ref = 1, .thread_ref = 99}, "no thread");
    refuse(writer, (struct ss_trace_track){.ref = 1, .process_ref = 99}, "no process");
    refuse(writer, (struct ss_trace_track){.ref = 1, .parent_ref = 1}, "no group");
    put_track(writer, (struct ss_trace_track){.ref = 1, .kind = SS_TRACK_COUNTER});
    refuse(writer, (struct ss_trace_track){.ref = 1, .kind = SS_TRACK_RANGES}, "changes its kind");
    struct ss_error err = {0};
    struct ss_trace_event event = {.track_ref = 1};
    assert_int_equal(ss_trace_writer_event(writer, &event, &err), SS_E_BUG);
    event.track_ref = 2;
    assert_int_equal(ss_trace_writer_event(writer, &event, &err), SS_E_BUG);
    put_track(writer, (struct ss_trace_track){.ref = 2, .kind = SS_TRACK_RANGES});
    event.name_ref = 5;
    assert_int_equal(ss_trace_writer_event(writer, &event, &err), SS_E_BUG);
    assert_non_null(strstr(err.message, "unknown name 5"));
    struct ss_trace_counter counter = {.track_ref = 2};
    assert_int_equal(ss_trace_writer_counter(writer, &counter, &err), SS_E_BUG);
    MUST(ss_trace_writer_close(writer, must_err));
    unlink(path);
}

/* Its sequence serves the next track, from the next unit on; what lies in the file stays. */
static void test_a_process_that_is_forgotten(void **state)
{
    (void)state;
    const char *path = recording_path("forgotten");
    struct ss_trace_writer *writer = open_writer(path, (struct ss_trace_writer_options){0});
    put_track(writer, (struct ss_trace_track){.ref = 1,
                                              .kind = SS_TRACK_RANGES,
                                              .thread_ref = 1,
                                              .name = ss_strview_of("first")});
    put_name(writer, 1, "before", "", 0);
    put_name(writer, 2, "after", "", 0);
    put_event(writer, (struct ss_trace_event){.time_ns = 10, .track_ref = 1, .name_ref = 1});
    put_event(writer, (struct ss_trace_event){.time_ns = 20, .track_ref = 1, .kind = SS_EVENT_END});
    PUT(counts, writer, .source_ref = 1, .process_ref = 2, .time_ns = START + 20, .seen = 9,
        .lost = 2);
    ss_trace_writer_forget(writer, 2);
    ss_trace_writer_forget(writer, 2);
    ss_trace_writer_forget(writer, 77);
    put_event(writer, (struct ss_trace_event){.time_ns = 25, .track_ref = 1, .name_ref = 1});
    for (uint32_t i = 0; i < 3; i++) { /* in this unit; the sequence is free from the next one on */
        struct ss_trace_process process = {.ref = 10 + i, .pid = 500 + (int)i};
        struct ss_trace_thread thread = {
            .ref = 10 + i, .process_ref = 10 + i, .tid = 500 + (int)i, .is_main = true};
        MUST(ss_trace_writer_process(writer, &process, must_err));
        MUST(ss_trace_writer_thread(writer, &thread, must_err));
        char name[16];
        snprintf(name, sizeof name, "next %u", i);
        put_track(writer, (struct ss_trace_track){.ref = 10 + i,
                                                  .kind = SS_TRACK_RANGES,
                                                  .thread_ref = 10 + i,
                                                  .name = ss_strview_of(name)});
        put_event(writer,
                  (struct ss_trace_event){.time_ns = 30 + i, .track_ref = 10 + i, .name_ref = 2});
        put_event(writer, (struct ss_trace_event){
                              .time_ns = 40 + i, .track_ref = 10 + i, .kind = SS_EVENT_END});
        ss_trace_writer_forget(writer, 10 + i);
        MUST(ss_trace_writer_flush(writer, must_err));
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct log log = {0};
    struct ss_trace_summary summary;
    log_read(path, &log, &summary);
    assert_int_equal(summary.damaged_units, 0);
    assert_int_equal(log.events, 8);
    for (uint32_t i = 0; i < 3; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%u begin on ranges:next %u.0 name", 30 + i, i);
        assert_non_null(strstr(log.text.data, wanted));
    }
    assert_non_null(strstr(log.text.data, "10 begin on ranges:first.0 name"));
    log_fini(&log);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_is_forgotten), cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_lines_of_functions),          cmocka_unit_test(test_async),
        cmocka_unit_test(test_restarts_and_late_events),    cmocka_unit_test(test_what_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
