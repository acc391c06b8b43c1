/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's records to messages: every field that is read, records cut anywhere, kinds that are
 * unknown; and the real library's walk over a buffer that is written here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../fakes/cupti_records.h"
#include "inject/cupti/decode.h"

static const char kernel_name[] = "_Z3addPfS_i";

static void a_kernel_has_its_fields(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint8_t record[SS_KERNEL_10_BYTES] = {0};
    ss_put_kernel(record, 41, kernel_name, 1000, 3000);
    ss_put_kernel_device(record, 1);
    ss_put_kernel_static_shared(record, 64);
    ss_put_kernel_dynamic_shared(record, 128);
    ss_put_kernel_graph(record, 5);
    ss_put_kernel_graph_node(record, UINT64_C(0x100000009));
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_EVENT);
    const struct ss_device_work_message *work = &event.message.work;
    assert_int_equal(event.bytes, sizeof *work);
    assert_ptr_equal((const char *)(uintptr_t)event.name, kernel_name);
    assert_int_equal(work->head.kind, SS_DEVICE_WORK);
    assert_int_equal(work->work, SS_DEVICE_KERNEL);
    assert_int_equal(work->begin_ns, 1000);
    assert_int_equal(work->end_ns, 3000);
    assert_int_equal(work->device, 1);
    assert_int_equal(work->context, 1);
    assert_int_equal(work->stream, 7);
    assert_int_equal(work->correlation, 41);
    assert_int_equal(work->registers, 32);
    assert_int_equal(work->static_shared, 64);
    assert_int_equal(work->dynamic_shared, 128);
    assert_int_equal(work->grid[0] * 100 + work->grid[1] * 10 + work->grid[2], 421);
    assert_int_equal(work->block[0], 256);
    assert_int_equal(work->graph, 5);
    assert_int_equal(work->graph_node, UINT64_C(0x100000009));
}

static void a_kernel_without_times_is_none(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint8_t record[SS_KERNEL_8_BYTES] = {0};
    ss_put_kernel(record, 41, kernel_name, 0, 0);
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_TIMELESS);
    ss_put_kernel(record, 41, kernel_name, 3000, 1000);
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_TIMELESS);
}

static void copies_have_memories_and_sizes(void **state)
{
    (void)state;
    struct ss_device_event event;
    const struct ss_device_work_message *work = &event.message.work;
    uint8_t record[SS_COPY_6_BYTES] = {0};
    ss_put_kind(record, SS_CUPTI_COPY);
    ss_put_copy_direction(record, 1);
    ss_put_copy_from(record, 2);
    ss_put_copy_to(record, 3);
    ss_put_copy_flags(record, SS_CUPTI_COPY_IS_ASYNC);
    ss_put_copy_bytes(record, UINT64_C(1) << 33);
    ss_put_copy_begin(record, 10);
    ss_put_copy_end(record, 30);
    ss_put_copy_correlation(record, 9);
    assert_int_equal(ss_cupti_decode(record, SS_COPY_5_BYTES, &event), SS_DECODED_EVENT);
    assert_int_equal(work->work, SS_DEVICE_COPY);
    assert_int_equal(work->bytes, UINT64_C(1) << 33);
    assert_int_equal(work->direction * 100 + work->from * 10 + work->to, 123);
    assert_int_equal(work->flags, SS_DEVICE_ASYNC);
    assert_int_equal(work->correlation, 9);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_PEER_COPY);
    ss_put_peer_copy_begin(record, 10);
    ss_put_peer_copy_end(record, 30);
    ss_put_peer_copy_from_device(record, 2);
    ss_put_peer_copy_to_device(record, 3);
    ss_put_peer_copy_correlation(record, 12);
    assert_int_equal(ss_cupti_decode(record, SS_PEER_COPY_4_BYTES, &event), SS_DECODED_EVENT);
    assert_int_equal(work->from_device * 10 + work->to_device, 23);
    assert_int_equal(work->correlation, 12);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_MEMSET);
    ss_put_memset_begin(record, 10);
    ss_put_memset_end(record, 30);
    ss_put_memset_bytes(record, 4096);
    ss_put_memset_memory(record, 3);
    assert_int_equal(ss_cupti_decode(record, SS_MEMSET_4_BYTES, &event), SS_DECODED_EVENT);
    assert_int_equal(work->work, SS_DEVICE_MEMSET);
    assert_int_equal(work->bytes, 4096);
    assert_int_equal(work->to, 3);
}

static void calls_and_waits_are_those_of_a_thread(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint8_t record[48] = {0};
    ss_put_call(record, SS_CUPTI_DRIVER_CALL, 307, 4711, 8, 5, 6);
    ss_put_call_result(record, 2);
    assert_int_equal(ss_cupti_decode(record, 40, &event), SS_DECODED_EVENT);
    assert_int_equal(event.function, 307);
    assert_int_equal(event.message.call.domain, SS_DEVICE_DRIVER);
    assert_int_equal(event.message.call.thread, 4711);
    assert_int_equal(event.message.call.correlation, 8);
    assert_int_equal(event.message.call.result, 2);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_WAIT);
    ss_put_wait_type(record, 3);
    ss_put_wait_stream(record, 13);
    ss_put_wait_correlation(record, 14);
    assert_int_equal(ss_cupti_decode(record, 40, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.wait.type, 3);
    assert_int_equal(event.message.wait.stream, 13);
    assert_int_equal(event.message.wait.correlation, 14);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_OVERHEAD);
    ss_put_overhead_begin(record, 100);
    ss_put_overhead_end(record, 350);
    assert_int_equal(ss_cupti_decode(record, 40, &event), SS_DECODED_COST);
    assert_int_equal(event.overhead_ns, 250);
}

static void memory_has_its_pool(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint8_t record[SS_MEMORY_4_BYTES] = {0};
    ss_put_kind(record, SS_CUPTI_MEMORY);
    ss_put_memory_operation(record, SS_CUPTI_RELEASES);
    ss_put_memory_memory(record, 3);
    ss_put_memory_address(record, UINT64_C(0x7f0000001000));
    ss_put_memory_bytes(record, UINT64_C(3) << 32);
    ss_put_memory_time(record, 77);
    ss_put_memory_device(record, 2);
    ss_put_memory_stream(record, 13);
    ss_put_memory_correlation(record, 5);
    ss_put_memory_is_async(record, 1);
    ss_put_memory_pool_type(record, SS_CUPTI_LOCAL_POOL);
    ss_put_memory_pool(record, 0x5000);
    ss_put_memory_pool_size(record, 32 << 20);
    ss_put_memory_pool_used(record, 1 << 20);
    assert_int_equal(ss_cupti_decode(record, SS_MEMORY_3_BYTES, &event), SS_DECODED_EVENT);
    const struct ss_device_memory_message *memory = &event.message.memory;
    assert_int_equal(event.bytes, sizeof *memory);
    assert_true(memory->is_release && memory->is_async && !memory->is_early);
    assert_int_equal(memory->memory, 3);
    assert_int_equal(memory->address, UINT64_C(0x7f0000001000));
    assert_int_equal(memory->bytes, UINT64_C(3) << 32);
    assert_int_equal(memory->time_ns, 77);
    assert_int_equal(memory->device * 1000 + memory->stream * 10 + memory->correlation, 2135);
    assert_int_equal(memory->pool, 0x5000);
    assert_int_equal(memory->pool_bytes, 32 << 20);
    assert_int_equal(memory->pool_used_bytes, 1 << 20);

    ss_put_memory_pool_type(record, 2); /* imported: a process is in the place of the size */
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_EVENT);
    assert_int_equal(memory->pool_bytes, 0);
    assert_int_equal(memory->pool, 0x5000);
    ss_put_memory_operation(record, 0);
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_UNKNOWN);
}

static void pools_compilations_and_ids_are_read(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint8_t record[80] = {0};
    ss_put_kind(record, SS_CUPTI_POOL);
    ss_put_pool_operation(record, SS_DEVICE_POOL_TRIMS);
    ss_put_pool_type(record, SS_CUPTI_LOCAL_POOL);
    ss_put_pool_pool(record, 0x5000);
    ss_put_pool_pool_size(record, 64);
    ss_put_pool_pool_used(record, 32);
    ss_put_pool_time(record, 9);
    assert_int_equal(ss_cupti_decode(record, 72, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.pool.operation, SS_DEVICE_POOL_TRIMS);
    assert_int_equal(event.message.pool.pool_bytes * 100 + event.message.pool.pool_used_bytes,
                     6432);
    assert_int_equal(event.message.pool.time_ns, 9);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_COMPILATION);
    ss_put_compilation_operation(record, SS_DEVICE_COMPILES);
    ss_put_compilation_input(record, 1);
    ss_put_compilation_begin(record, 100);
    ss_put_compilation_end(record, 900);
    ss_put_compilation_bytes(record, 4096);
    ss_put_compilation_correlation(record, 3);
    assert_int_equal(ss_cupti_decode(record, 64, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.compilation.end_ns - event.message.compilation.begin_ns, 800);
    assert_int_equal(event.message.compilation.bytes, 4096);
    assert_int_equal(event.message.compilation.correlation, 3);
    ss_put_compilation_end(record, 50);
    assert_int_equal(ss_cupti_decode(record, 64, &event), SS_DECODED_TIMELESS);
    ss_put_compilation_operation(record, 4);
    assert_int_equal(ss_cupti_decode(record, 64, &event), SS_DECODED_UNKNOWN);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_EXTERNAL);
    ss_put_external_id(record, UINT64_C(1) << 40);
    ss_put_external_family(record, 4);
    ss_put_external_correlation(record, 21);
    assert_int_equal(ss_cupti_decode(record, 24, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.external.id, UINT64_C(1) << 40);
    assert_int_equal(event.message.external.family * 100 + event.message.external.correlation, 421);
}

static void devices_and_contexts_are_defined(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint8_t record[200] = {0};
    static const char model[] = "NVIDIA H100";
    ss_put_kind(record, SS_CUPTI_DEVICE);
    ss_put_device_number(record, 3);
    ss_put_device_name(record, (uint64_t)(uintptr_t)model);
    ss_put_device_memory_bytes(record, UINT64_C(80) << 30);
    ss_put_device_multiprocessors(record, 132);
    ss_put_device_uuid(record, (struct ss_cupti_uuid){{1, 2, 3}});
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.device.number, 3);
    assert_int_equal(event.message.device.multiprocessors, 132);
    assert_int_equal(event.message.device.memory_bytes, UINT64_C(80) << 30);
    assert_int_equal(event.message.device.uuid[2], 3);
    assert_ptr_equal((const char *)(uintptr_t)event.name, model);

    memset(record, 0, sizeof record);
    ss_put_kind(record, SS_CUPTI_CONTEXT);
    ss_put_context_context(record, 1);
    ss_put_context_device(record, 3);
    ss_put_context_null_stream(record, 7);
    assert_int_equal(ss_cupti_decode(record, 24, &event), SS_DECODED_EVENT);
    assert_int_equal(event.message.context.device, 3);
    assert_int_equal(event.message.context.null_stream, 7);
}

/* At each length up to the one that is needed. */
static void a_cut_record_is_refused(void **state)
{
    (void)state;
    struct ss_device_event event;
#define SS_CUPTI_RECORD(record, vendor, bytes) bytes,
    static const uint32_t needed[] = {
#include "inject/cupti/cupti_layout.def"
    };
    static const uint32_t kinds[] = {
        SS_CUPTI_KERNEL,       SS_CUPTI_COPY,     SS_CUPTI_PEER_COPY, SS_CUPTI_MEMSET,
        SS_CUPTI_RUNTIME_CALL, SS_CUPTI_WAIT,     SS_CUPTI_EVENT,     SS_CUPTI_GRAPH_LAUNCH,
        SS_CUPTI_OVERHEAD,     SS_CUPTI_EXTERNAL, SS_CUPTI_MEMORY,    SS_CUPTI_POOL,
        SS_CUPTI_COMPILATION,  SS_CUPTI_CONTEXT,  SS_CUPTI_DEVICE};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        for (uint32_t length = 0; length < needed[i]; length++) {
            uint8_t *record = calloc(1, length > 0 ? length : 1); /* a tool sees reads beyond */
            if (length >= 4) {
                ss_put_kind(record, kinds[i]);
            }
            assert_int_equal(ss_cupti_decode(record, length, &event), SS_DECODED_SHORT);
            free(record);
        }
    }
    uint32_t unknown[8] = {54};
    assert_int_equal(ss_cupti_decode(unknown, sizeof unknown, &event), SS_DECODED_UNKNOWN);
}

static void a_recorded_event(void **state)
{
    (void)state;
    struct ss_device_event event;
    uint32_t record[6] = {SS_CUPTI_EVENT, 77, 1, 7, 5};
    assert_int_equal(ss_cupti_decode(record, sizeof record, &event), SS_DECODED_RECORD);
    assert_int_equal(event.message.wait.correlation, 77);
    assert_int_equal(event.message.wait.event, 5);
}

/* --- the real library ------------------------------------------------------------------------- */

static void *open_real(char *path, size_t size)
{
    static const char *const patterns[] = {
        "/usr/local/cuda*/lib64/libcupti.so.1[0-9]", "/usr/local/cuda*/lib/libcupti.so.1[0-9]",
        "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[0-9]"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && library == NULL; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) == 0) {
            snprintf(path, size, "%s", found.gl_pathv[0]);
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
        globfree(&found);
    }
    return library;
}

typedef uint32_t next_record(uint8_t *buffer, size_t valid_size, void **record);
typedef uint32_t get_version(uint32_t *version);

/* What follows the work, with the size that it has in this version. */
static size_t put_rest(uint8_t *at)
{
    ss_put_kind(at, SS_CUPTI_MEMORY);
    ss_put_memory_operation(at, SS_CUPTI_ALLOCATES);
    ss_put_kind(at += SS_MEMORY_4_BYTES, SS_CUPTI_POOL);
    ss_put_pool_operation(at, SS_DEVICE_POOL_MADE);
    ss_put_kind(at += SS_POOL_3_BYTES, SS_CUPTI_COMPILATION);
    ss_put_compilation_operation(at, SS_DEVICE_COMPILES);
    ss_put_compilation_begin(at, 100);
    ss_put_compilation_end(at, 200);
    ss_put_kind(at += SS_COMPILATION_2_BYTES, SS_CUPTI_EXTERNAL);
    return SS_MEMORY_4_BYTES + SS_POOL_3_BYTES + SS_COMPILATION_2_BYTES + SS_EXTERNAL_BYTES;
}

static uint32_t correlation_of(const struct ss_device_event *event, uint32_t otherwise)
{
    return event->message.head.kind == SS_DEVICE_CALL   ? event->message.call.correlation
           : event->message.head.kind == SS_DEVICE_WORK ? event->message.work.correlation
                                                        : otherwise;
}

/* It steps by its own sizes of the records: those of its version. */
static void the_real_library_walks_our_buffer(void **state)
{
    (void)state;
    char path[4096] = "";
    void *library = open_real(path, sizeof path);
    next_record *next = NULL;
    get_version *version_of = NULL;
    if (library != NULL) {
        *(void **)&next = dlsym(library, "cuptiActivityGetNextRecord");
        *(void **)&version_of = dlsym(library, "cuptiGetVersion");
    }
    if (next == NULL || version_of == NULL) {
        print_message("no CUPTI below /usr/local/cuda: skipped\n");
        skip();
    }
    uint32_t version = 0;
    version_of(&version);
    if (version != 130001) { /* other versions have other sizes of kernels */
        print_message("%s has API version %u, not 130001: skipped\n", path, version);
        skip();
    }
    enum { ROUNDS = 100, RECORDS = 7 };
    static const size_t first = 40 + SS_KERNEL_10_BYTES + SS_COPY_6_BYTES;
    static const size_t round =
        first + SS_MEMORY_4_BYTES + SS_POOL_3_BYTES + SS_COMPILATION_2_BYTES + SS_EXTERNAL_BYTES;
    uint8_t *buffer = calloc(ROUNDS, round);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint8_t *at = buffer + i * round;
        ss_put_call(at, SS_CUPTI_RUNTIME_CALL, 211, 1, i, 10 + i, 20 + i);
        ss_put_kernel(at + 40, i, kernel_name, 100 + i, 200 + i);
        ss_put_kind(at + 40 + SS_KERNEL_10_BYTES, SS_CUPTI_COPY);
        ss_put_copy_begin(at + 40 + SS_KERNEL_10_BYTES, 300 + i);
        ss_put_copy_end(at + 40 + SS_KERNEL_10_BYTES, 400 + i);
        ss_put_copy_correlation(at + 40 + SS_KERNEL_10_BYTES, i);
        assert_int_equal(put_rest(at + first), round - first);
    }
    uint32_t counts[SS_DEVICE_MESSAGE_KINDS] = {0}, records = 0;
    void *record = NULL;
    while (next(buffer, ROUNDS * round, &record) == SS_CUPTI_OK) {
        struct ss_device_event event;
        size_t rest = ROUNDS * round - (size_t)((uint8_t *)record - buffer);
        assert_int_equal(ss_cupti_decode(record, rest, &event), SS_DECODED_EVENT);
        assert_int_equal(correlation_of(&event, records / RECORDS), records / RECORDS);
        counts[event.message.head.kind]++;
        records++;
    }
    assert_int_equal(records, RECORDS * ROUNDS);
    assert_int_equal(counts[SS_DEVICE_CALL], ROUNDS);
    assert_int_equal(counts[SS_DEVICE_WORK], 2 * ROUNDS);
    assert_int_equal(counts[SS_DEVICE_MEMORY] + counts[SS_DEVICE_POOL], 2 * ROUNDS);
    assert_int_equal(counts[SS_DEVICE_COMPILATION] + counts[SS_DEVICE_EXTERNAL], 2 * ROUNDS);
    free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_its_fields),
        cmocka_unit_test(a_kernel_without_times_is_none),
        cmocka_unit_test(copies_have_memories_and_sizes),
        cmocka_unit_test(calls_and_waits_are_those_of_a_thread),
        cmocka_unit_test(memory_has_its_pool),
        cmocka_unit_test(pools_compilations_and_ids_are_read),
        cmocka_unit_test(devices_and_contexts_are_defined),
        cmocka_unit_test(a_recorded_event),
        cmocka_unit_test(a_cut_record_is_refused),
        cmocka_unit_test(the_real_library_walks_our_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
