/* SPDX-License-Identifier: Apache-2.0 */
/* Launches, their work and operators of autograd as flows of Perfetto: what viewers draw, and what
 * a reader gets back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_recording.h"
#include "trace/event_fields.h"
#include "trace/profile.h"
#include "trace/writer_tracks.h"

enum { CALLS = 1, STREAM, ELSEWHERE, OPERATORS, BACKWARD };
enum { LAUNCH = 1, KERNEL, FORWARD, NODE };

static struct ss_trace_writer *open_writer(const char *path, bool is_plain)
{
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true, .compression = is_plain ? -1 : 0};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    PUT(process, writer, .ref = 1, .pid = 10, .name = ss_strview_of("p"));
    PUT(thread, writer, .ref = 1, .process_ref = 1, .tid = 10, .is_main = true);
    PUT(thread, writer, .ref = 2, .process_ref = 1, .tid = 11);
    PUT(track, writer, .ref = CALLS, .process_ref = 1, .thread_ref = 1,
        .name = ss_strview_of("calls"));
    PUT(track, writer, .ref = STREAM, .process_ref = 1, .name = ss_strview_of("stream 7"));
    PUT(track, writer, .ref = ELSEWHERE, .name = ss_strview_of("of no process"));
    PUT(track, writer, .ref = OPERATORS, .process_ref = 1, .thread_ref = 1,
        .name = ss_strview_of("torch"));
    PUT(track, writer, .ref = BACKWARD, .process_ref = 1, .thread_ref = 2,
        .name = ss_strview_of("torch"));
    PUT(name, writer, .ref = LAUNCH, .text = ss_strview_of("cudaLaunchKernel"),
        .type = SS_EVENT_TYPE_launch);
    PUT(name, writer, .ref = KERNEL, .text = ss_strview_of("gemm"), .type = SS_EVENT_TYPE_kernel);
    PUT(name, writer, .ref = FORWARD, .text = ss_strview_of("aten::mm"),
        .category = ss_strview_of("operator"), .type = SS_EVENT_TYPE_operator);
    PUT(name, writer, .ref = NODE, .text = ss_strview_of("MmBackward0"),
        .category = ss_strview_of("backward"), .type = SS_EVENT_TYPE_operator);
    return writer;
}

static void put_range(struct ss_trace_writer *writer, uint64_t at_ns, uint32_t track, uint32_t name,
                      const struct ss_event_value *fields, uint32_t count, int64_t number)
{
    struct ss_trace_event begin = {.time_ns = RECORDING_START + at_ns,
                                   .track_ref = track,
                                   .name_ref = name,
                                   .fields = fields,
                                   .field_count = count};
    if (number >= 0) {
        begin.payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
    }
    MUST(ss_trace_writer_range(writer, &begin, begin.time_ns + 5, must_err));
}

static struct ss_event_value natural(uint32_t field, uint64_t number)
{
    return (struct ss_event_value){field, {SS_VALUE_UINT, {.natural = number}}};
}

struct seen {
    struct ss_event_value fields[8][4];
    uint32_t counts[8], events;
    uint64_t flows[8];
};

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct seen *seen = context;
    if (event->kind == SS_EVENT_BEGIN) {
        assert_in_range(seen->events, 0, 7);
        assert_in_range(event->field_count, 0, 4);
        memcpy(seen->fields[seen->events], event->fields,
               event->field_count * sizeof *event->fields);
        seen->counts[seen->events] = event->field_count;
        seen->flows[seen->events++] = event->flow != SS_FLOW_NONE ? event->flow_id : 0;
    }
    return SS_OK;
}

static struct seen read_back(const char *path)
{
    static const struct ss_trace_visitor visitor = {.event = on_event};
    struct seen seen = {0};
    struct ss_trace_summary summary;
    MUST(ss_trace_read(path, &visitor, &seen, &summary, must_err));
    assert_int_equal(summary.format_version, 2);
    assert_int_equal(summary.lost_events, 0);
    return seen;
}

static bool same_fields(const struct ss_event_value *left, const struct ss_event_value *right,
                        uint32_t count)
{
    bool is_same = true;
    for (uint32_t i = 0; i < count; i++) {
        is_same = is_same && left[i].field == right[i].field &&
                  left[i].value.type == right[i].value.type &&
                  left[i].value.natural == right[i].value.natural;
    }
    return is_same;
}

/* How often the id is in the file, which is not compressed: as flow_ids, a fixed64. */
static unsigned count_flows(const char *path, uint64_t id)
{
    static char bytes[1 << 20];
    uint8_t wanted[10] = {0xf9, 0x02}; /* field 47, fixed64 */
    memcpy(wanted + 2, &id, sizeof id);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    unsigned count = 0;
    for (char *at = bytes; (at = memmem(at, length - (size_t)(at - bytes), wanted, 10)) != NULL;
         at++) {
        count++;
    }
    return count;
}

/* The high half of the ids of the only process. */
static uint64_t flows_of(const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const uint8_t tag[2] = {0xf9, 0x02};
    char *at = memmem(bytes, length, tag, sizeof tag);
    assert_non_null(at);
    uint64_t id;
    memcpy(&id, at + 2, sizeof id);
    return id & ~UINT64_C(0xffffffff);
}

static void a_launch_and_its_work_share_a_flow(void **state)
{
    (void)state;
    const char *path = recording_path("launch-flows");
    struct ss_trace_writer *writer = open_writer(path, true);
    struct ss_event_value call[] = {natural(SS_EVENT_FIELD_correlation, 77)};
    struct ss_event_value work[] = {natural(SS_EVENT_FIELD_grid_x, 4),
                                    natural(SS_EVENT_FIELD_correlation, 77),
                                    natural(SS_EVENT_FIELD_registers, 32)};
    struct ss_event_value wait[] = {natural(SS_EVENT_FIELD_correlation, 80),
                                    natural(SS_EVENT_FIELD_recorded_by, 77)};
    struct ss_event_value huge[] = {natural(SS_EVENT_FIELD_correlation, UINT64_C(1) << 32 | 77)};
    put_range(writer, 10, CALLS, LAUNCH, call, 1, -1);
    put_range(writer, 20, STREAM, KERNEL, work, 3, -1);
    put_range(writer, 30, CALLS, LAUNCH, wait, 2, -1);
    put_range(writer, 40, STREAM, KERNEL, huge, 1, -1);
    put_range(writer, 50, ELSEWHERE, KERNEL, call, 1, -1);
    MUST(ss_trace_writer_close(writer, must_err));
    uint64_t flows = flows_of(path);
    assert_int_equal(count_flows(path, flows | 77), 3); /* the wait leads to what it waits for */
    assert_int_equal(count_flows(path, flows | 80), 1);
    struct seen seen = read_back(path);
    assert_int_equal(seen.events, 5);
    const struct {
        const struct ss_event_value *fields;
        uint32_t count;
    } written[] = {{call, 1}, {wait, 2}, {work, 3}, {huge, 1}, {call, 1}}; /* by track */
    for (uint32_t i = 0; i < 5; i++) {
        bool is_found = false;
        for (uint32_t k = 0; k < 5; k++) {
            is_found =
                is_found || (seen.counts[k] == written[i].count &&
                             same_fields(seen.fields[k], written[i].fields, written[i].count));
        }
        assert_true(is_found);
        assert_int_equal(seen.flows[i], 0); /* viewers alone have this arrow */
    }
    unlink(path);
}

static void a_flow_of_the_program_stays(void **state)
{
    (void)state;
    const char *path = recording_path("own-flows");
    struct ss_trace_writer *writer = open_writer(path, false);
    struct ss_event_value fields[] = {natural(SS_EVENT_FIELD_correlation, 5)};
    struct ss_trace_event event = {.time_ns = RECORDING_START,
                                   .track_ref = CALLS,
                                   .name_ref = LAUNCH,
                                   .flow = SS_FLOW_THROUGH,
                                   .flow_id = 5,
                                   .fields = fields,
                                   .field_count = 1};
    MUST(ss_trace_writer_range(writer, &event, RECORDING_START + 5, must_err));
    MUST(ss_trace_writer_close(writer, must_err));
    struct seen seen = read_back(path);
    assert_int_equal(seen.flows[0], 5);
    assert_int_equal(seen.counts[0], 1);
    assert_true(same_fields(seen.fields[0], fields, 1));
    unlink(path);
}

/* Operators without a node have the number of the next one that makes a node. */
static void forward_operators_lead_to_their_nodes(void **state)
{
    (void)state;
    static const struct {
        uint32_t track, name;
        int64_t number;
        bool is_drawn;
    } rows[] = {
        {OPERATORS, FORWARD, 3, false}, /* empty */
        {OPERATORS, FORWARD, 3, true},  /* mm makes node 3 */
        {OPERATORS, FORWARD, 4, true},
        {OPERATORS, FORWARD, 5, false}, /* the last known one: another may follow */
        {OPERATORS, FORWARD, -1, false},
        {BACKWARD, NODE, 4, false}, /* around the node */
        {BACKWARD, NODE, 4, true},
        {BACKWARD, NODE, 3, true},
    };
    const char *path = recording_path("autograd-flows");
    struct ss_trace_writer *writer = open_writer(path, true);
    struct ss_event_value call[] = {natural(SS_EVENT_FIELD_correlation, 900)};
    put_range(writer, 1, CALLS, LAUNCH, call, 1, -1);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_range(writer, 10 + 10 * i, rows[i].track, rows[i].name, NULL, 0, rows[i].number);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    uint64_t flows = flows_of(path) ^ UINT64_C(1) << 63;
    for (uint32_t number = 3; number <= 5; number++) {
        unsigned wanted = 0;
        for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            wanted += rows[i].number == number && rows[i].is_drawn;
        }
        assert_int_equal(count_flows(path, flows | number), wanted);
    }
    unlink(path);
}

static uint64_t bytes_of(bool has_flows, uint32_t launches)
{
    const char *path = recording_path("size-of-flows");
    struct ss_trace_writer *writer = open_writer(path, false);
    uint64_t at_ns = 0, random = 1;
    for (uint32_t i = 0; i < launches; i++) {
        struct ss_event_value field = natural(SS_EVENT_FIELD_correlation, 1000 + 3 * (uint64_t)i);
        if (!has_flows) {
            field.field = SS_EVENT_FIELD_external_id; /* the same as an annotation */
        }
        random = ss_hash_u64(random + i);
        at_ns += 3000 + random % 4000;
        put_range(writer, at_ns, CALLS, LAUNCH, &field, 1, -1);
        put_range(writer, at_ns + 2000 + random % 1000, STREAM, KERNEL, &field, 1, -1);
    }
    MUST(ss_trace_writer_close(writer, must_err));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    unlink(path);
    return (uint64_t)status.st_size;
}

static void an_arrow_takes_four_bytes_at_most(void **state)
{
    (void)state;
    enum { LAUNCHES = 20000 };
    int64_t more = (int64_t)bytes_of(true, LAUNCHES) - (int64_t)bytes_of(false, LAUNCHES);
    print_message("bytes of an arrow: %.2f\n", (double)more / LAUNCHES);
    assert_true(more <= 4 * LAUNCHES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_and_its_work_share_a_flow),
        cmocka_unit_test(a_flow_of_the_program_stays),
        cmocka_unit_test(forward_operators_lead_to_their_nodes),
        cmocka_unit_test(an_arrow_takes_four_bytes_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
