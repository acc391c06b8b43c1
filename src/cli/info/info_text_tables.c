/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/signal_names.h"
#include "base/terminal.h"
#include "cli/info/info_text_inside.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"

enum { SHOWN_THREADS = 12, SHOWN_PROCESSES = 40, SHOWN_NOTES = 12 };

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
                        const struct ss_info_style *style, const char *title)
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

/* A column of numbers. */
#define NUMBER(name)                                                                               \
    {                                                                                              \
        .title = (name), .right = true                                                             \
    }

#define NEW_TABLE(table, columns)                                                                  \
    struct ss_text_table table;                                                                    \
    ss_text_table_init(&table, columns, sizeof columns / sizeof *columns)

static void print_sources(const struct ss_info_facts *facts,
                          const struct ss_info_text_options *options,
                          const struct ss_info_style *style)
{
    static const char *const status[] = {"off", "ran", "unavailable", "failed"};
    static const struct ss_text_column columns[] = {
        {.title = "SOURCE"}, {.title = "STATUS"}, {.title = "WHY", .least = 16}};
    NEW_TABLE(table, columns);
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        const struct ss_trace_source *source = &facts->entities[SS_SCHEMA_source].data[i].source;
        char *name = ss_info_text_clean(source->name), *reason = ss_info_text_clean(source->reason);
        ADD_ROW(&table, name, status[source->status], reason);
        ss_free(name);
        ss_free(reason);
    }
    print_table(&table, options, style, "Sources");
}

static void print_devices(const struct ss_info_facts *facts,
                          const struct ss_info_text_options *options,
                          const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {{.title = "DEVICE"},
                                                    {.title = "MODEL", .least = 16},
                                                    NUMBER("MEMORY"),
                                                    {.title = "PCI"},
                                                    {.title = "UUID", .least = 12}};
    NEW_TABLE(table, columns);
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_device].count; i++) {
        const struct ss_trace_device *device = &facts->entities[SS_SCHEMA_device].data[i].device;
        char *model = ss_info_text_clean(device->model),
             *pci = ss_info_text_clean(device->pci_address);
        char *uuid = ss_info_text_clean(device->uuid), number[32] = "";
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

static void add_counts(struct ss_text_table *table, struct ss_strview source,
                       const struct ss_trace_counts *sum)
{
    const uint64_t values[] = {sum->due, sum->done,    sum->skipped, sum->late,      sum->seen,
                               sum->ok,  sum->partial, sum->lost,    sum->unchanged, sum->dropped};
    char texts[sizeof values / sizeof *values][32];
    char *name = ss_info_text_clean(source);
    const char *row[1 + sizeof values / sizeof *values] = {name};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        row[v + 1] = ss_info_text_grouped(values[v], texts[v]);
    }
    add_row(table, row, sizeof row / sizeof *row);
    ss_free(name);
}

static void print_counts(const struct ss_info_facts *facts,
                         const struct ss_info_text_options *options,
                         const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {
        {.title = "SOURCE"}, NUMBER("DUE"),       NUMBER("DONE"),   NUMBER("SKIPPED"),
        NUMBER("LATE"),      NUMBER("SEEN"),      NUMBER("OK"),     NUMBER("PARTIAL"),
        NUMBER("LOST"),      NUMBER("UNCHANGED"), NUMBER("DROPPED")};
    NEW_TABLE(table, columns);
    uint64_t short_lived = 0;
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        const struct ss_trace_source *source = &facts->entities[SS_SCHEMA_source].data[i].source;
        struct ss_trace_counts sum = ss_info_totals(facts, source->ref);
        short_lived += sum.processes_short;
        if (sum.due != 0 || sum.seen != 0) {
            add_counts(&table, source->name, &sum);
        }
    }
    print_table(&table, options, style,
                "Counts (ticks: due = done + skipped; threads: seen = ok + partial "
                "+ lost + unchanged)");
    if (short_lived > 0) {
        char text[32];
        fprintf(ss_stdout(), "  %s processes ended before they could be sampled\n",
                ss_info_text_grouped(short_lived, text));
    }
}

static const char *exit_text(const struct ss_info_process *process, char text[32])
{
    int status = (int)process->exit_status;
    if (!process->has_exit) {
        snprintf(text, 32, "-");
    } else if (WIFSIGNALED(status)) {
        const char *name = ss_signal_name(WTERMSIG(status));
        if (name != NULL) {
            snprintf(text, 32, "%s", name);
        } else {
            snprintf(text, 32, "signal %d", WTERMSIG(status));
        }
    } else {
        snprintf(text, 32, "%d", WEXITSTATUS(status));
    }
    return text;
}

static void print_processes(const struct ss_info_facts *facts,
                            const struct ss_info_text_options *options,
                            const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {
        NUMBER("PID"),      NUMBER("PARENT"),  NUMBER("SAMPLES"),
        NUMBER("THREADS"),  {.title = "EXIT"}, {.title = "RUNTIME"},
        {.title = "LABEL"}, {.title = "ROLE"}, {.title = "COMMAND", .least = 16}};
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
        char *runtime = ss_info_text_clean(process->record.runtime),
             *label = ss_info_text_clean(process->record.label);
        const char *role = ss_info_role(process->record.role);
        char *command = ss_info_text_clean(
            process->record.cmdline.length > 0 ? process->record.cmdline : process->record.name);
        ADD_ROW(&table, pid, parent, ss_info_text_grouped(process->samples, samples),
                ss_info_text_grouped(process->threads, threads), exit_text(process, exited),
                runtime[0] ? runtime : "-", label[0] ? label : "-", role != NULL ? role : "-",
                command);
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
                          const struct ss_info_text_options *options,
                          const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {NUMBER("PID"),
                                                    NUMBER("TID"),
                                                    NUMBER("SAMPLES"),
                                                    NUMBER("SHARE"),
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
        char *name = ss_info_text_clean(thread->record.name);
        ADD_ROW(&table, pid, tid, ss_info_text_grouped(thread->samples, samples), share, name);
        ss_free(name);
    }
    print_table(&table, options, style, "Threads, most sampled first");
    if (order.count > shown) {
        fprintf(ss_stdout(), "  and %zu more (--all shows them)\n", order.count - shown);
    }
    ss_vec_fini(&order);
}

static void print_notes(const struct ss_info_facts *facts,
                        const struct ss_info_text_options *options,
                        const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {NUMBER("AT"),
                                                    NUMBER("PID"),
                                                    {.title = "EVENT"},
                                                    NUMBER("VALUE"),
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
        char *kind = ss_info_text_clean(note->kind), *text = ss_info_text_clean(note->text);
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

void ss_info_text_print_tables(const struct ss_info_facts *facts,
                               const struct ss_info_text_options *options,
                               const struct ss_info_style *style)
{
    print_sources(facts, options, style);
    print_devices(facts, options, style);
    print_counts(facts, options, style);
    print_processes(facts, options, style);
    print_threads(facts, options, style);
    print_notes(facts, options, style);
}
