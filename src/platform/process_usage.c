/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/process_usage.h"

#include <string.h>

#include "platform/text_scan.h"

/* Field numbers of proc(5); 3 is the first after the name. */
enum {
    FIRST = 3,
    MINOR_FAULTS = 10,
    MAJOR_FAULTS = 12,
    USER = 14,
    SYSTEM = 15,
    THREADS = 20,
    START = 22,
    RSS = 24
};

/* The name may contain blanks, newlines and parentheses: it ends at the last ')'. */
bool ss_process_usage_parse(struct ss_strview text, struct ss_process_usage *usage)
{
    *usage = (struct ss_process_usage){0};
    const char *close_at = text.length > 0 ? memrchr(text.data, ')', text.length) : NULL;
    if (close_at == NULL) {
        return false;
    }
    struct ss_text_scan line = {close_at + 1, text.data + text.length};
    uint64_t values[RSS + 1] = {0};
    for (int field = FIRST; field <= RSS; field++) {
        struct ss_strview word;
        if (!ss_text_scan_word(&line, &word)) {
            return false;
        }
        struct ss_text_scan digits = {word.data, word.data + word.length};
        if (field == FIRST) {
            usage->state = word.data[0];
        } else if (!ss_text_scan_number(&digits, &values[field]) && word.data[0] != '-') {
            return false;
        }
    }
    usage->minor_faults = values[MINOR_FAULTS];
    usage->major_faults = values[MAJOR_FAULTS];
    usage->user_ticks = values[USER];
    usage->system_ticks = values[SYSTEM];
    usage->threads = values[THREADS];
    usage->start_time_ticks = values[START];
    usage->rss_pages = values[RSS];
    return true;
}

bool ss_process_io_parse(struct ss_strview text, struct ss_process_io *io)
{
    struct ss_keyed_number rows[] = {{"rchar"}, {"wchar"}, {"read_bytes"}, {"write_bytes"}};
    bool whole = ss_text_scan_keyed(text, rows, 4) == 4;
    *io = (struct ss_process_io){.read_call_bytes = rows[0].value,
                                 .written_call_bytes = rows[1].value,
                                 .read_bytes = rows[2].value,
                                 .written_bytes = rows[3].value};
    return whole;
}

bool ss_thread_switches_parse(struct ss_strview text, struct ss_thread_switches *switches)
{
    struct ss_keyed_number rows[] = {{"voluntary_ctxt_switches"}, {"nonvoluntary_ctxt_switches"}};
    bool whole = ss_text_scan_keyed(text, rows, 2) == 2;
    *switches =
        (struct ss_thread_switches){.voluntary = rows[0].value, .involuntary = rows[1].value};
    return whole;
}
