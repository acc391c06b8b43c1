/* SPDX-License-Identifier: Apache-2.0 */
/* The capture ranges of Nsight Systems in the words of `record --capture`. */
#include <string.h>

#include "base/strbuf.h"
#include "cli/line/translation_inside.h"

enum { MOST_BYTES = 1 << 16 };

/* Without --capture-range-end, Nsight Systems ends the program after the first range. */
static enum ss_status give_range(const struct ss_translated_captures *captures,
                                 struct ss_error *err)
{
    if (captures->delay != NULL) {
        return ss_fail(err, SS_E_USAGE,
                       "--capture-range and --delay exclude each other: leave out one of them");
    }
    if (strcmp(captures->range, "nvtx") != 0) {
        captures->give(captures->context, "--capture cuda-profiler-api", "");
    } else if (captures->name == NULL) {
        return ss_fail(err, SS_E_USAGE,
                       "--capture-range nvtx names no range; instead: add --nvtx-capture NAME");
    } else {
        struct ss_strbuf text;
        ss_strbuf_init(&text, MOST_BYTES);
        ss_strbuf_append_format(&text, "nvtx:%s", captures->name);
        captures->give(captures->context, "--capture %s", text.data);
        ss_strbuf_fini(&text);
    }
    captures->give(captures->context, "--capture-end %s",
                   captures->end != NULL ? captures->end : "stop-shutdown");
    return SS_OK;
}

/* The duration counts from the end of the delay on. */
static void give_delay(const struct ss_translated_captures *captures)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_BYTES);
    ss_strbuf_append_format(&text, "delay:%s", captures->delay);
    if (captures->duration != NULL) {
        ss_strbuf_append_format(&text, ",duration:%s", captures->duration);
    }
    captures->give(captures->context, "--capture %s", text.data);
    ss_strbuf_fini(&text);
}

enum ss_status ss_translate_captures(const struct ss_translated_captures *captures,
                                     struct ss_error *err)
{
    if (captures->range != NULL && strcmp(captures->range, "none") != 0) {
        SS_TRY(give_range(captures, err));
    }
    if (captures->delay != NULL) {
        give_delay(captures);
    } else if (captures->duration != NULL) {
        captures->give(captures->context,
                       "--duration %s|the program runs on after it; `timeout` ends a program",
                       captures->duration);
    }
    return SS_OK;
}
