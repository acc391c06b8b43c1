/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/line/command.h"
#include "view/output/text_cell.h"

enum { DELAY_NS = 500000000, INTERVAL_NS = 100000000, BAR_COLUMNS = 24, MAX_BYTES = 4096 };

/* Writing from the background would stop this process or corrupt another program's screen. */
static bool can_draw(void)
{
    return isatty(STDERR_FILENO) == 1 && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static void append_bar(struct ss_strbuf *line, double share)
{
    int filled = (int)(share * BAR_COLUMNS);
    for (int i = 0; i < BAR_COLUMNS; i++) {
        ss_strbuf_append_text(line, i < filled ? "█" : "░");
    }
}

static void draw(const char *path, uint64_t done_bytes, uint64_t all_bytes)
{
    struct ss_strbuf line, name;
    double share = done_bytes < all_bytes ? (double)done_bytes / (double)all_bytes : 1;
    size_t width = (size_t)ss_cli_terminal_width(STDERR_FILENO);
    ss_strbuf_init(&line, MAX_BYTES);
    ss_strbuf_init(&name, MAX_BYTES);
    ss_text_append_clean(&name, ss_strview_of(path));
    /* [G: first column; [2K: clear the line. */
    ss_strbuf_append_format(&line, "%s[G%s[2Kreading ", ss_escape(), ss_escape());
    ss_text_append_cut_middle(&line, name.data, width > 60 ? width - 56 : 4);
    ss_strbuf_append_char(&line, ' ');
    append_bar(&line, share);
    ss_strbuf_append_format(&line, " %3.0f %% of ", 100 * share);
    ss_text_append_bytes(&line, (double)all_bytes);
    fwrite(line.data, 1, line.length, ss_stderr());
    ss_strbuf_fini(&name);
    ss_strbuf_fini(&line);
}

void ss_progress_update(void *context, const char *path, uint64_t done_bytes, uint64_t all_bytes)
{
    struct ss_progress *progress = context;
    uint64_t now_ns = ss_clock_now_ns(progress->clock);
    if (progress->due_ns == 0) {
        progress->due_ns = now_ns + DELAY_NS;
    }
    if (now_ns < progress->due_ns || all_bytes == 0 || !can_draw()) {
        return;
    }
    progress->due_ns = now_ns + INTERVAL_NS;
    progress->is_drawn = true;
    draw(path, done_bytes, all_bytes);
}

void ss_progress_end(struct ss_progress *progress)
{
    if (progress->is_drawn && can_draw()) {
        fprintf(ss_stderr(), "%s[G%s[2K", ss_escape(), ss_escape());
    }
    progress->is_drawn = false;
}
