/* SPDX-License-Identifier: Apache-2.0 */
/* From the messages of a collector of devices to the events of the trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "device_collector.h"

/* --- works ------------------------------------------------------------------------------------ */

static void a_kernel_has_its_stream_and_shape(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_work_message kernel = work_of(SS_DEVICE_KERNEL, 5);
    kernel.name = put_text(&fixture, "_Z4gemmPf");
    kernel.grid[0] = 2, kernel.grid[1] = 3, kernel.grid[2] = 4;
    kernel.block[0] = 32, kernel.block[1] = 8, kernel.block[2] = 1;
    kernel.registers = 40, kernel.static_shared = 1024, kernel.dynamic_shared = 2048;
    kernel.scratch = 64;
    put_work(&fixture, kernel);
    end(&fixture);
    story_has(&fixture.story,
              "+100 GPU 3/stream 7 begin gemm(float*) (kernel) correlation=5 context=1 grid_x=2 "
              "block_x=32 "
              "grid_y=3 block_y=8 grid_z=4 block_z=1 registers=40 static_shared_bytes=1024 "
              "dynamic_shared_bytes=2048 scratch_bytes=64\n"
              "+200 GPU 3/stream 7 end\n");
    assert_int_equal(fixture.totals.kernels, 1);
    assert_int_equal(fixture.totals.unplaced_kernels, 1); /* without a launch */
    story_has(&fixture.story, "[gpu-kernels] 1\n[gpu-kernels-without-launch] 1\n");
    assert_int_equal(fixture.story.stream_count, 1);
    assert_int_equal(fixture.story.streams[0].number, STREAM);
    assert_false(fixture.story.streams[0].is_default);
}

static void copies_and_memsets_name_their_memory(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_work_message copy = work_of(SS_DEVICE_COPY, 6);
    copy.bytes = 4096, copy.direction = HOST_TO_DEVICE;
    copy.from = PINNED, copy.to = ON_DEVICE;
    put_work(&fixture, copy);
    struct ss_device_work_message set = work_of(SS_DEVICE_MEMSET, 7);
    set.begin_ns = at(200), set.end_ns = at(210);
    set.bytes = 512, set.to = ON_DEVICE;
    put_work(&fixture, set);
    copy.begin_ns = at(210), copy.end_ns = at(220), copy.direction = 99, copy.from = 99;
    put_work(&fixture, copy);
    end(&fixture);
    story_has(&fixture.story, "+100 GPU 3/stream 7 begin Memcpy HtoD (Pinned -> Device) (memcpy) "
                              "correlation=6 context=1 bytes=4096 from_memory=pinned "
                              "to_memory=device\n");
    story_has(&fixture.story, "+200 GPU 3/stream 7 begin Memset (Device) (memset) "
                              "correlation=7 context=1 bytes=512 to_memory=device\n");
    story_has(&fixture.story, "+210 GPU 3/stream 7 begin Memcpy  (Unknown -> Device) (memcpy)");
    assert_int_equal(fixture.totals.copies, 2);
    assert_int_equal(fixture.totals.memsets, 1);
    assert_int_equal(fixture.totals.unplaced_kernels, 0);
}

static void works_that_overlap_have_lanes(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    static const uint64_t times[][2] = {{100, 200}, {150, 250}, {200, 300}, {260, 270}};
    for (size_t i = 0; i < 4; i++) {
        struct ss_device_work_message work = work_of(SS_DEVICE_MEMSET, 0);
        work.begin_ns = at(times[i][0]), work.end_ns = at(times[i][1]);
        put_work(&fixture, work);
    }
    end(&fixture);
    story_has(&fixture.story, "+150 GPU 3/stream 7 (2) begin");
    story_has(&fixture.story, "+200 GPU 3/stream 7 begin"); /* as the first one ends */
    story_has(&fixture.story, "+260 GPU 3/stream 7 (2) begin");
    assert_int_equal(fixture.story.stream_count, 1);
}

static void streams_contexts_and_devices_are_apart(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_context_message context = {
        .context = CONTEXT, .device = DEVICE, .null_stream = STREAM};
    put(&fixture, SS_DEVICE_CONTEXT, &context, sizeof context);
    struct ss_device_work_message work = work_of(SS_DEVICE_MEMSET, 0);
    put_work(&fixture, work);
    work.stream = STREAM + 1;
    put_work(&fixture, work);
    work.context = CONTEXT + 1, work.stream = STREAM;
    put_work(&fixture, work);
    work.device = DEVICE + 1;
    put_work(&fixture, work);
    end(&fixture);
    assert_int_equal(fixture.story.stream_count, 4);
    assert_int_equal(fixture.story.device_count, 2);
    assert_true(fixture.story.streams[0].is_default);
    assert_false(fixture.story.streams[1].is_default);
    assert_false(fixture.story.streams[2].is_default);
    story_has(&fixture.story, "+100 GPU 3/stream 8 begin");
    story_has(&fixture.story, "+100 GPU 4/stream 7 begin");
}

static void a_device_is_described_once_it_is_known(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_work(&fixture, work_of(SS_DEVICE_MEMSET, 0));
    struct ss_device_device_message device = {
        .number = DEVICE,
        .memory_bytes = UINT64_C(80) << 30,
        .name = put_text(&fixture, "A Model"),
        .uuid = {0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xef}};
    put(&fixture, SS_DEVICE_DEVICE, &device, sizeof device);
    end(&fixture);
    struct recorded_story *story = &fixture.story;
    size_t last = story->device_count - 1;
    assert_int_equal(story->devices[last].ref, story->devices[0].ref);
    assert_int_equal(story->devices[last].number, DEVICE + 1); /* 0: unknown */
    assert_int_equal(story->devices[last].memory_bytes, UINT64_C(80) << 30);
    assert_string_equal(story->device_models[last], "A Model");
    assert_string_equal(story->device_uuids[last], "GPU-abcd0102-0304-0506-0708-090a0b0c0def");
}

/* What cannot have happened yet ends now. */
static void times_end_with_the_present(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_work_message work = work_of(SS_DEVICE_MEMSET, 0);
    work.end_ns = at(50000);
    put_work(&fixture, work);
    work.stream = 8, work.begin_ns = at(40000);
    put_work(&fixture, work);
    drain(&fixture, 5000);
    end(&fixture);
    story_has(&fixture.story, "+5000 GPU 3/stream 7 end");
    story_has(&fixture.story, "+5000 GPU 3/stream 8 begin");
}

/* The program writes on while the ring is drained: 3000 was the present when the drain began. */
static void times_of_what_has_happened_since_stay(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_work_message work = work_of(SS_DEVICE_MEMSET, 0);
    work.begin_ns = at(2500), work.end_ns = at(4500);
    put_work(&fixture, work);
    work.stream = 8, work.end_ns = at(50000);
    put_work(&fixture, work);
    manual_clock_advance(&fixture.story.clock, 5000);
    drain(&fixture, 3000);
    end(&fixture);
    story_has(&fixture.story, "+4500 GPU 3/stream 7 end");
    story_has(&fixture.story, "+5000 GPU 3/stream 8 end");
}

/* --- calls and launches ----------------------------------------------------------------------- */

static void a_launch_its_call_and_its_work_are_joined(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_launch_message launch = {.stack = put_stack(&fixture, 0, "a.py", 7, "f")};
    put_launch(&fixture, 5, "cudaLaunchKernel", launch);
    put_call(&fixture, 5, "cudaLaunchKernel", SS_DEVICE_RUNTIME);
    put_work(&fixture, work_of(SS_DEVICE_KERNEL, 5));
    put_call(&fixture, 9, "cuCtxSynchronize", SS_DEVICE_DRIVER);
    drain(&fixture, 1000);
    assert_true(ss_device_tracks_has_all(fixture.devices, at(1000), 0));
    end(&fixture);
    story_has(
        &fixture.story,
        "+11 CUDA API begin cudaLaunchKernel (runtime) correlation=5 stack=[\"a.py(7): f\"]\n");
    story_has(&fixture.story, "+19 CUDA API end\n");
    story_has(&fixture.story, "+11 CUDA API begin cuCtxSynchronize (driver) correlation=9\n");
    story_has(&fixture.story, "begin <unknown kernel> (kernel) correlation=5");
    assert_int_equal(fixture.totals.calls, 2);
    assert_int_equal(fixture.totals.launches, 1);
    assert_int_equal(fixture.totals.unlaunched, 0);
    assert_int_equal(fixture.totals.unplaced_kernels, 0);
    assert_int_equal(fixture.totals.early, 0);
}

static void a_launch_without_a_call_is_written_after_three_seconds(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_launch(&fixture, 5, "cudaLaunchKernel", (struct ss_device_launch_message){0});
    drain(&fixture, 1000);
    drain(&fixture, 1000 + UINT64_C(2999999999));
    put_call(&fixture, 5, "the call", SS_DEVICE_RUNTIME); /* in time */
    put_launch(&fixture, 6, "cuLaunchKernelEx",
               (struct ss_device_launch_message){.domain = SS_DEVICE_DRIVER});
    drain(&fixture, UINT64_C(3000001000));
    drain(&fixture, UINT64_C(6000001000));
    put_call(&fixture, 6, "the call", SS_DEVICE_DRIVER); /* late */
    drain(&fixture, UINT64_C(6000001000));
    end(&fixture);
    story_has(&fixture.story, "+11 CUDA API begin the call (runtime) correlation=5\n");
    story_has(&fixture.story, "+10 CUDA API begin cuLaunchKernelEx (driver) correlation=6\n");
    story_has(&fixture.story, "+20 CUDA API end\n");
    story_lacks(&fixture.story, "the call (driver)");
    assert_int_equal(fixture.totals.calls, 2);
    assert_int_equal(fixture.totals.unlaunched, 2);
}

static void what_a_launch_is_says_whether_work_is_awaited(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t flags, outer;
        bool is_awaited;
    } cases[] = {{"cudaLaunchKernel", 0, 0, true},
                 {"cudaGraphLaunch", 0, 0, true},
                 {"cudaMemcpyAsync", 0, 0, false},
                 {"cudaLaunchHostFunc", 0, 0, false},
                 {"cudaLaunchKernel", SS_DEVICE_LAUNCH_CAPTURED, 0, false},
                 {"cuLaunchKernel", SS_DEVICE_LAUNCH_NESTED, 77, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        atomic_store(&fixture.producer.header->flushed_ns, at(500));
        struct ss_device_launch_message launch = {.flags = cases[i].flags, .outer = cases[i].outer};
        put_launch(&fixture, 5, cases[i].name, launch);
        drain(&fixture, 1000);
        assert_int_equal(ss_device_tracks_has_all(fixture.devices, at(11), at(500)),
                         !cases[i].is_awaited);
        assert_true(ss_device_tracks_has_all(fixture.devices, at(10), at(500)));
        assert_false(ss_device_tracks_has_all(fixture.devices, at(10), at(501)));
        end(&fixture);
        assert_int_equal(fixture.totals.launches, cases[i].is_awaited);
        assert_int_equal(fixture.totals.unlaunched, cases[i].is_awaited);
    }
}

/* CUPTI may give work the correlation of the driver's call within the runtime's. */
static void work_of_a_nested_launch_is_its_outers(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_launch(&fixture, 5, "cudaLaunchKernel", (struct ss_device_launch_message){0});
    struct ss_device_launch_message nested = {.flags = SS_DEVICE_LAUNCH_NESTED, .outer = 5};
    put_launch(&fixture, 6, "cuLaunchKernel", nested);
    put_work(&fixture, work_of(SS_DEVICE_KERNEL, 6));
    end(&fixture);
    assert_int_equal(fixture.totals.launches, 1);
    assert_int_equal(fixture.totals.unlaunched, 0);
    assert_int_equal(fixture.totals.unplaced_kernels, 0);
    assert_int_equal(fixture.totals.calls, 1); /* the nested one is within it */
    story_lacks(&fixture.story, "cuLaunchKernel");
}

/* All nodes of a graph have its launch; of other launches one work is all. */
static void a_graph_has_many_works(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t unplaced;
    } cases[] = {{"cudaGraphLaunch", 0}, {"cudaLaunchKernel", 2}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        begin(&fixture);
        struct ss_device_launch_message launch = {.flags = SS_DEVICE_LAUNCH_IS_CALL};
        put_launch(&fixture, 5, cases[i].name, launch);
        struct ss_device_node_message node = {.node = 44,
                                              .stack = put_stack(&fixture, 0, "a.py", 7, "g")};
        put(&fixture, SS_DEVICE_NODE, &node, sizeof node);
        for (uint64_t k = 0; k < 3; k++) {
            struct ss_device_work_message work = work_of(SS_DEVICE_KERNEL, 5);
            work.graph = 9, work.graph_node = 43 + k;
            work.begin_ns = at(100 + 10 * k), work.end_ns = at(110 + 10 * k);
            put_work(&fixture, work);
        }
        end(&fixture);
        assert_int_equal(fixture.totals.unplaced_kernels, cases[i].unplaced);
        story_has(&fixture.story, "graph=9 graph_node=43\n");
        story_has(&fixture.story, "graph=9 graph_node=44 stack=[\"a.py(7): g\"]\n");
    }
}

static void work_before_its_launch_shows_a_wrong_clock(void **state)
{
    (void)state;
    enum { ERROR_NS = 100000 };
    struct fixture fixture;
    begin(&fixture);
    for (uint32_t i = 0; i < 2; i++) {
        struct ss_device_launch_message launch = {.begin_ns = at(100 + ERROR_NS + i),
                                                  .end_ns = at(200 + ERROR_NS)};
        put_launch(&fixture, 5 + i, "cudaLaunchKernel", launch);
        put_work(&fixture, work_of(SS_DEVICE_KERNEL, 5 + i));
    }
    end(&fixture);
    assert_int_equal(fixture.totals.early, 1);
    story_has(&fixture.story, "[gpu-early-works] 1\n");
}

static void ids_of_the_program_are_on_calls_and_works(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    for (uint64_t id = 70; id < 72; id++) { /* the last one counts */
        struct ss_device_external_message external = {.id = id, .correlation = 5};
        put(&fixture, SS_DEVICE_EXTERNAL, &external, sizeof external);
    }
    put_call(&fixture, 5, "cudaLaunchKernel", SS_DEVICE_RUNTIME);
    put_work(&fixture, work_of(SS_DEVICE_KERNEL, 5));
    end(&fixture);
    story_has(&fixture.story, "(runtime) correlation=5 external_id=71\n");
    story_has(&fixture.story, "(kernel) correlation=5 context=1 external_id=71\n");
}

/* --- collectives ------------------------------------------------------------------------------ */

static void put_collective(struct fixture *fixture, int64_t bytes)
{
    struct ss_device_collective_message collective = {.correlation = 5,
                                                      .function =
                                                          put_text(fixture, "ncclAllReduce"),
                                                      .group = put_text(fixture, "world"),
                                                      .datatype = put_text(fixture, "float32"),
                                                      .algorithm = put_text(fixture, "ring"),
                                                      .protocol = put_text(fixture, "LL"),
                                                      .size = 8,
                                                      .sequence = 12,
                                                      .bytes = bytes,
                                                      .root = -1};
    put(fixture, SS_DEVICE_COLLECTIVE, &collective, sizeof collective);
}

static void a_kernel_of_nccl_has_its_collective(void **state)
{
    (void)state;
    static const struct {
        int64_t first, second;
        const char *bytes;
    } cases[] = {{100, 50, " bytes=150\n"},
                 {100, -1, "protocol=LL\n"},
                 {-1, 50, "protocol=LL\n"},
                 {INT64_MAX, 1, "protocol=LL\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        put_launch(&fixture, 5, "cudaLaunchKernel", (struct ss_device_launch_message){0});
        put_collective(&fixture, cases[i].first);
        put_collective(&fixture, cases[i].second);
        struct ss_device_work_message kernel = work_of(SS_DEVICE_KERNEL, 5);
        kernel.name = put_text(&fixture, "ncclDevKernel_AllReduce");
        put_work(&fixture, kernel);
        end(&fixture);
        story_has(&fixture.story,
                  "begin ncclDevKernel_AllReduce (kernel) correlation=5 context=1 group=1 "
                  "sequence=12 collective=allreduce datatype=float32 "
                  "algorithm=ring protocol=LL");
        story_has(&fixture.story, cases[i].bytes);
        assert_int_equal(fixture.story.group_count, 1);
        assert_string_equal(fixture.story.group_names[0], "world");
        assert_int_equal(fixture.story.groups[0].size, 8);
    }
}

static void other_kernels_of_a_collective_have_none(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_launch(&fixture, 5, "cudaLaunchKernel", (struct ss_device_launch_message){0});
    put_collective(&fixture, 10);
    struct ss_device_work_message kernel = work_of(SS_DEVICE_KERNEL, 5);
    kernel.name = put_text(&fixture, "helper");
    put_work(&fixture, kernel);
    end(&fixture);
    story_has(&fixture.story, "begin helper (kernel) correlation=5 context=1\n");
}

/* --- when work is recorded -------------------------------------------------------------------- */

static void windows_of_recorded_work_are_a_counter(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_switch_message on = {.time_ns = at(100), .is_on = 1};
    put(&fixture, SS_DEVICE_SWITCH, &on, sizeof on);
    struct ss_device_switch_message off = {.time_ns = at(20000)};
    put(&fixture, SS_DEVICE_SWITCH, &off, sizeof off);
    end(&fixture);
    story_has(&fixture.story, "+100 device work recorded: 1\n");
    story_has(&fixture.story, "+10000 device work recorded: 0\n");
}

/* Passes nothing on. */
static void on_event(void *context, const struct ss_annot_event *event)
{
    (void)context, (void)event;
}

static void on_detail(void *context, uint64_t time_ns, enum ss_detail detail)
{
    (void)context, (void)time_ns, (void)detail;
}

static void on_sums(void *context, const struct ss_detail_interval *interval,
                    const struct ss_detail_sum *rows, size_t count)
{
    (void)context, (void)interval, (void)rows, (void)count;
}

static void mark_step(const struct ss_annot_sink *sink, uint64_t time_ns)
{
    struct ss_annot_event event = {.kind = SS_ANNOT_STEP, .time_ns = time_ns};
    sink->event(sink->context, &event);
}

static void put_kernel(struct fixture *fixture, uint32_t correlation, uint64_t launched_ns)
{
    struct ss_device_work_message kernel = work_of(SS_DEVICE_KERNEL, correlation);
    kernel.name = put_text(fixture, "gemm");
    kernel.begin_ns = at(launched_ns + 20), kernel.end_ns = at(launched_ns + 30);
    put_launch(fixture, correlation, "cudaLaunchKernel",
               (struct ss_device_launch_message){.begin_ns = at(launched_ns),
                                                 .end_ns = at(launched_ns + 10)});
    put_work(fixture, kernel);
}

/* Work is in the step of its launch: what was launched in a step in sums is not written, whether it
 * arrives before the step's end or later. The last step is in full. */
static void work_of_steps_in_sums_is_left_out(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_detail_budget budget;
    struct ss_annot_sink nothing = {.event = on_event};
    struct ss_detail_output output = {.detail = on_detail, .sums = on_sums};
    struct ss_detail_figures figures = {.now_ns = 1, .bytes = 1 << 20, .records = 1 << 17};
    ss_detail_budget_init(&budget, 1 << 20, 0);
    detail_of_devices = ss_detail_filter_new(&nothing, &output, &budget, getpid());
    struct ss_annot_sink steps = ss_detail_filter_sink(detail_of_devices);
    begin(&fixture);
    mark_step(&steps, at(0));
    ss_detail_budget_spend(&budget, SS_DETAIL_FULL, 1 << 18);
    ss_detail_budget_update(&budget, &figures);
    put_kernel(&fixture, 1, 100);
    mark_step(&steps, at(1000));
    put_kernel(&fixture, 2, 1100);
    drain(&fixture, 1500); /* kernel 2 waits for the end of its step */
    mark_step(&steps, at(2000));
    put_kernel(&fixture, 3, 1800);
    put_kernel(&fixture, 4, 2100);
    drain(&fixture, 2500);
    end(&fixture);
    ss_detail_filter_free(detail_of_devices);
    detail_of_devices = NULL;
    story_has(&fixture.story, "+120 GPU 3/stream 7 begin gemm (kernel) correlation=1");
    story_has(&fixture.story, "+2120 GPU 3/stream 7 begin gemm (kernel) correlation=4");
    story_has(&fixture.story, "begin cudaLaunchKernel");
    story_lacks(&fixture.story, "correlation=2");
    story_lacks(&fixture.story, "correlation=3");
}

static void the_state_of_the_collector_is_counted_at_the_end(void **state)
{
    (void)state;
    static const struct {
        enum ss_device_collector collector;
        uint64_t refused, cut;
    } cases[] = {{SS_DEVICE_ENDED, 0, 0}, {SS_DEVICE_REFUSED, 1, 0}, {SS_DEVICE_COLLECTS, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        atomic_store(&fixture.producer.header->collector, cases[i].collector);
        atomic_store(&fixture.producer.header->dropped_records, 4);
        atomic_store(&fixture.producer.header->refused_buffers, 5);
        atomic_store(&fixture.producer.header->untimed_kernels, 6);
        atomic_store(&fixture.producer.header->lost_messages, 7);
        atomic_store(&fixture.producer.header->lost_launches, 8);
        ss_device_tracks_end(fixture.devices, at(10000), &fixture.totals);
        story_end(&fixture.story);
        munmap(fixture.memory, RING_BYTES);
        assert_int_equal(fixture.totals.processes, 1);
        assert_int_equal(fixture.totals.refused, cases[i].refused);
        assert_int_equal(fixture.totals.cut, cases[i].cut);
        story_has(&fixture.story, "[gpu-dropped-records] 4\n[gpu-refused-buffers] 5\n"
                                  "[gpu-untimed-kernels] 6\n[gpu-lost-launches] 8\n"
                                  "[gpu-lost-messages] 7\n");
    }
}

static void a_process_without_a_collector_has_no_tracks(void **state)
{
    (void)state;
    struct recorded_story story;
    struct ss_device_totals totals = {0};
    story_begin(&story);
    assert_null(ss_device_tracks_open(&story.context, story.tracks, story.process, NULL,
                                      "/tmp/no-such-file" SS_RING_FILE_SUFFIX));
    assert_null(ss_device_tracks_open(&story.context, story.tracks, story.process, NULL, "x"));
    ss_device_tracks_end(NULL, 0, &totals);
    assert_int_equal(totals.processes, 0);
    story_end(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_its_stream_and_shape),
        cmocka_unit_test(copies_and_memsets_name_their_memory),
        cmocka_unit_test(works_that_overlap_have_lanes),
        cmocka_unit_test(streams_contexts_and_devices_are_apart),
        cmocka_unit_test(a_device_is_described_once_it_is_known),
        cmocka_unit_test(times_end_with_the_present),
        cmocka_unit_test(times_of_what_has_happened_since_stay),
        cmocka_unit_test(a_launch_its_call_and_its_work_are_joined),
        cmocka_unit_test(a_launch_without_a_call_is_written_after_three_seconds),
        cmocka_unit_test(what_a_launch_is_says_whether_work_is_awaited),
        cmocka_unit_test(work_of_a_nested_launch_is_its_outers),
        cmocka_unit_test(a_graph_has_many_works),
        cmocka_unit_test(work_before_its_launch_shows_a_wrong_clock),
        cmocka_unit_test(ids_of_the_program_are_on_calls_and_works),
        cmocka_unit_test(a_kernel_of_nccl_has_its_collective),
        cmocka_unit_test(other_kernels_of_a_collective_have_none),
        cmocka_unit_test(windows_of_recorded_work_are_a_counter),
        cmocka_unit_test(work_of_steps_in_sums_is_left_out),
        cmocka_unit_test(the_state_of_the_collector_is_counted_at_the_end),
        cmocka_unit_test(a_process_without_a_collector_has_no_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
