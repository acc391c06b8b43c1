/* SPDX-License-Identifier: Apache-2.0 */
/* A libtorch is tried before it is relied on: by fakes of one, some of which are not as we know it.
 * The files are the library's, which exports none of this. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../src/inject/torch/torch_check.c" // NOLINT(bugprone-suspicious-include): see above
#include "../../../src/inject/torch/torch_layout.c" // NOLINT(bugprone-suspicious-include): see above

struct ss_torch_library ss_torch_library;

/* at::RecordFunction, by words. */
enum { SEQUENCE = 20, INPUTS = 22, CALL_WORDS = FUNCTION_WORDS };
struct ss_torch_call {
    uint64_t words[CALL_WORDS];
    const char *name;
};

static struct {
    struct ss_torch_observer observer;
    bool has_observer;
    int64_t sequence;
    /* What is wrong with this one. */
    bool other_class, no_name, runs_nothing, runs_twice, never_ends, returns_something;
    bool moves_inputs;
} fake;
static const void *const functions[4];

static uint64_t add(struct ss_torch_observer observer)
{
    fake.observer = observer;
    fake.has_observer = true;
    return 7;
}

static void remove_observer(uint64_t observer)
{
    assert_int_equal(observer, 7);
    fake.has_observer = false;
}

static const char *name_of(const struct ss_torch_call *call)
{
    return fake.no_name ? NULL : call->name;
}

static int64_t next_sequence(void)
{
    return fake.sequence;
}

static void run_once(const char *name, const struct ss_torch_value *inputs, size_t count)
{
    void *context = &fake;
    struct ss_torch_call call = {.name = name};
    call.words[0] = fake.other_class ? 0x10 : (uint64_t)(uintptr_t)ss_torch_library.functions;
    call.words[SEQUENCE] = (uint64_t)fake.sequence;
    size_t place = INPUTS + (fake.moves_inputs ? (size_t)(fake.sequence / 2 % 2) * 3 : 0);
    call.words[place] = (uint64_t)(uintptr_t)inputs;
    call.words[place + 1] = count;
    assert_true(fake.has_observer && fake.observer.needs_inputs);
    assert_ptr_equal(fake.observer.start(&context, &call), &context);
    assert_null(context);
    if (!fake.never_ends) {
        fake.observer.end(&call, fake.returns_something ? &fake : NULL);
    }
    fake.sequence++;
}

static void run(const char *name, const struct ss_torch_value *inputs, size_t count)
{
    for (int i = 0; i < (fake.runs_nothing ? 0 : fake.runs_twice ? 2 : 1); i++) {
        run_once(name, inputs, count);
    }
}

/* What the Python text does, with a layout of our own. */
static const char *check_all(void)
{
    uint64_t tensor[TENSOR_WORDS] = {0}, list[LIST_WORDS] = {0};
    const int64_t sizes[] = {5, 7, 11}, dims[] = {2, 0, 1};
    struct ss_torch_value values[3], other;
    ss_torch_library =
        (struct ss_torch_library){add, remove_observer, name_of, next_sequence, &functions[2]};
    memset(&ss_torch_layout, 0, sizeof ss_torch_layout);
    fake.sequence = 3;
    tensor[4] = 3;
    memcpy(&tensor[5], sizes, sizeof sizes);
    for (size_t i = 0; i < 3; i++) {
        values[i] = (struct ss_torch_value){(uint64_t)dims[i], SS_TORCH_INTEGER};
    }
    list[3] = (uint64_t)(uintptr_t)values;
    list[4] = (uint64_t)(uintptr_t)(values + 3);
    ss_torch_check_begin();
    for (int i = 0; i < 3; i++) {
        const struct ss_torch_value both[2] = {{(uint64_t)(uintptr_t)tensor, SS_TORCH_TENSOR},
                                               {(uint64_t)(uintptr_t)&other, SS_TORCH_TENSOR}};
        ss_torch_check_product(tensor, &other);
        run("aten::mul", both, 2);
        run("aten::resolve_conj", both, 1); /* is not the expected operator */
    }
    const struct ss_torch_value permuted[2] = {{(uint64_t)(uintptr_t)tensor, SS_TORCH_TENSOR},
                                               {(uint64_t)(uintptr_t)list, 15}};
    ss_torch_check_list((struct ss_torch_shape){dims, 3});
    run("aten::permute", permuted, 2);
    ss_torch_check_sizes(tensor, (struct ss_torch_shape){sizes, 3});
    return ss_torch_check_end();
}

static int start(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    return 0;
}

static void test_all_is_found(void **state)
{
    (void)state;
    assert_null(check_all());
    assert_false(fake.has_observer);
    assert_int_equal(ss_torch_layout.sequence, SEQUENCE * 8);
    assert_int_equal(ss_torch_layout.inputs, INPUTS * 8);
    assert_int_equal(ss_torch_layout.sizes, 4 * 8);
    assert_int_equal(ss_torch_layout.list, 3 * 8);
    assert_int_equal(ss_torch_layout.list_tag, 15);
}

static void assert_refused(const char *why)
{
    assert_string_equal(check_all(), why);
    assert_false(fake.has_observer);
    assert_int_equal(ss_torch_layout.sequence, 0);
    assert_int_equal(ss_torch_layout.inputs, 0);
}

static void test_another_class_is_refused(void **state)
{
    (void)state;
    fake.other_class = true;
    assert_refused("its observers do not receive an at::RecordFunction");
}

static void test_calls_without_a_name_are_refused(void **state)
{
    (void)state;
    fake.no_name = true;
    assert_refused("at::RecordFunction has no name");
}

static void test_operators_that_are_not_seen_are_refused(void **state)
{
    (void)state;
    fake.runs_nothing = true;
    assert_refused("operators run that its observers do not see, or see twice");
}

static void test_operators_that_are_seen_twice_are_refused(void **state)
{
    (void)state;
    fake.runs_twice = true;
    assert_refused("operators run that its observers do not see, or see twice");
}

static void test_operators_without_an_end_are_refused(void **state)
{
    (void)state;
    fake.never_ends = true;
    assert_refused("its observers do not see operators end");
}

static void test_a_foreign_context_is_refused(void **state)
{
    (void)state;
    fake.returns_something = true;
    assert_refused("the value that an observer returns is not passed back");
}

static void test_what_is_not_found_is_not_read(void **state)
{
    (void)state;
    fake.moves_inputs = true;
    assert_null(check_all());
    assert_int_equal(ss_torch_layout.sequence, SEQUENCE * 8);
    assert_int_equal(ss_torch_layout.inputs, 0);
    assert_int_equal(ss_torch_layout.list, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_is_found, start),
        cmocka_unit_test_setup(test_another_class_is_refused, start),
        cmocka_unit_test_setup(test_calls_without_a_name_are_refused, start),
        cmocka_unit_test_setup(test_operators_that_are_not_seen_are_refused, start),
        cmocka_unit_test_setup(test_operators_that_are_seen_twice_are_refused, start),
        cmocka_unit_test_setup(test_operators_without_an_end_are_refused, start),
        cmocka_unit_test_setup(test_a_foreign_context_is_refused, start),
        cmocka_unit_test_setup(test_what_is_not_found_is_not_read, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
