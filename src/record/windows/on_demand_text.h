/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of windows on demand (record/windows/on_demand_folder.h): requests, which carry a code
 * that only holders of the run's token can make, what a recorder says of itself, and its answers.
 * Text from files is not trusted. Pure.
 */
#ifndef SS_RECORD_WINDOWS_ON_DEMAND_TEXT_H
#define SS_RECORD_WINDOWS_ON_DEMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "source/clock_ping.h"

enum { SS_ON_DEMAND_REQUEST_BYTES = 256, SS_ON_DEMAND_TOKEN_BYTES = 33 };

enum ss_on_demand_kind {
    SS_ON_DEMAND_POSITION, /* where are you? */
    SS_ON_DEMAND_STEPS,    /* steps first to last, both included */
    SS_ON_DEMAND_SECONDS,  /* from first to last, in ns of CLOCK_REALTIME */
    SS_ON_DEMAND_KINDS
};

struct ss_on_demand_request {
    uint64_t id; /* random */
    enum ss_on_demand_kind kind;
    int64_t first, last;
};

/* What became of a request in one process. */
enum ss_on_demand_state {
#define SS_ON_DEMAND(id, word, meaning) SS_ON_DEMAND_##id,
#include "record/windows/on_demand_states.def"
#undef SS_ON_DEMAND
    SS_ON_DEMAND_STATES
};

struct ss_on_demand_answer {
    uint64_t id;  /* of the request */
    int32_t rank; /* -1: none */
    int32_t pid;
    enum ss_on_demand_state state;
    int64_t step;     /* current; with `late` when it was answered; -1: none yet */
    const char *path; /* of the recorded window, borrowed; "": none */
    size_t path_length;
};

struct ss_on_demand_recorder {
    char host[65];
    int32_t pid;
    int32_t rank;       /* -1: of a node, or alone */
    uint32_t period_ms; /* between two polls for requests */
};

const char *ss_on_demand_state_word(enum ss_on_demand_state state);
const char *ss_on_demand_state_meaning(enum ss_on_demand_state state);
/* Whether the state is the last one. */
bool ss_on_demand_is_final(enum ss_on_demand_state state);

void ss_on_demand_put_request(struct ss_strbuf *out, const struct ss_on_demand_request *request,
                              const struct ss_ping_key *key);
/* false: not a request, or its code is wrong. `text` ends with NUL. */
bool ss_on_demand_get_request(const char *text, const struct ss_ping_key *key,
                              struct ss_on_demand_request *request);

void ss_on_demand_put_recorder(struct ss_strbuf *out, const struct ss_on_demand_recorder *recorder);
bool ss_on_demand_get_recorder(const char *text, struct ss_on_demand_recorder *recorder);

void ss_on_demand_put_answer(struct ss_strbuf *out, const struct ss_on_demand_answer *answer);
/* One line, without its newline. */
bool ss_on_demand_get_answer(const char *line, size_t length, struct ss_on_demand_answer *answer);

#endif
