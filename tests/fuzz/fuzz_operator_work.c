/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the arguments of an operator: its name, shapes, types, values and the shape of its
 * output, a line each. Whatever they are, work is finite and not negative. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/operators/operator_work.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static struct ss_strview take_line(struct ss_strview *text)
{
    const char *end = text->length > 0 ? memchr(text->data, '\n', text->length) : NULL;
    size_t length = end != NULL ? (size_t)(end - text->data) : text->length;
    struct ss_strview line = {text->data, length};
    size_t used = length + (end != NULL);
    *text = (struct ss_strview){text->data + used, text->length - used};
    return line;
}

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ss_strview none = {"", 0};
    struct ss_strview text = {size > 0 ? (const char *)data : "", size};
    struct ss_strview name = take_line(&text), shapes = take_line(&text), types = take_line(&text);
    struct ss_strview values = take_line(&text), output = take_line(&text);
    struct ss_operator_arguments arguments, of_output;
    struct ss_operator_work work;
    const struct ss_operator_rule *rule = ss_operator_rule_of(name);
    bool has_output = ss_operator_arguments_read(&of_output, output, none, none);
    if (!ss_operator_arguments_read(&arguments, shapes, types, values)) {
        check(arguments.count == 0, "unreadable shapes are none");
    } else if (rule != NULL &&
               ss_operator_work_of(rule, &arguments,
                                   has_output ? ss_operator_tensor(&of_output, 0) : NULL, &work)) {
        check(is_amount(work.flops) && is_amount(work.bytes), "work is finite");
        check(is_amount(work.untyped_elements), "elements are finite");
        check(work.skipped_flops >= 0 && work.skipped_flops <= work.flops, "a part is skipped");
        check(work.type < SS_DATATYPES && work.family < SS_KERNEL_FAMILIES, "it has a kind");
    }
    return 0;
}
