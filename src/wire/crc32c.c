/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/crc32c.h"

#include <pthread.h>
#include <string.h>

static const uint32_t polynomial = UINT32_C(0x82f63b78); /* reflected 0x1edc6f41 */
static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) {
            value = value & 1 ? value >> 1 ^ polynomial : value >> 1;
        }
        table[i] = value;
    }
}

uint32_t ss_crc32c_portable(uint32_t crc, const void *bytes, size_t length)
{
    pthread_once(&table_once, fill_table);
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
    }
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2,crc32"))) static uint32_t
crc32c_sse42(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t wide = (uint32_t)~crc;
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    uint32_t narrow = (uint32_t)wide;
    for (; length > 0; length--, at++) {
        narrow = __builtin_ia32_crc32qi(narrow, *at);
    }
    return ~narrow;
}
#endif

uint32_t ss_crc32c(uint32_t crc, const void *bytes, size_t length)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        return crc32c_sse42(crc, bytes, length);
    }
#endif
    return ss_crc32c_portable(crc, bytes, length);
}
