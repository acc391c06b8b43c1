/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pings between the recorders of two machines: one sends the time of its clock, the other answers
 * with its own as it received and as it answers. Frames have a fixed size and carry a code that
 * only holders of the run's secret can make (SipHash-2-4 with 128 bits); all others are refused.
 * Pure.
 */
#ifndef SS_SOURCE_CLOCK_PING_H
#define SS_SOURCE_CLOCK_PING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SS_PING_FRAME_BYTES = 104, SS_PING_BOOT_BYTES = 40, SS_PING_SECRET_LEAST = 16 };

struct ss_ping_key {
    uint64_t words[2];
};

struct ss_ping_frame {
    bool is_answer;
    uint64_t number;                   /* of a question; the answer repeats it */
    uint64_t sent_ns;                  /* clock of the asking machine; the answer repeats it */
    uint64_t received_ns, answered_ns; /* clock of the other; 0 in questions */
    uint64_t time_namespace;           /* of the machine that sends the frame */
    char boot_id[SS_PING_BOOT_BYTES];  /* NUL-terminated */
};

/* false: the secret is shorter than SS_PING_SECRET_LEAST. */
bool ss_ping_key_make(const char *secret, struct ss_ping_key *key);
/* The code of any bytes. */
void ss_ping_code(const struct ss_ping_key *key, const void *data, size_t length, uint64_t code[2]);
void ss_ping_encode(const struct ss_ping_frame *frame, const struct ss_ping_key *key,
                    uint8_t bytes[SS_PING_FRAME_BYTES]);
/* false: not a frame, or its code is wrong. */
bool ss_ping_decode(const uint8_t bytes[SS_PING_FRAME_BYTES], const struct ss_ping_key *key,
                    struct ss_ping_frame *frame);

/* A question and its answer. */
struct ss_ping {
    uint64_t sent_ns, received_ns, answered_ns, returned_ns;
};

/* What the messages took, both ways. */
static inline uint64_t ss_ping_travel_ns(const struct ss_ping *ping)
{
    uint64_t away_ns = ping->returned_ns - ping->sent_ns;
    uint64_t there_ns = ping->answered_ns - ping->received_ns;
    return away_ns > there_ns ? away_ns - there_ns : 0;
}

/* Keeps the `best` fastest ones, in the order of their time. Returns how many remain. */
size_t ss_ping_select(struct ss_ping *pings, size_t count, size_t best);

#endif
