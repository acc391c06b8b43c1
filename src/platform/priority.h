/* SPDX-License-Identifier: Apache-2.0 */
/* Timely wake-ups beside a program that uses every core. Affects the calling thread only. */
#ifndef SS_PLATFORM_PRIORITY_H
#define SS_PLATFORM_PRIORITY_H

/* Requests short time slices (Linux 6.12 and newer schedule tasks with short slices first), exact
 * timers, and, where permitted, a better nice value. Refusals are ignored. */
void ss_priority_wake_promptly(void);

#endif
