/* SPDX-License-Identifier: Apache-2.0 */
/* Marks, thread names, metadata and relations. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "annot/define.h"
#include "annot/names.h"
#include "annot/thread.h"
#include "inject/itt/itt_functions.h"
#include "inject/itt/itt_names.h"
#include "inject/itt/itt_state.h"
#include "inject/itt/itt_values.h"

enum { MOST_METADATA_TEXTS = SS_RING_MAX_NAMES / 2, MOST_SHOWN_VALUES = 32 };

/* --- marks ------------------------------------------------------------------------------------ */

void ss_itt_marker(ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string name, int scope)
{
    (void)id;
    (void)scope;
    if (ss_itt_is_recorded(SS_RING_GATE_MARKS)) {
        ss_event_mark(ss_itt_domain(domain), ss_itt_name(name), (struct ss_event_value){0});
    }
}

void ss_itt_marker_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                      struct ss_itt_id id, ss_itt_in_string name, int scope)
{
    (void)clock;
    (void)time;
    ss_itt_marker(domain, id, name, scope);
}

/* Metadata texts must not fill the table of names: beyond MOST_METADATA_TEXTS, new ones are left
 * out and counted. */
static struct ss_event_value value_of_text(const char *text, size_t length)
{
    static _Atomic uint32_t texts;
    uint32_t name = ss_names_find(SS_RING_DEFINE_NAME, text, length);
    if (name == 0 && atomic_load_explicit(&texts, memory_order_relaxed) < MOST_METADATA_TEXTS) {
        atomic_fetch_add_explicit(&texts, 1, memory_order_relaxed);
        name = ss_define_name(text, length);
    }
    if (name == 0) {
        atomic_fetch_add_explicit(&ss_process_header->lost_names, 1, memory_order_relaxed);
    }
    return (struct ss_event_value){name, SS_RING_VALUE_NAME};
}

int ss_itt_mark_create(const char *name)
{
    return (int)ss_itt_name_of_text(name);
}

int ss_itt_mark(int mark, const char *parameter)
{
    if (ss_itt_is_recorded(SS_RING_GATE_MARKS)) {
        struct ss_event_value value = {0};
        if (parameter != NULL) {
            value = value_of_text(parameter, strlen(parameter));
        }
        ss_event_mark(0, mark > 0 && mark < SS_RING_MAX_NAMES ? (uint32_t)mark : 0, value);
    }
    return 0;
}

int ss_itt_mark_global(int mark, const char *parameter)
{
    return ss_itt_mark(mark, parameter);
}

/* --- threads ---------------------------------------------------------------------------------- */

int ss_itt_thr_name_set(const char *name, int length)
{
    if (name != NULL && length > 0 && ss_event_is_on(SS_RING_GATE_ALL)) {
        int32_t tid = ss_thread_tid();
        ss_event_thread_name(tid, ss_define_name(name, strnlen(name, (size_t)length)));
    }
    return 0;
}

void ss_itt_thread_set_name(const char *name)
{
    ss_itt_thr_name_set(name, SS_RING_MAX_TEXT_BYTES);
}

/* --- metadata --------------------------------------------------------------------------------- */

static void emit_metadata(ss_itt_in_domain domain, ss_itt_in_string key,
                          struct ss_event_value value)
{
    static const char anonymous[] = "metadata";
    uint32_t name =
        key != NULL ? ss_itt_name(key) : ss_define_name(anonymous, sizeof anonymous - 1);
    ss_event_mark(ss_itt_domain(domain), name, value);
}

/* "1, 2, 3, …" */
static struct ss_event_value value_of_array(int type, size_t count, const void *data)
{
    char text[SS_RING_MAX_TEXT_BYTES];
    int used = 0;
    for (size_t i = 0; i < count && used < (int)sizeof text - 64; i++) {
        const char *comma = i > 0 ? ", " : "";
        struct ss_event_value value = ss_itt_value(type, data, i);
        if (i == MOST_SHOWN_VALUES) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s… (%zu)", comma, count);
            break;
        }
        size_t room = sizeof text - (size_t)used;
        if (value.type == SS_RING_VALUE_DOUBLE) {
            double real;
            memcpy(&real, &value.bits, sizeof real);
            used += snprintf(text + used, room, "%s%.9g", comma, real);
        } else if (value.type == SS_RING_VALUE_SIGNED) {
            used += snprintf(text + used, room, "%s%" PRId64, comma, (int64_t)value.bits);
        } else {
            used += snprintf(text + used, room, "%s%" PRIu64, comma, value.bits);
        }
    }
    return value_of_text(text, (size_t)used);
}

static void emit_values(ss_itt_in_domain domain, ss_itt_in_string key, int type, size_t count,
                        const void *data)
{
    if (!ss_itt_is_recorded(SS_RING_GATE_MARKS)) {
        return;
    }
    struct ss_event_value value = {0};
    if (data != NULL && ss_itt_value_bytes(type) != 0 && count == 1) {
        value = ss_itt_value(type, data, 0);
    } else if (data != NULL && ss_itt_value_bytes(type) != 0 && count > 1) {
        value = value_of_array(type, count, data);
    }
    emit_metadata(domain, key, value);
}

/* `length` 0 or SIZE_MAX: the text ends at its NUL. */
static void emit_text(ss_itt_in_domain domain, ss_itt_in_string key, const char *text,
                      size_t length)
{
    if (!ss_itt_is_recorded(SS_RING_GATE_MARKS)) {
        return;
    }
    struct ss_event_value value = {0};
    if (text != NULL) {
        bool is_terminated = length == 0 || length == SIZE_MAX;
        value = value_of_text(text, is_terminated ? strlen(text) : strnlen(text, length));
    }
    emit_metadata(domain, key, value);
}

void ss_itt_metadata_add(ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string key,
                         int type, size_t count, const void *data)
{
    (void)id;
    emit_values(domain, key, type, count, data);
}

void ss_itt_metadata_add_with_scope(ss_itt_in_domain domain, int scope, ss_itt_in_string key,
                                    int type, size_t count, const void *data)
{
    (void)scope;
    emit_values(domain, key, type, count, data);
}

void ss_itt_metadata_str_add(ss_itt_in_domain domain, struct ss_itt_id id, ss_itt_in_string key,
                             const char *text, size_t length)
{
    (void)id;
    emit_text(domain, key, text, length);
}

void ss_itt_metadata_str_add_with_scope(ss_itt_in_domain domain, int scope, ss_itt_in_string key,
                                        const char *text, size_t length)
{
    (void)scope;
    emit_text(domain, key, text, length);
}

static void emit_formatted(ss_itt_in_domain domain, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void emit_formatted(ss_itt_in_domain domain, const char *format, va_list arguments)
{
    char text[SS_RING_MAX_TEXT_BYTES + 1];
    if (strcmp(format, "%s") == 0) { /* oneDNN's format, twice for each primitive */
        const char *only = va_arg(arguments, const char *);
        only = only != NULL ? only : "";
        emit_metadata(domain, NULL, value_of_text(only, strnlen(only, sizeof text)));
        return;
    }
    int saved = errno;
    int length = vsnprintf(text, sizeof text, format, arguments);
    errno = saved;
    if (length >= 0) {
        size_t fits = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
        emit_metadata(domain, NULL, value_of_text(text, fits));
    }
}

/* The program supplies the format, as for printf. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void ss_itt_formatted_metadata_add(ss_itt_in_domain domain, ss_itt_in_string format, ...)
{
    if (ss_itt_is_recorded(SS_RING_GATE_MARKS) && format != NULL && format->text != NULL) {
        va_list arguments;
        va_start(arguments, format);
        emit_formatted(domain, format->text, arguments);
        va_end(arguments);
    }
}

void ss_itt_formatted_metadata_add_overlapped(ss_itt_in_domain domain, struct ss_itt_id id,
                                              ss_itt_in_string format, ...)
{
    (void)id;
    if (ss_itt_is_recorded(SS_RING_GATE_MARKS) && format != NULL && format->text != NULL) {
        va_list arguments;
        va_start(arguments, format);
        emit_formatted(domain, format->text, arguments);
        va_end(arguments);
    }
}

#pragma GCC diagnostic pop

/* --- relations -------------------------------------------------------------------------------- */

void ss_itt_relation_add_to_current(ss_itt_in_domain domain, int relation, struct ss_itt_id tail)
{
    (void)domain;
    (void)relation;
    if (ss_itt_is_recorded(SS_RING_GATE_RANGES)) {
        ss_itt_connect_flow(&tail);
    }
}

void ss_itt_relation_add(ss_itt_in_domain domain, struct ss_itt_id head, int relation,
                         struct ss_itt_id tail)
{
    (void)domain;
    (void)relation;
    if (ss_itt_is_recorded(SS_RING_GATE_RANGES)) {
        ss_itt_connect_flow(&head);
        ss_itt_connect_flow(&tail);
    }
}

void ss_itt_relation_add_to_current_ex(ss_itt_in_domain domain, void *clock,
                                       unsigned long long time, int relation, struct ss_itt_id tail)
{
    (void)clock;
    (void)time;
    ss_itt_relation_add_to_current(domain, relation, tail);
}

void ss_itt_relation_add_ex(ss_itt_in_domain domain, void *clock, unsigned long long time,
                            struct ss_itt_id head, int relation, struct ss_itt_id tail)
{
    (void)clock;
    (void)time;
    ss_itt_relation_add(domain, head, relation, tail);
}
