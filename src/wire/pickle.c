/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pickle.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

/* The longest text or number of a file; more marks than any data nests to. */
enum { MOST_TEXT_BYTES = 64 << 20, BLOCK_BYTES = 1 << 16, MOST_MARKS = 4096, MOST_INTEGER = 8 };

struct reader {
    struct ss_pickle *pickle;
    const struct ss_pickle_source *source;
    struct ss_error *err;
    char *data; /* read, from `begin` on not consumed */
    size_t begin, end, capacity;
    uint64_t offset; /* of data[0] */
    uint64_t at;     /* of the opcode that runs */
    const char *opcode;
    bool is_over; /* STOP was read */
    struct ss_vec_of(struct ss_pickle_value) stack;
    struct ss_vec_of(size_t) marks; /* heights of the stack */
    struct ss_vec_of(struct ss_pickle_value) memo;
};

/* What follows an opcode. */
enum operand { NOTHING, U1, U2, I4, U4, U8, REAL8, BYTES1, BYTES4, BYTES8 };

struct operand_value {
    uint64_t number;
    struct ss_strview bytes;
    unsigned argument; /* of the row in the table of instructions */
};

void ss_pickle_init(struct ss_pickle *pickle)
{
    *pickle = (struct ss_pickle){0};
    ss_intern_init(&pickle->texts);
}

void ss_pickle_fini(struct ss_pickle *pickle)
{
    ss_arena_fini(&pickle->arena);
    ss_intern_fini(&pickle->texts);
    ss_vec_fini(&pickle->objects);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static enum ss_status fail(struct reader *reader, const char *why)
{
    return ss_fail(reader->err, SS_E_FORMAT, "%s: byte %" PRIu64 ": %s", reader->source->path,
                   reader->at, why);
}

/* Makes `length` bytes readable at `begin`. */
static enum ss_status need(struct reader *reader, size_t length)
{
    size_t unread = reader->end - reader->begin;
    if (unread >= length) {
        return SS_OK;
    }
    memmove(reader->data, reader->data + reader->begin, unread);
    reader->offset += reader->begin;
    reader->begin = 0;
    reader->end = unread;
    while (reader->end < length) {
        size_t got;
        if (reader->end == reader->capacity) {
            reader->capacity *= 2;
            reader->data = ss_realloc(reader->data, reader->capacity, 1);
        }
        SS_TRY(reader->source->read(reader->source->context, reader->data + reader->end,
                                    reader->capacity - reader->end, &got, reader->err));
        if (got == 0) {
            return fail(reader, "the file ends within the pickle");
        }
        reader->end += got;
    }
    return SS_OK;
}

static uint64_t take_number(struct reader *reader, size_t length)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        number |= (uint64_t)(uint8_t)reader->data[reader->begin + i] << (8 * i);
    }
    reader->begin += length;
    return number;
}

static enum ss_status read_operand(struct reader *reader, enum operand kind,
                                   struct operand_value *value)
{
    static const uint8_t sizes[] = {
        [NOTHING] = 0, [U1] = 1,    [U2] = 2,     [I4] = 4,     [U4] = 4,
        [U8] = 8,      [REAL8] = 8, [BYTES1] = 1, [BYTES4] = 4, [BYTES8] = 8};
    SS_TRY(need(reader, sizes[kind]));
    value->number = take_number(reader, sizes[kind]);
    if (kind == BYTES1 || kind == BYTES4 || kind == BYTES8) {
        if (value->number > MOST_TEXT_BYTES) {
            return fail(reader, "a text of more than 64 MiB");
        }
        SS_TRY(need(reader, (size_t)value->number));
        value->bytes = (struct ss_strview){reader->data + reader->begin, (size_t)value->number};
        reader->begin += (size_t)value->number;
    }
    return SS_OK;
}

/* --- the stack -------------------------------------------------------------------------------- */

static size_t bytes_used(const struct reader *reader)
{
    const struct ss_pickle *pickle = reader->pickle;
    return pickle->arena.total_bytes + pickle->texts.arena.total_bytes +
           pickle->texts.text_capacity * (sizeof *pickle->texts.texts + sizeof(uint32_t)) +
           pickle->texts.slot_count * sizeof(uint32_t) +
           pickle->objects.capacity * sizeof *pickle->objects.data +
           (reader->stack.capacity + reader->memo.capacity) * sizeof *reader->memo.data;
}

static enum ss_status check_memory(struct reader *reader)
{
    if (bytes_used(reader) <= reader->source->most_bytes) {
        return SS_OK;
    }
    return ss_fail(reader->err, SS_E_LIMIT,
                   "%s: byte %" PRIu64 ": its values need more than %zu MiB of memory",
                   reader->source->path, reader->at, reader->source->most_bytes >> 20);
}

static enum ss_status push(struct reader *reader, struct ss_pickle_value value)
{
    ss_vec_push(&reader->stack, value);
    return SS_OK;
}

static size_t height_of_mark(const struct reader *reader)
{
    return reader->marks.count > 0 ? reader->marks.data[reader->marks.count - 1] : 0;
}

/* The `count` topmost values, which lie above the last mark; they leave the stack but stay where
 * they are until the next push. */
static enum ss_status pop(struct reader *reader, size_t count,
                          const struct ss_pickle_value **values)
{
    if (reader->stack.count - height_of_mark(reader) < count) {
        return fail(reader, "too few values for an instruction");
    }
    reader->stack.count -= count;
    *values = reader->stack.data + reader->stack.count;
    return SS_OK;
}

/* The values above the last mark, and the mark. */
static enum ss_status pop_mark(struct reader *reader, const struct ss_pickle_value **values,
                               size_t *count)
{
    if (reader->marks.count == 0) {
        return fail(reader, "an instruction without its mark");
    }
    size_t height = reader->marks.data[--reader->marks.count];
    *count = reader->stack.count - height;
    reader->stack.count = height;
    *values = reader->stack.data + height;
    return SS_OK;
}

static enum ss_status push_object(struct reader *reader, enum ss_pickle_type type,
                                  const struct ss_pickle_value *values, size_t count)
{
    struct ss_pickle *pickle = reader->pickle;
    struct ss_pickle_object object = {NULL, (uint32_t)count, (uint32_t)count};
    if (pickle->objects.count >= UINT32_MAX || count >= UINT32_MAX / 2) {
        return fail(reader, "too many values");
    }
    if (count > 0) {
        object.values = ss_arena_alloc(&pickle->arena, count * sizeof *values);
        memcpy(object.values, values, count * sizeof *values);
    }
    ss_vec_push(&pickle->objects, object);
    return push(reader, (struct ss_pickle_value){.type = type,
                                                 .object = (uint32_t)pickle->objects.count - 1});
}

/* Appends to the object on top of the stack. */
static enum ss_status extend(struct reader *reader, enum ss_pickle_type type,
                             const struct ss_pickle_value *values, size_t count)
{
    struct ss_pickle *pickle = reader->pickle;
    if (reader->stack.count == height_of_mark(reader)) {
        return fail(reader, "too few values for an instruction");
    }
    struct ss_pickle_value top = reader->stack.data[reader->stack.count - 1];
    if (top.type != type || (type == SS_PICKLE_DICT && count % 2 != 0)) {
        return fail(reader, "items for something that has none");
    }
    struct ss_pickle_object *object = &pickle->objects.data[top.object];
    if (count > UINT32_MAX / 2 - object->count) {
        return fail(reader, "too many values");
    }
    uint32_t wanted = object->count + (uint32_t)count;
    if (wanted > object->capacity) {
        uint32_t capacity = object->count == 0 ? wanted : 2 * wanted;
        struct ss_pickle_value *moved = ss_arena_alloc(&pickle->arena, capacity * sizeof *moved);
        if (object->count > 0) {
            memcpy(moved, object->values, object->count * sizeof *moved);
        }
        object->values = moved;
        object->capacity = capacity;
    }
    if (count > 0) {
        memcpy(object->values + object->count, values, count * sizeof *values);
    }
    object->count = wanted;
    return SS_OK;
}

/* --- the instructions ------------------------------------------------------------------------- */

static enum ss_status run_proto(struct reader *reader, const struct operand_value *operand)
{
    return operand->number >= 2 && operand->number <= 5
               ? SS_OK
               : fail(reader, "a protocol other than 2 to 5");
}

static enum ss_status run_frame(struct reader *reader, const struct operand_value *operand)
{
    (void)reader;
    (void)operand; /* frames only help a reader to prefetch */
    return SS_OK;
}

static enum ss_status run_stop(struct reader *reader, const struct operand_value *operand)
{
    (void)operand;
    if (reader->stack.count != 1 || reader->marks.count > 0) {
        return fail(reader, "it ends with other than one value");
    }
    reader->pickle->root = reader->stack.data[0];
    reader->is_over = true;
    return SS_OK;
}

static enum ss_status run_mark(struct reader *reader, const struct operand_value *operand)
{
    (void)operand;
    if (reader->marks.count >= MOST_MARKS) {
        return fail(reader, "values that nest too deep");
    }
    ss_vec_push(&reader->marks, reader->stack.count);
    return SS_OK;
}

static enum ss_status run_pop(struct reader *reader, const struct operand_value *operand)
{
    const struct ss_pickle_value *values = NULL;
    size_t count = 0;
    (void)operand;
    if (reader->marks.count > 0 && reader->stack.count == height_of_mark(reader)) {
        return pop_mark(reader, &values, &count);
    }
    return pop(reader, 1, &values);
}

static enum ss_status run_pop_mark(struct reader *reader, const struct operand_value *operand)
{
    const struct ss_pickle_value *values = NULL;
    size_t count = 0;
    (void)operand;
    return pop_mark(reader, &values, &count);
}

static enum ss_status run_dup(struct reader *reader, const struct operand_value *operand)
{
    const struct ss_pickle_value *values = NULL;
    (void)operand;
    SS_TRY(pop(reader, 1, &values));
    struct ss_pickle_value value = *values;
    push(reader, value);
    return push(reader, value);
}

static enum ss_status run_none(struct reader *reader, const struct operand_value *operand)
{
    (void)operand;
    return push(reader, (struct ss_pickle_value){.type = SS_PICKLE_NONE});
}

static enum ss_status run_boolean(struct reader *reader, const struct operand_value *operand)
{
    return push(reader, (struct ss_pickle_value){.type = SS_PICKLE_BOOLEAN,
                                                 .boolean = operand->argument != 0});
}

static enum ss_status run_natural(struct reader *reader, const struct operand_value *operand)
{
    return push(reader, (struct ss_pickle_value){.type = SS_PICKLE_INTEGER,
                                                 .integer = (int64_t)operand->number});
}

static enum ss_status run_integer(struct reader *reader, const struct operand_value *operand)
{
    return push(reader, (struct ss_pickle_value){.type = SS_PICKLE_INTEGER,
                                                 .integer = (int32_t)(uint32_t)operand->number});
}

/* Two's complement, the low byte first; no bytes are 0. */
static enum ss_status run_long(struct reader *reader, const struct operand_value *operand)
{
    struct ss_strview bytes = operand->bytes;
    bool is_negative = bytes.length > 0 && (bytes.data[bytes.length - 1] & 0x80) != 0;
    uint64_t number = is_negative ? UINT64_MAX : 0;
    if (bytes.length > MOST_INTEGER) {
        return push(reader, (struct ss_pickle_value){.type = SS_PICKLE_HUGE});
    }
    for (size_t i = 0; i < bytes.length; i++) {
        number &= ~((uint64_t)0xff << (8 * i));
        number |= (uint64_t)(uint8_t)bytes.data[i] << (8 * i);
    }
    return push(reader,
                (struct ss_pickle_value){.type = SS_PICKLE_INTEGER, .integer = (int64_t)number});
}

/* Its bytes come in the other order. */
static enum ss_status run_real(struct reader *reader, const struct operand_value *operand)
{
    uint64_t bits = 0;
    double real;
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | (operand->number >> (8 * i) & 0xff);
    }
    memcpy(&real, &bits, sizeof real);
    return push(reader, (struct ss_pickle_value){.type = SS_PICKLE_REAL, .real = real});
}

static enum ss_status run_text(struct reader *reader, const struct operand_value *operand)
{
    struct ss_strview bytes = operand->bytes;
    uint32_t text = ss_intern_put(&reader->pickle->texts, bytes.data, bytes.length);
    return push(reader, (struct ss_pickle_value){.type = (enum ss_pickle_type)operand->argument,
                                                 .text = text});
}

static enum ss_status run_empty(struct reader *reader, const struct operand_value *operand)
{
    return push_object(reader, (enum ss_pickle_type)operand->argument, NULL, 0);
}

static enum ss_status run_from_mark(struct reader *reader, const struct operand_value *operand)
{
    const struct ss_pickle_value *values = NULL;
    size_t count = 0;
    SS_TRY(pop_mark(reader, &values, &count));
    if (operand->argument == SS_PICKLE_DICT && count % 2 != 0) {
        return fail(reader, "a key without a value");
    }
    return push_object(reader, (enum ss_pickle_type)operand->argument, values, count);
}

/* Of as many values as the argument says. */
static enum ss_status run_tuple(struct reader *reader, const struct operand_value *operand)
{
    const struct ss_pickle_value *values = NULL;
    SS_TRY(pop(reader, operand->argument, &values));
    return push_object(reader, SS_PICKLE_TUPLE, values, operand->argument);
}

static enum ss_status run_append(struct reader *reader, const struct operand_value *operand)
{
    size_t count = operand->argument == SS_PICKLE_DICT ? 2 : 1;
    const struct ss_pickle_value *values = NULL;
    SS_TRY(pop(reader, count, &values));
    return extend(reader, (enum ss_pickle_type)operand->argument, values, count);
}

static enum ss_status run_append_all(struct reader *reader, const struct operand_value *operand)
{
    const struct ss_pickle_value *values = NULL;
    size_t count = 0;
    SS_TRY(pop_mark(reader, &values, &count));
    return extend(reader, (enum ss_pickle_type)operand->argument, values, count);
}

static enum ss_status run_get(struct reader *reader, const struct operand_value *operand)
{
    if (operand->number >= reader->memo.count) {
        return fail(reader, "a value that was never stored");
    }
    return push(reader, reader->memo.data[operand->number]);
}

static enum ss_status store(struct reader *reader, uint64_t place)
{
    if (reader->stack.count == height_of_mark(reader)) {
        return fail(reader, "too few values for an instruction");
    }
    struct ss_pickle_value top = reader->stack.data[reader->stack.count - 1];
    if (place > reader->memo.count) { /* writers count up */
        return fail(reader, "a place in the memo that no writer uses");
    }
    if (place == reader->memo.count) {
        ss_vec_push(&reader->memo, top);
    } else {
        reader->memo.data[place] = top;
    }
    return SS_OK;
}

static enum ss_status run_put(struct reader *reader, const struct operand_value *operand)
{
    return store(reader, operand->number);
}

static enum ss_status run_memoize(struct reader *reader, const struct operand_value *operand)
{
    (void)operand;
    return store(reader, reader->memo.count);
}

static enum ss_status refuse(struct reader *reader, const struct operand_value *operand)
{
    (void)operand;
    return ss_fail(reader->err, SS_E_FORMAT,
                   "%s: byte %" PRIu64 ": this pickle runs code (%s); stepscope reads only data",
                   reader->source->path, reader->at, reader->opcode);
}

static const struct opcode {
    const char *name;
    enum operand operand;
    enum ss_status (*run)(struct reader *reader, const struct operand_value *operand);
    uint8_t argument;
} opcodes[256] = {
    [0x80] = {"PROTO", U1, run_proto},
    [0x95] = {"FRAME", U8, run_frame},
    ['.'] = {"STOP", NOTHING, run_stop},
    ['('] = {"MARK", NOTHING, run_mark},
    ['0'] = {"POP", NOTHING, run_pop},
    ['1'] = {"POP_MARK", NOTHING, run_pop_mark},
    ['2'] = {"DUP", NOTHING, run_dup},
    ['N'] = {"NONE", NOTHING, run_none},
    [0x88] = {"NEWTRUE", NOTHING, run_boolean, 1},
    [0x89] = {"NEWFALSE", NOTHING, run_boolean, 0},
    ['K'] = {"BININT1", U1, run_natural},
    ['M'] = {"BININT2", U2, run_natural},
    ['J'] = {"BININT", I4, run_integer},
    [0x8a] = {"LONG1", BYTES1, run_long},
    [0x8b] = {"LONG4", BYTES4, run_long},
    ['G'] = {"BINFLOAT", REAL8, run_real},
    [0x8c] = {"SHORT_BINUNICODE", BYTES1, run_text, SS_PICKLE_TEXT},
    ['X'] = {"BINUNICODE", BYTES4, run_text, SS_PICKLE_TEXT},
    [0x8d] = {"BINUNICODE8", BYTES8, run_text, SS_PICKLE_TEXT},
    ['C'] = {"SHORT_BINBYTES", BYTES1, run_text, SS_PICKLE_BYTES},
    ['B'] = {"BINBYTES", BYTES4, run_text, SS_PICKLE_BYTES},
    [0x8e] = {"BINBYTES8", BYTES8, run_text, SS_PICKLE_BYTES},
    [']'] = {"EMPTY_LIST", NOTHING, run_empty, SS_PICKLE_LIST},
    ['l'] = {"LIST", NOTHING, run_from_mark, SS_PICKLE_LIST},
    ['a'] = {"APPEND", NOTHING, run_append, SS_PICKLE_LIST},
    ['e'] = {"APPENDS", NOTHING, run_append_all, SS_PICKLE_LIST},
    [')'] = {"EMPTY_TUPLE", NOTHING, run_empty, SS_PICKLE_TUPLE},
    ['t'] = {"TUPLE", NOTHING, run_from_mark, SS_PICKLE_TUPLE},
    [0x85] = {"TUPLE1", NOTHING, run_tuple, 1},
    [0x86] = {"TUPLE2", NOTHING, run_tuple, 2},
    [0x87] = {"TUPLE3", NOTHING, run_tuple, 3},
    ['}'] = {"EMPTY_DICT", NOTHING, run_empty, SS_PICKLE_DICT},
    ['d'] = {"DICT", NOTHING, run_from_mark, SS_PICKLE_DICT},
    ['s'] = {"SETITEM", NOTHING, run_append, SS_PICKLE_DICT},
    ['u'] = {"SETITEMS", NOTHING, run_append_all, SS_PICKLE_DICT},
    ['h'] = {"BINGET", U1, run_get},
    ['j'] = {"LONG_BINGET", U4, run_get},
    ['q'] = {"BINPUT", U1, run_put},
    ['r'] = {"LONG_BINPUT", U4, run_put},
    [0x94] = {"MEMOIZE", NOTHING, run_memoize},
    ['c'] = {"GLOBAL", NOTHING, refuse},
    [0x93] = {"STACK_GLOBAL", NOTHING, refuse},
    ['R'] = {"REDUCE", NOTHING, refuse},
    ['b'] = {"BUILD", NOTHING, refuse},
    ['i'] = {"INST", NOTHING, refuse},
    ['o'] = {"OBJ", NOTHING, refuse},
    [0x81] = {"NEWOBJ", NOTHING, refuse},
    [0x92] = {"NEWOBJ_EX", NOTHING, refuse},
    [0x82] = {"EXT1", NOTHING, refuse},
    [0x83] = {"EXT2", NOTHING, refuse},
    [0x84] = {"EXT4", NOTHING, refuse},
    ['P'] = {"PERSID", NOTHING, refuse},
    ['Q'] = {"BINPERSID", NOTHING, refuse},
};

/* --- reading ---------------------------------------------------------------------------------- */

static enum ss_status step(struct reader *reader)
{
    struct operand_value operand = {0};
    reader->at = reader->offset + reader->begin;
    SS_TRY(need(reader, 1));
    const struct opcode *opcode = &opcodes[(uint8_t)reader->data[reader->begin]];
    if (opcode->run == NULL) {
        return fail(reader, "an instruction that pickles of plain data do not have");
    }
    reader->begin++;
    reader->opcode = opcode->name;
    operand.argument = opcode->argument;
    SS_TRY(read_operand(reader, opcode->operand, &operand));
    SS_TRY(opcode->run(reader, &operand));
    return check_memory(reader);
}

bool ss_pickle_probe(const char *head, size_t length)
{
    return length >= 3 && (uint8_t)head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 &&
           opcodes[(uint8_t)head[2]].run != NULL;
}

enum ss_status ss_pickle_read(struct ss_pickle *pickle, const struct ss_pickle_source *source,
                              struct ss_error *err)
{
    struct reader reader = {
        .pickle = pickle, .source = source, .err = err, .capacity = BLOCK_BYTES};
    reader.data = ss_alloc(reader.capacity);
    ss_vec_reserve(&reader.stack, MOST_MARKS); /* so that it has an address */
    enum ss_status status = need(&reader, 2);
    if (status == SS_OK && (uint8_t)reader.data[0] != 0x80) {
        status = fail(&reader, "no pickle of protocol 2 to 5");
    }
    while (status == SS_OK && !reader.is_over) {
        status = step(&reader);
    }
    ss_free(reader.data);
    ss_vec_fini(&reader.stack);
    ss_vec_fini(&reader.marks);
    ss_vec_fini(&reader.memo);
    return status;
}

/* --- values ----------------------------------------------------------------------------------- */

uint32_t ss_pickle_key(struct ss_pickle *pickle, const char *text)
{
    return ss_intern_put_text(&pickle->texts, text);
}

struct ss_pickle_value ss_pickle_get(const struct ss_pickle *pickle, struct ss_pickle_value dict,
                                     uint32_t key)
{
    if (dict.type == SS_PICKLE_DICT) {
        const struct ss_pickle_object *object = &pickle->objects.data[dict.object];
        for (uint32_t i = object->count; i >= 2; i -= 2) { /* the last one counts */
            const struct ss_pickle_value *name = &object->values[i - 2];
            if (name->type == SS_PICKLE_TEXT && name->text == key) {
                return object->values[i - 1];
            }
        }
    }
    return (struct ss_pickle_value){.type = SS_PICKLE_ABSENT};
}

size_t ss_pickle_count(const struct ss_pickle *pickle, struct ss_pickle_value list)
{
    return list.type == SS_PICKLE_LIST || list.type == SS_PICKLE_TUPLE
               ? pickle->objects.data[list.object].count
               : 0;
}

struct ss_pickle_value ss_pickle_at(const struct ss_pickle *pickle, struct ss_pickle_value list,
                                    size_t index)
{
    return pickle->objects.data[list.object].values[index];
}
