/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a request, as what a recorder says of itself, and as its answers: refused, or read as
 * exactly what the writer makes of it. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "record/windows/on_demand_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const char *text, const struct ss_ping_key *key)
{
    struct ss_on_demand_request request;
    if (ss_on_demand_get_request(text, key, &request)) {
        struct ss_strbuf again;
        ss_strbuf_init(&again, 4096);
        ss_on_demand_put_request(&again, &request, key);
        if (strcmp(again.data, text) != 0) {
            ss_bug("a request is not what its writer makes of it");
        }
        ss_strbuf_fini(&again);
    }
}

static void check_answers(const char *text)
{
    for (const char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct ss_on_demand_answer answer;
        if (ss_on_demand_get_answer(at, (size_t)(end - at), &answer) &&
            (answer.path < at || answer.path + answer.path_length != end)) {
            ss_bug("a path is outside of its line");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_ping_key key;
    struct ss_on_demand_recorder recorder;
    char *text = ss_strndup((const char *)data, size);
    ss_ping_key_make("0123456789abcdef0123456789abcdef", &key);
    check_request(text, &key);
    check_answers(text);
    if (ss_on_demand_get_recorder(text, &recorder) && recorder.pid <= 0) {
        ss_bug("a recorder without a process");
    }
    ss_free(text);
    return 0;
}
