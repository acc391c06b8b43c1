/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, compilations and sampled counters of devices: from messages to the trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "device_collector.h"

/* --- memory ----------------------------------------------------------------------------------- */

static void put_memory(struct fixture *fixture, uint64_t time_ns, uint64_t address, uint64_t bytes,
                       struct ss_device_memory_message more)
{
    more.time_ns = at(time_ns);
    more.address = address;
    more.bytes = bytes;
    more.device = DEVICE;
    more.context = CONTEXT;
    more.memory = more.memory != 0 ? more.memory : ON_DEVICE;
    put(fixture, SS_DEVICE_MEMORY, &more, sizeof more);
}

static const struct ss_device_memory_message taken,
    released = {.is_release = 1}, early = {.is_early = 1}, pinned = {.memory = PINNED};

static void what_is_held_is_counted(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_memory(&fixture, 100, 0x1000, 4096, taken);
    put_memory(&fixture, 110, 0x3000, 100, pinned); /* of the host */
    put_memory(&fixture, 120, 0x2000, 1024, taken);
    put_memory(&fixture, 130, 0x1000, 0, released);  /* its size is unknown */
    put_memory(&fixture, 140, 0x9000, 64, released); /* from before the recording */
    end(&fixture);
    story_has(&fixture.story,
              "+100 GPU 3/CUDA memory instant Allocation (Device) (memory) = 4096 context=1 "
              "address=4096 allocated_bytes=4096 to_memory=device\n");
    story_has(&fixture.story, "+100 GPU 3/CUDA memory held: 4096 bytes\n");
    story_has(&fixture.story, "+110 GPU 3/CUDA memory instant Allocation (Pinned) (memory) = 100 ");
    story_lacks(&fixture.story, "+110 GPU 3/CUDA memory held: ");
    story_has(&fixture.story, "+120 GPU 3/CUDA memory held: 5120 bytes\n");
    story_has(&fixture.story, "+130 GPU 3/CUDA memory instant Release (Device) (memory) = -4096 ");
    story_has(&fixture.story, "+130 GPU 3/CUDA memory held: 1024 bytes\n");
    story_has(&fixture.story, "+140 GPU 3/CUDA memory instant Release (Device) (memory) = -64 ");
    story_lacks(&fixture.story, "+140 GPU 3/CUDA memory held: ");
    assert_int_equal(fixture.totals.allocations, 3);
    assert_int_equal(fixture.totals.releases, 2);
}

/* Several threads report: a release comes before what takes its address again. */
static void messages_are_put_into_the_order_of_time(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_memory(&fixture, 200, 0x1000, 10, taken);
    put_memory(&fixture, 200, 0x1000, 0, released);
    put_memory(&fixture, 100, 0x1000, 30, taken);
    atomic_store(&fixture.producer.header->flushed_ns, at(199));
    drain(&fixture, 1000); /* what may still be missing waits */
    put_memory(&fixture, 150, 0x2000, 5, taken);
    end(&fixture);
    story_has(&fixture.story, "+100 GPU 3/CUDA memory held: 30 bytes\n");
    story_has(&fixture.story, "+150 GPU 3/CUDA memory held: 35 bytes\n");
    const char *released_at = strstr(fixture.story.text, "+200 GPU 3/CUDA memory held: 5 bytes\n");
    assert_non_null(released_at);
    assert_non_null(strstr(released_at, "+200 GPU 3/CUDA memory held: 15 bytes\n"));
}

static void what_was_taken_before_the_window_is_held_only(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_memory(&fixture, 100, 0x1000, 4096, early);
    put_memory(&fixture, 110, 0x2000, 1, taken);
    put_memory(&fixture, 120, 0x2000, 3, taken); /* its release was lost */
    end(&fixture);
    story_lacks(&fixture.story, "+100 ");
    story_has(&fixture.story, "+110 GPU 3/CUDA memory held: 4097 bytes\n");
    story_has(&fixture.story, "+120 GPU 3/CUDA memory held: 4099 bytes\n");
    assert_int_equal(fixture.totals.allocations, 2);
}

static void an_allocation_has_the_place_of_its_call(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_launch_message launch = {.stack = put_stack(&fixture, 0, "a.py", 7, "alloc")};
    put_launch(&fixture, 8, "cudaMallocAsync", launch);
    struct ss_device_memory_message more = {.correlation = 8, .pool = 0x77, .pool_bytes = 900};
    put_memory(&fixture, 100, 0x1000, 4096, more);
    end(&fixture);
    story_has(&fixture.story,
              "instant Allocation (Device, pool) (memory) = 4096 correlation=8 context=1 "
              "address=4096 allocated_bytes=4096 pool=119 reserved_bytes=900 to_memory=device "
              "stack=[\"a.py(7): alloc\"]\n");
}

static void pools_are_marked(void **state)
{
    (void)state;
    static const char *const names[] = {"", "made", "destroyed", "trimmed"};
    struct fixture fixture;
    begin(&fixture);
    for (uint32_t i = SS_DEVICE_POOL_MADE; i <= SS_DEVICE_POOL_TRIMS; i++) {
        struct ss_device_pool_message pool = {.time_ns = at(100 * i),
                                              .pool = 0x77,
                                              .pool_bytes = 1000 * i,
                                              .pool_used_bytes = 10 * i,
                                              .operation = i,
                                              .device = DEVICE};
        put(&fixture, SS_DEVICE_POOL, &pool, sizeof pool);
    }
    end(&fixture);
    for (uint32_t i = SS_DEVICE_POOL_MADE; i <= SS_DEVICE_POOL_TRIMS; i++) {
        char line[200];
        snprintf(line, sizeof line,
                 "+%u GPU 3/CUDA memory instant Memory pool %s (memory) = %u pool=119 "
                 "allocated_bytes=%u reserved_bytes=%u\n",
                 100 * i, names[i], 1000 * i, 10 * i, 1000 * i);
        story_has(&fixture.story, line);
    }
}

/* --- compilations ----------------------------------------------------------------------------- */

static void compilations_have_tracks_of_their_own(void **state)
{
    (void)state;
    static const struct {
        uint64_t begin_ns, end_ns;
        uint32_t operation, input;
    } cases[] = {{100, 200, SS_DEVICE_COMPILES, 1},
                 {150, 250, SS_DEVICE_COMPILES, 2},
                 {200, 210, SS_DEVICE_CACHE_LOADS, 0},
                 {210, 220, SS_DEVICE_CACHE_STORES, 0}};
    struct fixture fixture;
    begin(&fixture);
    for (size_t i = 0; i < 4; i++) {
        struct ss_device_compilation_message one = {.begin_ns = at(cases[i].begin_ns),
                                                    .end_ns = at(cases[i].end_ns),
                                                    .bytes = 77,
                                                    .operation = cases[i].operation,
                                                    .input = cases[i].input,
                                                    .device = DEVICE,
                                                    .correlation = 3};
        put(&fixture, SS_DEVICE_COMPILATION, &one, sizeof one);
    }
    end(&fixture);
    story_has(&fixture.story, "+100 GPU 3/CUDA compilations begin JIT: PTX to machine code "
                              "(compilation) correlation=3 bytes=77\n");
    story_has(&fixture.story, "+150 GPU 3/CUDA compilations (2) begin JIT: NVVM IR to PTX ");
    story_has(&fixture.story, "+200 GPU 3/CUDA compilations begin JIT cache: load ");
    story_has(&fixture.story, "+210 GPU 3/CUDA compilations begin JIT cache: store ");
    assert_int_equal(fixture.totals.compilations, 2);
}

/* --- samples of counters ---------------------------------------------------------------------- */

static void put_sampler(struct fixture *fixture, bool is_on, uint32_t series, uint8_t id)
{
    struct ss_device_sampler_message sampler = {
        .time_ns = at(50), .device = DEVICE, .is_on = is_on, .series = series, .uuid = {id}};
    put(fixture, SS_DEVICE_SAMPLER, &sampler, sizeof sampler);
}

static void put_sample(struct fixture *fixture, uint64_t begin_ns, uint32_t device, double value)
{
    struct ss_device_sample_message sample = {
        .begin_ns = at(begin_ns), .end_ns = at(begin_ns + 10), .device = device, .series = 1};
    sample.values[0] = value;
    put(fixture, SS_DEVICE_SAMPLE, &sample, sizeof sample);
}

static void values_are_written_as_they_change(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_sampler(&fixture, true, 1, 0xaa);
    put_sample(&fixture, 100, DEVICE, 12.34);
    put_sample(&fixture, 110, DEVICE, 12.31); /* the same, in three digits */
    put_sample(&fixture, 120, DEVICE, 50);
    put_sample(&fixture, 130, DEVICE, -1);   /* not plausible */
    put_sample(&fixture, 140, DEVICE, 1e15); /* neither */
    put_sample(&fixture, 150, DEVICE + 1, 50);
    put_sample(&fixture, 20000, DEVICE, 7); /* in the future */
    end(&fixture);
    const char *first = strstr(fixture.story.text, "+100 GPU 3/");
    assert_non_null(first);
    assert_non_null(strstr(first, ": 12.3 %\n"));
    story_lacks(&fixture.story, "+110 ");
    story_has(&fixture.story, "+120 GPU 3/");
    story_lacks(&fixture.story, "+130 ");
    story_lacks(&fixture.story, "+140 ");
    story_has(&fixture.story, "+150 GPU 4/"); /* 0 at the end of the last interval: */
    assert_non_null(strstr(strstr(fixture.story.text, "+150 GPU 3/"), ": 0 %\n"));
    assert_non_null(strstr(strstr(fixture.story.text, "+160 GPU 4/"), ": 0 %\n"));
    assert_int_equal(fixture.totals.samples, 6);
    assert_int_equal(fixture.totals.unplaced, 1);
}

static void no_value_lasts_over_lost_samples(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_sampler(&fixture, true, 1, 0xaa);
    put_sample(&fixture, 100, DEVICE, 50);
    put_sample(&fixture, 120, DEVICE, 50); /* one interval is missing: the same goes on */
    put_sample(&fixture, 150, DEVICE, 50); /* two are */
    end(&fixture);
    story_lacks(&fixture.story, "+110 ");
    story_lacks(&fixture.story, "+120 ");
    const char *over = strstr(fixture.story.text, "+130 GPU 3/");
    assert_non_null(over);
    assert_memory_equal(strstr(over, ": "), ": 0 %\n", 6);
    const char *again = strstr(over, "+150 GPU 3/");
    assert_non_null(again);
    assert_memory_equal(strstr(again, ": "), ": 50 %\n", 7);
}

static void nvml_leaves_out_what_is_sampled(void **state)
{
    (void)state;
    const char *uuid = "GPU-aa000000-0000-0000-0000-000000000000";
    const char *other = "GPU-bb000000-0000-0000-0000-000000000000";
    struct fixture fixture;
    begin(&fixture);
    struct ss_record_context *context = &fixture.story.context;
    put_sampler(&fixture, true, ALL_SERIES, 0xaa);
    drain(&fixture, 1000);
    static const char *const figures[] = {
        "SMs busy",  "SM occupancy",  "tensor cores busy", "DRAM bandwidth used",
        "PCIe sent", "PCIe received", "NVLink sent",       "NVLink received"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        assert_true(ss_device_is_sampled(context, uuid, figures[i]));
        assert_false(ss_device_is_sampled(context, other, figures[i]));
    }
    assert_false(ss_device_is_sampled(context, uuid, "temperature"));
    put_sampler(&fixture, false, ALL_SERIES, 0xaa);
    drain(&fixture, 1000);
    assert_false(ss_device_is_sampled(context, uuid, "SMs busy"));
    put_sampler(&fixture, true, ALL_SERIES, 0xaa);
    drain(&fixture, 1000);
    assert_true(ss_device_is_sampled(context, uuid, "SMs busy"));
    end(&fixture); /* a program that is killed does not say that it ends */
    assert_false(ss_device_is_sampled(context, uuid, "SMs busy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_is_counted),
        cmocka_unit_test(messages_are_put_into_the_order_of_time),
        cmocka_unit_test(what_was_taken_before_the_window_is_held_only),
        cmocka_unit_test(an_allocation_has_the_place_of_its_call),
        cmocka_unit_test(pools_are_marked),
        cmocka_unit_test(compilations_have_tracks_of_their_own),
        cmocka_unit_test(values_are_written_as_they_change),
        cmocka_unit_test(no_value_lasts_over_lost_samples),
        cmocka_unit_test(nvml_leaves_out_what_is_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
