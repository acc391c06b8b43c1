/* SPDX-License-Identifier: Apache-2.0 */
#include "record/processes/process_table.h"

#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "platform/procfs.h"
#include "source/children.h"

enum { MAX_SHORT_NAMES = 256, ROOT_REF = 1 };

struct member {
    pid_t pid;
    struct ss_recorded_process *process;
    bool ended;
    UT_hash_handle hh;
};

/* An ended process for which records may still arrive. */
struct ended {
    uint32_t ref;
    uint64_t time_ns;
};

/* Processes too short to be sampled, by name. */
struct short_name {
    char name[16];
    uint64_t count, written;
    UT_hash_handle hh;
};

struct ss_process_table {
    struct ss_record_context *context;
    struct ss_children *children;
    struct member *by_pid;
    struct short_name *short_names;
    pid_t root;
    bool follows; /* children are recorded too */
    uint32_t next_ref;
    uint64_t seen, short_count;
    uint64_t unclassified_count; /* ended before they were classified as Python or not */
    uint64_t now_ns;
    struct ss_vec_of(struct ended) ended; /* in the order of their ends */
};

static struct member *find(struct ss_process_table *table, pid_t pid)
{
    struct member *member = NULL;
    HASH_FIND_INT(table->by_pid, &pid, member);
    return member;
}

static void add_member(struct ss_process_table *table, pid_t pid, pid_t parent)
{
    struct member *known = find(table, pid);
    if (known != NULL) {
        return;
    }
    struct member *parent_member = find(table, parent);
    uint32_t parent_ref = 0;
    if (parent_member != NULL) {
        parent_ref = ss_recorded_process_define(parent_member->process);
    }
    struct member *member = ss_alloc_zero(1, sizeof *member);
    member->pid = pid;
    member->process =
        ss_recorded_process_new(table->context, table->next_ref++, parent_ref, pid, table->now_ns);
    HASH_ADD_INT(table->by_pid, pid, member);
    table->seen++;
}

static void count_short(struct ss_process_table *table, const char *name)
{
    table->short_count++;
    struct short_name *entry = NULL;
    char key[16] = "";
    snprintf(key, sizeof key, "%s", name);
    HASH_FIND(hh, table->short_names, key, sizeof key, entry);
    if (entry == NULL) {
        if (HASH_COUNT(table->short_names) >= MAX_SHORT_NAMES) {
            return;
        }
        entry = ss_alloc_zero(1, sizeof *entry);
        memcpy(entry->name, key, sizeof key);
        HASH_ADD(hh, table->short_names, name, sizeof entry->name, entry);
    }
    entry->count++;
}

static void remove_member(struct ss_process_table *table, struct member *member, const char *name)
{
    if (!ss_recorded_process_was_seen(member->process) && member->pid != table->root) {
        count_short(table, name);
    }
    table->unclassified_count += !ss_recorded_process_is_classified(member->process);
    const struct ss_process_observer *observer = &table->context->observer;
    if (observer->context != NULL) {
        observer->before_removal(observer->context, table->now_ns);
    }
    HASH_DEL(table->by_pid, member);
    struct ended ended = {ss_recorded_process_ref(member->process), table->now_ns};
    ss_recorded_process_free(member->process, table->now_ns);
    ss_vec_push(&table->ended, ended);
    ss_free(member);
}

/* Frees the data of ended processes, so that a program with a hundred thousand children costs only
 * what its live ones cost. */
static void forget_ended(struct ss_process_table *table)
{
    struct ss_record_context *context = table->context;
    size_t count = 0;
    while (count < table->ended.count &&
           table->now_ns >= table->ended.data[count].time_ns + context->forget_after_ns) {
        uint32_t ref = table->ended.data[count].ref;
        if (context->observer.context != NULL) {
            context->observer.forget(context->observer.context, ref);
        }
        ss_recording_forget(context->recording, ref);
        count++;
    }
    if (count == 0) {
        return;
    }
    table->ended.count -= count;
    memmove(table->ended.data, table->ended.data + count,
            table->ended.count * sizeof *table->ended.data);
}

static void write_note(struct ss_process_table *table, const char *kind, const char *text,
                       uint32_t process_ref, int64_t value)
{
    struct ss_trace_note note = {.time_ns = table->now_ns,
                                 .process_ref = process_ref,
                                 .kind = ss_strview_of(kind),
                                 .text = ss_strview_of(text),
                                 .value = value};
    struct ss_error err = {0};
    struct ss_route route = {.process_ref = process_ref};
    ss_record_context_check(table->context,
                            ss_recording_note(table->context->recording, route, &note, &err), &err);
}

/* --- notifications of children --------------------------------------------------------------- */

static void on_appeared(void *context, pid_t pid, pid_t parent)
{
    struct ss_process_table *table = context;
    if (!ss_recording_is_own_child(table->context->recording, pid)) {
        add_member(table, pid, parent);
    }
}

static void on_execed(void *context, pid_t pid, const char *name)
{
    (void)name;
    struct ss_process_table *table = context;
    struct member *member = find(table, pid);
    if (member != NULL) {
        member->ended = false;
        struct ss_record_client *annotated = ss_recorded_process_annotated(member->process);
        if (annotated != NULL) {
            const struct ss_process_observer *observer = &table->context->observer;
            observer->image_ended(observer->context, annotated, table->now_ns);
        }
        ss_recorded_process_execed(member->process, table->now_ns);
    }
}

static void on_threads_changed(void *context, pid_t pid)
{
    struct member *member = find(context, pid);
    if (member != NULL) {
        ss_recorded_process_threads_changed(member->process);
    }
}

static void on_ended(void *context, pid_t pid, const char *name)
{
    struct ss_process_table *table = context;
    struct member *member = find(table, pid);
    if (member != NULL) {
        remove_member(table, member, name);
    }
}

struct ss_recorded_process *ss_process_table_process(struct ss_process_table *table,
                                                     const struct ss_process_identity *identity,
                                                     bool is_ours)
{
    struct member *member = find(table, identity->pid);
    bool may_join = is_ours && table->follows;
    if (member == NULL && may_join) {
        add_member(table, identity->pid, identity->parent_pid);
        member = find(table, identity->pid);
        member->ended = !identity->is_alive;
    }
    if (member == NULL) {
        return NULL;
    }
    ss_recorded_process_define_ended(member->process, identity->parent_pid,
                                     identity->start_time_ticks);
    return member->process;
}

struct ss_process_table *ss_process_table_open(struct ss_record_context *context, pid_t root,
                                               bool follow, bool use_events, pid_t adopt,
                                               char *reason)
{
    struct ss_process_table *table = ss_alloc_zero(1, sizeof *table);
    table->context = context;
    table->root = root;
    table->follows = follow;
    table->next_ref = ROOT_REF;
    table->now_ns = ss_clock_now_ns(context->clock);
    add_member(table, root, 0);
    struct ss_children_sink sink = {table, on_appeared, on_execed, on_threads_changed, on_ended};
    table->children = ss_children_open(root, follow, use_events, adopt, &sink, reason);
    return table;
}

enum ss_status ss_process_table_check(struct ss_process_table *table, struct ss_error *err)
{
    struct member *member = find(table, table->root);
    if (member == NULL || !ss_recorded_process_tick(member->process, table->now_ns)) {
        return ss_fail(err, SS_E_GONE, "there is no process %d; \"ps\" lists the running ones",
                       (int)table->root);
    }
    const struct ss_error *refused = ss_recorded_process_error(member->process);
    if (refused->status != SS_OK) {
        if (err != NULL) {
            *err = *refused;
        }
        return refused->status;
    }
    return SS_OK;
}

/* --- work ------------------------------------------------------------------------------------ */

void ss_process_table_poll(struct ss_process_table *table, uint64_t now_ns)
{
    table->now_ns = now_ns;
    ss_children_poll(table->children, now_ns);
}

void ss_process_table_tick(struct ss_process_table *table, uint64_t now_ns)
{
    ss_process_table_poll(table, now_ns);
    struct member *member, *next;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        if (!member->ended && !ss_recorded_process_tick(member->process, now_ns)) {
            /* Its memory is gone; the children source reports its end as well. */
            member->ended = true;
        }
    }
}

static void write_short_names(struct ss_process_table *table)
{
    struct short_name *entry, *next;
    HASH_ITER(hh, table->short_names, entry, next)
    {
        if (entry->written != entry->count) {
            entry->written = entry->count;
            write_note(table, "short-processes", entry->name, 0, (int64_t)entry->count);
        }
    }
}

void ss_process_table_flush(struct ss_process_table *table, uint64_t now_ns, bool weights)
{
    struct member *member, *next;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        ss_recorded_process_flush(member->process, now_ns, weights);
    }
    if (weights) {
        write_short_names(table);
    }
    table->now_ns = now_ns > table->now_ns ? now_ns : table->now_ns;
    forget_ended(table);
}

void ss_process_table_exit_status(struct ss_process_table *table, pid_t pid, int status)
{
    struct member *member = find(table, pid);
    if (member != NULL) {
        write_note(table, "process-exit", "", ss_recorded_process_define(member->process), status);
    } else if (pid == table->root) {
        write_note(table, "process-exit", "", ROOT_REF, status); /* the children source was first */
    }
}

void ss_process_table_add_counts(const struct ss_process_table *table,
                                 struct ss_sampler_counts *counts)
{
    struct member *member, *next;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        ss_recorded_process_add_counts(member->process, counts);
    }
}

void ss_process_table_each(struct ss_process_table *table,
                           void (*visit)(void *visitor, pid_t pid, uint32_t ref), void *visitor)
{
    struct member *member, *next;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        if (member->ended) {
            continue;
        }
        if (member->pid == table->root) {
            ss_recorded_process_define(member->process); /* the others once they have run a while */
        }
        if (ss_recorded_process_is_defined(member->process)) {
            visit(visitor, member->pid, ss_recorded_process_ref(member->process));
        }
    }
}

static void add_outliving(pid_t pid, struct ss_record_figures *figures)
{
    struct ss_procfs_stat stat;
    if (!ss_procfs_stat(pid, 0, &stat) || stat.state == 'Z' || stat.state == 'X') {
        return;
    }
    if (figures->outliving_count < SS_OUTLIVING_MOST) {
        figures->outliving[figures->outliving_count] =
            (struct ss_outliving_process){pid, stat.start_time_ticks};
    }
    figures->outliving_count++;
}

void ss_process_table_find_outliving(struct ss_process_table *table, uint64_t now_ns,
                                     struct ss_record_figures *figures)
{
    struct member *member, *next;
    ss_process_table_poll(table, now_ns);
    figures->outliving_count = 0;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        if (!member->ended && member->pid != table->root) {
            add_outliving(member->pid, figures);
        }
    }
}

uint64_t ss_process_table_seen(const struct ss_process_table *table)
{
    return table->seen;
}

uint64_t ss_process_table_short(const struct ss_process_table *table)
{
    return table->short_count;
}

uint64_t ss_process_table_unclassified(const struct ss_process_table *table)
{
    return table->unclassified_count;
}

void ss_process_table_end(struct ss_process_table *table, uint64_t now_ns)
{
    table->now_ns = now_ns;
    struct member *member, *next;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        ss_recorded_process_flush(member->process, now_ns, true);
        struct ss_procfs_stat stat = {0};
        bool gone = !ss_procfs_stat(member->pid, 0, &stat) || stat.state == 'Z';
        table->unclassified_count += gone && !ss_recorded_process_is_classified(member->process);
        if (gone && member->pid != table->root && !ss_recorded_process_was_seen(member->process)) {
            count_short(table, stat.comm);
        }
    }
    write_short_names(table);
}

void ss_process_table_close(struct ss_process_table *table)
{
    struct member *member, *next;
    HASH_ITER(hh, table->by_pid, member, next)
    {
        HASH_DEL(table->by_pid, member);
        ss_recorded_process_free(member->process, table->now_ns);
        ss_free(member);
    }
    struct short_name *entry, *next_entry;
    HASH_ITER(hh, table->short_names, entry, next_entry)
    {
        HASH_DEL(table->short_names, entry);
        ss_free(entry);
    }
    ss_children_close(table->children);
    ss_vec_fini(&table->ended);
    ss_free(table);
}
