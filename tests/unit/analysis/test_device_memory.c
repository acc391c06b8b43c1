/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a program takes from its device, by kind and by step; releases of what was there
 * before, and of what was released unobserved; and what the driver compiled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/devices/device_memory.h"
#include "base/device_api.h"
#include "base/shared_names.h"

enum { KIB = 1024, STEP_NS = 1000 };

struct made {
    struct timed timed;
    uint32_t device, track;
    struct ss_held_memories memories;
};

static void put_field(struct ss_model *model, uint16_t field, uint8_t type, uint64_t value)
{
    struct ss_model_field row = {.field = field, .type = type, .natural = value};
    if (type == SS_VALUE_TEXT) {
        row.text = (uint32_t)value;
    }
    ss_vec_push(&model->fields, row);
}

/* Negative bytes: given back. */
static void change(struct made *made, uint64_t time_ns, uint64_t address, int64_t bytes,
                   const char *memory, uint64_t pool)
{
    struct ss_model *model = &made->timed.model;
    struct ss_model_payload payload = {
        .type = SS_VALUE_INT, .integer = bytes, .first_field = (uint32_t)model->fields.count};
    put_field(model, SS_EVENT_FIELD_address, SS_VALUE_UINT, address);
    put_field(model, SS_EVENT_FIELD_to_memory, SS_VALUE_TEXT, build_text(model, memory));
    if (pool != 0) {
        put_field(model, SS_EVENT_FIELD_pool, SS_VALUE_UINT, pool);
        put_field(model, SS_EVENT_FIELD_reserved_bytes, SS_VALUE_UINT, 64 * KIB);
    }
    ss_vec_push_zero(&model->fields);
    ss_vec_push(&model->payloads, payload);
    BUILD_MARK(model, .track = made->track, .name = "memory", .time_ns = time_ns,
               .payload = (uint32_t)model->payloads.count - 1);
    uint32_t name = model->marks.data[model->marks.count - 1].name;
    model->names.data[name].type = SS_EVENT_TYPE_allocation;
}

static void begin(struct made *made, int steps)
{
    *made = (struct made){0};
    timed_begin(&made->timed);
    for (int i = 0; i < steps; i++) {
        timed_step(&made->timed, (uint64_t)(i + 1) * STEP_NS, (uint64_t)(i + 2) * STEP_NS);
    }
    made->device = timed_device(&made->timed, 0);
    made->track =
        BUILD_TRACK(&made->timed.model, .kind = SS_TRACK_RANGES, .process = made->timed.process,
                    .device = made->device, .group = "GPU 0", .name = ss_domain_cuda_memory);
}

static void find(struct made *made)
{
    timed_load(&made->timed);
    ss_held_memories_init(&made->memories, &made->timed.selection, &made->timed.training);
}

static void end(struct made *made)
{
    ss_held_memories_fini(&made->memories);
    timed_end(&made->timed);
}

static void kinds_and_steps_have_what_they_hold(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 6);
    change(&made, 500, 0x1000, 4 * KIB, "device", 0); /* kept */
    for (uint64_t i = 1; i <= 6; i++) {
        change(&made, i * STEP_NS + 10, 0x2000, 2 * KIB, "device", 0);
        change(&made, i * STEP_NS + 20, 0x3000, KIB, "device", 0x9000);
        change(&made, i * STEP_NS + 30, 0x4000, 8 * KIB, "pinned", 0);
        change(&made, i * STEP_NS + 40, 0x4000, -8 * KIB, "pinned", 0);
        change(&made, i * STEP_NS + 50, 0x3000, -KIB, "device", 0x9000);
        change(&made, i * STEP_NS + 60, 0x2000, -2 * KIB, "device", 0);
    }
    find(&made);
    assert_int_equal(made.memories.kinds.count, 3);
    const struct ss_held_memory_kind *pinned = &made.memories.kinds.data[0];
    const struct ss_held_memory_kind *device = &made.memories.kinds.data[1];
    const struct ss_held_memory_kind *pooled = &made.memories.kinds.data[2];
    assert_int_equal(pinned->peak_bytes, 8 * KIB);
    assert_int_equal(pinned->kept, 0);
    assert_int_equal(device->peak_bytes, 6 * KIB);
    assert_int_equal(device->peak_ns, STEP_NS + 10);
    assert_int_equal(device->held_bytes, 4 * KIB);
    assert_int_equal(device->kept * 100 + device->allocations * 10 + device->releases, 176);
    assert_int_equal(device->kept_bytes, 4 * KIB);
    assert_int_equal(device->allocated_bytes, 16 * KIB);
    assert_true(device->in_steps > 0 && device->in_steps_bytes == device->in_steps * 2 * KIB);
    assert_true(pooled->is_pooled && pooled->peak_bytes == KIB);
    assert_int_equal(pooled->pool_peak_bytes, 64 * KIB);

    assert_true(made.memories.steps.count >= 5);
    const struct ss_held_memory_step *step = &made.memories.steps.data[1];
    assert_int_equal(step->allocations * 10 + step->releases, 33);
    assert_int_equal(step->allocated_bytes, 11 * KIB);
    assert_int_equal(step->peak_bytes, 7 * KIB); /* pinned memory is the host's */
    assert_int_equal(step->end_bytes, 4 * KIB);

    struct ss_table tables[2];
    assert_int_equal(
        ss_device_memory_tables(&made.timed.selection, &made.timed.training, 2, tables), 2);
    assert_int_equal(tables[0].row_count, 3);
    assert_int_equal(tables[1].row_count, 2);
    assert_int_equal(tables[1].hidden_rows, made.memories.steps.count - 2);
    ss_table_fini(&tables[0]);
    ss_table_fini(&tables[1]);
    end(&made);
}

static void what_is_unknown_takes_nothing(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 0);
    change(&made, 10, 0x1000, -64 * KIB, "device", 0); /* from before the recording */
    change(&made, 20, 0x2000, KIB, "device", 0);
    change(&made, 30, 0x2000, 3 * KIB, "device", 0); /* its release was lost */
    change(&made, 40, 0, 5 * KIB, "device", 0);      /* no address: cannot be paired */
    find(&made);
    assert_int_equal(made.memories.kinds.count, 1);
    const struct ss_held_memory_kind *device = &made.memories.kinds.data[0];
    assert_int_equal(device->held_bytes, 3 * KIB);
    assert_int_equal(device->peak_bytes, 3 * KIB);
    assert_int_equal(device->kept * 100 + device->allocations * 10 + device->releases, 131);
    assert_int_equal(made.memories.steps.count, 0);
    end(&made);
}

static void compilations_are_summed(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 3);
    uint32_t track =
        BUILD_TRACK(&made.timed.model, .kind = SS_TRACK_RANGES, .process = made.timed.process,
                    .device = made.device, .group = "GPU 0", .name = ss_domain_cuda_compilations);
    timed_range(&made.timed, track, SS_JIT_COMPILES_PTX, NULL, SS_EVENT_TYPE_range, 100, 700, 0);
    timed_range(&made.timed, track, SS_JIT_CACHE_STORES, NULL, SS_EVENT_TYPE_range, 700, 800, 0);
    timed_range(&made.timed, track, SS_JIT_CACHE_LOADS, NULL, SS_EVENT_TYPE_range, 900, 950, 0);
    timed_range(&made.timed, track, SS_JIT_COMPILES_NVVM, NULL, SS_EVENT_TYPE_range, 1100, 1150, 0);
    find(&made);
    struct ss_compilations sum = ss_compilations_of(&made.timed.selection, &made.timed.training);
    assert_int_equal(sum.count * 10 + sum.loads, 21);
    assert_int_equal(sum.ns, 650);
    assert_int_equal(sum.in_steps_ns, 50);
    end(&made);
}

static void nothing_says_why(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table[2];
    begin(&made, 2);
    find(&made);
    assert_int_equal(ss_device_memory_tables(&made.timed.selection, &made.timed.training, 0, table),
                     1);
    assert_int_equal(table[0].row_count, 0);
    assert_non_null(strstr(table[0].empty_text, "--gpu full"));
    ss_table_fini(&table[0]);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_steps_have_what_they_hold),
        cmocka_unit_test(what_is_unknown_takes_nothing),
        cmocka_unit_test(compilations_are_summed),
        cmocka_unit_test(nothing_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
