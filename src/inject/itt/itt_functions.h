/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT's functions under stepscope's names, with ITT's arguments. The program may call them from any
 * thread at any time, with NULLs and with handles that stepscope did not create. While nothing is
 * recorded, they return at once.
 *
 * All other functions of ITT behave as without a collector: locks and their waits, suppressions,
 * heaps, the threading model, stitched stacks, histograms, custom tracks, modules, clock domains.
 */
#ifndef SS_INJECT_ITT_ITT_FUNCTIONS_H
#define SS_INJECT_ITT_ITT_FUNCTIONS_H

#include <stddef.h>

#include "inject/itt/itt.h"

/* X(name): ss_itt_NAME is __itt_NAME. */
#define SS_ITT_FUNCTIONS(X)                                                                        \
    X(domain_create)                                                                               \
    X(string_handle_create)                                                                        \
    X(task_begin)                                                                                  \
    X(task_begin_fn)                                                                               \
    X(task_end)                                                                                    \
    X(task_begin_ex)                                                                               \
    X(task_begin_fn_ex)                                                                            \
    X(task_end_ex)                                                                                 \
    X(task_begin_overlapped)                                                                       \
    X(task_end_overlapped)                                                                         \
    X(task_begin_overlapped_ex)                                                                    \
    X(task_end_overlapped_ex)                                                                      \
    X(region_begin)                                                                                \
    X(region_end)                                                                                  \
    X(frame_begin_v3)                                                                              \
    X(frame_end_v3)                                                                                \
    X(frame_submit_v3)                                                                             \
    X(frame_create)                                                                                \
    X(frame_begin)                                                                                 \
    X(frame_end)                                                                                   \
    X(get_timestamp)                                                                               \
    X(marker)                                                                                      \
    X(marker_ex)                                                                                   \
    X(mark_create)                                                                                 \
    X(mark)                                                                                        \
    X(mark_global)                                                                                 \
    X(event_create)                                                                                \
    X(event_start)                                                                                 \
    X(event_end)                                                                                   \
    X(pause)                                                                                       \
    X(resume)                                                                                      \
    X(pause_scoped)                                                                                \
    X(resume_scoped)                                                                               \
    X(thread_set_name)                                                                             \
    X(thr_name_set)                                                                                \
    X(metadata_add)                                                                                \
    X(metadata_str_add)                                                                            \
    X(metadata_add_with_scope)                                                                     \
    X(metadata_str_add_with_scope)                                                                 \
    X(formatted_metadata_add)                                                                      \
    X(formatted_metadata_add_overlapped)                                                           \
    X(relation_add_to_current)                                                                     \
    X(relation_add)                                                                                \
    X(relation_add_to_current_ex)                                                                  \
    X(relation_add_ex)                                                                             \
    X(counter_create)                                                                              \
    X(counter_create_typed)                                                                        \
    X(counter_create_v3)                                                                           \
    X(counter_inc)                                                                                 \
    X(counter_inc_delta)                                                                           \
    X(counter_dec)                                                                                 \
    X(counter_dec_delta)                                                                           \
    X(counter_inc_v3)                                                                              \
    X(counter_inc_delta_v3)                                                                        \
    X(counter_dec_v3)                                                                              \
    X(counter_dec_delta_v3)                                                                        \
    X(counter_set_value)                                                                           \
    X(counter_set_value_ex)                                                                        \
    X(counter_set_value_v3)

typedef const struct ss_itt_domain *ss_itt_in_domain;
typedef struct ss_itt_string *ss_itt_in_string;

/* --- itt_names.c ------------------------------------------------------------------------------ */

struct ss_itt_domain *ss_itt_domain_create(const char *name);
struct ss_itt_string *ss_itt_string_handle_create(const char *text);

/* --- itt_ranges.c: tasks nest on their thread; ranges with an id may overlap ------------------ */

void ss_itt_task_begin(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                       ss_itt_in_string name);
void ss_itt_task_begin_fn(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                          void *function);
void ss_itt_task_end(ss_itt_in_domain domain);
void ss_itt_task_begin_overlapped(ss_itt_in_domain domain, struct ss_itt_id id,
                                  struct ss_itt_id parent, ss_itt_in_string name);
void ss_itt_task_end_overlapped(ss_itt_in_domain domain, struct ss_itt_id id);
void ss_itt_region_begin(ss_itt_in_domain domain, struct ss_itt_id id, struct ss_itt_id parent,
                         ss_itt_in_string name);
void ss_itt_region_end(ss_itt_in_domain domain, struct ss_itt_id id);

/* With a clock of the program and its time. These are ignored: the time of the call is recorded. */
void ss_itt_task_begin_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                          struct ss_itt_id id, struct ss_itt_id parent, ss_itt_in_string name);
void ss_itt_task_begin_fn_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                             struct ss_itt_id id, struct ss_itt_id parent, void *function);
void ss_itt_task_end_ex(ss_itt_in_domain domain, void *clock, unsigned long long time);
void ss_itt_task_begin_overlapped_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                                     struct ss_itt_id id, struct ss_itt_id parent,
                                     ss_itt_in_string name);
void ss_itt_task_end_overlapped_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                                   struct ss_itt_id id);

/* Frames without an id: one at a time per domain. Times come from get_timestamp. */
void ss_itt_frame_begin_v3(ss_itt_in_domain domain, const struct ss_itt_id *id);
void ss_itt_frame_end_v3(ss_itt_in_domain domain, const struct ss_itt_id *id);
void ss_itt_frame_submit_v3(ss_itt_in_domain domain, const struct ss_itt_id *id,
                            unsigned long long begin, unsigned long long end);
unsigned long long ss_itt_get_timestamp(void);
/* The older API: the handle is a domain. */
struct ss_itt_domain *ss_itt_frame_create(const char *domain);
void ss_itt_frame_begin(ss_itt_in_domain frame);
void ss_itt_frame_end(ss_itt_in_domain frame);

/* An event is the number of its name; each thread has it open at most once. Start and end
 * return 0. */
int ss_itt_event_create(const char *name, int length);
int ss_itt_event_start(int event);
int ss_itt_event_end(int event);

/* Until resume, ranges that begin (with their ends), marks, counters and relations are left out. */
void ss_itt_pause(void);
void ss_itt_resume(void);
void ss_itt_pause_scoped(int scope);
void ss_itt_resume_scoped(int scope);

/* --- itt_marks.c ------------------------------------------------------------------------------ */

void ss_itt_marker(ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string name, int scope);
void ss_itt_marker_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                      struct ss_itt_id id, ss_itt_in_string name, int scope);
int ss_itt_mark_create(const char *name);
int ss_itt_mark(int mark, const char *parameter);
int ss_itt_mark_global(int mark, const char *parameter);

void ss_itt_thread_set_name(const char *name);
int ss_itt_thr_name_set(const char *name, int length);

/* Metadata of a task: recorded as a mark at the time of the call; its name is the key. */
void ss_itt_metadata_add(ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string key,
                         int type, size_t count, const void *data);
void ss_itt_metadata_str_add(ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string key,
                             const char *text, size_t length);
void ss_itt_metadata_add_with_scope(ss_itt_in_domain domain, int scope, ss_itt_in_string key,
                                    int type, size_t count, const void *data);
void ss_itt_metadata_str_add_with_scope(ss_itt_in_domain domain, int scope, ss_itt_in_string key,
                                        const char *text, size_t length);
void ss_itt_formatted_metadata_add(ss_itt_in_domain domain, ss_itt_in_string format, ...);
void ss_itt_formatted_metadata_add_overlapped(ss_itt_in_domain domain, struct ss_itt_id id,
                                              ss_itt_in_string format, ...);

/* Flows from the tasks with these ids to the innermost open range of the calling thread. */
void ss_itt_relation_add_to_current(ss_itt_in_domain domain, int relation, struct ss_itt_id tail);
void ss_itt_relation_add(ss_itt_in_domain domain, struct ss_itt_id head, int relation,
                         struct ss_itt_id tail);
void ss_itt_relation_add_to_current_ex(ss_itt_in_domain domain, void *clock,
                                       unsigned long long time, int relation,
                                       struct ss_itt_id tail);
void ss_itt_relation_add_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                            struct ss_itt_id head, int relation, struct ss_itt_id tail);

/* --- itt_counters.c --------------------------------------------------------------------------- */

void *ss_itt_counter_create(const char *name, const char *domain);
void *ss_itt_counter_create_typed(const char *name, const char *domain, int type);
void *ss_itt_counter_create_v3(ss_itt_in_domain domain, const char *name, int type);
void ss_itt_counter_inc(void *counter);
void ss_itt_counter_inc_delta(void *counter, unsigned long long value);
void ss_itt_counter_dec(void *counter);
void ss_itt_counter_dec_delta(void *counter, unsigned long long value);
void ss_itt_counter_inc_v3(ss_itt_in_domain domain, ss_itt_in_string name);
void ss_itt_counter_inc_delta_v3(ss_itt_in_domain domain, ss_itt_in_string name,
                                 unsigned long long value);
void ss_itt_counter_dec_v3(ss_itt_in_domain domain, ss_itt_in_string name);
void ss_itt_counter_dec_delta_v3(ss_itt_in_domain domain, ss_itt_in_string name,
                                 unsigned long long value);
void ss_itt_counter_set_value(void *counter, const void *value);
void ss_itt_counter_set_value_ex(void *counter, void *clock, unsigned long long time,
                                 const void *value);
void ss_itt_counter_set_value_v3(void *counter, const void *value);

#endif
