/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_check.h"

#include "inject/torch/torch_library.h"

enum { MOST_VALUES = 8 };

struct ss_torch_layout ss_torch_layout;

/* The state of the check; owned by the thread that checks. */
static struct {
    uint64_t observer;
    struct ss_torch_search search;
    const void *first, *second; /* of the next product */
    int64_t values[MOST_VALUES];
    size_t value_count;
    unsigned products, lists, wanted_products, wanted_lists;
    unsigned begun, ended;
    unsigned devices; /* the set of types observed so far */
    const char *wrong;
} check;
static _Thread_local bool is_checking;

static void on_product(const struct ss_torch_call *call)
{
    check.products++;
    ss_torch_search_inputs(&check.search, call, check.first, check.second);
    if (ss_torch_library.next_sequence != NULL) {
        ss_torch_search_sequence(&check.search, call, ss_torch_library.next_sequence());
    } else {
        check.search.sequence = 0;
    }
}

static void on_list(const struct ss_torch_call *call)
{
    struct ss_torch_layout so_far;
    size_t count;
    check.lists++;
    ss_torch_search_end(&check.search, &so_far);
    if (so_far.inputs != 0) {
        const struct ss_torch_value *inputs = ss_torch_inputs(&so_far, call, &count);
        if (count == 2 && ss_torch_can_read(inputs, 2 * sizeof *inputs)) {
            ss_torch_search_list(&check.search, &inputs[1],
                                 (struct ss_torch_shape){check.values, check.value_count});
            return;
        }
    }
    check.search.list = 0;
}

static void **on_start(void **context, const struct ss_torch_call *call)
{
    *context = NULL;
    if (!is_checking) {
        return context;
    }
    check.begun++;
    if (!ss_torch_can_read(call, sizeof(void *)) ||
        ss_torch_word(call, 0) != (uintptr_t)ss_torch_library.functions) {
        check.wrong = "its observers do not receive an at::RecordFunction";
        return context;
    }
    const char *name = ss_torch_library.name_of(call);
    if (!ss_torch_can_read(name, 1)) {
        check.wrong = "at::RecordFunction has no name";
    } else if (strcmp(name, "aten::mul") == 0) {
        on_product(call);
    } else if (strcmp(name, "aten::permute") == 0) {
        on_list(call);
    }
    return context;
}

static void on_end(const struct ss_torch_call *call, void *context)
{
    (void)call;
    if (is_checking) {
        check.ended++;
        if (context != NULL) {
            check.wrong = "the value that an observer returns is not passed back";
        }
    }
}

void ss_torch_check_begin(void)
{
    memset(&check, 0, sizeof check);
    ss_torch_search_begin(&check.search);
    is_checking = true;
    check.observer = ss_torch_library.add((struct ss_torch_observer){
        on_start, on_end, 1, .scopes[SS_TORCH_FUNCTION] = true, .needs_inputs = true});
}

void ss_torch_check_product(const void *first, const void *second)
{
    check.wanted_products++;
    check.first = first;
    check.second = second;
}

void ss_torch_check_list(struct ss_torch_shape values)
{
    check.wanted_lists++;
    check.value_count = values.count < MOST_VALUES ? values.count : MOST_VALUES;
    memcpy(check.values, values.sizes, check.value_count * sizeof *check.values);
}

void ss_torch_check_sizes(const void *tensor, struct ss_torch_shape shape)
{
    ss_torch_search_sizes(&check.search, tensor, shape);
}

void ss_torch_check_device(const void *tensor, uint8_t kind)
{
    check.devices |= 1U << kind % 32;
    ss_torch_search_device(&check.search, tensor, kind);
}

const char *ss_torch_check_end(void)
{
    ss_torch_library.remove(check.observer);
    is_checking = false;
    if (check.wrong == NULL && check.wanted_products == 0) {
        check.wrong = "no operator could be tested";
    }
    if (check.wrong == NULL &&
        (check.products != check.wanted_products || check.lists != check.wanted_lists)) {
        check.wrong = "operators run that its observers do not see, or see twice";
    }
    if (check.wrong == NULL && check.begun != check.ended) {
        check.wrong = "its observers do not see operators end";
    }
    if (check.wrong == NULL) {
        ss_torch_search_end(&check.search, &ss_torch_layout);
        bool differ = (check.devices & (check.devices - 1)) != 0;
        ss_torch_layout.device = differ ? ss_torch_layout.device : 0;
    }
    return check.wrong;
}
