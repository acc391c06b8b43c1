/* SPDX-License-Identifier: Apache-2.0 */
/* Exports of Nsight Systems: NVTX with steps, operators and NCCL, samples, metrics, messages. */
#include "sqlite_writer.h"

#include "model/core/torch_names.h"
#include "model/nsys/nsys_steps.h"

#define P100 "(1<<48|100<<24)"
#define T100 "(1<<48|100<<24|100)"
#define T101 "(1<<48|100<<24|101)"
#define T200 "(1<<48|200<<24|200)"

#define NVTX                                                                                       \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"               \
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, category INTEGER,"   \
    " color INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER,"              \
    " uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, jsonText TEXT, binaryData BLOB);"
/* A push and pop of the default domain. */
#define RANGE(begin, end, text, thread)                                                            \
    "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES"            \
    " (" #begin "," #end ",59,'" text "'," thread ",0);"

/* --- NVTX ------------------------------------------------------------------------------------- */

static void ranges_have_domain_category_colour_and_payload(void **state)
{
    (void)state;
    load_statements(
        NVTX "INSERT INTO StringIds VALUES (4,'registered');"
             "INSERT INTO NVTX_EVENTS (start,end,eventType,category,color,text,globalTid,textId,"
             "domainId,uint64Value,int64Value,doubleValue) VALUES"
             " (10,20,59,7,255,NULL," T100 ",4,5,NULL,-3,NULL),"
             " (30,40,59,8,NULL,'real'," T100 ",NULL,5,NULL,NULL,0.5),"
             " (50,NULL,34,NULL,NULL,'mark'," T101 ",NULL,0,9,NULL,NULL),"
             " (60,80,60,NULL,NULL,'async'," T100 ",NULL,0,NULL,NULL,NULL),"
             " (-5,NULL,75,NULL,NULL,'lib'," T100 ",NULL,5,NULL,NULL,NULL),"
             " (0,NULL,33,7,NULL,'io'," T100 ",NULL,5,NULL,NULL,NULL);");
    const struct ss_model_range *range = find_range("registered", 0);
    assert_int_equal(range->flags, 0);
    assert_string_equal(text(track_of(range)->name), "lib"); /* named later in the file */
    assert_int_equal(payload(range), -3);
    assert_int_equal(name_of(range)->colour, 0xff0000ff);
    assert_int_equal(name_of(range)->type, SS_EVENT_TYPE_range);
    const struct ss_model_range *real = find_range("real", 0);
    assert_string_equal(text(name_of(real)->category), "8"); /* it has no name */
    assert_true(model.payloads.data[real->payload].real == 0.5);
    assert_int_equal(model.marks.count, 1);
    const struct ss_model_mark *mark = &model.marks.data[0];
    assert_string_equal(text(model.names.data[mark->name].text), "mark");
    assert_int_equal(model.payloads.data[mark->payload].integer, 9);
    assert_int_equal(model.threads.data[model.tracks.data[mark->track].thread].tid, 101);
    const struct ss_model_track *async = track_of(find_range("async", 0));
    assert_int_equal(async->thread, 0);
    assert_int_equal(model.processes.data[async->process].pid, 100);
}

static void an_open_range_ends_with_the_session(void **state)
{
    (void)state;
    load_statements(NVTX "CREATE TABLE ANALYSIS_DETAILS (duration INTEGER, startTime INTEGER);"
                         "INSERT INTO ANALYSIS_DETAILS VALUES (500,1000);"
                         "INSERT INTO NVTX_EVENTS (start,eventType,text,globalTid) VALUES"
                         " (100,59,'step 1'," T100 "), (200,59,'step 2'," T100 ");");
    assert_int_equal(find_range("step 1", 0)->end_ns, 1500); /* no steps: their ends are unknown */
    assert_int_equal(find_range("step 1", 0)->flags, SS_RANGE_END_UNSEEN);
    assert_int_equal(find_range("step 2", 0)->flags, SS_RANGE_END_UNSEEN);
    assert_int_equal(count_ranges("step"), 0);
}

static void operators_of_pytorch_are_operators(void **state)
{
    (void)state;
    load_statements(
        NVTX RANGE(10, 90, "forward", T100)
            RANGE(20, 80, "aten::add, seq = 12, op_id = 34, sizes = [[2, 3], []]", T100)
                RANGE(30, 40, "aten::empty, op_id = 35", T100)
                    RANGE(30, 40, "autograd::engine::evaluate_function: AddBackward0, op_id = 36",
                          T101) "INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000');"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end "
                                "INTEGER, globalTid INTEGER,"
                                " correlationId INTEGER, nameId INTEGER);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50,60," T100
                                ",1,1), (5,6," T200 ",1,1);");
    const struct ss_model_range *add = find_range("aten::add", 0);
    assert_string_equal(text(track_of(add)->name), "torch");
    assert_int_equal(name_of(add)->type, SS_EVENT_TYPE_operator);
    assert_string_equal(text(name_of(add)->category), "operator");
    assert_int_equal(payload(add), 12);
    assert_string_equal(field_text(add, SS_EVENT_FIELD_shapes), "[[2, 3], []]");
    assert_int_equal(find_range("aten::empty", 0)->payload, 0);
    const struct ss_model_range *node =
        find_range("autograd::engine::evaluate_function: AddBackward0", 0);
    assert_string_equal(text(name_of(node)->category), "backward");
    assert_string_equal(text(track_of(find_range("forward", 0))->name), "");
    /* A call is within its operator; on a thread without operators, on a track of its own. */
    const struct ss_model_range *call = find_range("cudaLaunchKernel", 0);
    const struct ss_model_range *other = find_range("cudaLaunchKernel", 1);
    assert_int_equal(call->track, add->track);
    assert_int_equal(model.paths.data[call->path].depth, 2);
    assert_string_equal(text(track_of(other)->name), "CUDA API");
}

static void names_of_emit_nvtx_are_read(void **state)
{
    (void)state;
    struct ss_torch_nvtx range;
    static const char *const none[] = {"", "step 5", "a, seq = x", ", op_id = 5", "seq = 5"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(ss_torch_nvtx_read(ss_strview_of(none[i]), &range));
    }
    assert_true(ss_torch_nvtx_read(ss_strview_of("f, seq = 7, sizes = [[1]"), &range));
    assert_int_equal(range.name.length, 1);
    assert_int_equal(range.sequence, 7);
    assert_int_equal(range.sizes.length, 0); /* the list is cut */
    assert_true(ss_torch_nvtx_read(ss_strview_of("f, seq = 7, sizes = ][]"), &range));
    assert_int_equal(range.sizes.length, 0);
    assert_true(ss_torch_is_backward(ss_strview_of("AddmmBackward0")));
    assert_false(ss_torch_is_backward(ss_strview_of("Backward pass")));
}

/* --- NCCL ------------------------------------------------------------------------------------- */

static const char nccl_layout[] =
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER,"
    " type INTEGER, name TEXT, offset INTEGER);"
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES"
    " (1,16777223,0,18,'NCCL communicator ID',NULL), (1,16777223,1,22,'Message size [bytes]',8),"
    " (1,16777223,2,16777232,'Reduction operation',16), (1,16777218,0,18,'NCCL communicator ID',"
    "NULL), (1,16777218,1,5,'No. of ranks',8), (2,16777223,0,18,'Message size [bytes]',NULL);";

static void check_allreduce(const struct ss_model_range *range)
{
    assert_int_equal(name_of(range)->type, SS_EVENT_TYPE_collective);
    assert_int_equal(payload(range), 65536);
    assert_string_equal(field_text(range, SS_EVENT_FIELD_reduction), "max");
    assert_string_equal(field_text(range, SS_EVENT_FIELD_collective), "allreduce");
    const struct ss_model_group *group = &model.groups.data[field(range, SS_EVENT_FIELD_group)];
    assert_int_equal(group->kind, SS_GROUP_NCCL);
    assert_int_equal(group->number, UINT64_C(0xfedcba9876543210));
    assert_int_equal(group->size, 8);
}

static void payloads_of_nccl_are_read(void **state)
{
    (void)state;
    static const char statements[] =
        NVTX "INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid,domainId,binaryData)"
             " VALUES (5,6,59,'ncclCommInitRank'," T100 ",1,"
             "x'0100000000000000020000010000000010000000000000003000000000000000"
             "1032547698badcfe0800000000000000'),"
             " (10,20,59,'ncclAllReduce'," T100 ",1,"
             "x'0100000000000000070000010000000018000000000000003800000000000000"
             "1032547698badcfe00000100000000000200000000000000'),"
             " (30,40,59,'ncclAllGather'," T100 ",1,x'01000000'),"
             " (50,60,59,'ncclBroadcast'," T100 ",1,"
             "x'0100000000000000070000010000000018000000000000003800000000000000"
             "1032547698badcfe0000');"
             "INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid,domainId,jsonText)"
             " VALUES (70,80,59,'ncclAllReduce'," T100 ",1,"
             "'{\"NCCL communicator ID\": 18364758544493064720, \"Message size [bytes]\": 65536,"
             " \"x\": [1], \"Reduction operation\": \"2\"}'),"
             " (90,95,59,'ncclSend'," T100 ",1,'{\"Peer rank\": 3, \"Message size [bytes]\": -1}'),"
             " (96,97,59,'ncclGroupEnd'," T100 ",1,'{');";
    char all[8192];
    snprintf(all, sizeof all, "%s%s", statements, nccl_layout);
    load_statements(all);
    check_allreduce(find_range("ncclAllReduce", 0)); /* of bytes */
    check_allreduce(find_range("ncclAllReduce", 1)); /* of JSON */
    const struct ss_model_range *gather = find_range("ncclAllGather", 0);
    assert_int_equal(model.payloads.data[gather->payload].type, SS_VALUE_NONE); /* cut */
    const struct ss_model_range *broadcast = find_range("ncclBroadcast", 0);
    assert_int_not_equal(field(broadcast, SS_EVENT_FIELD_group), -1); /* what is there, counts */
    assert_int_equal(model.payloads.data[broadcast->payload].type, SS_VALUE_NONE);
    assert_int_equal(field(find_range("ncclSend", 0), SS_EVENT_FIELD_peer), 3);
    assert_int_equal(name_of(find_range("ncclGroupEnd", 0))->type, SS_EVENT_TYPE_range);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void names_of_steps(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t number; /* -1: it has none */
        bool is_epoch;
    } steps[] = {{"step 12", 12, false},
                 {"iteration12", 12, false},
                 {"Iter_7", 7, false},
                 {"ProfilerStep#3", 3, false},
                 {"Step 10 to 20", 10, false},
                 {"step 5/100", 5, false},
                 {"train_step", -1, false},
                 {"training step: 4", 4, false},
                 {"Epoch 2 of 10", 2, true},
                 {"batch=9", 9, false},
                 {"step 000000000000000001", 1, false}};
    static const char *const none[] = {
        "",      "12",       "stepper 3", "step 3x",   "batch", "epoch",
        "step-", "a step 3", "forward",   "step 5 to", "iter",  "step 1234567890123456789"};
    struct ss_nsys_step_name name;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_true(ss_nsys_step_name_read(ss_strview_of(steps[i].text), &name));
        assert_int_equal(name.number, steps[i].number);
        assert_int_equal(name.is_epoch, steps[i].is_epoch);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (ss_nsys_step_name_read(ss_strview_of(none[i]), &name)) {
            assert_string_equal(none[i], "step-"); /* "step" without a number */
            assert_false(name.has_number);
        }
    }
}

/* The longest loop of a process; epochs beside it. */
static void loops_of_named_ranges_are_steps(void **state)
{
    (void)state;
    load_statements(NVTX RANGE(0, 400, "epoch 1", T100) RANGE(500, 900, "epoch 2", T100)
                        RANGE(0, 100, "iteration 0", T100) RANGE(10, 50, "batch 0", T100)
                            RANGE(50, 90, "batch 1", T100) RANGE(200, 300, "iteration 1", T100)
                                RANGE(210, 220, "forward", T100) RANGE(0, 90, "step 1", T101)
                                    RANGE(80, 180, "step 2", T101) RANGE(0, 50, "step 8", T200)
                                        RANGE(60, 70, "step 9", T200));
    size_t steps = 0, epochs = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        bool is_step = track_of(range)->kind == SS_TRACK_STEPS;
        steps += is_step && strcmp(text(track_of(range)->name), "step") == 0;
        epochs += is_step && strcmp(text(track_of(range)->name), "epoch") == 0;
    }
    assert_int_equal(steps, 4);
    assert_int_equal(epochs, 2);
    const struct ss_model_range *second = find_range("step", 1);
    assert_int_equal(payload(second), 1);
    assert_int_equal(second->begin_ns, 200);
    assert_int_equal(count_ranges("batch 0") + count_ranges("batch 1"), 2);
    assert_int_equal(count_ranges("step 1") + count_ranges("step 2"), 2); /* they overlap */
    assert_int_equal(payload(find_range("step", 2)), 8);                  /* of another process */
}

static void steps_without_numbers_are_counted(void **state)
{
    (void)state;
    load_statements(NVTX RANGE(30, 40, "train_step", T100) RANGE(10, 20, "train_step", T100));
    assert_int_equal(payload(find_range("step", 0)), 0);
    assert_int_equal(find_range("step", 0)->begin_ns, 10);
    assert_int_equal(payload(find_range("step", 1)), 1);
    load_statements(NVTX RANGE(10, 20, "step 5", T100)); /* one range is not a loop */
    assert_int_equal(count_ranges("step"), 0);
    assert_int_equal(count_ranges("step 5"), 1);
    load_statements(NVTX RANGE(10, 20, "ProfilerStep#5", T100));
    assert_int_equal(payload(find_range("step", 0)), 5);
}

static void steps_select(void **state)
{
    (void)state;
    struct ss_model_load load = {
        .size = sizeof load, .quiet = true, .has_steps = true, .first_step = 1, .last_step = 1};
    write_file(NVTX RANGE(10, 20, "step 0", T100) RANGE(20, 30, "step 1", T100)
                   RANGE(12, 13, "a", T100) RANGE(22, 23, "b", T100));
    assert_int_equal(load_file_with(&load), SS_OK);
    assert_int_equal(find_range("a", 0)->flags & SS_RANGE_OUTSIDE, SS_RANGE_OUTSIDE);
    assert_int_equal(find_range("b", 0)->flags & SS_RANGE_OUTSIDE, 0);
    load.first_step = load.last_step = 9;
    assert_int_equal(load_file_with(&load), SS_E_USAGE);
}

/* Parts of a step, as the program names them. */
static void phases_come_from_the_ranges_of_a_loop(void **state)
{
    (void)state;
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .sample_phases = true};
    write_file(NVTX RANGE(0, 100, "step 0", T100) RANGE(0, 20, "data", T100) RANGE(
        20, 50, "forward", T100) RANGE(50, 90, "backward", T100) RANGE(100, 200, "step 1", T100));
    assert_int_equal(load_file_with(&load), SS_OK);
    size_t phases = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        phases += track_of(&model.ranges.data[i])->kind == SS_TRACK_PHASES;
    }
    assert_int_equal(phases, 3);
}

/* --- samples ---------------------------------------------------------------------------------- */

static const char samples[] = NVTX RANGE(0, 15, "step 4", T100) RANGE(
    15, 100, "step 5",
    T100) "INSERT INTO StringIds VALUES (1,'main'), (2,'work'), (3,'/lib/libc.so.6'), (4,'/bin/a'),"
          " (5,'[Broken backtraces]'), (6,'0x7f00');"
          "CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER,"
          " threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER);"
          "INSERT INTO COMPOSITE_EVENTS VALUES (1,20,0,1," T100 ",1), (2,10,0,2," T100
          ",1), (3,30,0,1," T101 ",1), (4,40,0,1," T100 ",1), (5,50,0,1," T100 ",1);"
          "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER,"
          " kernelMode INTEGER, unresolved INTEGER, unwindMethod INTEGER, stackDepth INTEGER,"
          " PRIMARY KEY (id, stackDepth));"
          "INSERT INTO SAMPLING_CALLCHAINS VALUES (2,2,4,0,0,7,0), (2,1,4,0,0,7,1), "
          "(1,6,3,0,1,0,0),"
          " (3,2,4,0,0,7,0), (3,5,5,0,0,0,1), (5,6,3,1,1,7,0);"
          "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
          "INSERT INTO META_DATA_CAPTURE VALUES ('LINUX_PERF_OPTIONS:SAMPLING_PERIOD','2000000'),"
          " ('LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE','Software');";

static const struct ss_model_frame *frame_of(uint32_t stack)
{
    return &model.frames.data[model.stacks.data[stack].frame];
}

static void samples_have_stacks_states_and_times(void **state)
{
    (void)state;
    load_statements(samples);
    assert_int_equal(model.samples.count, 5);
    assert_true(model.inputs.data[0].rate_hz == 500);
    const struct ss_model_sample *first = &model.samples.data[0];
    assert_int_equal(first->time_ns, 10); /* by time, not by number */
    assert_int_equal(first->state, SS_STATE_SLEEPING);
    assert_false(first->partial);
    assert_int_equal(model.stacks.data[first->stack].depth, 2);
    assert_string_equal(text(frame_of(first->stack)->function), "work");
    assert_string_equal(text(frame_of(first->stack)->short_file), "a");
    assert_string_equal(text(frame_of(model.stacks.data[first->stack].parent)->function), "main");
    const struct ss_model_sample *unresolved = &model.samples.data[1];
    assert_true(unresolved->partial); /* only its innermost frame was recorded */
    assert_string_equal(text(frame_of(unresolved->stack)->function), "[unknown]");
    assert_string_equal(text(frame_of(unresolved->stack)->file), "/lib/libc.so.6");
    assert_true(model.samples.data[2].partial); /* its end is missing */
    assert_int_equal(model.stacks.data[model.samples.data[2].stack].depth, 1);
    assert_int_equal(model.samples.data[3].stack, 0); /* it has none */
    assert_int_equal(frame_of(model.samples.data[4].stack)->kind, SS_FRAME_KERNEL);
}

static void samples_have_steps(void **state)
{
    (void)state;
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .sample_phases = true};
    write_file(samples);
    assert_int_equal(load_file_with(&load), SS_OK);
    uint64_t by_step[3] = {0};
    for (size_t i = 0; i < model.totals.count; i++) {
        by_step[model.totals.data[i].step] += model.totals.data[i].samples;
    }
    assert_int_equal(by_step[SS_SAMPLE_FIRST_STEP], 1);
    assert_int_equal(by_step[SS_SAMPLE_LATER_STEP], 4);
}

/* --- metrics and messages --------------------------------------------------------------------- */

static const struct ss_model_track *counter(const char *name, const struct ss_model_value **value)
{
    for (size_t i = 0; i < model.values.count; i++) {
        *value = &model.values.data[i];
        const struct ss_model_track *track = &model.tracks.data[(*value)->track];
        if (strcmp(text(track->name), name) == 0) {
            return track;
        }
    }
    fail_msg("no counter \"%s\"", name);
    return NULL;
}

static void metrics_are_counters(void **state)
{
    (void)state;
    const struct ss_model_value *value;
    load_statements(
        "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT,"
        " metricId INTEGER, metricName TEXT);"
        "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (257,0,'',1,'SMs Active [Throughput %]'),"
        " (257,0,'',2,'GPC Clock Frequency [MHz]');"
        "CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER,"
        " metricId INTEGER, value INTEGER);"
        "INSERT INTO GPU_METRICS VALUES (0,10,257,1,50), (0,20,257,2,1500), (0,30,257,9,1);"
        "CREATE TABLE TARGET_INFO_NETWORK_METRICS (metricsListId INTEGER, metricsIdx INTEGER,"
        " name TEXT, description TEXT, unit TEXT);"
        "INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (1,0,'IB: Bytes sent','','B/ms');"
        "CREATE TABLE TARGET_INFO_NIC_INFO (nicId INTEGER, name TEXT);"
        "INSERT INTO TARGET_INFO_NIC_INFO VALUES (0,'mlx5_0');"
        "CREATE TABLE NIC_ID_MAP (nicId INTEGER, globalId INTEGER);"
        "INSERT INTO NIC_ID_MAP VALUES (0,77);"
        "CREATE TABLE NET_NIC_METRIC (start INTEGER, end INTEGER, globalId INTEGER,"
        " portId INTEGER, metricsListId INTEGER, metricsIdx INTEGER, value REAL);"
        "INSERT INTO NET_NIC_METRIC VALUES (40,50,77,1,1,0,2.5), (40,50,78,2,1,0,3);");
    const struct ss_model_track *active = counter("SMs Active", &value);
    assert_string_equal(text(active->unit), "%");
    assert_int_equal(model.devices.data[active->device].number, 1);
    assert_int_equal(value->integer, 50);
    assert_int_equal(value->time_ns, 10);
    assert_string_equal(text(counter("GPC Clock Frequency", &value)->unit), "MHz");
    assert_string_equal(text(counter("mlx5_0 IB: Bytes sent", &value)->unit), "B/ms");
    assert_true(value->real == 2.5);
    counter("network port 2 IB: Bytes sent", &value);
    assert_int_equal(model.inputs.data[0].skipped.events, 1); /* a metric without a name */
}

static void messages_are_notes(void **state)
{
    (void)state;
    load_statements(NVTX RANGE(
        0, 9, "a", T100) "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
                         "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"
                         "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER,"
                         " text TEXT, globalPid INTEGER);"
                         "INSERT INTO DIAGNOSTIC_EVENT VALUES (-5,2,'not all'," P100
                         "), (6,3,'lost',1<<24), (7,1,'done',NULL);");
    assert_int_equal(model.notes.count, 3);
    assert_string_equal(text(model.notes.data[0].kind), "nsys-warning");
    assert_string_equal(text(model.notes.data[0].text), "not all");
    assert_int_equal(model.notes.data[0].time_ns, 1700000000000000000 - 5);
    assert_int_not_equal(model.notes.data[0].process, 0);
    assert_string_equal(text(model.notes.data[1].kind), "nsys-error");
    assert_int_equal(model.notes.data[1].process, 0);
    assert_string_equal(text(model.notes.data[2].kind), "nsys-message");
}

static void steps_of_the_profiler(void **state)
{
    (void)state;
    static const char *const none[] = {"ProfilerStep#", "ProfilerStep#x", "ProfilerStep",
                                       "ProfilerStep#1234567890123456789", "a ProfilerStep#1"};
    int64_t number;
    assert_true(ss_torch_profiler_step(ss_strview_of("ProfilerStep#12"), &number));
    assert_int_equal(number, 12);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(ss_torch_profiler_step(ss_strview_of(none[i]), &number));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_domain_category_colour_and_payload),
        cmocka_unit_test(an_open_range_ends_with_the_session),
        cmocka_unit_test(operators_of_pytorch_are_operators),
        cmocka_unit_test(names_of_emit_nvtx_are_read),
        cmocka_unit_test(payloads_of_nccl_are_read),
        cmocka_unit_test(names_of_steps),
        cmocka_unit_test(loops_of_named_ranges_are_steps),
        cmocka_unit_test(steps_without_numbers_are_counted),
        cmocka_unit_test(steps_select),
        cmocka_unit_test(phases_come_from_the_ranges_of_a_loop),
        cmocka_unit_test(samples_have_stacks_states_and_times),
        cmocka_unit_test(samples_have_steps),
        cmocka_unit_test(metrics_are_counters),
        cmocka_unit_test(messages_are_notes),
        cmocka_unit_test(steps_of_the_profiler),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
