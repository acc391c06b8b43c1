/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for people, on stderr, prefix "stepscope:". The domain is the folder of the caller.
 * Levels come from -q/-v and STEPSCOPE_LOG ("python:debug,record:info" or just "debug").
 * Never called on the sample path. Thread-safe: one write per line.
 */
#ifndef SS_BASE_LOG_H
#define SS_BASE_LOG_H

#include "base/error.h"

enum ss_log_level { SS_ERROR, SS_WARN, SS_INFO, SS_DEBUG };

void ss_log(enum ss_log_level level, const char *domain, const char *format, ...) SS_PRINTF(3, 4);
/* Sets the level of all domains that STEPSCOPE_LOG does not name. Default: SS_WARN. */
void ss_log_set_level(enum ss_log_level level);

#endif
