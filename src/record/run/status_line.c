/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/status_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/terminal.h"

static const uint64_t redraw_ns = UINT64_C(500000000);
static uint64_t drawn_ns;
static bool is_drawn;

/* Writing from the background would stop the recorder or spoil another program's screen. */
static bool in_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static int describe(const struct ss_record_figures *figures, uint64_t now_ns, char *text,
                    size_t size)
{
    uint64_t elapsed_s = (now_ns - figures->start_ns) / UINT64_C(1000000000);
    double seconds = (double)(now_ns - figures->start_ns) / 1e9;
    double rate_hz = seconds > 0 ? (double)figures->done / seconds : 0;
    uint64_t attempted = figures->ok + figures->partial + figures->lost;
    double lost_pct = attempted > 0 ? 100.0 * (double)figures->lost / (double)attempted : 0;
    return snprintf(text, size, "stepscope %llu:%02llu  %llu samples  %.0f/s  %.1f %% lost",
                    (unsigned long long)(elapsed_s / 60), (unsigned long long)(elapsed_s % 60),
                    (unsigned long long)figures->samples, rate_hz, lost_pct);
}

void ss_status_line_draw(const struct ss_record_figures *figures, uint64_t now_ns)
{
    if (now_ns - drawn_ns < redraw_ns || !in_foreground()) {
        return;
    }
    drawn_ns = now_ns;
    char text[160];
    int length = describe(figures, now_ns, text, sizeof text);
    struct winsize window = {0};
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 80;
    if (length <= 0 || length >= (int)sizeof text || length + 1 >= width) {
        return;
    }
    const char *escape = ss_escape(); /* [G: the first column */
    fprintf(ss_stderr(), "%s[%dG%s%s%s%s[G", escape, width - length, SS_DIM, text, SS_OFF, escape);
    is_drawn = true;
}

void ss_status_line_clear(void)
{
    if (is_drawn && in_foreground()) {
        fprintf(ss_stderr(), "%s[G%s[K", ss_escape(), ss_escape());
    }
    is_drawn = false;
}
