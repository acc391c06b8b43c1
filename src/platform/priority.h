/* SPDX-License-Identifier: Apache-2.0 */
/* Being woken on time beside a program that uses every core. Affects the calling thread only. */
#ifndef SS_PLATFORM_PRIORITY_H
#define SS_PLATFORM_PRIORITY_H

/* Asks for short time slices (Linux 6.12 and newer put a task that asks for little CPU at a time
 * ahead), for exact timers, and, where it is allowed to, for a better nice value. What is refused
 * is done without. */
void ss_priority_wake_promptly(void);

#endif
