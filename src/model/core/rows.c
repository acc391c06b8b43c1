/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/rows.h"

#include <string.h>

#include "base/clock.h"
#include "trace/event_fields.h"

#define SS_ROWS(table, type, none) typedef type type_of_##table;
#include "model/core/rows.def"

#define SIZE(rows, member) sizeof(((type_of_##rows *)0)->member)
#define MEMBER(rows, member, kind, of)                                                             \
    {kind, (uint32_t)offsetof(type_of_##rows, member), (uint32_t)SIZE(rows, member), (of), 0},
#define SS_ROWS(table, type, none) static const struct ss_member members_of_##table[] = {
#define SS_TEXT(rows, member) MEMBER(rows, member, SS_MEMBER_TEXT, 0)
#define SS_REF(rows, member, table) MEMBER(rows, member, SS_MEMBER_REF, SS_ROWS_##table)
#define SS_TIME(rows, member) MEMBER(rows, member, SS_MEMBER_TIME, 0)
#define SS_KNOWN_TIME(rows, member) MEMBER(rows, member, SS_MEMBER_KNOWN_TIME, 0)
#define SS_PLAIN(rows, member) MEMBER(rows, member, SS_MEMBER_PLAIN, 0)
#define SS_FLAG(rows, member) MEMBER(rows, member, SS_MEMBER_FLAG, 0)
#define SS_ENUM(rows, member, count) MEMBER(rows, member, SS_MEMBER_ENUM, (uint32_t)(count))
#define SS_VALUE(rows, member, type)                                                               \
    {SS_MEMBER_VALUE, (uint32_t)offsetof(type_of_##rows, member), (uint32_t)SIZE(rows, member),    \
     (uint32_t)offsetof(type_of_##rows, type), (uint32_t)SIZE(rows, type)},
#define SS_CHARS(rows, member) MEMBER(rows, member, SS_MEMBER_CHARS, 0)
#define SS_ROWS_END(table)                                                                         \
    }                                                                                              \
    ;
#include "model/core/rows.def"

const struct ss_rows ss_rows[SS_ROWS_COUNT] = {
#define SS_ROWS(table, type, none)                                                                 \
    {#table,                                                                                       \
     members_of_##table,                                                                           \
     sizeof members_of_##table / sizeof *members_of_##table,                                       \
     sizeof(type),                                                                                 \
     offsetof(struct ss_model, table),                                                             \
     (none)},
#include "model/core/rows.def"
};

struct ss_rows_view ss_rows_get(const struct ss_model *model, enum ss_rows_id id)
{
    struct ss_rows_view view;
    memcpy(&view, (const char *)model + ss_rows[id].vec_offset, sizeof view);
    return view;
}

void *ss_rows_append(struct ss_model *model, enum ss_rows_id id, size_t count)
{
    size_t size = ss_rows[id].row_bytes;
    struct ss_rows_view view = ss_rows_get(model, id);
    if (view.count + count > view.capacity) {
        size_t more =
            view.capacity * 2 > view.count + count ? view.capacity * 2 : view.count + count;
        view.data = ss_realloc(view.data, more, size);
        view.capacity = more;
    }
    char *first = (char *)view.data + view.count * size;
    if (count > 0) {
        memset(first, 0, count * size);
    }
    view.count += count;
    memcpy((char *)model + ss_rows[id].vec_offset, &view, sizeof view);
    return first;
}

uint64_t ss_member_number(const void *row, uint32_t offset, uint32_t size)
{
    const char *at = (const char *)row + offset;
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        memcpy(&one, at, sizeof one);
        return one;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

static void map_id(void *row, uint32_t offset, const uint32_t *map)
{
    uint32_t id;
    memcpy(&id, (char *)row + offset, sizeof id);
    id = map != NULL ? map[id] : id;
    memcpy((char *)row + offset, &id, sizeof id);
}

static void map_time(void *row, uint32_t offset, int64_t shift_ns)
{
    uint64_t time_ns;
    memcpy(&time_ns, (char *)row + offset, sizeof time_ns);
    time_ns = ss_clock_shifted(time_ns, shift_ns);
    memcpy((char *)row + offset, &time_ns, sizeof time_ns);
}

void ss_row_map(enum ss_rows_id id, void *row, const struct ss_row_maps *maps)
{
    const struct ss_rows *rows = &ss_rows[id];
    for (size_t i = 0; i < rows->member_count; i++) {
        const struct ss_member *member = &rows->members[i];
        switch (member->kind) {
        case SS_MEMBER_TEXT:
            map_id(row, member->offset, maps->texts);
            break;
        case SS_MEMBER_REF:
            map_id(row, member->offset, maps->rows[member->of]);
            break;
        case SS_MEMBER_TIME:
            map_time(row, member->offset, maps->shift_ns);
            break;
        case SS_MEMBER_KNOWN_TIME:
            if (ss_member_number(row, member->offset, member->size) != 0) {
                map_time(row, member->offset, maps->shift_ns);
            }
            break;
        case SS_MEMBER_VALUE:
            if (ss_member_number(row, member->of, member->type_size) == SS_VALUE_TEXT) {
                map_id(row, member->offset, maps->texts);
            }
            break;
        default:
            break;
        }
    }
}
