/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file descriptors that this process inherited. A pipe or a lock ends when the last process
 * that holds it closes it; stepscope must not be that process. Descriptors that stepscope opens
 * have the close-on-exec flag, inherited ones do not. Only for single-threaded processes.
 */
#ifndef SS_PLATFORM_DESCRIPTORS_H
#define SS_PLATFORM_DESCRIPTORS_H

/* Opens /dev/null as each of 0 to 2 that is closed, so that no file that is opened later gets its
 * number and is taken for a standard stream. A program that is executed has them closed, as they
 * were. Before anything is opened. */
void ss_descriptors_reserve(void);
/* Closes all inherited descriptors but stderr and `keep` (-1: no other exception). Replaces stdin
 * and stdout by /dev/null, so that no file that is opened later gets their numbers. */
void ss_descriptors_release(int keep);
/* Replaces `fd` by /dev/null. */
void ss_descriptors_silence(int fd);

#endif
