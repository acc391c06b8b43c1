/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames units in threads of its own, which compress them beside each other, and yields them in
 * their order: what it yields does not depend on the number of threads. At most two units for each
 * thread exist at a time. One owner; not for the recorder, whose load on the machine must not vary.
 */
#ifndef SS_TRACE_PACKER_H
#define SS_TRACE_PACKER_H

#include "trace/unit.h"

enum { SS_PACKER_MOST_THREADS = 16 };

struct ss_packer;
/* NULL: no thread can be created. */
struct ss_packer *ss_packer_new(unsigned threads);
void ss_packer_free(struct ss_packer *packer); /* also with units that were not taken; NULL: none */
/* Whether there are units to take. */
bool ss_packer_has_any(const struct ss_packer *packer);
/* Whether a unit must be taken before the next is put. */
bool ss_packer_is_full(const struct ss_packer *packer);
/* Takes the packets of an encoded unit, whose buffer is another one afterwards. */
void ss_packer_put(struct ss_packer *packer, struct ss_unit *unit, const struct ss_unit_seal *seal);
/* The oldest unit as it is in files, valid until the next call. NULL: it is not ready, or there is
 * none; with `waits` only if there is none. */
const struct ss_wire_buffer *ss_packer_take(struct ss_packer *packer, bool waits);

#endif
