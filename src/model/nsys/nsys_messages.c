/* SPDX-License-Identifier: Apache-2.0 */
/* What Nsight Systems said while it recorded, as notes. */
#include "model/nsys/nsys_loading.h"

/* Of ENUM_DIAGNOSTIC_SEVERITY_LEVEL; kinds of notes. */
static const char *kind_of(int64_t severity)
{
    return severity == 2 ? "nsys-warning" : severity == 3 ? "nsys-error" : "nsys-message";
}

void ss_nsys_load_messages(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"timestamp", "severity", "text", "globalPid"};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, "DIAGNOSTIC_EVENT", columns, 4);
    while (ss_nsys_next(loading, &rows)) {
        int64_t time = 0, severity = 0, global, sum_ns;
        struct ss_trace_note note = {.text = ss_sqlite_text(&rows, 2)};
        ss_sqlite_integer(&rows, 0, &time);
        ss_sqlite_integer(&rows, 1, &severity);
        bool is_time = !__builtin_add_overflow(time, loading->base_ns, &sum_ns) && sum_ns > 0;
        note.time_ns = is_time ? (uint64_t)sum_ns : 0;
        note.kind = ss_strview_of(kind_of(severity));
        if (ss_sqlite_integer(&rows, 3, &global)) { /* messages do not add processes */
            note.process_ref =
                *ss_nsys_entry(&loading->rows, SS_NSYS_PROCESS, ss_nsys_process_key(global), 0, 0);
        }
        ss_model_builder_note(loading->builder, &note);
    }
    ss_sqlite_end(&rows);
}
