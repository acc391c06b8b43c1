/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/define.h"

#include <errno.h>

#include "annot/names.h"
#include "annot/thread.h"

/* false: not now, not here. */
static bool begin(int *saved_errno)
{
    if (ss_thread_is_inside != 0 || !ss_process_is_set_up()) {
        return false;
    }
    *saved_errno = errno;
    ss_thread_is_inside = 1;
    ss_process_lock();
    return true;
}

static void end(int saved_errno)
{
    ss_process_share_definitions();
    ss_process_unlock();
    ss_thread_is_inside = 0;
    errno = saved_errno;
}

static uint32_t text_as(enum ss_ring_definition_kind kind, const char *text, size_t length)
{
    int saved;
    uint32_t id = text != NULL ? ss_names_find(kind, text, length) : 0;
    if (id != 0 || text == NULL || !begin(&saved)) {
        return id;
    }
    id = ss_names_add(kind, text, length);
    end(saved);
    return id;
}

uint32_t ss_define_name(const char *text, size_t length)
{
    return text_as(SS_RING_DEFINE_NAME, text, length);
}

uint32_t ss_define_domain(const char *text, size_t length)
{
    return text_as(SS_RING_DEFINE_DOMAIN, text, length);
}

uint32_t ss_define_function(const char *text, size_t length, uint32_t file, uint32_t line)
{
    int saved;
    if (!begin(&saved)) {
        return 0;
    }
    uint32_t id = ss_names_add_function(text, length, file, line);
    end(saved);
    return id;
}

uint32_t ss_define_styled(uint32_t name, uint32_t argb, uint32_t category)
{
    int saved;
    if (name == 0 || (argb == 0 && category == 0)) {
        return name;
    }
    uint32_t id = ss_names_find_styled(name, argb, category);
    if (id != 0 || !begin(&saved)) {
        return id != 0 ? id : name;
    }
    id = ss_names_add_styled(name, argb, category);
    end(saved);
    return id != 0 ? id : name;
}

static void describe(enum ss_ring_definition_kind kind, uint32_t name, uint32_t b, uint32_t c)
{
    int saved;
    if (begin(&saved)) {
        ss_names_describe(kind, name, b, c);
        end(saved);
    }
}

void ss_define_style(uint32_t name, uint32_t argb, uint32_t category)
{
    describe(SS_RING_DEFINE_STYLE, name, argb, category);
}

void ss_define_counter(uint32_t name, uint32_t unit, uint32_t kind)
{
    describe(SS_RING_DEFINE_COUNTER, name, unit, kind);
}
