/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/operators/operator_work.h"

#define F "\"float\""
#define H "\"c10::Half\""
#define B "\"c10::BFloat16\""
#define N "\"Scalar\""
#define L "\"ScalarList\""

/* A call as a profiler records it, and what it has to do. */
struct call {
    const char *name, *shapes, *types, *values;
    double flops, bytes;
    enum ss_datatype type;
    double untyped, skipped;
};

static bool work_of(const struct call *call, const char *output, struct ss_operator_work *work)
{
    struct ss_operator_arguments arguments, of_output;
    const struct ss_operator_rule *rule = ss_operator_rule_of(ss_strview_of(call->name));
    struct ss_strview none = {"", 0};
    bool has_output =
        output != NULL && ss_operator_arguments_read(&of_output, ss_strview_of(output), none, none);
    assert_non_null(rule);
    return ss_operator_arguments_read(&arguments, ss_strview_of(call->shapes),
                                      call->types != NULL ? ss_strview_of(call->types) : none,
                                      call->values != NULL ? ss_strview_of(call->values) : none) &&
           ss_operator_work_of(rule, &arguments,
                               has_output ? ss_operator_tensor(&of_output, 0) : NULL, work);
}

static void check(const struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ss_operator_work work;
        if (!work_of(&calls[i], NULL, &work)) {
            fail_msg("%s %s: no work", calls[i].name, calls[i].shapes);
        }
        if (work.flops != calls[i].flops || work.bytes != calls[i].bytes ||
            work.untyped_elements != calls[i].untyped || work.skipped_flops != calls[i].skipped ||
            work.type != calls[i].type) {
            fail_msg("%s %s: %g FLOPs, %g bytes, %g elements, %g skipped, type %d", calls[i].name,
                     calls[i].shapes, work.flops, work.bytes, work.untyped_elements,
                     work.skipped_flops, (int)work.type);
        }
    }
}
#define CHECK(calls) check(calls, sizeof(calls) / sizeof *(calls))

static void matrix_products(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {"aten::mm", "[[4, 8], [8, 16]]", "[" F "," F "]", NULL, 2 * 4 * 8 * 16,
         4 * (4 * 8 + 8 * 16 + 4 * 16), SS_DATATYPE_FP32, 0, 0},
        {"aten::mm", "[[4, 8], [8, 16]]", NULL, NULL, 1024, 0, SS_DATATYPE_UNKNOWN,
         4 * 8 + 8 * 16 + 4 * 16, 0},
        {"aten::addmm", "[[16], [4, 8], [8, 16], [], []]", "[" H "," H "," H "," N "," N "]", NULL,
         1024, 2 * (16 + 32 + 128 + 64), SS_DATATYPE_FP16, 0, 0},
        {"aten::bmm", "[[3, 4, 8], [3, 8, 16]]", "[" B "," B "]", NULL, 3 * 1024, 3 * 2 * 224,
         SS_DATATYPE_BF16, 0, 0},
        {"aten::baddbmm", "[[3, 4, 16], [3, 4, 8], [3, 8, 16], [], []]",
         "[" F "," F "," F "," N "," N "]", NULL, 3 * 1024, 3 * 4 * (224 + 64), SS_DATATYPE_FP32, 0,
         0},
        {"aten::linear", "[[2, 3, 8], [16, 8], [16]]", "[" F "," F "," F "]", NULL, 2 * 6 * 8 * 16,
         4 * (48 + 128 + 16 + 96), SS_DATATYPE_FP32, 0, 0},
        /* Batches are broadcast; a vector has one row, or one column. */
        {"aten::matmul", "[[5, 1, 4, 8], [3, 8, 16]]", "[" F "," F "]", NULL, 2.0 * 15 * 4 * 8 * 16,
         4 * (160 + 384 + 15 * 64), SS_DATATYPE_FP32, 0, 0},
        {"aten::matmul", "[[8], [8, 16]]", "[" F "," F "]", NULL, 2 * 8 * 16, 4 * (8 + 128 + 16),
         SS_DATATYPE_FP32, 0, 0},
        {"aten::mv", "[[4, 8], [8]]", "[" F "," F "]", NULL, 64, 4 * (32 + 8 + 4), SS_DATATYPE_FP32,
         0, 0},
        /* Eight-bit factors; 15 is bfloat16. */
        {"aten::_scaled_mm", "[[4, 8], [8, 16], [], [], [], [], [], []]",
         "[\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\"," F "," F ",\"\",\"\"," N "," N "]",
         "[\"\",\"\",\"\",\"\",\"\",\"\",\"15\",\"False\"]", 1024, 32 + 128 + 2 * 64,
         SS_DATATYPE_FP8, 0, 0},
    };
    CHECK(calls);
}

static void convolutions(void **state)
{
    (void)state;
    static const struct call calls[] = {
        /* [2, 3, 16, 16] by 8 filters of 3x3, stride 2, padding 1: 8x8 positions. */
        {"aten::convolution", "[[2,3,16,16],[8,3,3,3],[8],[],[],[],[],[],[]]",
         "[" F "," F "," F "," L "," L "," L "," N "," L "," N "]",
         "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]",
         2.0 * 2 * 8 * 64 * 27, 4 * (1536 + 216 + 8 + 1024), SS_DATATYPE_FP32, 0, 0},
        /* Four groups, dilation 2 and padding 2: as many positions as the input has. */
        {"aten::conv2d", "[[2,8,8,8],[16,2,3,3],[],[],[],[],[]]",
         "[" F "," F ",\"\"," L "," L "," L "," N "]",
         "[\"\",\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[2, 2]\",\"4\"]", 2.0 * 2 * 16 * 64 * 18,
         4 * (1024 + 288 + 2048), SS_DATATYPE_FP32, 0, 0},
        /* One setting for all dimensions; the arguments of cudnn come in another order. */
        {"aten::cudnn_convolution", "[[1,4,9],[6,4,3],[],[],[],[],[],[],[]]",
         "[" H "," H "," L "," L "," L "," N "," N "," N "," N "]",
         "[\"\",\"\",\"[1]\",\"[2]\",\"[1]\",\"1\",\"False\",\"False\",\"True\"]", 2.0 * 6 * 5 * 12,
         2 * (36 + 72 + 30), SS_DATATYPE_FP16, 0, 0},
        /* Transposed: each element of the input by each weight; the output has 16x16. */
        {"aten::convolution", "[[2,8,8,8],[8,4,2,2],[4],[],[],[],[],[],[]]",
         "[" F "," F "," F "," L "," L "," L "," N "," L "," N "]",
         "[\"\",\"\",\"\",\"[2, 2]\",\"[0, 0]\",\"[1, 1]\",\"True\",\"[0, 0]\",\"1\"]",
         2.0 * 1024 * 16, 4 * (1024 + 128 + 4 + 2 * 4 * 256), SS_DATATYPE_FP32, 0, 0},
    };
    CHECK(calls);
}

static void convolutions_backward(void **state)
{
    (void)state;
    static const char shapes[] = "[[2,8,8,8],[2,3,16,16],[8,3,3,3],[],[],[],[],[],[],[],[]]";
    static const char types[] =
        "[" F "," F "," F "," L "," L "," L "," L "," N "," L "," N "," L "]";
    const double once = 2.0 * 2 * 8 * 64 * 27;
    const struct call calls[] = {
        {"aten::convolution_backward", shapes, types,
         "[\"\",\"\",\"\",\"[8]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
         "\"[True, True, True]\"]",
         2 * once, 4 * (1024 + 2 * 1536 + 2 * 216), SS_DATATYPE_FP32, 0, 0},
        /* The first layer needs no gradient of its input. */
        {"aten::convolution_backward", shapes, types,
         "[\"\",\"\",\"\",\"[8]\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
         "\"[False, True, True]\"]",
         once, 4 * (1024 + 1536 + 216), SS_DATATYPE_FP32, 0, 0},
        /* Without values: both, and no transposed one, by the channels. */
        {"aten::convolution_backward", shapes, types, NULL, 2 * once,
         4 * (1024 + 2 * 1536 + 2 * 216), SS_DATATYPE_FP32, 0, 0},
        {"aten::cudnn_convolution_backward",
         "[[2,3,16,16],[2,8,8,8],[8,3,3,3],[],[],[],[],[],[],[],[]]", types, NULL, 2 * once,
         4 * (1024 + 2 * 1536 + 2 * 216), SS_DATATYPE_FP32, 0, 0},
    };
    CHECK(calls);
}

/* Where values were not recorded, the gradient of the output has the output's shape. */
static void a_convolution_needs_its_settings_or_its_output(void **state)
{
    (void)state;
    static const struct call plain = {.name = "aten::convolution",
                                      .shapes = "[[2,3,16,16],[8,3,3,3],[8],[],[],[],[],[],[]]",
                                      .types = "[" F "," F "," F "]"},
                             square = {.name = "aten::convolution",
                                       .shapes = "[[2,8,8,8],[8,8,2,2],[],[],[],[],[],[],[]]",
                                       .types = "[" F "," F "]"};
    struct ss_operator_work work;
    assert_false(work_of(&plain, NULL, &work));
    assert_true(work_of(&plain, "[[2,8,8,8]]", &work));
    assert_float_equal(work.flops, 2.0 * 2 * 8 * 64 * 27, 0);
    assert_true(work_of(&square, "[[2,8,4,4]]", &work)); /* smaller: not transposed */
    assert_float_equal(work.flops, 2.0 * 2 * 8 * 16 * 32, 0);
    assert_true(work_of(&square, "[[2,8,16,16]]", &work)); /* larger: transposed */
    assert_float_equal(work.flops, 2.0 * 2 * 8 * 64 * 32, 0);
}

static void attention(void **state)
{
    (void)state;
    static const char types[] = "[" B "," B "," B "," N "," N "," N "," N "]";
    /* Heads, then positions; a causal mask leaves out the pairs above the diagonal. */
    static const struct call calls[] = {
        {"aten::_scaled_dot_product_flash_attention",
         "[[2,3,10,4],[2,3,20,4],[2,3,20,5],[],[],[],[]]", types,
         "[\"\",\"\",\"\",\"0.\",\"False\",\"False\",\"0.5\"]", 2.0 * 6 * 10 * 20 * 9,
         2 * (240 + 480 + 600 + 300), SS_DATATYPE_BF16, 0, 0},
        {"aten::_scaled_dot_product_flash_attention", "[[1,1,4,2],[1,1,4,2],[1,1,4,2],[],[],[],[]]",
         types, "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"0.5\"]", 2.0 * 16 * 4, 2 * 32,
         SS_DATATYPE_BF16, 0, 2.0 * 6 * 4},
        /* Positions, then heads. */
        {"aten::_flash_attention_forward",
         "[[2,10,3,4],[2,20,3,4],[2,20,3,4],[],[],[],[],[],[],[],[],[],[],[],[]]", types, NULL,
         2.0 * 6 * 10 * 20 * 8, 2 * (240 + 480 + 480 + 240), SS_DATATYPE_BF16, 0, 0},
        {"aten::_scaled_dot_product_flash_attention_backward",
         "[[2,3,10,4],[2,3,10,4],[2,3,20,4],[2,3,20,4],[2,3,10,4],[2,3,10],[],[],[],[],[],[]]",
         "[" B "," B "," B "," B "," B "," F "]", NULL, 2.0 * 6 * 10 * 20 * 20,
         2 * (2 * (240 + 480 + 480) + 2 * 240), SS_DATATYPE_BF16, 0, 0},
    };
    CHECK(calls);
}

static void elementwise_operators(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {"aten::add", "[[4, 1, 3], [5, 1], []]", "[" F "," F "," N "]", "[\"\",\"\",\"1\"]", 60,
         4 * (12 + 5 + 60), SS_DATATYPE_FP32, 0, 0},
        {"aten::add_", "[[6], [6], []]", "[" H "," H "," N "]", NULL, 6, 2 * 18, SS_DATATYPE_FP16,
         0, 0},
        {"aten::mul", "[[6], []]", "[" H ",\"double\"]", NULL, 6, 2 * 12 + 8, SS_DATATYPE_FP16, 0,
         0},
        {"aten::lt", "[[6], [6]]", "[" F "," F "]", NULL, 6, 48 + 6, SS_DATATYPE_FP32, 0, 0},
        {"aten::relu", "[[2, 3]]", "[" F "]", NULL, 6, 48, SS_DATATYPE_FP32, 0, 0},
        {"aten::copy_", "[[6], [6], []]", "[" H "," F "," N "]", NULL, 0, 12 + 24, SS_DATATYPE_FP16,
         0, 0},
        {"aten::fill_", "[[6], []]", "[" F "," N "]", NULL, 0, 24, SS_DATATYPE_FP32, 0, 0},
        {"aten::native_layer_norm", "[[2, 8], [], [8], [8], []]", "[" F "," L "," F "," F "," N "]",
         NULL, 7 * 16, 4 * (16 + 8 + 8 + 16), SS_DATATYPE_FP32, 0, 0},
        {"aten::_softmax", "[[2, 8], [], []]", "[" F "," N "," N "]", NULL, 5 * 16, 4 * 32,
         SS_DATATYPE_FP32, 0, 0},
        {"triton_poi_fused_add_relu_0", "[[6], [3], [6], []]", "[" B "," B "," B "," N "]", NULL, 6,
         2 * 15, SS_DATATYPE_BF16, 0, 0},
    };
    CHECK(calls);
}

static void reductions_tables_and_lists(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {"aten::sum", "[[4, 5, 6], [], [], []]", "[" F "," L "," N ",\"\"]",
         "[\"\",\"[-1, 0]\",\"False\",\"\"]", 120, 4 * (120 + 5), SS_DATATYPE_FP32, 0, 0},
        {"aten::sum", "[[4, 5], []]", "[" F ",\"\"]", NULL, 20, 84, SS_DATATYPE_FP32, 0, 0},
        {"aten::embedding", "[[100, 8], [2, 5], [], [], []]", "[" F ",\"long int\"," N "]", NULL, 0,
         80 + 2 * 4 * 80, SS_DATATYPE_FP32, 0, 0},
        {"aten::embedding_dense_backward", "[[2, 5, 8], [2, 5], [], [], []]",
         "[" F ",\"long int\"," N "," N "," N "]", "[\"\",\"\",\"100\",\"-1\",\"False\"]", 80,
         320 + 80 + 4 * 800, SS_DATATYPE_FP32, 0, 0},
        {"aten::index_select", "[[50, 8], [], [10]]", "[" F "," N ",\"long int\"]",
         "[\"\",\"0\",\"\"]", 0, 80 + 2 * 4 * 80, SS_DATATYPE_FP32, 0, 0},
        {"aten::gather", "[[50, 8], [], [10, 8]]", "[" F "," N ",\"long int\"]", NULL, 0,
         640 + 2 * 4 * 80, SS_DATATYPE_FP32, 0, 0},
        /* The types of lists are not recorded. */
        {"aten::cat", "[[[2, 3], [4, 3]], []]", "[\"TensorList\"," N "]", NULL, 0, 0,
         SS_DATATYPE_UNKNOWN, 36, 0},
        {"aten::_foreach_add_", "[[[2, 3], [4]], [[2, 3], [4]], []]",
         "[\"TensorList\",\"TensorList\"," N "]", NULL, 10, 0, SS_DATATYPE_UNKNOWN, 30, 0},
        {"aten::_foreach_mul_", "[[[2, 3], [4]], []]", "[\"TensorList\"," N "]", NULL, 10, 0,
         SS_DATATYPE_UNKNOWN, 20, 0},
        {"aten::_fused_adamw_", "[[[10]],[[10]],[[10]],[[10]],[],[]]",
         "[\"TensorList\",\"TensorList\",\"TensorList\",\"TensorList\",\"TensorList\"]", NULL, 130,
         0, SS_DATATYPE_UNKNOWN, 70, 0},
    };
    CHECK(calls);
}

static void arguments_that_do_not_fit_have_no_work(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {.name = "aten::mm", .shapes = "[[4, 8], [7, 16]]"},
        {.name = "aten::mm", .shapes = "[[4, 8]]"},
        {.name = "aten::bmm", .shapes = "[[3, 4, 8], [2, 8, 16]]"},
        {.name = "aten::linear", .shapes = "[[2, 8], [16, 9], [16]]"},
        {.name = "aten::matmul", .shapes = "[[2, 4, 8], [3, 8, 16]]"},
        {.name = "aten::convolution", .shapes = "[[2,3,16,16],[8,3,3],[],[],[],[],[],[],[]]"},
        {.name = "aten::conv2d",
         .shapes = "[[2,3,2,2],[8,3,3,3],[],[],[],[],[]]",
         .values = "[\"\",\"\",\"\",\"[1, 1]\",\"[0, 0]\",\"[1, 1]\",\"1\"]"}, /* too small */
        {.name = "aten::conv2d",
         .shapes = "[[2,3,8,8],[8,3,3,3],[],[],[],[],[]]",
         .values = "[\"\",\"\",\"\",\"[0, 0]\",\"[0, 0]\",\"[1, 1]\",\"1\"]"},
        {.name = "aten::_flash_attention_forward",
         .shapes = "[[9,3,4],[9,3,4],[9,3,4]]"}, /* ragged */
        {.name = "aten::add", .shapes = "[[4], [5]]"},
        {.name = "aten::cat", .shapes = "[[], []]", .types = "[\"TensorList\"," N "]"},
        {.name = "aten::index_select", .shapes = "[[4], [], [2]]"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct ss_operator_work work;
        if (work_of(&calls[i], NULL, &work)) {
            fail_msg("%s %s has work", calls[i].name, calls[i].shapes);
        }
    }
}

static void other_operators_have_no_formula(void **state)
{
    (void)state;
    static const char *const names[] = {
        "", "_", "aten::", "aten::view", "aten::mmm", "triton_mm_0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(ss_operator_rule_of(ss_strview_of(names[i])));
    }
    assert_true(ss_operator_rule_is_product(ss_operator_rule_of(ss_strview_of("aten::mm"))));
    assert_false(ss_operator_rule_is_product(ss_operator_rule_of(ss_strview_of("aten::add_"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_products),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(convolutions_backward),
        cmocka_unit_test(a_convolution_needs_its_settings_or_its_output),
        cmocka_unit_test(attention),
        cmocka_unit_test(elementwise_operators),
        cmocka_unit_test(reductions_tables_and_lists),
        cmocka_unit_test(arguments_that_do_not_fit_have_no_work),
        cmocka_unit_test(other_operators_have_no_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
