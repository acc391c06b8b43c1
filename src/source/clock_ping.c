/* SPDX-License-Identifier: Apache-2.0 */
#include "source/clock_ping.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t magic = UINT64_C(0x31676e6970737373);

enum { CODE_BYTES = 16, SIGNED_BYTES = SS_PING_FRAME_BYTES - CODE_BYTES };
_Static_assert(SIGNED_BYTES == 6 * 8 + SS_PING_BOOT_BYTES, "six numbers and the boot id");

/* --- SipHash-2-4, 128 bits -------------------------------------------------------------------- */

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void round_of(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void rounds_of(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        round_of(v);
    }
}

static void put_word(uint8_t *bytes, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(word >> (8 * i));
    }
}

static uint64_t get_word(const uint8_t *bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static void hash(const struct ss_ping_key *key, const uint8_t *data, size_t length,
                 uint64_t code[2])
{
    uint64_t v[4] = {key->words[0] ^ UINT64_C(0x736f6d6570736575),
                     key->words[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                     key->words[0] ^ UINT64_C(0x6c7967656e657261),
                     key->words[1] ^ UINT64_C(0x7465646279746573)};
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        uint64_t word = get_word(data + at);
        v[3] ^= word;
        rounds_of(v, 2);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)(length & 0xff) << 56;
    for (size_t i = at; i < length; i++) {
        last |= (uint64_t)data[i] << (8 * (i - at));
    }
    v[3] ^= last;
    rounds_of(v, 2);
    v[0] ^= last;
    v[2] ^= 0xee;
    rounds_of(v, 4);
    code[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    rounds_of(v, 4);
    code[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

void ss_ping_code(const struct ss_ping_key *key, const void *data, size_t length, uint64_t code[2])
{
    hash(key, data, length, code);
}

bool ss_ping_key_make(const char *secret, struct ss_ping_key *key)
{
    static const struct ss_ping_key none = {{0, 0}};
    size_t length = strlen(secret);
    hash(&none, (const uint8_t *)secret, length, key->words);
    return length >= SS_PING_SECRET_LEAST;
}

/* --- frames ----------------------------------------------------------------------------------- */

void ss_ping_encode(const struct ss_ping_frame *frame, const struct ss_ping_key *key,
                    uint8_t bytes[SS_PING_FRAME_BYTES])
{
    uint64_t code[2];
    memset(bytes, 0, SS_PING_FRAME_BYTES);
    put_word(bytes, magic + frame->is_answer);
    put_word(bytes + 8, frame->number);
    put_word(bytes + 16, frame->sent_ns);
    put_word(bytes + 24, frame->received_ns);
    put_word(bytes + 32, frame->answered_ns);
    put_word(bytes + 40, frame->time_namespace);
    memcpy(bytes + 48, frame->boot_id, strnlen(frame->boot_id, SS_PING_BOOT_BYTES - 1));
    hash(key, bytes, SIGNED_BYTES, code);
    put_word(bytes + SIGNED_BYTES, code[0]);
    put_word(bytes + SIGNED_BYTES + 8, code[1]);
}

bool ss_ping_decode(const uint8_t bytes[SS_PING_FRAME_BYTES], const struct ss_ping_key *key,
                    struct ss_ping_frame *frame)
{
    uint64_t code[2], kind = get_word(bytes) - magic;
    hash(key, bytes, SIGNED_BYTES, code);
    /* All of the code is compared, whatever differs first. */
    uint64_t differs =
        (code[0] ^ get_word(bytes + SIGNED_BYTES)) | (code[1] ^ get_word(bytes + SIGNED_BYTES + 8));
    if (differs != 0 || kind > 1) {
        return false;
    }
    *frame = (struct ss_ping_frame){.is_answer = kind == 1,
                                    .number = get_word(bytes + 8),
                                    .sent_ns = get_word(bytes + 16),
                                    .received_ns = get_word(bytes + 24),
                                    .answered_ns = get_word(bytes + 32),
                                    .time_namespace = get_word(bytes + 40)};
    memcpy(frame->boot_id, bytes + 48, SS_PING_BOOT_BYTES - 1);
    return true;
}

/* --- the best --------------------------------------------------------------------------------- */

static int compare_travel(const void *left, const void *right)
{
    uint64_t a = ss_ping_travel_ns(left), b = ss_ping_travel_ns(right);
    return (a > b) - (a < b);
}

static int compare_time(const void *left, const void *right)
{
    const struct ss_ping *a = left, *b = right;
    return (a->sent_ns > b->sent_ns) - (a->sent_ns < b->sent_ns);
}

size_t ss_ping_select(struct ss_ping *pings, size_t count, size_t best)
{
    if (count > 1) {
        qsort(pings, count, sizeof *pings, compare_travel);
    }
    count = count < best ? count : best;
    if (count > 1) {
        qsort(pings, count, sizeof *pings, compare_time);
    }
    return count;
}
