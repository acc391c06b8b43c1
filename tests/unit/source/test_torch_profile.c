/* SPDX-License-Identifier: Apache-2.0 */
/* What torch.profiler saw: read from its file, on our clock, as ranges that nest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "source/torch_profile.h"

enum { MOST_BYTES = 8192 };

struct file {
    uint8_t bytes[MOST_BYTES];
    size_t size;
};

static void put(struct file *file, const void *bytes, size_t size)
{
    assert_true(file->size + size <= sizeof file->bytes);
    if (size > 0) {
        memcpy(file->bytes + file->size, bytes, size);
    }
    file->size += size;
}

/* CLOCK_REALTIME is 1000 ahead when it begins, and 1010 when it ends, 10,000 later. */
static struct file make(const struct ss_torch_event *events, size_t count)
{
    static const char *const texts[] = {"aten::mm", "\"flops\":8"};
    struct file file = {.size = 0};
    struct ss_torch_profile_head head = {.version = SS_TORCH_PROFILE_VERSION,
                                         .first_step = 5,
                                         .last_step = 8,
                                         .real_begin_ns = 101000,
                                         .monotonic_begin_ns = 100000,
                                         .real_end_ns = 111010,
                                         .monotonic_end_ns = 110000,
                                         .events = (int64_t)count,
                                         .texts = 2};
    put(&file, "SSTORCH1", 8);
    put(&file, &head, sizeof head);
    for (size_t i = 0; i < 2; i++) {
        put(&file, &(int64_t){(int64_t)strlen(texts[i])}, sizeof(int64_t));
    }
    for (size_t i = 0; i < 2; i++) {
        put(&file, texts[i], strlen(texts[i]));
    }
    put(&file, events, count * sizeof *events);
    put(&file, "SSTORCH1", 8);
    return file;
}

static struct ss_torch_event operator_at(int64_t lane, int64_t begin_ns, int64_t duration_ns)
{
    return (struct ss_torch_event){.kind = SS_TORCH_OPERATOR,
                                   .name = 1,
                                   .lane = lane,
                                   .begin_ns = begin_ns,
                                   .duration_ns = duration_ns};
}

static struct ss_torch_event memory_at(int64_t lane, int64_t time_ns, int64_t bytes, int64_t device)
{
    return (struct ss_torch_event){.kind = SS_TORCH_MEMORY,
                                   .lane = lane,
                                   .begin_ns = time_ns,
                                   .device = device,
                                   .number = bytes};
}

static void a_file_says_what_was_seen(void **state)
{
    (void)state;
    struct ss_torch_event event = operator_at(7, 101000, 500);
    struct file file = make(&event, 1);
    struct ss_torch_profile profile;
    assert_int_equal(ss_torch_profile_read(file.bytes, file.size, &profile, NULL), SS_OK);
    assert_int_equal(profile.head.last_step, 8);
    assert_true(ss_strview_equal(ss_torch_profile_text(&profile, 1), ss_strview_of("aten::mm")));
    assert_true(ss_strview_equal(ss_torch_profile_text(&profile, 2), ss_strview_of("\"flops\":8")));
    assert_int_equal(ss_torch_profile_text(&profile, 0).length, 0);
    assert_int_equal(ss_torch_profile_text(&profile, 3).length, 0);
    ss_torch_profile_fini(&profile);
}

static void a_file_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    struct ss_torch_event event = operator_at(7, 101000, 500);
    struct file file = make(&event, 1);
    struct ss_torch_profile profile;
    struct ss_error err;
    for (size_t size = 0; size < file.size; size++) {
        assert_int_equal(ss_torch_profile_read(file.bytes, size, &profile, &err), SS_E_FORMAT);
        assert_null(profile.text_ends);
    }
    for (size_t at = 0; at < 8 + sizeof profile.head + 16; at++) {
        struct file other = file;
        other.bytes[at] ^= 0x80;
        if (ss_torch_profile_read(other.bytes, other.size, &profile, &err) == SS_OK) {
            ss_torch_profile_fini(&profile); /* a number that may be anything */
        }
    }
}

static void times_are_those_of_our_clock(void **state)
{
    (void)state;
    struct file file = make(NULL, 0);
    struct ss_torch_profile profile;
    assert_int_equal(ss_torch_profile_read(file.bytes, file.size, &profile, NULL), SS_OK);
    assert_int_equal(ss_torch_profile_monotonic(&profile, 101000), 100000);
    assert_int_equal(ss_torch_profile_monotonic(&profile, 111010), 110000);
    assert_int_equal(ss_torch_profile_monotonic(&profile, 106005), 105000);
    assert_int_equal(ss_torch_profile_monotonic(&profile, 100999), 99999);
    assert_int_equal(ss_torch_profile_monotonic(&profile, 10), 0);
    ss_torch_profile_fini(&profile);
}

static void ranges_of_a_thread_nest(void **state)
{
    (void)state;
    const struct ss_torch_event events[] = {
        operator_at(8, 101000, 10),
        operator_at(7, 101100, 300), /* reaches beyond the outer one */
        operator_at(7, 101000, 200),
        operator_at(7, 101300, 50),
        {.kind = SS_TORCH_DEVICE, .name = 1, .lane = 7, .begin_ns = 101050, .duration_ns = 9}};
    struct file file = make(events, 5);
    struct ss_torch_profile profile;
    struct ss_torch_ranges ranges;
    assert_int_equal(ss_torch_profile_read(file.bytes, file.size, &profile, NULL), SS_OK);
    ss_torch_ranges_init(&ranges, &profile);
    static const struct {
        int64_t lane;
        uint64_t begin_ns, end_ns;
    } wanted[] = {{7, 100000, 100200},
                  {7, 100100, 100200},
                  {7, 100300, 100350},
                  {8, 100000, 100010},
                  {7, 100050, 100059}};
    assert_int_equal(ranges.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(ranges.data[i].lane, wanted[i].lane);
        assert_int_equal(ranges.data[i].begin_ns, wanted[i].begin_ns);
        assert_int_equal(ranges.data[i].end_ns, wanted[i].end_ns);
    }
    assert_false(ranges.has_memory);
    ss_torch_ranges_fini(&ranges);
    ss_torch_profile_fini(&profile);
}

static void memory_belongs_to_what_is_open(void **state)
{
    (void)state;
    const struct ss_torch_event events[] = {
        operator_at(7, 101000, 900), operator_at(7, 101200, 100), memory_at(7, 101100, 64, 0),
        memory_at(7, 101250, 32, 0), memory_at(7, 101260, 16, 1), memory_at(7, 101500, -96, 0),
        memory_at(8, 101250, 5, 0),  memory_at(7, 105000, 7, 0)};
    struct file file = make(events, 8);
    struct ss_torch_profile profile;
    struct ss_torch_ranges ranges;
    assert_int_equal(ss_torch_profile_read(file.bytes, file.size, &profile, NULL), SS_OK);
    ss_torch_ranges_init(&ranges, &profile);
    assert_int_equal(ranges.count, 2);
    assert_true(ranges.has_memory);
    assert_int_equal(ranges.data[0].cpu_bytes, 0);
    assert_int_equal(ranges.data[0].device_bytes, 16);
    assert_int_equal(ranges.data[1].cpu_bytes, 32);
    assert_int_equal(ranges.data[1].device_bytes, 16);
    ss_torch_ranges_fini(&ranges);
    ss_torch_profile_fini(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_says_what_was_seen),
                                       cmocka_unit_test(a_file_that_is_not_whole_is_refused),
                                       cmocka_unit_test(times_are_those_of_our_clock),
                                       cmocka_unit_test(ranges_of_a_thread_nest),
                                       cmocka_unit_test(memory_belongs_to_what_is_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
