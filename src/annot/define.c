/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/define.h"

#include "annot/names.h"
#include "annot/thread.h"

static void leave(const struct ss_thread_quiet *quiet)
{
    ss_process_share_definitions();
    ss_thread_leave(quiet);
}

/* `id` 0: there was no room; counted for the recorder. */
static uint32_t leave_with(uint32_t id, const struct ss_thread_quiet *quiet)
{
    if (id == 0) {
        atomic_fetch_add_explicit(&ss_process_header->lost_names, 1, memory_order_relaxed);
    }
    leave(quiet);
    return id;
}

static uint32_t define_text(enum ss_ring_definition_kind kind, const char *text, size_t length)
{
    struct ss_thread_quiet quiet;
    uint32_t id = text != NULL ? ss_names_find(kind, text, length) : 0;
    if (id != 0 || text == NULL || !ss_thread_enter(&quiet)) {
        return id;
    }
    return leave_with(ss_names_add(kind, text, length), &quiet);
}

uint32_t ss_define_name(const char *text, size_t length)
{
    return define_text(SS_RING_DEFINE_NAME, text, length);
}

uint32_t ss_define_domain(const char *text, size_t length)
{
    return define_text(SS_RING_DEFINE_DOMAIN, text, length);
}

uint32_t ss_define_function(const char *text, size_t length, uint32_t file, uint32_t line)
{
    struct ss_thread_quiet quiet;
    if (!ss_thread_enter(&quiet)) {
        return 0;
    }
    return leave_with(ss_names_add_function(text, length, file, line), &quiet);
}

uint32_t ss_define_styled(uint32_t name, struct ss_name_style style)
{
    struct ss_thread_quiet quiet;
    if (name == 0 || (style.argb == 0 && style.category == 0 && style.type == SS_EVENT_TYPE_NONE)) {
        return name;
    }
    uint32_t id = ss_names_find_styled(name, style);
    if (id != 0 || !ss_thread_enter(&quiet)) {
        return id != 0 ? id : name;
    }
    id = leave_with(ss_names_add_styled(name, style), &quiet);
    return id != 0 ? id : name;
}

static void describe(enum ss_ring_definition_kind kind, uint32_t name, uint32_t b, uint32_t c,
                     uint32_t d)
{
    struct ss_thread_quiet quiet;
    if (ss_thread_enter(&quiet)) {
        ss_names_describe(kind, name, b, c, d);
        leave(&quiet);
    }
}

void ss_define_style(uint32_t name, uint32_t argb, uint32_t category)
{
    describe(SS_RING_DEFINE_STYLE, name, argb, category, SS_EVENT_TYPE_NONE);
}

void ss_define_counter(uint32_t name, uint32_t unit, uint32_t kind)
{
    describe(SS_RING_DEFINE_COUNTER, name, unit, kind, SS_QUANTITY_NONE);
}

void ss_define_quantity(uint32_t name, uint32_t unit, enum ss_quantity quantity)
{
    describe(SS_RING_DEFINE_COUNTER, name, unit, SS_RING_GAUGE, (uint32_t)quantity);
}
