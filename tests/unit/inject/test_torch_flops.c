/* SPDX-License-Identifier: Apache-2.0 */
/* Where libtorch's objects hold what is read of them, by objects of our own, and what operators
 * compute. Both files are the library's, which exports none of this. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../../src/inject/torch/torch_flops.c" // NOLINT(bugprone-suspicious-include): see above
#include "../../../src/inject/torch/torch_layout.c" // NOLINT(bugprone-suspicious-include): see above

enum { AT = 9 }; /* word of the objects where things are */

struct object {
    uint64_t words[FUNCTION_WORDS];
};

static uint64_t address(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

#define SHAPE(...)                                                                                 \
    ((struct ss_torch_shape){(const int64_t[]){__VA_ARGS__},                                       \
                             sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})

static void test_what_can_not_be_read_is_found_out(void **state)
{
    (void)state;
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(mprotect(page + 4096, 4096, PROT_NONE), 0);
    assert_true(ss_torch_can_read(page, 4096));
    assert_true(ss_torch_can_read(page + 4090, 6));
    assert_false(ss_torch_can_read(page + 4090, 8));
    assert_false(ss_torch_can_read(page + 4096, 1));
    assert_false(ss_torch_can_read(NULL, 8));
    assert_false(ss_torch_can_read((void *)8, 8));
    munmap(page, 8192);
}

static void test_a_place_is_one_that_is_right_each_time(void **state)
{
    (void)state;
    struct ss_torch_search search;
    struct ss_torch_layout layout;
    struct object call = {{0}};
    ss_torch_search_begin(&search);
    for (uint64_t next = 5; next < 8; next++) {
        call.words[AT] = next;
        call.words[AT + 4] = 5; /* right the first time only */
        ss_torch_search_sequence(&search, &call, (int64_t)next);
        if (next == 5) {
            ss_torch_search_end(&search, &layout);
            assert_int_equal(layout.sequence, 0); /* two are left: none is known */
        }
    }
    ss_torch_search_end(&search, &layout);
    assert_int_equal(layout.sequence, AT * 8);
    call.words[AT] = 1;
    ss_torch_search_sequence(&search, &call, 9);
    ss_torch_search_end(&search, &layout);
    assert_int_equal(layout.sequence, 0);
}

static void test_arguments_are_found_by_what_they_are(void **state)
{
    (void)state;
    int a = 0, b = 0;
    struct ss_torch_value values[2] = {{address(&a), SS_TORCH_TENSOR},
                                       {address(&b), SS_TORCH_TENSOR}};
    struct object call = {{0}};
    call.words[2] = 1; /* no address at all */
    call.words[3] = 2;
    call.words[AT] = address(values);
    call.words[AT + 1] = 2;
    struct ss_torch_search search;
    struct ss_torch_layout layout;
    ss_torch_search_begin(&search);
    ss_torch_search_inputs(&search, &call, &a, &b);
    ss_torch_search_end(&search, &layout);
    assert_int_equal(layout.inputs, AT * 8);
    size_t count;
    assert_ptr_equal(ss_torch_inputs(&layout, &call, &count), values);
    assert_int_equal(count, 2);
    ss_torch_search_inputs(&search, &call, &b, &a);
    ss_torch_search_end(&search, &layout);
    assert_int_equal(layout.inputs, 0);
}

/* A tensor and a list as libtorch has them. */
struct tensor {
    uint64_t before[3];
    uint64_t count;
    uint64_t sizes[20];
};
_Static_assert(sizeof(struct tensor) == TENSOR_WORDS * WORD, "as much as is searched");

static struct ss_torch_value tensor_of(struct ss_torch_shape shape)
{
    struct tensor *tensor = calloc(1, sizeof *tensor);
    tensor->count = shape.count;
    if (shape.count <= INLINE_SIZES) {
        memcpy(tensor->sizes, shape.sizes, shape.count * 8);
    } else {
        int64_t *far_sizes = malloc(shape.count * 8);
        memcpy(far_sizes, shape.sizes, shape.count * 8);
        tensor->sizes[0] = address(far_sizes);
    }
    return (struct ss_torch_value){address(tensor), SS_TORCH_TENSOR};
}

enum { LIST_TAG = 15, TRUTH_TAG = 10 };

static struct ss_torch_value list_of(struct ss_torch_shape shape, uint32_t tag)
{
    uint64_t *list = calloc(LIST_WORDS, 8);
    struct ss_torch_value *values = calloc(shape.count, sizeof *values);
    for (size_t i = 0; i < shape.count; i++) {
        values[i] = (struct ss_torch_value){(uint64_t)shape.sizes[i], tag};
    }
    list[2] = address(values);
    list[3] = address(values + shape.count);
    return (struct ss_torch_value){address(list), LIST_TAG};
}

static void free_value(struct ss_torch_value value)
{
    if (value.tag == SS_TORCH_TENSOR) {
        struct tensor *tensor = (struct tensor *)(uintptr_t)value.payload;
        if (tensor->count > INLINE_SIZES) {
            free((void *)(uintptr_t)tensor->sizes[0]);
        }
        free(tensor);
    } else if (value.tag == LIST_TAG) {
        uint64_t *list = (uint64_t *)(uintptr_t)value.payload;
        free((void *)(uintptr_t)list[2]);
        free(list);
    }
}

static void find(struct ss_torch_layout *layout)
{
    struct ss_torch_search search;
    const struct ss_torch_shape shapes[] = {SHAPE(5, 7, 11), SHAPE(3, 2, 6, 4, 1, 8)};
    ss_torch_search_begin(&search);
    for (size_t i = 0; i < 2; i++) {
        struct ss_torch_value value = tensor_of(shapes[i]);
        ss_torch_search_sizes(&search, (const void *)(uintptr_t)value.payload, shapes[i]);
        free_value(value);
    }
    struct ss_torch_value list = list_of(SHAPE(2, 0, 1), SS_TORCH_INTEGER);
    ss_torch_search_list(&search, &list, SHAPE(2, 0, 1));
    free_value(list);
    ss_torch_search_end(&search, layout);
}

static void test_sizes_and_lists_are_found(void **state)
{
    (void)state;
    struct ss_torch_layout layout;
    struct ss_torch_shape shape = {0};
    int64_t values[2] = {0};
    find(&layout);
    assert_int_equal(layout.sizes, 3 * 8);
    assert_int_equal(layout.list, 2 * 8);
    assert_int_equal(layout.list_tag, LIST_TAG);
    struct ss_torch_value tensor = tensor_of(SHAPE(1, 2, 3, 4, 5, 6));
    assert_true(ss_torch_shape_of(&layout, &tensor, &shape));
    assert_int_equal(shape.count, 6);
    assert_int_equal(shape.sizes[5], 6);
    free_value(tensor);
    struct ss_torch_value list = list_of(SHAPE(7, 8, 9), SS_TORCH_INTEGER);
    assert_int_equal(ss_torch_list_of(&layout, &list, values, 2), 3);
    assert_int_equal(values[1], 8);
    free_value(list);
    struct ss_torch_value none = {0, 0}; /* no tensor, and no list */
    assert_false(ss_torch_shape_of(&layout, &none, &shape));
    assert_int_equal(ss_torch_list_of(&layout, &none, values, 2), 0);
}

/* Frees the arguments. */
static uint64_t flops(const char *name, struct ss_torch_value *inputs, size_t count)
{
    struct ss_torch_layout layout = {0};
    find(&layout);
    uint64_t result = ss_torch_flops_of(&layout, name, inputs, count);
    for (size_t i = 0; i < count; i++) {
        free_value(inputs[i]);
    }
    return result;
}
#define FLOPS(name, ...)                                                                           \
    flops(name, (struct ss_torch_value[]){__VA_ARGS__},                                            \
          sizeof((struct ss_torch_value[]){__VA_ARGS__}) / sizeof(struct ss_torch_value))
#define TENSOR(...) tensor_of(SHAPE(__VA_ARGS__))
#define LIST(...) list_of(SHAPE(__VA_ARGS__), SS_TORCH_INTEGER)
#define TRUTH(value)                                                                               \
    (struct ss_torch_value)                                                                        \
    {                                                                                              \
        value, TRUTH_TAG                                                                           \
    }
#define NONE                                                                                       \
    (struct ss_torch_value)                                                                        \
    {                                                                                              \
        0, 0                                                                                       \
    }

static void test_products_of_matrices(void **state)
{
    (void)state;
    assert_int_equal(FLOPS("aten::mm", TENSOR(2, 3), TENSOR(3, 5)), 2 * 2 * 3 * 5);
    assert_int_equal(FLOPS("aten::addmm", TENSOR(5), TENSOR(2, 3), TENSOR(3, 5)), 60);
    assert_int_equal(FLOPS("aten::bmm", TENSOR(4, 2, 3), TENSOR(4, 3, 5)), 240);
    assert_int_equal(FLOPS("aten::mm", TENSOR(2, 3), TENSOR(4, 5)), 0); /* they do not match */
    assert_int_equal(FLOPS("aten::mm", TENSOR(2, 3)), 0);
    assert_int_equal(FLOPS("aten::mm", TENSOR(-2, 3), TENSOR(3, 5)), 0);
    assert_int_equal(FLOPS("aten::mm", TENSOR(INT64_MAX, 3), TENSOR(3, 5)), 0); /* overflows */
    assert_int_equal(FLOPS("aten::add", TENSOR(2, 3), TENSOR(2, 3)), 0);
}

static void test_convolutions(void **state)
{
    (void)state;
    const char *name = "aten::convolution";
    /* 10 by 10, filter 3 by 3, stride 2, padding 1: 5 by 5 places. */
    assert_int_equal(FLOPS(name, TENSOR(2, 3, 10, 10), TENSOR(8, 3, 3, 3), NONE, LIST(2, 2),
                           LIST(1, 1), LIST(1, 1), TRUTH(0), LIST(0, 0), NONE),
                     2 * 2 * 8 * 25 * 3 * 9);
    /* One number for both dimensions; in two groups; dilated: (10 − 5) + 1 = 6 places each way. */
    assert_int_equal(FLOPS(name, TENSOR(1, 4, 10, 10), TENSOR(8, 2, 3, 3), NONE, LIST(1), LIST(0),
                           LIST(2), TRUTH(0), LIST(0), NONE),
                     2 * 8 * 36 * 2 * 9);
    /* Transposed: the filter is applied at each place of the input. */
    assert_int_equal(FLOPS(name, TENSOR(2, 8, 5, 5), TENSOR(8, 4, 3, 3), NONE, LIST(2, 2),
                           LIST(0, 0), LIST(1, 1), TRUTH(1), LIST(0, 0), NONE),
                     2 * 2 * 8 * 25 * 4 * 9);
    assert_int_equal(FLOPS(name, TENSOR(2, 3, 2), TENSOR(8, 3, 3), NONE, LIST(1), LIST(0), LIST(1),
                           TRUTH(0), LIST(0), NONE),
                     0); /* the filter is larger than what it is to slide over */
    assert_int_equal(FLOPS(name, TENSOR(2, 3, 9), TENSOR(8, 3, 3), NONE, LIST(0), LIST(0), LIST(1),
                           TRUTH(0), LIST(0), NONE),
                     0); /* no stride */
    assert_int_equal(FLOPS(name, TENSOR(2, 3, 9), TENSOR(8, 3, 3), NONE, NONE, NONE, NONE), 0);
}

static void test_convolutions_backward(void **state)
{
    (void)state;
    const char *name = "aten::convolution_backward";
    const uint64_t once = 2 * 2 * 8 * 25 * 3 * 9;
    for (int64_t weight = 0; weight < 2; weight++) {
        assert_int_equal(FLOPS(name, TENSOR(2, 8, 5, 5), TENSOR(2, 3, 10, 10), TENSOR(8, 3, 3, 3),
                               NONE, LIST(2, 2), LIST(1, 1), LIST(1, 1), TRUTH(0), LIST(0, 0), NONE,
                               list_of(SHAPE(1, weight, 1), TRUTH_TAG)),
                         once * (1 + (uint64_t)weight));
    }
}

static void test_attention(void **state)
{
    (void)state;
    const char *forward = "aten::_scaled_dot_product_flash_attention",
               *backward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";
    /* 6 pairs in each of 2 by 3 heads; fewer heads of keys; values of another length. */
    assert_int_equal(FLOPS(forward, TENSOR(2, 3, 2, 8), TENSOR(2, 1, 3, 8), TENSOR(2, 1, 3, 4)),
                     2 * 36 * (8 + 4));
    assert_int_equal(FLOPS(backward, TENSOR(2, 3, 2, 4), TENSOR(2, 3, 2, 8), TENSOR(2, 3, 3, 8),
                           TENSOR(2, 3, 3, 4)),
                     2 * 36 * (3 * 8 + 2 * 4));
    assert_int_equal(FLOPS(forward, TENSOR(2, 3, 8), TENSOR(2, 3, 8), TENSOR(2, 3, 8)), 0);
}

static void test_the_device_is_the_byte_that_is_right_each_time(void **state)
{
    (void)state;
    struct ss_torch_search search;
    struct ss_torch_layout layout;
    uint8_t tensor[(size_t)TENSOR_WORDS * WORD];
    memset(tensor, 0x5a, sizeof tensor);
    ss_torch_search_begin(&search);
    for (uint8_t i = 0; i < 4; i++) {
        uint8_t kind = i % 2 == 0 ? SS_TORCH_CPU : SS_TORCH_META;
        tensor[AT * WORD + 3] = kind;
        tensor[0] = kind;                               /* the first word is not searched */
        tensor[100] = i < 3 ? kind : SS_TORCH_META + 1; /* right three times */
        ss_torch_search_device(&search, tensor, kind);
        ss_torch_search_end(&search, &layout);
        assert_int_equal(layout.device, i < 3 ? 0 : AT * WORD + 3);
    }
    struct ss_torch_value value = {address(tensor), SS_TORCH_TENSOR};
    assert_int_equal(ss_torch_device_of(&layout, &value), SS_TORCH_META);
    value.tag = SS_TORCH_INTEGER;
    assert_int_equal(ss_torch_device_of(&layout, &value), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_can_not_be_read_is_found_out),
        cmocka_unit_test(test_a_place_is_one_that_is_right_each_time),
        cmocka_unit_test(test_arguments_are_found_by_what_they_are),
        cmocka_unit_test(test_sizes_and_lists_are_found),
        cmocka_unit_test(test_products_of_matrices),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_convolutions_backward),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_the_device_is_the_byte_that_is_right_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
