/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the machine and of the recorded processes, read from /proc a few times a second and
 * listed in docs/host-metrics.md. Rates, not totals; one series per device.
 */
#ifndef SS_SOURCE_HOST_H
#define SS_SOURCE_HOST_H

#include "source/source.h"

extern const struct ss_source_ops ss_source_host;

#endif
