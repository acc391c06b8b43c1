/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cpython_code.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "unwind/cpython_text.h"

enum {
    MAX_NAME_CHARS = 1024,
    MAX_FILE_CHARS = 4096,
    MAX_LINETABLE_BYTES = 4 << 20,
    MAX_BYTECODE_BYTES = 64 << 20,
    MAX_TLBC_COPIES = 4096,
    MAX_LINE_ENTRIES = 1 << 20,
    FIRST_SLOTS = 1024,
    CHECK_BATCH = 64,
    UNIT_BYTES = 2,
    MAX_FRAME_BYTES = 1 << 20,
    GENERATOR_FLAGS = 0x20 | 0x80 | 0x200, /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
};

void ss_code_cache_init(struct ss_code_cache *cache, struct ss_memory_reader *reader,
                        const struct ss_cpython_layout *layout, bool no_lines)
{
    memset(cache, 0, sizeof *cache);
    cache->reader = reader;
    cache->layout = layout;
    cache->no_lines = no_lines;
    ss_intern_init(&cache->texts);
    cache->lookup_slots = cache->by_address_slots = cache->by_line_slots = FIRST_SLOTS;
    cache->lookups = ss_alloc_zero(FIRST_SLOTS, sizeof *cache->lookups);
    cache->by_address = ss_alloc_zero(FIRST_SLOTS, sizeof *cache->by_address);
    cache->by_line = ss_alloc_zero(FIRST_SLOTS, sizeof *cache->by_line);
}

void ss_code_cache_fini(struct ss_code_cache *cache)
{
    for (size_t i = 0; i < cache->codes.count; i++) {
        ss_free(cache->codes.data[i].lines);
    }
    ss_vec_fini(&cache->codes);
    ss_vec_fini(&cache->frames);
    ss_vec_fini(&cache->marks);
    ss_vec_fini(&cache->checked);
    ss_free(cache->lookups);
    ss_free(cache->by_address);
    ss_free(cache->by_line);
    ss_intern_fini(&cache->texts);
    memset(cache, 0, sizeof *cache);
}

/* --- the three hash tables --- */

static void put_lookup(struct ss_code_cache *cache, uint64_t code, uint64_t instruction,
                       uint32_t frame)
{
    if ((cache->lookup_count + 1) * 2 > cache->lookup_slots) {
        struct ss_code_lookup *old = cache->lookups;
        uint32_t old_slots = cache->lookup_slots;
        cache->lookup_slots *= 2;
        cache->lookup_count = 0;
        cache->lookups = ss_alloc_zero(cache->lookup_slots, sizeof *cache->lookups);
        for (uint32_t i = 0; i < old_slots; i++) {
            if (old[i].code != 0) {
                put_lookup(cache, old[i].code, old[i].instruction, old[i].frame);
            }
        }
        ss_free(old);
    }
    uint32_t mask = cache->lookup_slots - 1;
    uint32_t slot = ss_code_lookup_hash(code, instruction) & mask;
    while (cache->lookups[slot].code != 0) {
        slot = (slot + 1) & mask;
    }
    cache->lookups[slot] = (struct ss_code_lookup){code, instruction, frame, SS_CODE_END_UNKNOWN};
    cache->lookup_count++;
}

static uint32_t address_slot(const struct ss_code_cache *cache, uint64_t address)
{
    return (uint32_t)ss_hash_u64(address) & (cache->by_address_slots - 1);
}

static void put_address(struct ss_code_cache *cache, uint32_t index)
{
    uint32_t slot = address_slot(cache, cache->codes.data[index].address);
    while (cache->by_address[slot] != 0) {
        slot = (slot + 1) & (cache->by_address_slots - 1);
    }
    cache->by_address[slot] = index + 1;
}

/* Rebuilds the address table: larger when it is half full, without dropped entries. */
static void rebuild_addresses(struct ss_code_cache *cache)
{
    while (cache->codes.count * 2 > cache->by_address_slots) {
        cache->by_address_slots *= 2;
    }
    ss_free(cache->by_address);
    cache->by_address = ss_alloc_zero(cache->by_address_slots, sizeof *cache->by_address);
    for (uint32_t i = 0; i < cache->codes.count; i++) {
        if (!cache->codes.data[i].is_dead) {
            put_address(cache, i);
        }
    }
}

static struct ss_code *find_code(const struct ss_code_cache *cache, uint64_t address)
{
    uint32_t slot = address_slot(cache, address);
    while (cache->by_address[slot] != 0) {
        struct ss_code *code = &cache->codes.data[cache->by_address[slot] - 1];
        if (code->address == address) {
            return code;
        }
        slot = (slot + 1) & (cache->by_address_slots - 1);
    }
    return NULL;
}

static uint32_t line_slot(const struct ss_code_cache *cache, struct ss_code_frame frame)
{
    uint64_t key = (uint64_t)frame.code << 32 | (uint32_t)frame.line;
    return (uint32_t)ss_hash_u64(key) & (cache->by_line_slots - 1);
}

static uint32_t frame_id(struct ss_code_cache *cache, uint32_t code, int32_t line)
{
    struct ss_code_frame frame = {code, line};
    uint32_t slot = line_slot(cache, frame);
    for (uint32_t id; (id = cache->by_line[slot]) != 0;
         slot = (slot + 1) & (cache->by_line_slots - 1)) {
        const struct ss_code_frame *known = &cache->frames.data[id - 1];
        if (known->code == code && known->line == line) {
            return id;
        }
    }
    ss_vec_push(&cache->frames, frame);
    uint32_t id = (uint32_t)cache->frames.count;
    cache->by_line[slot] = id;
    if (id * 2 > cache->by_line_slots) {
        cache->by_line_slots *= 2;
        ss_free(cache->by_line);
        cache->by_line = ss_alloc_zero(cache->by_line_slots, sizeof *cache->by_line);
        for (uint32_t i = 1; i <= id; i++) {
            slot = line_slot(cache, cache->frames.data[i - 1]);
            while (cache->by_line[slot] != 0) {
                slot = (slot + 1) & (cache->by_line_slots - 1);
            }
            cache->by_line[slot] = i;
        }
    }
    return id;
}

/* --- reading a code object --- */

/* PyCode_Type is not always an exported symbol; the first code object gives its address. */
static bool is_code_type(struct ss_code_cache *cache, uint64_t type)
{
    if (cache->code_type != 0) {
        return type == cache->code_type;
    }
    uint64_t name;
    char text[5];
    if (type == 0 ||
        !ss_memory_read(cache->reader, type + (uint64_t)cache->layout->type_name, &name,
                        sizeof name) ||
        !ss_memory_read(cache->reader, name, text, sizeof text) || memcmp(text, "code", 5) != 0) {
        return false;
    }
    cache->code_type = type;
    return true;
}

static bool read_text(struct ss_code_cache *cache, uint64_t address, size_t maximum, uint32_t *text)
{
    struct ss_strbuf buffer;
    ss_strbuf_init(&buffer, maximum * 4 + 1);
    bool ok = ss_cpython_text(cache->reader, cache->layout, address, maximum, &buffer);
    if (ok) {
        *text = ss_intern_put(&cache->texts, buffer.data, buffer.length);
    }
    ss_strbuf_fini(&buffer);
    return ok;
}

static enum ss_line_format line_format(const struct ss_cpython_layout *layout)
{
    if (layout->version < 0x030a) {
        return SS_LINES_NOTAB;
    }
    return layout->version == 0x030a ? SS_LINES_DELTAS : SS_LINES_LOCATIONS;
}

static bool read_lines(struct ss_code_cache *cache, struct ss_code *code)
{
    struct ss_strbuf buffer;
    ss_strbuf_init(&buffer, MAX_LINETABLE_BYTES);
    bool ok = ss_cpython_bytes(cache->reader, cache->layout, code->fingerprint.linetable,
                               MAX_LINETABLE_BYTES, &buffer);
    if (ok) {
        size_t capacity = buffer.length + 1; /* no format has more entries than bytes */
        capacity = capacity < MAX_LINE_ENTRIES ? capacity : MAX_LINE_ENTRIES;
        struct ss_line_entry *lines = ss_alloc_zero(capacity, sizeof *lines);
        code->line_count =
            (uint32_t)ss_lines_parse(line_format(cache->layout), (const uint8_t *)buffer.data,
                                     buffer.length, code->first_line, lines, capacity);
        code->lines = ss_realloc(lines, code->line_count, sizeof *lines);
        cache->line_bytes += code->line_count * sizeof *lines;
    }
    ss_strbuf_fini(&buffer);
    return ok;
}

/* Sets the address and size of the bytecode; up to 3.10 only the size. */
static bool read_bounds(struct ss_code_cache *cache, struct ss_code *code)
{
    const struct ss_cpython_layout *layout = cache->layout;
    if (layout->code_bytecode != SS_ABSENT) {
        uint64_t units = code->fingerprint.code_size;
        if (units > MAX_BYTECODE_BYTES / UNIT_BYTES) {
            return false;
        }
        code->bytecode = code->address + (uint64_t)layout->code_bytecode;
        code->bytecode_bytes = (uint32_t)units * UNIT_BYTES;
        return true;
    }
    uint64_t size;
    if (!ss_memory_read(cache->reader, code->fingerprint.code_size + (uint64_t)layout->var_size,
                        &size, sizeof size) ||
        size > MAX_BYTECODE_BYTES) {
        return false;
    }
    code->bytecode_bytes = (uint32_t)size;
    return true;
}

/* Code internal to the interpreter: "<shim>", and the code of a specialised call of __init__ (3.12
 * on), whose file name is its name. */
static bool is_internal(const struct ss_code_cache *cache, const struct ss_code *code)
{
    return ss_strview_equal(ss_intern_get(&cache->texts, code->file), ss_strview_of("<shim>")) ||
           (code->first_line == 0 && code->fingerprint.filename == code->fingerprint.name);
}

static int32_t int_at(const uint8_t *bytes, int32_t offset)
{
    int32_t value = 0;
    if (offset != SS_ABSENT) {
        memcpy(&value, bytes + offset, sizeof value);
    }
    return value;
}

/* 0: no frames on a data stack, or not a size of frames. */
static uint32_t frame_bytes_of(const struct ss_cpython_layout *layout, const uint8_t *bytes)
{
    int64_t words = int_at(bytes, layout->code_framesize);
    if (layout->code_stacksize != SS_ABSENT) {
        words = layout->frame_locals / 8 + (int64_t)int_at(bytes, layout->code_nlocalsplus) +
                int_at(bytes, layout->code_stacksize);
    }
    return words > 0 && words <= MAX_FRAME_BYTES / 8 ? (uint32_t)words * 8 : 0;
}

static struct ss_code *load_code(struct ss_code_cache *cache, uint64_t address)
{
    uint8_t bytes[SS_CODE_MAX_BYTES];
    struct ss_code code = {.address = address};
    if ((address & 7) != 0 ||
        !ss_memory_read(cache->reader, address, bytes, (size_t)cache->layout->code_size) ||
        !is_code_type(cache, ss_fingerprint_pointer(bytes, cache->layout->object_type))) {
        return NULL;
    }
    ss_fingerprint_of_code(cache->layout, bytes, &code.fingerprint);
    code.first_line = (int32_t)code.fingerprint.first_line;
    code.frame_bytes = frame_bytes_of(cache->layout, bytes);
    code.is_generator = (int_at(bytes, cache->layout->code_flags) & GENERATOR_FLAGS) != 0;
    if (!read_text(cache, code.fingerprint.name, MAX_NAME_CHARS, &code.name) ||
        !read_text(cache, code.fingerprint.filename, MAX_FILE_CHARS, &code.file) ||
        !ss_fingerprint_read_texts(cache->reader, cache->layout, &code.fingerprint) ||
        !read_bounds(cache, &code)) {
        return NULL;
    }
    code.function = code.name;
    if (code.fingerprint.qualname != 0 &&
        !read_text(cache, code.fingerprint.qualname, MAX_NAME_CHARS, &code.function)) {
        return NULL;
    }
    code.is_shim = is_internal(cache, &code);
    if (!cache->no_lines && !code.is_shim && !read_lines(cache, &code)) {
        return NULL;
    }
    cache->loads++;
    ss_vec_push(&cache->codes, code);
    if (cache->codes.count * 2 > cache->by_address_slots) {
        rebuild_addresses(cache);
    } else {
        put_address(cache, (uint32_t)cache->codes.count - 1);
    }
    return &cache->codes.data[cache->codes.count - 1];
}

/* --- instructions --- */

/* Free-threaded 3.14 runs each thread on a copy of the bytecode. Finds the copy that contains the
 * instruction. Copies come and go with threads, so they are not cached. */
static bool find_in_copies(struct ss_code_cache *cache, const struct ss_code *code,
                           uint64_t instruction, int64_t *offset)
{
    if (cache->layout->code_tlbc == SS_ABSENT) {
        return false;
    }
    uint64_t array, entries[64];
    int64_t count;
    if (!ss_memory_read(cache->reader, code->address + (uint64_t)cache->layout->code_tlbc, &array,
                        sizeof array) ||
        !ss_memory_read(cache->reader, array, &count, sizeof count) || count < 0) {
        return false;
    }
    count = count < MAX_TLBC_COPIES ? count : MAX_TLBC_COPIES;
    for (int64_t i = 0; i < count; i += 64) {
        size_t part = (size_t)(count - i < 64 ? count - i : 64);
        if (!ss_memory_read(cache->reader, array + 8 + (uint64_t)i * 8, entries, part * 8)) {
            return false;
        }
        for (size_t k = 0; k < part; k++) {
            if (entries[k] != 0 && instruction >= entries[k] &&
                instruction < entries[k] + code->bytecode_bytes) {
                *offset = (int64_t)(instruction - entries[k]);
                return true;
            }
        }
    }
    return false;
}

/* The byte offset of the instruction in the bytecode; false: outside the bytecode. */
static bool instruction_offset(struct ss_code_cache *cache, const struct ss_code *code,
                               uint64_t instruction, int64_t *offset)
{
    uint16_t version = cache->layout->version;
    if (version < 0x030b) {
        int64_t lasti = (int32_t)instruction;
        *offset = version == 0x030a && lasti > 0 ? lasti * UNIT_BYTES : lasti;
        return lasti >= -1 && *offset < (int64_t)code->bytecode_bytes;
    }
    *offset = (int64_t)(instruction - code->bytecode);
    /* 3.11 and 3.12 store the unit before the next instruction: -1 unit in a new frame. */
    int64_t lowest = version < 0x030d ? -UNIT_BYTES : 0;
    if (*offset >= lowest && *offset < (int64_t)code->bytecode_bytes) {
        return (*offset & 1) == 0;
    }
    return find_in_copies(cache, code, instruction, offset);
}

/* --- reused addresses --- */

static void drop_code(struct ss_code_cache *cache, struct ss_code *code)
{
    code->is_dead = true;
    cache->line_bytes -= code->line_count * sizeof *code->lines;
    ss_free(code->lines);
    code->lines = NULL;
    code->line_count = 0;
}

static void remove_dropped(struct ss_code_cache *cache)
{
    rebuild_addresses(cache);
    memset(cache->lookups, 0, cache->lookup_slots * sizeof *cache->lookups);
    cache->lookup_count = 0;
}

/* For an instruction outside the bytecode: a torn read, or the address was reused. Torn reads can
 * be frequent, so the check runs only when the count is one less than a power of two. */
static bool was_reused(struct ss_code_cache *cache, struct ss_code *code)
{
    uint32_t doubts = code->doubts++;
    if ((doubts & (doubts + 1)) != 0) {
        return false;
    }
    struct ss_fingerprint_bytes bytes;
    struct ss_memory_range ranges[SS_FINGERPRINT_RANGES];
    ss_fingerprint_ranges(cache->layout, code->address, &code->fingerprint, &bytes, ranges);
    if (cache->reader->read(cache->reader, ranges, SS_FINGERPRINT_RANGES) != 0 ||
        ss_fingerprint_is_same(cache->layout, cache->code_type, &code->fingerprint, &bytes,
                               ranges)) {
        return false;
    }
    drop_code(cache, code);
    remove_dropped(cache);
    return true;
}

/* Drops the entries of cache->checked that have changed. false: the target cannot be read. */
static bool drop_changed(struct ss_code_cache *cache, uint32_t *dropped)
{
    struct ss_fingerprint_bytes bytes[CHECK_BATCH];
    struct ss_memory_range ranges[CHECK_BATCH * SS_FINGERPRINT_RANGES];
    bool is_readable = true;
    *dropped = 0;
    for (size_t begin = 0; begin < cache->checked.count && is_readable; begin += CHECK_BATCH) {
        size_t count = cache->checked.count - begin;
        count = count < CHECK_BATCH ? count : CHECK_BATCH;
        for (size_t i = 0; i < count; i++) {
            const struct ss_code *code = &cache->codes.data[cache->checked.data[begin + i]];
            ss_fingerprint_ranges(cache->layout, code->address, &code->fingerprint, &bytes[i],
                                  ranges + i * SS_FINGERPRINT_RANGES);
        }
        is_readable =
            cache->reader->read(cache->reader, ranges, count * SS_FINGERPRINT_RANGES) == 0;
        for (size_t i = 0; i < count && is_readable; i++) {
            struct ss_code *code = &cache->codes.data[cache->checked.data[begin + i]];
            if (!ss_fingerprint_is_same(cache->layout, cache->code_type, &code->fingerprint,
                                        &bytes[i], ranges + i * SS_FINGERPRINT_RANGES)) {
                drop_code(cache, code);
                (*dropped)++;
            }
        }
    }
    if (*dropped > 0) {
        remove_dropped(cache);
    }
    return is_readable;
}

uint32_t ss_code_cache_check(struct ss_code_cache *cache, uint32_t maximum)
{
    uint32_t total = (uint32_t)cache->codes.count;
    maximum = maximum < total ? maximum : total;
    ss_vec_clear(&cache->checked);
    for (uint32_t seen = 0; seen < maximum; seen++) {
        uint32_t index = cache->check_next++ % total;
        if (!cache->codes.data[index].is_dead) {
            ss_vec_push(&cache->checked, index);
        }
    }
    cache->check_next = total > 0 ? cache->check_next % total : 0;
    uint32_t dropped;
    drop_changed(cache, &dropped);
    return dropped;
}

bool ss_code_cache_check_frames(struct ss_code_cache *cache, const uint32_t *frames, size_t count,
                                uint32_t *dropped)
{
    cache->round++;
    ss_vec_clear(&cache->checked);
    for (size_t i = 0; i < count; i++) {
        uint32_t index = cache->frames.data[frames[i] - 1].code;
        struct ss_code *code = &cache->codes.data[index];
        if (code->round != cache->round && !code->is_dead) {
            code->round = cache->round;
            ss_vec_push(&cache->checked, index);
        }
    }
    return drop_changed(cache, dropped);
}

/* --- frames --- */

uint32_t ss_code_frame_slow(struct ss_code_cache *cache, uint64_t address, uint64_t instruction)
{
    if (address == 0) {
        return SS_FRAME_NONE;
    }
    struct ss_code *code = find_code(cache, address);
    if (code == NULL) {
        code = load_code(cache, address);
    }
    if (code == NULL) {
        return SS_FRAME_NONE;
    }
    uint32_t frame = SS_FRAME_SHIM;
    if (!code->is_shim) {
        int64_t offset;
        if (!instruction_offset(cache, code, instruction, &offset)) {
            if (!was_reused(cache, code) || (code = load_code(cache, address)) == NULL ||
                !instruction_offset(cache, code, instruction, &offset)) {
                return SS_FRAME_NONE;
            }
        }
        int32_t line = cache->no_lines
                           ? 0
                           : ss_lines_find(code->lines, code->line_count, code->first_line, offset);
        frame = frame_id(cache, (uint32_t)(code - cache->codes.data), line);
    }
    put_lookup(cache, address, instruction, frame);
    return frame;
}

uint32_t ss_code_mark(struct ss_code_cache *cache, struct ss_strview text)
{
    uint32_t name = ss_intern_put(&cache->texts, text.data, text.length);
    for (size_t i = 0; i < cache->marks.count; i++) {
        const struct ss_code_frame *frame = &cache->frames.data[cache->marks.data[i] - 1];
        if (cache->codes.data[frame->code].name == name) {
            return cache->marks.data[i];
        }
    }
    uint32_t nowhere = ss_intern_put(&cache->texts, "", 0);
    ss_vec_push(&cache->codes,
                (struct ss_code){.function = name, .name = name, .file = nowhere, .is_dead = true});
    ss_vec_push(&cache->marks, frame_id(cache, (uint32_t)cache->codes.count - 1, 0));
    return cache->marks.data[cache->marks.count - 1];
}

static bool is_return(const struct ss_cpython_layout *layout, uint8_t opcode)
{
    return opcode == layout->op_return_value || opcode == layout->op_return_const ||
           opcode == layout->op_instrumented_return_value ||
           opcode == layout->op_instrumented_return_const;
}

bool ss_code_is_return(struct ss_code_cache *cache, uint64_t code, uint64_t instruction)
{
    uint32_t mask = cache->lookup_slots - 1;
    uint32_t slot = ss_code_lookup_hash(code, instruction) & mask;
    struct ss_code_lookup *entry = &cache->lookups[slot];
    while (entry->code != 0 && (entry->code != code || entry->instruction != instruction)) {
        slot = (slot + 1) & mask;
        entry = &cache->lookups[slot];
    }
    uint8_t opcode;
    if (entry->end == SS_CODE_END_UNKNOWN) {
        bool ends = ss_memory_read(cache->reader, instruction, &opcode, 1) &&
                    is_return(cache->layout, opcode);
        entry->end = ends ? SS_CODE_ENDS : SS_CODE_GOES_ON;
    }
    return entry->end == SS_CODE_ENDS;
}

uint32_t ss_code_frame_bytes(const struct ss_code_cache *cache, uint64_t code)
{
    const struct ss_code *known = find_code(cache, code);
    return known != NULL ? known->frame_bytes : 0;
}

bool ss_code_is_generator(const struct ss_code_cache *cache, uint64_t code)
{
    const struct ss_code *known = find_code(cache, code);
    return known != NULL && known->is_generator;
}

size_t ss_code_cache_bytes(const struct ss_code_cache *cache)
{
    return cache->texts.arena.total_bytes + cache->line_bytes +
           cache->codes.capacity * sizeof *cache->codes.data +
           cache->frames.capacity * sizeof *cache->frames.data +
           cache->lookup_slots * sizeof *cache->lookups +
           (size_t)cache->by_address_slots * sizeof *cache->by_address +
           (size_t)cache->by_line_slots * sizeof *cache->by_line;
}
