/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "cli/info_views.h"
#include "view/text_cell.h"
#include "view/text_table.h"

enum { SHOWN_THREADS = 12, SHOWN_PROCESSES = 40, SHOWN_NOTES = 12, KEY_WIDTH = 18 };

struct style {
    const char *bold, *dim, *good, *bad, *off;
};

static struct style style_of(bool colour)
{
    return colour ? (struct style){SS_BOLD, SS_DIM, ss_style(SS_STYLE_GREEN),
                                   ss_style(SS_STYLE_BOLD_RED), SS_OFF}
                  : (struct style){"", "", "", "", ""};
}

/* A printable copy; free with ss_free. */
static char *clean(struct ss_strview view)
{
    struct ss_strbuf out;
    ss_strbuf_init(&out, view.length * 3 + 1);
    ss_text_append_clean(&out, view);
    char *text = ss_strbuf_take(&out);
    ss_strbuf_fini(&out); /* ss_strbuf_take leaves an empty buffer */
    return text;
}

/* 1,234,567 */
static const char *grouped(uint64_t value, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    int used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

static const char *bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

static const char *duration_text(uint64_t ns, char text[32])
{
    double s = (double)ns / 1e9;
    if (s < 120) {
        snprintf(text, 32, "%.1f s", s);
    } else if (s < 7200) {
        snprintf(text, 32, "%d min %02d s", (int)(s / 60), (int)s % 60);
    } else {
        snprintf(text, 32, "%d h %02d min", (int)(s / 3600), (int)(s / 60) % 60);
    }
    return text;
}

static void print_key(const struct style *style, const char *key)
{
    fprintf(ss_stdout(), "  %s%-*s%s", style->dim, KEY_WIDTH, key, style->off);
}

static void print_attribute(const struct ss_info_facts *facts, const struct style *style,
                            const char *label, const char *key)
{
    const struct ss_trace_attribute *attribute = ss_info_attribute(facts, key);
    if (attribute == NULL) {
        return;
    }
    print_key(style, label);
    if (attribute->is_integer) {
        fprintf(ss_stdout(), "%" PRId64 "\n", attribute->integer);
    } else {
        char *text = clean(attribute->text);
        fprintf(ss_stdout(), "%s\n", text);
        ss_free(text);
    }
}

static void print_recorded(const struct ss_info_facts *facts, const struct style *style)
{
    char text[64], duration[32];
    time_t began = (time_t)(facts->first_clock.realtime_ns / UINT64_C(1000000000));
    struct tm local;
    print_key(style, "recorded");
    if (facts->clock_count > 0 && localtime_r(&began, &local) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local) > 0) {
        fprintf(ss_stdout(), "%s, ", text);
    }
    fprintf(ss_stdout(), "%s", duration_text(ss_info_duration_ns(facts), duration));
    const struct ss_trace_attribute *host = ss_info_attribute(facts, "hostname");
    if (host != NULL && !host->is_integer) {
        char *name = clean(host->text);
        fprintf(ss_stdout(), ", on %s", name);
        ss_free(name);
    }
    fprintf(ss_stdout(), "\n");
}

static void print_state(const struct ss_info_facts *facts, const struct style *style)
{
    const struct ss_trace_summary *summary = &facts->summary;
    const char *state = ss_info_state(facts);
    bool complete = strcmp(state, "complete") == 0;
    char text[32];
    print_key(style, "state");
    fprintf(ss_stdout(), "%s%s%s", complete ? style->good : style->bad, state, style->off);
    if (complete) {
        fprintf(ss_stdout(), ": closed, all checksums correct");
    } else if (summary->lost_bytes == 0 && summary->damaged_units == 0) {
        fprintf(ss_stdout(),
                ": not closed (killed, or still being written); all %s units are intact",
                grouped(summary->units, text));
    }
    fprintf(ss_stdout(), "\n");
    for (size_t i = 0; i < facts->damages.count && i < 5; i++) {
        const struct ss_info_damage *damage = &facts->damages.data[i];
        print_key(style, "");
        fprintf(ss_stdout(), "byte %" PRIu64 ": %s", damage->offset, damage->reason);
        if (damage->length > 0) {
            fprintf(ss_stdout(), ", %s bytes left out", grouped(damage->length, text));
        }
        fprintf(ss_stdout(), "\n");
    }
    if (facts->damages.count > 5) {
        print_key(style, "");
        fprintf(ss_stdout(), "and %zu%s more damaged places\n", facts->damages.count - 5,
                facts->damages.count == SS_INFO_MAX_DAMAGES ? " or" : "");
    }
    if (summary->lost_samples + summary->lost_events > 0) {
        print_key(style, "");
        fprintf(ss_stdout(),
                "%s records cannot be read: their definitions were in the damaged "
                "places\n",
                grouped(summary->lost_samples + summary->lost_events, text));
    }
    if (!complete) {
        print_key(style, "");
        fprintf(ss_stdout(),
                "stepscope repair %s -o FIXED.pftrace makes a closed file of what is left\n",
                facts->path);
    }
}

enum { MIN_SAMPLES = 30 }; /* with fewer, the size is mostly that of definitions */

static void print_size(const struct ss_info_facts *facts, const struct style *style)
{
    const struct ss_trace_summary *summary = &facts->summary;
    char a[32], b[32], c[32];
    print_key(style, "size");
    fprintf(ss_stdout(), "%s written, %s plain; %s units, %s restart point%s\n",
            bytes_text(summary->file_bytes, a), bytes_text(summary->plain_bytes, b),
            grouped(summary->units, c), grouped(summary->restart_points, (char[32]){0}),
            summary->restart_points == 1 ? "" : "s");
    print_key(style, "samples");
    fprintf(ss_stdout(), "%s in %s records", grouped(facts->ticks, a),
            grouped(summary->samples, b));
    if (summary->samples >= MIN_SAMPLES && summary->plain_bytes > summary->track_bytes) {
        /* Samples are compressed together with events and counter values: the bytes are divided by
         * plain size. */
        double plain = (double)(summary->plain_bytes - summary->track_bytes);
        double part = plain / (double)summary->plain_bytes;
        fprintf(ss_stdout(), ", %s%.1f bytes each as written, %.1f plain",
                summary->track_bytes > 0 ? "about " : "",
                (double)summary->read_bytes * part / (double)summary->samples,
                plain / (double)summary->samples);
    }
    fprintf(ss_stdout(), "; %s stacks, %s frames\n", grouped(facts->stack_count, a),
            grouped(facts->frame_count, b));
}

static void print_amount(const char *separator, uint64_t count, const char *what)
{
    if (count > 0) {
        fprintf(ss_stdout(), "%s%s %s%s", separator, grouped(count, (char[32]){0}), what,
                count == 1 ? "" : "s");
    }
}

/* The content of tracks, if there is any. */
static void print_tracks(const struct ss_info_facts *facts, const struct style *style)
{
    const uint64_t *begins = facts->begins;
    uint64_t ranges = begins[SS_TRACK_RANGES] + begins[SS_TRACK_ASYNC];
    if (facts->summary.events > 0) {
        print_key(style, "ranges");
        fprintf(ss_stdout(), "%s", grouped(ranges, (char[32]){0}));
        print_amount(" in ", facts->tracks[SS_TRACK_RANGES] + facts->tracks[SS_TRACK_ASYNC], "row");
        print_amount(" of ", facts->name_count, "name");
        print_amount("; ", begins[SS_TRACK_STEPS], "step");
        print_amount("; ", begins[SS_TRACK_PHASES], "phase");
        print_amount("; ", facts->marks, "mark");
        print_amount("; ", facts->flow_points, "arrow end");
        uint64_t begun = ranges + begins[SS_TRACK_STEPS] + begins[SS_TRACK_PHASES];
        if (begun > facts->ends) {
            fprintf(ss_stdout(), "; %s without an end",
                    grouped(begun - facts->ends, (char[32]){0}));
        }
        fprintf(ss_stdout(), "\n");
    }
    if (facts->summary.counter_values > 0) {
        print_key(style, "counters");
        fprintf(ss_stdout(), "%s values", grouped(facts->summary.counter_values, (char[32]){0}));
        print_amount(" of ", facts->tracks[SS_TRACK_COUNTER], "counter");
        fprintf(ss_stdout(), "\n");
    }
}

static void print_rate(const struct ss_info_facts *facts, const struct style *style)
{
    const struct ss_trace_attribute *requested = ss_info_attribute(facts, "rate_hz");
    uint64_t duration_ns = ss_info_duration_ns(facts);
    if (requested == NULL) {
        return;
    }
    print_key(style, "rate");
    char *text = requested->is_integer ? NULL : clean(requested->text);
    if (text != NULL) {
        fprintf(ss_stdout(), "%s Hz requested", text);
    } else {
        fprintf(ss_stdout(), "%" PRId64 " Hz requested", requested->integer);
    }
    ss_free(text);
    uint64_t done = 0;
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        uint64_t of_source =
            ss_info_totals(facts, facts->entities[SS_SCHEMA_source].data[i].ref).done;
        done = of_source > done ? of_source : done;
    }
    if (done > 0 && duration_ns > 0) {
        fprintf(ss_stdout(), ", %.1f Hz achieved", (double)done / ((double)duration_ns / 1e9));
    }
    fprintf(ss_stdout(), "\n");
}

static void print_clocks(const struct ss_info_facts *facts, const struct style *style)
{
    if (facts->clock_count == 0) {
        return;
    }
    char text[32];
    print_key(style, "clocks");
    fprintf(ss_stdout(),
            "%s readings, accurate to %.1f µs; the wall clock moved %+.3f ms relative to the "
            "trace's",
            grouped(facts->clock_count, text), (double)facts->widest_clock_ns / 1e3,
            (double)ss_info_realtime_drift_ns(facts) / 1e6);
    if (ss_info_suspended_ns(facts) > UINT64_C(1000000)) {
        fprintf(ss_stdout(), "; suspended for %s",
                duration_text(ss_info_suspended_ns(facts), text));
    }
    fprintf(ss_stdout(), "\n");
}

/* --- tables --------------------------------------------------------------------------------- */

/* One text for each column. */
static void add_row(struct ss_text_table *table, const char *const *values, size_t count)
{
    ss_text_table_add_row(table, NULL);
    for (size_t i = 0; i < count; i++) {
        ss_text_table_put(table, i, ss_strview_of(values[i]), NULL);
    }
}

#define ADD_ROW(table, ...)                                                                        \
    add_row(table, (const char *[]){__VA_ARGS__},                                                  \
            sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

static void print_table(struct ss_text_table *table, const struct ss_info_text_options *options,
                        const struct style *style, const char *title)
{
    struct ss_error err;
    if (table->row_colours.count > 0) {
        fprintf(ss_stdout(), "\n%s%s%s\n", style->bold, title, style->off);
        if (ss_text_table_print(table, ss_stdout(), (size_t)options->width, options->colour,
                                &err) != SS_OK) {
            fprintf(ss_stderr(), "stepscope info: %s\n", err.message);
        }
    }
    ss_text_table_fini(table);
}

#define NEW_TABLE(table, columns)                                                                  \
    struct ss_text_table table;                                                                    \
    ss_text_table_init(&table, columns, sizeof columns / sizeof *columns)

static void print_sources(const struct ss_info_facts *facts,
                          const struct ss_info_text_options *options, const struct style *style)
{
    static const char *const status[] = {"off", "ran", "unavailable", "failed"};
    static const struct ss_text_column columns[] = {
        {.title = "SOURCE"}, {.title = "STATUS"}, {.title = "WHY", .least = 16}};
    NEW_TABLE(table, columns);
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        const struct ss_trace_source *source = &facts->entities[SS_SCHEMA_source].data[i].source;
        char *name = clean(source->name), *reason = clean(source->reason);
        ADD_ROW(&table, name, status[source->status], reason);
        ss_free(name);
        ss_free(reason);
    }
    print_table(&table, options, style, "Sources");
}

static void print_devices(const struct ss_info_facts *facts,
                          const struct ss_info_text_options *options, const struct style *style)
{
    static const struct ss_text_column columns[] = {{.title = "DEVICE"},
                                                    {.title = "MODEL", .least = 16},
                                                    {.title = "MEMORY", .right = true},
                                                    {.title = "PCI"},
                                                    {.title = "UUID", .least = 12}};
    NEW_TABLE(table, columns);
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_device].count; i++) {
        const struct ss_trace_device *device = &facts->entities[SS_SCHEMA_device].data[i].device;
        char *model = clean(device->model), *pci = clean(device->pci_address);
        char *uuid = clean(device->uuid), number[32] = "";
        struct ss_strbuf memory;
        ss_strbuf_init(&memory, 64);
        if (device->memory_bytes > 0) {
            ss_text_append_bytes(&memory, (double)device->memory_bytes);
        }
        if (device->number > 0) {
            snprintf(number, sizeof number, "%s %" PRIu32,
                     device->kind == SS_DEVICE_GPU ? "GPU" : "device", device->number - 1);
        }
        ADD_ROW(&table, number, model, memory.data, pci, uuid);
        ss_strbuf_fini(&memory);
        ss_free(model);
        ss_free(pci);
        ss_free(uuid);
    }
    if (facts->entities[SS_SCHEMA_device].count > 0) {
        print_table(&table, options, style, "Devices");
    } else {
        ss_text_table_fini(&table);
    }
}

static void print_counts(const struct ss_info_facts *facts,
                         const struct ss_info_text_options *options, const struct style *style)
{
    static const struct ss_text_column columns[] = {{.title = "SOURCE"},
                                                    {.title = "DUE", .right = true},
                                                    {.title = "DONE", .right = true},
                                                    {.title = "SKIPPED", .right = true},
                                                    {.title = "LATE", .right = true},
                                                    {.title = "SEEN", .right = true},
                                                    {.title = "OK", .right = true},
                                                    {.title = "PARTIAL", .right = true},
                                                    {.title = "LOST", .right = true},
                                                    {.title = "UNCHANGED", .right = true},
                                                    {.title = "DROPPED", .right = true}};
    NEW_TABLE(table, columns);
    uint64_t short_lived = 0;
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        const struct ss_trace_source *source = &facts->entities[SS_SCHEMA_source].data[i].source;
        struct ss_trace_counts sum = ss_info_totals(facts, source->ref);
        short_lived += sum.processes_short;
        if (sum.due == 0 && sum.seen == 0) {
            continue;
        }
        const uint64_t values[] = {sum.due, sum.done,    sum.skipped, sum.late,      sum.seen,
                                   sum.ok,  sum.partial, sum.lost,    sum.unchanged, sum.dropped};
        char texts[sizeof values / sizeof *values][32];
        char *name = clean(source->name);
        const char *row[1 + sizeof values / sizeof *values] = {name};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            row[v + 1] = grouped(values[v], texts[v]);
        }
        add_row(&table, row, sizeof row / sizeof *row);
        ss_free(name);
    }
    print_table(&table, options, style,
                "Counts (ticks: due = done + skipped; threads: seen = ok + partial "
                "+ lost + unchanged)");
    if (short_lived > 0) {
        char text[32];
        fprintf(ss_stdout(), "  %s processes ended before they could be sampled\n",
                grouped(short_lived, text));
    }
}

static const char *exit_text(const struct ss_info_process *process, char text[32])
{
    int status = (int)process->exit_status;
    if (!process->has_exit) {
        snprintf(text, 32, "-");
    } else if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        if (name != NULL) {
            snprintf(text, 32, "SIG%s", name);
        } else {
            snprintf(text, 32, "signal %d", WTERMSIG(status));
        }
    } else {
        snprintf(text, 32, "%d", WEXITSTATUS(status));
    }
    return text;
}

static void print_processes(const struct ss_info_facts *facts,
                            const struct ss_info_text_options *options, const struct style *style)
{
    static const struct ss_text_column columns[] = {{.title = "PID", .right = true},
                                                    {.title = "PARENT", .right = true},
                                                    {.title = "SAMPLES", .right = true},
                                                    {.title = "THREADS", .right = true},
                                                    {.title = "EXIT"},
                                                    {.title = "RUNTIME"},
                                                    {.title = "LABEL"},
                                                    {.title = "COMMAND", .least = 16}};
    NEW_TABLE(table, columns);
    size_t shown = 0;
    for (size_t i = 0; i < facts->processes.count; i++) {
        const struct ss_info_process *process = &facts->processes.data[i];
        bool is_relevant = process->samples > 0 || process->has_exit;
        if (!options->all_threads && (!is_relevant || shown >= SHOWN_PROCESSES)) {
            continue;
        }
        shown++;
        char pid[32], parent[32], samples[32], threads[32], exited[32];
        snprintf(pid, sizeof pid, "%d", process->record.pid);
        snprintf(parent, sizeof parent, "%d", process->record.parent_pid);
        char *runtime = clean(process->record.runtime), *label = clean(process->record.label);
        char *command = clean(process->record.cmdline.length > 0 ? process->record.cmdline
                                                                 : process->record.name);
        ADD_ROW(&table, pid, parent, grouped(process->samples, samples),
                grouped(process->threads, threads), exit_text(process, exited),
                runtime[0] ? runtime : "-", label[0] ? label : "-", command);
        ss_free(runtime);
        ss_free(label);
        ss_free(command);
    }
    print_table(&table, options, style, "Processes");
    if (facts->processes.count > shown) {
        fprintf(ss_stdout(), "  and %zu more%s (--all shows them)\n",
                facts->processes.count - shown, shown < SHOWN_PROCESSES ? " without samples" : "");
    }
}

static int more_samples(const void *left, const void *right)
{
    const struct ss_info_thread *a = *(const struct ss_info_thread *const *)left;
    const struct ss_info_thread *b = *(const struct ss_info_thread *const *)right;
    if (a->samples != b->samples) {
        return a->samples > b->samples ? -1 : 1;
    }
    return a->record.ref < b->record.ref ? -1 : a->record.ref > b->record.ref;
}

static void print_threads(const struct ss_info_facts *facts,
                          const struct ss_info_text_options *options, const struct style *style)
{
    static const struct ss_text_column columns[] = {{.title = "PID", .right = true},
                                                    {.title = "TID", .right = true},
                                                    {.title = "SAMPLES", .right = true},
                                                    {.title = "SHARE", .right = true},
                                                    {.title = "NAME", .least = 16}};
    struct ss_vec_of(const struct ss_info_thread *) order = {0};
    for (size_t i = 0; i < facts->threads.count; i++) {
        ss_vec_push(&order, &facts->threads.data[i]);
    }
    if (order.count > 0) {
        qsort(order.data, order.count, sizeof *order.data, more_samples);
    }
    size_t shown = options->all_threads ? order.count : SHOWN_THREADS;
    NEW_TABLE(table, columns);
    for (size_t i = 0; i < order.count && i < shown; i++) {
        const struct ss_info_thread *thread = order.data[i];
        char pid[32], tid[32], samples[32], share[32];
        const struct ss_info_process *process =
            &facts->processes.data[thread->record.process_ref - 1];
        snprintf(pid, sizeof pid, "%d", process->record.pid);
        snprintf(tid, sizeof tid, "%d", thread->record.tid);
        snprintf(share, sizeof share, "%.1f %%",
                 facts->ticks > 0 ? 100.0 * (double)thread->samples / (double)facts->ticks : 0.0);
        char *name = clean(thread->record.name);
        ADD_ROW(&table, pid, tid, grouped(thread->samples, samples), share, name);
        ss_free(name);
    }
    print_table(&table, options, style, "Threads, most sampled first");
    if (order.count > shown) {
        fprintf(ss_stdout(), "  and %zu more (--all shows them)\n", order.count - shown);
    }
    ss_vec_fini(&order);
}

static void print_notes(const struct ss_info_facts *facts,
                        const struct ss_info_text_options *options, const struct style *style)
{
    static const struct ss_text_column columns[] = {{.title = "AT", .right = true},
                                                    {.title = "PID", .right = true},
                                                    {.title = "EVENT"},
                                                    {.title = "VALUE", .right = true},
                                                    {.title = "TEXT", .least = 16}};
    NEW_TABLE(table, columns);
    size_t shown = options->all_threads ? facts->notes.count : SHOWN_NOTES;
    uint64_t began_ns =
        facts->clock_count > 0 ? facts->first_clock.monotonic_ns : facts->summary.first_ns;
    for (size_t i = 0; i < facts->notes.count && i < shown; i++) {
        const struct ss_trace_note *note = &facts->notes.data[i];
        char at[32], pid[32] = "-", value[32] = "-";
        snprintf(at, sizeof at, "%.3f s", ((double)note->time_ns - (double)began_ns) / 1e9);
        if (note->process_ref != 0) {
            snprintf(pid, sizeof pid, "%d",
                     facts->processes.data[note->process_ref - 1].record.pid);
        }
        if (note->value != 0) {
            snprintf(value, sizeof value, "%" PRId64, note->value);
        }
        char *kind = clean(note->kind), *text = clean(note->text);
        ADD_ROW(&table, at, pid, kind, value, text);
        ss_free(kind);
        ss_free(text);
    }
    print_table(&table, options, style, "Events");
    if (facts->note_count > shown) {
        fprintf(ss_stdout(), "  and %" PRIu64 " more (--all shows %s)\n", facts->note_count - shown,
                facts->note_count > SS_INFO_MAX_NOTES ? "the first thousand" : "them");
    }
}

static void print_more_attributes(const struct ss_info_facts *facts, const struct style *style)
{
    /* Attributes that other lines show. */
    static const char *const shown_elsewhere[] = {
        "command", "hostname", "rate_hz", "start_realtime_ns", "boot_id", "stepscope_version"};
    for (size_t i = 0; i < facts->attributes.count; i++) {
        const struct ss_trace_attribute *attribute = &facts->attributes.data[i];
        bool is_shown = false;
        for (size_t k = 0; k < sizeof shown_elsewhere / sizeof *shown_elsewhere; k++) {
            is_shown =
                is_shown || ss_strview_equal(attribute->key, ss_strview_of(shown_elsewhere[k]));
        }
        if (is_shown) {
            continue;
        }
        char *key = clean(attribute->key), *text = clean(attribute->text);
        fprintf(ss_stdout(), "  %s%-*s%s ", style->dim, KEY_WIDTH - 1, key, style->off);
        if (attribute->is_integer) {
            fprintf(ss_stdout(), "%" PRId64 "\n", attribute->integer);
        } else {
            fprintf(ss_stdout(), "%s\n", text);
        }
        ss_free(key);
        ss_free(text);
    }
}

void ss_info_print_text(const struct ss_info_facts *facts,
                        const struct ss_info_text_options *options)
{
    ss_text_use_utf8();
    struct style style = style_of(options->colour);
    fprintf(ss_stdout(), "%s%s%s\n", style.bold, facts->path, style.off);
    print_recorded(facts, &style);
    print_attribute(facts, &style, "command", "command");
    print_state(facts, &style);
    print_size(facts, &style);
    print_tracks(facts, &style);
    print_rate(facts, &style);
    print_clocks(facts, &style);
    print_attribute(facts, &style, "written by", "stepscope_version");
    print_more_attributes(facts, &style);
    print_sources(facts, options, &style);
    print_devices(facts, options, &style);
    print_counts(facts, options, &style);
    print_processes(facts, options, &style);
    print_threads(facts, options, &style);
    print_notes(facts, options, &style);
    fflush(ss_stdout());
}
