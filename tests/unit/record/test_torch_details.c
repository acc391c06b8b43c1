/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "record/tracks/torch_details.h"
#include "trace/event_fields.h"

/* The fields as text: "grid_x=8 bytes=64". */
static void check(const char *members, struct ss_torch_range range, enum ss_event_type type,
                  const char *name, const char *expected)
{
    struct ss_torch_details details = {0};
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    ss_torch_details_read(&details, ss_strview_of(members));
    uint32_t count = ss_torch_details_fields(&details, &range, type, ss_strview_of(name), fields);
    for (uint32_t i = 0; i < count; i++) {
        const struct ss_trace_value *value = &fields[i].value;
        assert_true(ss_event_field_fits(&fields[i]));
        ss_strbuf_append_format(&text, "%s%s=", i > 0 ? " " : "",
                                ss_event_fields[fields[i].field].name);
        if (value->type == SS_VALUE_TEXT) {
            ss_strbuf_append_view(&text, value->text);
        } else if (value->type == SS_VALUE_REAL) {
            ss_strbuf_append_format(&text, "%g", value->real);
        } else {
            ss_strbuf_append_format(&text, "%" PRId64, value->integer);
        }
    }
    assert_string_equal(count > 0 ? text.data : "", expected);
    ss_strbuf_fini(&text);
    ss_torch_details_fini(&details);
}

static void a_call_has_what_the_hooks_wrote(void **state)
{
    (void)state;
    struct ss_torch_range call = {.kind = SS_TORCH_OPERATOR, .cpu_bytes = 64, .device_bytes = -8};
    check("\"shapes\":[[4,4], []],\"flops\":128,\"stack\":[\"f\"]", call, SS_EVENT_TYPE_operator,
          "aten::mm", "shapes=[[4,4],[]] flops=128 stack=[\"f\"] cpu_bytes=64 device_bytes=-8");
    check("\"grid\":[1,1,1]", call, SS_EVENT_TYPE_operator, "aten::mm",
          "cpu_bytes=64 device_bytes=-8");
}

static void the_types_and_values_of_a_call_are_fields(void **state)
{
    (void)state;
    struct ss_torch_range call = {.kind = SS_TORCH_OPERATOR};
    check("\"shapes\":[[4,4],[]],\"types\":[\"float\",\"ScalarList\"],\"inputs\":[\"\",\"[2, 2]\"]",
          call, SS_EVENT_TYPE_operator, "aten::conv2d",
          "shapes=[[4,4],[]] input_types=[\"float\",\"ScalarList\"] inputs=[\"\",\"[2, 2]\"]");
}

/* The list of `count` times `one`. */
static void append_list(struct ss_strbuf *out, const char *key, const char *one, size_t count)
{
    ss_strbuf_append_format(out, "%s\"%s\":[", out->length > 0 ? "," : "", key);
    for (size_t i = 0; i < count; i++) {
        ss_strbuf_append_format(out, "%s%s", i > 0 ? "," : "", one);
    }
    ss_strbuf_append_char(out, ']');
}

static const struct ss_trace_value *field_of(const struct ss_event_value *fields, uint32_t count,
                                             uint32_t field)
{
    for (uint32_t i = 0; i < count; i++) {
        if (fields[i].field == field) {
            return &fields[i].value;
        }
    }
    return NULL;
}

/* Half a list of shapes would be wrong; half a stack has the innermost frames. */
static void lists_that_are_too_long_are_no_fields(void **state)
{
    (void)state;
    struct ss_torch_details details = {0};
    struct ss_torch_range call = {.kind = SS_TORCH_OPERATOR};
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    struct ss_strbuf members;
    ss_strbuf_init(&members, 1 << 16);
    append_list(&members, "types", "\"float\"", 1800);                               /* 14 KB */
    append_list(&members, "shapes", "[64,64]", 2000);                                /* 16 KB */
    append_list(&members, "stack", "\"train.py(80): a function with a name\"", 500); /* 20 KB */
    ss_torch_details_read(&details, (struct ss_strview){members.data, members.length});
    uint32_t count = ss_torch_details_fields(&details, &call, SS_EVENT_TYPE_operator,
                                             ss_strview_of("aten::mm"), fields);
    const struct ss_trace_value *types = field_of(fields, count, SS_EVENT_FIELD_input_types);
    const struct ss_trace_value *stack = field_of(fields, count, SS_EVENT_FIELD_stack);
    assert_int_equal(types->text.length, 1800 * 8 + 1);
    assert_null(field_of(fields, count, SS_EVENT_FIELD_shapes));
    assert_int_equal(stack->text.length, 375 * 39 + 1);
    assert_int_equal(stack->text.data[stack->text.length - 1], ']');
    ss_torch_details_fini(&details);
    ss_strbuf_fini(&members);
}

static void work_has_what_kineto_knows(void **state)
{
    (void)state;
    struct ss_torch_range work = {.kind = SS_TORCH_DEVICE, .correlation = 7};
    check("\"grid\":[8,4,1],\"block\":[128,1,1],\"registers per thread\":40,"
          "\"est. achieved occupancy %\":37.5,\"graph id\":3,\"graph node id\":9",
          work, SS_EVENT_TYPE_kernel, "gemm",
          "grid_x=8 grid_y=4 grid_z=1 block_x=128 block_y=1 block_z=1 registers=40 "
          "occupancy=37.5 graph=3 graph_node=9 correlation=7");
    check("\"bytes\":4096", work, SS_EVENT_TYPE_copy, "Memcpy DtoH (Device -> Pinned)",
          "bytes=4096 from_memory=device to_memory=pinned correlation=7");
    check("\"shared memory\":400,\"blocks per SM\":4.5,\"warps per SM\":18", work,
          SS_EVENT_TYPE_kernel, "gemm",
          "shared_bytes=400 blocks_per_sm=4.5 warps_per_sm=18 correlation=7");
    check("\"In msg nelems\":1024,\"dtype\":\"BFloat16\",\"Collective name\":\"allreduce\","
          "\"Group size\":8,\"Seq\":12",
          work, SS_EVENT_TYPE_kernel, "nccl",
          "collective=allreduce group_size=8 elements=1024 datatype=BFloat16 sequence=12 "
          "correlation=7");
}

static void a_kernel_has_its_group(void **state)
{
    (void)state;
    struct ss_torch_details details = {0};
    uint32_t size;
    ss_torch_details_read(&details,
                          ss_strview_of("\"Process Group Name\":\"dp\",\"Group size\":8"));
    assert_true(ss_strview_equal(ss_torch_details_group(&details, &size), ss_strview_of("dp")));
    assert_int_equal(size, 8);
    ss_torch_details_fini(&details);
    ss_torch_details_read(&details, ss_strview_of("\"Group size\":-8"));
    assert_int_equal(ss_torch_details_group(&details, &size).length, 0);
    assert_int_equal(size, 0);
    ss_torch_details_fini(&details);
}

static void a_launch_has_its_correlation(void **state)
{
    (void)state;
    struct ss_torch_range launch = {.kind = SS_TORCH_RUNTIME, .correlation = UINT64_C(1) << 40};
    check("", launch, SS_EVENT_TYPE_launch, "cudaLaunchKernel", "correlation=1099511627776");
}

static void inventions_are_no_fields(void **state)
{
    (void)state;
    struct ss_torch_range work = {.kind = SS_TORCH_DEVICE};
    static const char *const hostile[] = {"\"bytes\":",
                                          "\"bytes\":[]",
                                          "\"bytes\":\"many\"",
                                          "\"grid\":[-1,-1,{}],\"dtype\":8",
                                          "}{",
                                          "\"grid\":8.5,\"block\":[0,0]"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        check(hostile[i], work, SS_EVENT_TYPE_kernel, "gemm", "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_what_the_hooks_wrote),
        cmocka_unit_test(the_types_and_values_of_a_call_are_fields),
        cmocka_unit_test(lists_that_are_too_long_are_no_fields),
        cmocka_unit_test(work_has_what_kineto_knows),
        cmocka_unit_test(a_kernel_has_its_group),
        cmocka_unit_test(a_launch_has_its_correlation),
        cmocka_unit_test(inventions_are_no_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
