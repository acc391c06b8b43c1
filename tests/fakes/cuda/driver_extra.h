/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake libcuda does for the fake libcudart, beside the functions of the driver. */
#ifndef FAKE_CUDA_DRIVER_EXTRA_H
#define FAKE_CUDA_DRIVER_EXTRA_H

#include "core.h"

/* The exported function of this name, in its newest version; NULL when there is none. */
SIM_API void *sim_driver_function(const char *name);
/* Calls cuLaunchKernel's callbacks, within those of the runtime; launches nothing. */
SIM_API void sim_announce_driver_launch(struct sim_function *function);
/* By the number that the attribute has in the driver and the runtime alike. */
SIM_API int sim_device_attribute(unsigned attribute, unsigned device);

#endif
