/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a template of names: refused with a reason, or filled in; text from outside adds no
 * folder to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/run/window_name.h"

enum { MAX_TEXT = 512 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static size_t slashes(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '/';
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MAX_TEXT], run_name[MAX_TEXT];
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    memcpy(run_name, text, length + 1); /* as hostile as the template */
    struct ss_window_name_values values = ss_window_name_unknown();
    values.run_name = run_name;
    values.rank = values.epoch = values.window = -7;
    values.batch = INT64_MAX;
    values.total_wct = 1e300;
    struct ss_strbuf out;
    struct ss_error err = {0};
    ss_strbuf_init(&out, 4096);
    enum ss_status status = ss_window_name_expand(text, &values, &out, &err);
    check((status == SS_OK) == (err.status == SS_OK), "a refusal has a reason");
    check(status != SS_OK || ss_window_name_check(text, false, NULL) == SS_OK,
          "what is filled in was right");
    check(status != SS_OK || slashes(out.data) == slashes(text), "no folder comes from a value");
    ss_strbuf_fini(&out);
    return 0;
}
