/* SPDX-License-Identifier: Apache-2.0 */
#include "record/windows/on_demand_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"position", "steps", "seconds"};
_Static_assert(sizeof kinds / sizeof *kinds == SS_ON_DEMAND_KINDS, "each kind has a word");

static const struct {
    const char *word, *meaning;
} states[] = {
#define SS_ON_DEMAND(id, word, meaning) {word, meaning},
#include "record/windows/on_demand_states.def"
#undef SS_ON_DEMAND
};

const char *ss_on_demand_state_word(enum ss_on_demand_state state)
{
    return states[state].word;
}

const char *ss_on_demand_state_meaning(enum ss_on_demand_state state)
{
    return states[state].meaning;
}

bool ss_on_demand_is_final(enum ss_on_demand_state state)
{
    return state == SS_ON_DEMAND_AT || state >= SS_ON_DEMAND_RECORDED;
}

/* --- requests --------------------------------------------------------------------------------- */

static void put_body(char *text, size_t size, const struct ss_on_demand_request *request)
{
    snprintf(text, size, "stepscope request 1 %016" PRIx64 " %s %" PRId64 " %" PRId64 "\n",
             request->id, kinds[request->kind], request->first, request->last);
}

/* "%016x%016x" of the code. */
static void put_code(char code[33], const char *body, const struct ss_ping_key *key)
{
    uint64_t words[2];
    ss_ping_code(key, body, strlen(body), words);
    snprintf(code, 33, "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
}

void ss_on_demand_put_request(struct ss_strbuf *out, const struct ss_on_demand_request *request,
                              const struct ss_ping_key *key)
{
    char body[SS_ON_DEMAND_REQUEST_BYTES], code[33];
    put_body(body, sizeof body, request);
    put_code(code, body, key);
    ss_strbuf_append_format(out, "%s%s\n", body, code);
}

/* How many bytes are equal takes no less time to find out. */
static bool is_equal(const char *a, const char *b, size_t length)
{
    unsigned different = 0;
    for (size_t i = 0; i < length; i++) {
        different |= (unsigned char)(a[i] ^ b[i]);
    }
    return different == 0;
}

/* The text must be exactly what ss_on_demand_put_request makes of its numbers. */
bool ss_on_demand_get_request(const char *text, const struct ss_ping_key *key,
                              struct ss_on_demand_request *request)
{
    char kind[16], body[SS_ON_DEMAND_REQUEST_BYTES], code[33];
    *request = (struct ss_on_demand_request){.kind = SS_ON_DEMAND_KINDS};
    if (sscanf(text, "stepscope request 1 %16" SCNx64 " %15s %20" SCNd64 " %20" SCNd64,
               &request->id, kind, &request->first, &request->last) != 4) {
        return false;
    }
    for (int i = 0; i < SS_ON_DEMAND_KINDS; i++) {
        request->kind = strcmp(kind, kinds[i]) == 0 ? (enum ss_on_demand_kind)i : request->kind;
    }
    if (request->kind == SS_ON_DEMAND_KINDS || request->first < 0 ||
        request->last < request->first) {
        return false;
    }
    put_body(body, sizeof body, request);
    put_code(code, body, key);
    size_t length = strlen(body);
    return strlen(text) == length + 33 && memcmp(text, body, length) == 0 &&
           is_equal(text + length, code, 32) && text[length + 32] == '\n';
}

/* --- recorders -------------------------------------------------------------------------------- */

void ss_on_demand_put_recorder(struct ss_strbuf *out, const struct ss_on_demand_recorder *recorder)
{
    ss_strbuf_append_format(out, "stepscope recorder 1 %s %d %d %u\n", recorder->host,
                            (int)recorder->pid, (int)recorder->rank, recorder->period_ms);
}

bool ss_on_demand_get_recorder(const char *text, struct ss_on_demand_recorder *recorder)
{
    int pid, rank, end = 0;
    *recorder = (struct ss_on_demand_recorder){.pid = 0};
    if (sscanf(text, "stepscope recorder 1 %64s %9d %9d %9u%n", recorder->host, &pid, &rank,
               &recorder->period_ms, &end) != 4 ||
        text[end] != '\n' || text[end + 1] != '\0' || pid <= 0 || rank < -1) {
        return false;
    }
    recorder->pid = pid;
    recorder->rank = rank;
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Words of states may have a space, which is an underscore in files. */
static void put_word(char word[16], enum ss_on_demand_state state)
{
    snprintf(word, 16, "%s", states[state].word);
    for (char *at = strchr(word, ' '); at != NULL; at = strchr(at, ' ')) {
        *at = '_';
    }
}

void ss_on_demand_put_answer(struct ss_strbuf *out, const struct ss_on_demand_answer *answer)
{
    char word[16];
    put_word(word, answer->state);
    bool fits = memchr(answer->path, '\n', answer->path_length) == NULL;
    ss_strbuf_append_format(out, "%016" PRIx64 " %d %d %s %" PRId64 " %.*s\n", answer->id,
                            (int)answer->rank, (int)answer->pid, word, answer->step,
                            fits ? (int)answer->path_length : 0, answer->path);
}

bool ss_on_demand_get_answer(const char *line, size_t length, struct ss_on_demand_answer *answer)
{
    char head[128], word[16];
    int rank, pid, end = 0;
    size_t shown = length < sizeof head - 1 ? length : sizeof head - 1;
    memcpy(head, line, shown);
    head[shown] = '\0';
    *answer = (struct ss_on_demand_answer){.state = SS_ON_DEMAND_STATES, .path = ""};
    if (sscanf(head, "%16" SCNx64 " %9d %9d %15s %20" SCNd64 "%n", &answer->id, &rank, &pid, word,
               &answer->step, &end) != 5 ||
        head[end] != ' ' || pid < 0 || rank < -1) {
        return false;
    }
    answer->rank = rank;
    answer->pid = pid;
    for (int i = 0; i < SS_ON_DEMAND_STATES; i++) {
        char known[16];
        put_word(known, (enum ss_on_demand_state)i);
        answer->state = strcmp(word, known) == 0 ? (enum ss_on_demand_state)i : answer->state;
    }
    answer->path = line + end + 1;
    answer->path_length = length - (size_t)end - 1;
    return answer->state != SS_ON_DEMAND_STATES;
}
