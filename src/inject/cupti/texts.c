/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/texts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/intern.h"
#include "ring/device_ring.h"

enum { MOST_BYTES = 64 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ss_intern texts;
static size_t bytes;
static _Atomic uint32_t count;

static uint32_t put(const char *text, size_t length)
{
    if (texts.count == 0) {
        ss_intern_init(&texts);
    }
    uint32_t found = ss_intern_find(&texts, text, length);
    if (found != 0 || bytes + length > MOST_BYTES) {
        return found;
    }
    bytes += length;
    found = ss_intern_put(&texts, text, length);
    /* Pairs with the acquire of ss_cupti_text_count. */
    atomic_store_explicit(&count, texts.count - 1, memory_order_release);
    return found;
}

uint32_t ss_cupti_text(const char *text, size_t length)
{
    length = length < SS_DEVICE_MAX_TEXT_BYTES ? length : SS_DEVICE_MAX_TEXT_BYTES;
    if (length == 0) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    uint32_t number = put(text, length);
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t ss_cupti_text_count(void)
{
    return atomic_load_explicit(&count, memory_order_acquire);
}

struct ss_strview ss_cupti_text_get(uint32_t number)
{
    pthread_mutex_lock(&lock); /* the table may move; its texts do not */
    struct ss_strview text = ss_intern_get(&texts, number);
    pthread_mutex_unlock(&lock);
    return text;
}

void ss_cupti_texts_lock(void)
{
    pthread_mutex_lock(&lock);
}

void ss_cupti_texts_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
