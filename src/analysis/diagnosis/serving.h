/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that serves requests with a model: how long one takes, and how many more it could
 * serve. Its idle time is not a fault: it waits for its clients. One call of the model counts as
 * one request. Pure.
 */
#ifndef SS_ANALYSIS_DIAGNOSIS_SERVING_H
#define SS_ANALYSIS_DIAGNOSIS_SERVING_H

#include "analysis/training/training_facts.h"

struct ss_serving {
    uint64_t request_ns;  /* mean, without waiting for clients; 0: the program is not a server */
    uint64_t model_ns;    /* of it, in the model */
    double waits_percent; /* of the time, for clients */
    double waits_error;   /* of it, at 95 % */
    double per_s;         /* requests of all processes */
    double possible_per_s;
    const struct ss_hot_line *line; /* with most of the rest; NULL: none */
};

void ss_serving_find(struct ss_serving *serving, const struct ss_training_facts *facts);

#endif
