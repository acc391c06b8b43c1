/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector of CUDA devices in a program that nothing was injected into: the program itself, or
 * its consent to being attached, arms and disarms it. If CUDA is initialised, the collector starts
 * at once, beside the contexts that there are; else the driver loads it, by CUDA_INJECTION64_PATH,
 * which is set in this process until then.
 */
#ifndef SS_INJECT_CUPTI_ARMING_H
#define SS_INJECT_CUPTI_ARMING_H

/* settings: as STEPSCOPE_GPU has them. A recording has begun. `answers`: the program calls
 * stepscope_devices_end when the recorder asks for it. With Python, the GIL is held: the
 * environment changes. */
__attribute__((visibility("default"))) void stepscope_devices_follow(const char *settings,
                                                                     int answers);
/* The environment is as before: then stepscope_devices_end, without the GIL. */
__attribute__((visibility("default"))) void stepscope_devices_forget(void);
/* Before the recording ends. Waits for what is under way; nothing of the collector remains. */
__attribute__((visibility("default"))) void stepscope_devices_end(void);

#endif
