/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many samples bear the phase of their stack: a recording's samples of main threads
 * that are in functions called in_PHASE ("in_none": in no phase), as
 * tests/workloads/torch_phases.py has them.
 *
 *     phase_labels TRACE      prints: samples in such functions, those with another phase, and the
 *                             share that is right in percent
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/core/model.h"

static const char within[] = "in_";

/* Of the innermost such function; NULL: none. */
static const char *phase_of_stack(const struct ss_model *model, uint32_t stack)
{
    for (; stack != 0; stack = model->stacks.data[stack].parent) {
        const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[stack].frame];
        const char *name = ss_model_text(model, frame->name);
        if (strncmp(name, within, sizeof within - 1) == 0) {
            return name + sizeof within - 1;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct ss_error err = {0};
    struct ss_model model;
    struct ss_model_load load = {.sample_phases = true, .only_tracks = (const char *const[]){NULL}};
    uint64_t all = 0, wrong = 0;
    ss_model_init(&model);
    if (argc != 2 || ss_model_add_input(&model, argv[1], &load, &err) != SS_OK) {
        fprintf(stderr, "phase_labels: %s\n", argc != 2 ? "one TRACE is wanted" : err.message);
        ss_model_fini(&model);
        return 2;
    }
    for (size_t i = 0; i < model.totals.count; i++) {
        const struct ss_model_total *total = &model.totals.data[i];
        const char *truth = phase_of_stack(&model, total->stack);
        if (truth == NULL || !model.threads.data[total->thread].is_main) {
            continue;
        }
        const char *phase = ss_model_text(&model, total->phase);
        all += total->samples;
        if (strcmp(truth, total->phase != 0 ? phase : "none") != 0) {
            wrong += total->samples;
            fprintf(stderr, "%" PRIu64 " in_%s labelled \"%s\"\n", total->samples, truth, phase);
        }
    }
    ss_model_fini(&model);
    printf("%" PRIu64 " %" PRIu64 " %.3f\n", all, wrong,
           all > 0 ? 100 * (double)(all - wrong) / (double)all : 0.0);
    return all > 0 ? 0 : 1;
}
