/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI as an interface of the writer (interface.h). */
#ifndef SS_INJECT_CUPTI_RECORDS_H
#define SS_INJECT_CUPTI_RECORDS_H

#include "inject/cupti/kinds.h"
#include "inject/cupti/load.h"
#include "inject/device/interface.h"

/* `cupti` must stay. Valid for the life of the process; there is one. */
const struct ss_device_interface *ss_cupti_interface(const struct ss_cupti *cupti,
                                                     enum ss_collecting_level level);

#endif
