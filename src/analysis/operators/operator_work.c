/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/operator_work_inside.h"

struct ss_operator_rule {
    const char *name; /* ends with '*': begins with what is before it */
    enum ss_kernel_family family;
    ss_operator_formula *formula;
    uint8_t parameters[6];
};

static const struct ss_operator_rule rules[] = {
#define SS_OPERATOR(name, family, formula, ...)                                                    \
    {name, SS_KERNEL_##family, ss_work_##formula, {__VA_ARGS__}},
#include "analysis/operators/operator_work.def"
#undef SS_OPERATOR
};

static bool is_named(const struct ss_operator_rule *rule, struct ss_strview name)
{
    size_t length = strlen(rule->name);
    if (rule->name[length - 1] == '*') {
        return name.length >= length - 1 && memcmp(name.data, rule->name, length - 1) == 0;
    }
    return ss_strview_equal(name, (struct ss_strview){rule->name, length});
}

const struct ss_operator_rule *ss_operator_rule_of(struct ss_strview name)
{
    for (int changes = 0; changes < 2; changes++) {
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            if (is_named(&rules[i], name)) {
                return &rules[i];
            }
        }
        if (name.length < 2 || name.data[name.length - 1] != '_') {
            return NULL;
        }
        name.length--;
    }
    return NULL;
}

bool ss_operator_rule_is_product(const struct ss_operator_rule *rule)
{
    return rule->family == SS_KERNEL_MATMUL || rule->family == SS_KERNEL_CONVOLUTION ||
           rule->family == SS_KERNEL_ATTENTION;
}

void ss_work_add(struct ss_operator_work *work, double elements, struct ss_element element)
{
    if (element.bytes != 0) {
        work->bytes += elements * element.bytes;
    } else {
        work->untyped_elements += elements;
    }
}

bool ss_operator_work_of(const struct ss_operator_rule *rule,
                         const struct ss_operator_arguments *arguments,
                         const struct ss_operator_argument *output, struct ss_operator_work *work)
{
    struct ss_operator_call call = {rule->parameters, arguments, output};
    *work = (struct ss_operator_work){.family = rule->family,
                                      .is_product = ss_operator_rule_is_product(rule)};
    return rule->formula(&call, work);
}
