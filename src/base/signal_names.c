/* SPDX-License-Identifier: Apache-2.0 */
#include "base/signal_names.h"

#include <signal.h>
#include <stddef.h>

#define NAMED(name) [name] = #name

/* glibc has sigabbrev_np() from 2.32 on only. */
const char *ss_signal_name(int number)
{
    static const char *const names[] = {
        NAMED(SIGHUP),    NAMED(SIGINT),  NAMED(SIGQUIT),  NAMED(SIGILL),  NAMED(SIGTRAP),
        NAMED(SIGABRT),   NAMED(SIGBUS),  NAMED(SIGFPE),   NAMED(SIGKILL), NAMED(SIGUSR1),
        NAMED(SIGSEGV),   NAMED(SIGUSR2), NAMED(SIGPIPE),  NAMED(SIGALRM), NAMED(SIGTERM),
        NAMED(SIGSTKFLT), NAMED(SIGCHLD), NAMED(SIGCONT),  NAMED(SIGSTOP), NAMED(SIGTSTP),
        NAMED(SIGTTIN),   NAMED(SIGTTOU), NAMED(SIGURG),   NAMED(SIGXCPU), NAMED(SIGXFSZ),
        NAMED(SIGVTALRM), NAMED(SIGPROF), NAMED(SIGWINCH), NAMED(SIGPOLL), NAMED(SIGPWR),
        NAMED(SIGSYS)};
    return number >= 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}
