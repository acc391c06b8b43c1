/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_SIGNAL_NAMES_H
#define SS_BASE_SIGNAL_NAMES_H

/* The name of a signal, for example "SIGKILL"; NULL: it has none, like signals of real time. */
const char *ss_signal_name(int number);

#endif
