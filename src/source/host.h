/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of the machine and of the recorded processes, read from /proc a few times a second:
 * docs/host-metrics.md lists them. Rates, not totals; one series per device.
 */
#ifndef SS_SOURCE_HOST_H
#define SS_SOURCE_HOST_H

#include "source/source.h"

extern const struct ss_source_ops ss_source_host;

#endif
