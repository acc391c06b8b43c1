/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_outliving.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "base/terminal.h"
#include "platform/procfs.h"
#include "view/output/text_cell.h"

enum { MOST_COMMAND_BYTES = 4096 };

static void append_process(pid_t pid, bool keeps_secrets, struct ss_strbuf *out)
{
    struct ss_strbuf command;
    ss_strbuf_init(&command, MOST_COMMAND_BYTES);
    ss_procfs_cmdline(pid, keeps_secrets, &command);
    ss_strbuf_append_format(out, "%s%d", out->length > 0 ? ", " : "", (int)pid);
    if (command.length > 0) {
        ss_strbuf_append_text(out, " (");
        ss_text_append_clean(out, (struct ss_strview){command.data, command.length});
        ss_strbuf_append_char(out, ')');
    }
    ss_strbuf_fini(&command);
}

void ss_record_outliving_print(const struct ss_record_figures *figures, bool keeps_secrets)
{
    uint64_t named =
        figures->outliving_count < SS_OUTLIVING_MOST ? figures->outliving_count : SS_OUTLIVING_MOST;
    uint64_t more = figures->outliving_count - named, count = more;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    for (uint64_t i = 0; i < named; i++) {
        const struct ss_outliving_process *process = &figures->outliving[i];
        if (ss_procfs_is_alive(process->pid, process->start_time_ticks)) {
            append_process(process->pid, keeps_secrets, &text);
            count++;
        }
    }
    if (count > more && count == 1) {
        fprintf(ss_stderr(), "stepscope: a process still runs: %s\n", text.data);
    } else if (count > more) {
        fprintf(ss_stderr(), "stepscope: %llu processes still run: %s%s\n",
                (unsigned long long)count, text.data, more > 0 ? ", …" : "");
    }
    ss_strbuf_fini(&text);
}
