/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file descriptors that this process got from whoever started it. A pipe or a lock ends when
 * the last process that holds it lets go; ours must not be that one. What we opened ourselves has
 * the close-on-exec flag, what was handed to us has not. Only for single-threaded processes.
 */
#ifndef SS_PLATFORM_DESCRIPTORS_H
#define SS_PLATFORM_DESCRIPTORS_H

/* Lets go of all that was inherited but stderr and `keep` (-1: nothing more). In place of stdin
 * and stdout stands /dev/null then, so that no file that is opened later gets their numbers. */
void ss_descriptors_release(int keep);
/* Puts /dev/null in the place of `fd`. */
void ss_descriptors_silence(int fd);

#endif
