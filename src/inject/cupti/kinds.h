/* SPDX-License-Identifier: Apache-2.0 */
/* Which kinds of records are collected at which level. */
#ifndef SS_INJECT_CUPTI_KINDS_H
#define SS_INJECT_CUPTI_KINDS_H

#include <stddef.h>

#include "inject/cupti/load.h"
#include "inject/device/settings.h"

/* `observes_launches`: calls of the runtime that launch are known from their callbacks, and have no
 * records beside. false: a kind that matters could not be enabled, `problem` says why. */
bool ss_cupti_enable_kinds(const struct ss_cupti *cupti, enum ss_collecting_level level,
                           bool observes_launches, char *problem, size_t size);
/* CUDA was initialised before the collector: has its devices and contexts described. */
void ss_cupti_describe_entities(const struct ss_cupti *cupti);
/* Only what describes devices and contexts. */
void ss_cupti_enable_entities(const struct ss_cupti *cupti);
/* Whether this level collects the kind, and of calls the function: beside another client there are
 * records of others. */
bool ss_cupti_is_wanted(const struct ss_cupti *cupti, enum ss_collecting_level level, int kind,
                        uint32_t function);
/* What another client wants stays. */
void ss_cupti_disable_kinds(const struct ss_cupti *cupti, enum ss_collecting_level level);

#endif
