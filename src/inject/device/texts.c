/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/texts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/intern.h"

enum { MOST_BYTES = 64 << 20 };

/* Numbered entries, which are never removed. */
struct table {
    struct ss_intern keys;
    _Atomic uint32_t count;
};

/* What a frame and a stack are known by. */
struct frame_key {
    uint32_t file, function;
    int32_t line;
};
struct stack_key {
    uint32_t outer, frame;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t bytes; /* of all keys */
static struct table texts, frames, stacks;

static uint32_t put_locked(struct table *table, const void *key, size_t length)
{
    if (table->keys.count == 0) {
        ss_intern_init(&table->keys);
    }
    uint32_t found = ss_intern_find(&table->keys, key, length);
    if (found != 0 || bytes + length > MOST_BYTES) {
        return found;
    }
    bytes += length;
    found = ss_intern_put(&table->keys, key, length);
    /* Pairs with the acquire of count_of. */
    atomic_store_explicit(&table->count, table->keys.count - 1, memory_order_release);
    return found;
}

static uint32_t put(struct table *table, const void *key, size_t length)
{
    pthread_mutex_lock(&lock);
    uint32_t number = put_locked(table, key, length);
    pthread_mutex_unlock(&lock);
    return number;
}

static uint32_t count_of(struct table *table)
{
    return atomic_load_explicit(&table->count, memory_order_acquire);
}

static struct ss_strview get(struct table *table, uint32_t number)
{
    pthread_mutex_lock(&lock); /* the table may move; its keys do not */
    struct ss_strview key = ss_intern_get(&table->keys, number);
    pthread_mutex_unlock(&lock);
    return key;
}

uint32_t ss_device_text_put(const char *text, size_t length)
{
    length = length < SS_DEVICE_MAX_TEXT_BYTES ? length : SS_DEVICE_MAX_TEXT_BYTES;
    return length > 0 ? put(&texts, text, length) : 0;
}

uint32_t ss_device_frame_put(uint32_t file, uint32_t function, int32_t line)
{
    const struct frame_key key = {file, function, line};
    return put(&frames, &key, sizeof key);
}

uint32_t ss_device_stack_put(uint32_t outer, uint32_t frame)
{
    const struct stack_key key = {outer, frame};
    return frame != 0 ? put(&stacks, &key, sizeof key) : outer;
}

struct ss_device_text_counts ss_device_text_counts(void)
{
    struct ss_device_text_counts counts = {.stacks = count_of(&stacks)};
    counts.frames = count_of(&frames); /* those of the stacks, and maybe more */
    counts.texts = count_of(&texts);   /* those of the frames, and maybe more */
    return counts;
}

struct ss_strview ss_device_text_get(uint32_t number)
{
    return get(&texts, number);
}

void ss_device_frame_get(uint32_t number, struct ss_device_frame_message *message)
{
    struct frame_key key;
    memcpy(&key, get(&frames, number).data, sizeof key);
    *message = (struct ss_device_frame_message){.head.kind = SS_DEVICE_FRAME,
                                                .number = number,
                                                .file = key.file,
                                                .function = key.function,
                                                .line = key.line};
}

void ss_device_stack_get(uint32_t number, struct ss_device_stack_message *message)
{
    struct stack_key key;
    memcpy(&key, get(&stacks, number).data, sizeof key);
    *message = (struct ss_device_stack_message){
        .head.kind = SS_DEVICE_STACK, .number = number, .outer = key.outer, .frame = key.frame};
}

void ss_device_texts_lock(void)
{
    pthread_mutex_lock(&lock);
}

void ss_device_texts_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
