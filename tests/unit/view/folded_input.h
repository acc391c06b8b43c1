/* SPDX-License-Identifier: Apache-2.0 */
/* A model and a selection of all of it, from folded text: what most tests of views start from. */
#ifndef SS_TEST_FOLDED_INPUT_H
#define SS_TEST_FOLDED_INPUT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/selection/selection.h"
#include "model/core/model.h"

struct folded_input {
    struct ss_model model;
    struct ss_selection selection;
};

static inline void select_all(struct folded_input *input)
{
    struct ss_selection_options all = {.size = sizeof all, .idle = SS_IDLE_ALL};
    struct ss_error err = {0};
    if (ss_selection_init(&input->selection, &input->model, &all, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
}

static inline void folded_bytes(struct folded_input *input, const char *bytes, size_t length)
{
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    struct ss_error err = {0};
    ss_model_init(&input->model);
    if (ss_model_add_raw_memory(&input->model, "test.raw", bytes, length, &load, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    select_all(input);
}

static inline void folded_text(struct folded_input *input, const char *text)
{
    folded_bytes(input, text, strlen(text));
}

static inline void folded_fini(struct folded_input *input)
{
    ss_selection_fini(&input->selection);
    ss_model_fini(&input->model);
}

#endif
