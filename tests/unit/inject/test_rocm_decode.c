/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofiler-sdk's records, as the fake declares them, to messages: every field that is read, both
 * layouts of calls, records cut anywhere, kinds that are unknown, buffers that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../../fakes/rocm/sdk_abi.h"
#include "inject/rocm/decode.h"

static uint64_t space[128];

/* Behind a head, as the collector copies it. */
static size_t put(enum ss_rocm_what what, const void *payload, size_t size)
{
    size_t needed = ss_rocm_read_bytes(what, size);
    struct ss_rocm_record head = {(uint32_t)(sizeof head + ((needed + 7) & ~(size_t)7)), what};
    memset(space, 0, sizeof space);
    memcpy(space, &head, sizeof head);
    memcpy((uint8_t *)space + sizeof head, payload, needed);
    return head.bytes;
}

static kernel_record make_kernel(void)
{
    return (kernel_record){.size = sizeof(kernel_record),
                           .id = {UINT64_C(0x100000007), 3},
                           .begin = 1000,
                           .end = 3000,
                           .info = {.agent = 71,
                                    .queue = 9,
                                    .kernel = 5,
                                    .private_bytes = 16,
                                    .group_bytes = 4096,
                                    .workgroup = {64, 2, 0},
                                    .grid = {129, 4, 3}}};
}

static void a_kernel_has_its_fields(void **state)
{
    (void)state;
    struct ss_device_event event;
    kernel_record kernel = make_kernel();
    size_t bytes = put(SS_ROCM_KERNEL, &kernel, sizeof kernel);
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_EVENT);
    const struct ss_device_work_message *work = &event.message.work;
    assert_int_equal(event.bytes, sizeof *work);
    assert_int_equal(work->work, SS_DEVICE_KERNEL);
    assert_int_equal(work->begin_ns, 1000);
    assert_int_equal(work->end_ns, 3000);
    assert_int_equal(work->correlation, 7);
    assert_int_equal(work->dynamic_shared, 4096);
    assert_int_equal(work->scratch, 16);
    assert_int_equal(work->grid[0], 3); /* 129 work-items in groups of 64 */
    assert_int_equal(work->grid[1], 2);
    assert_int_equal(work->grid[2], 3);
    assert_int_equal(work->block[0], 64);
    assert_int_equal(event.agent, 71);
    assert_int_equal(event.queue, 9);
    assert_int_equal(event.external, 3);
    assert_int_equal(event.name, 5);
}

static void work_without_times_is_none(void **state)
{
    (void)state;
    struct ss_device_event event;
    kernel_record kernel = make_kernel();
    kernel.begin = 0;
    size_t bytes = put(SS_ROCM_KERNEL, &kernel, sizeof kernel);
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_TIMELESS);
    kernel.begin = 4000;
    put(SS_ROCM_KERNEL, &kernel, sizeof kernel);
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_TIMELESS);
}

static void copies_have_directions(void **state)
{
    static const struct {
        int direction;
        uint64_t from, to, agent;
        uint8_t cupti;
    } copies[] = {{1, 70, 70, 70, 9},   {2, 70, 71, 71, 1},  {3, 72, 70, 72, 2},
                  {4, 71, 71, 71, 8},   {4, 71, 72, 72, 10}, {0, 71, 72, 72, 0},
                  {999, 71, 72, 72, 0}, {-1, 71, 72, 72, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct ss_device_event event;
        copy_record copy = {.size = sizeof copy - 16,
                            .operation = copies[i].direction,
                            .id = {4, 0},
                            .begin = 10,
                            .end = 20,
                            .from = copies[i].from,
                            .to = copies[i].to,
                            .bytes = 512};
        size_t bytes = put(SS_ROCM_COPY, &copy, copy.size);
        assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_EVENT);
        assert_int_equal(event.message.work.direction, copies[i].cupti);
        assert_int_equal(event.agent, copies[i].agent);
        assert_int_equal(event.message.work.bytes, 512);
    }
}

static void calls_of_both_layouts_are_the_same(void **state)
{
    (void)state;
    struct ss_device_event event;
    call_record now = {sizeof now, 5, 17, {8, 0, 2}, 100, 200, 4321};
    old_call_record old = {sizeof old, 5, 17, {8, 0}, 100, 200, 4321};
    for (int i = 0; i < 2; i++) {
        size_t bytes = i == 0 ? put(SS_ROCM_RCCL_CALL, &now, sizeof now)
                              : put(SS_ROCM_RCCL_CALL, &old, sizeof old);
        assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_EVENT);
        const struct ss_device_call_message *call = &event.message.call;
        assert_int_equal(call->domain, SS_DEVICE_COMMUNICATION);
        assert_int_equal(call->begin_ns, 100);
        assert_int_equal(call->end_ns, 200);
        assert_int_equal(call->thread, 4321);
        assert_int_equal(call->correlation, 8);
        assert_int_equal(event.function, 17);
    }
}

static void an_agent_is_a_device(void **state)
{
    (void)state;
    static const char product[] = "Instinct";
    struct ss_device_event event;
    agent_data agent = {.size = sizeof agent, .id = 71, .product = product, .units = 304};
    agent.memory = 1024;
    agent.uuid[15] = 9;
    size_t bytes = put(SS_ROCM_AGENT, &agent, sizeof agent);
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.device.memory_bytes, 1024);
    assert_int_equal(event.message.device.multiprocessors, 304);
    assert_ptr_equal((const char *)(uintptr_t)event.name, product);
    assert_int_equal(event.message.device.uuid[15], 9);
    bytes = put(SS_ROCM_AGENT, &agent, sizeof agent - sizeof agent.uuid); /* before 1.0 */
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.device.uuid[15], 0);
}

static void short_and_unknown_records_are_refused(void **state)
{
    (void)state;
    struct ss_device_event event;
    kernel_record kernel = make_kernel();
    size_t bytes = put(SS_ROCM_KERNEL, &kernel, sizeof kernel);
    for (size_t cut = 0; cut < bytes; cut++) {
        assert_int_equal(ss_rocm_decode(space, cut, &event), SS_DECODED_SHORT);
    }
    struct ss_rocm_record head = {(uint32_t)bytes, 99};
    memcpy(space, &head, sizeof head);
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_UNKNOWN);
    head = (struct ss_rocm_record){sizeof head, SS_ROCM_COPY};
    memcpy(space, &head, sizeof head);
    assert_int_equal(ss_rocm_decode(space, bytes, &event), SS_DECODED_SHORT);
    assert_int_equal(ss_rocm_read_bytes(SS_ROCM_KERNEL, 127), 0);
    assert_int_equal(ss_rocm_read_bytes(SS_ROCM_HIP_CALL, 55), 0);
}

static void a_buffer_is_walked(void **state)
{
    (void)state;
    uint8_t *bytes = (uint8_t *)space;
    struct ss_rocm_record first = {16, SS_ROCM_KERNEL}, second = {24, SS_ROCM_COPY};
    memcpy(bytes, &first, sizeof first);
    memcpy(bytes + 16, &second, sizeof second);
    void *record = NULL;
    assert_true(ss_rocm_next_record(bytes, 40, &record));
    assert_ptr_equal(record, bytes);
    assert_true(ss_rocm_next_record(bytes, 40, &record));
    assert_ptr_equal(record, bytes + 16);
    assert_false(ss_rocm_next_record(bytes, 40, &record));
    record = NULL;
    assert_false(ss_rocm_next_record(bytes, 8, &record)); /* it is longer than the buffer */
    first.bytes = 0;
    memcpy(bytes, &first, sizeof first);
    record = NULL;
    assert_false(ss_rocm_next_record(bytes, 40, &record)); /* it would stay where it is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_its_fields),
        cmocka_unit_test(work_without_times_is_none),
        cmocka_unit_test(copies_have_directions),
        cmocka_unit_test(calls_of_both_layouts_are_the_same),
        cmocka_unit_test(an_agent_is_a_device),
        cmocka_unit_test(short_and_unknown_records_are_refused),
        cmocka_unit_test(a_buffer_is_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
