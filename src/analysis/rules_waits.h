/* SPDX-License-Identifier: Apache-2.0 */
/* The rules on what the main thread waits for, of rules.def. Private to analysis/. */
#ifndef SS_ANALYSIS_RULES_WAITS_H
#define SS_ANALYSIS_RULES_WAITS_H

#include "analysis/rules.h"

bool ss_rule_gil_wait(const struct ss_training_facts *facts, struct ss_advice *advice);
bool ss_rule_lock_wait(const struct ss_training_facts *facts, struct ss_advice *advice);
bool ss_rule_thread_wait(const struct ss_training_facts *facts, struct ss_advice *advice);
bool ss_rule_process_wait(const struct ss_training_facts *facts, struct ss_advice *advice);
bool ss_rule_disk_wait(const struct ss_training_facts *facts, struct ss_advice *advice);
bool ss_rule_network_wait(const struct ss_training_facts *facts, struct ss_advice *advice);
bool ss_rule_sleep(const struct ss_training_facts *facts, struct ss_advice *advice);

#endif
