/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a CUDA graph that is measured: its number and its kernels. */
#include <dlfcn.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "inject/cupti/counters_inside.h"
#include "inject/device/texts.h"

enum { MOST_BYTES = 1024, MOST_NAME_BYTES = 120, MOST_SYMBOL_BYTES = 16 << 10 };

/* Readable where the process has a C++ runtime; long ones are cut. */
static void put_kernel(uint32_t number, uint32_t count, struct ss_strbuf *out)
{
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    struct ss_strview name = ss_device_text_get(number);
    char *symbol = ss_strndup(name.data, name.length), *readable = NULL;
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (demangle != NULL && name.length < MOST_SYMBOL_BYTES) {
        readable = demangle(symbol, NULL, NULL, NULL);
    }
    const char *text = readable != NULL ? readable : symbol;
    ss_strbuf_append_format(out, "%u x %.*s%s", count, MOST_NAME_BYTES, text,
                            strlen(text) > MOST_NAME_BYTES ? "..." : "");
    ss_free(readable);
    ss_free(symbol);
}

uint32_t ss_counters_graph_name(const void *executable, const struct ss_graph_kernels *kernels)
{
    const struct ss_cupti *cupti = ss_counters.cupti;
    struct ss_strbuf out;
    uint32_t id = 0, named = 0;
    ss_strbuf_init(&out, MOST_BYTES);
    ss_strbuf_append_text(&out, "CUDA graph");
    if (cupti->GetGraphExecId != NULL && cupti->GetGraphExecId(executable, &id) == SS_CUPTI_OK) {
        ss_strbuf_append_format(&out, " %u", id);
    }
    ss_strbuf_append_text(&out, ": ");
    for (uint32_t i = 0; i < kernels->names && out.length + 3 * MOST_NAME_BYTES < MOST_BYTES; i++) {
        ss_strbuf_append_text(&out, i > 0 ? ", " : "");
        put_kernel(kernels->of[i].name, kernels->of[i].count, &out);
        named += kernels->of[i].count;
    }
    if (named < kernels->count) {
        ss_strbuf_append_format(&out, ", %u more", kernels->count - named);
    }
    uint32_t text = ss_device_text_put(out.data, out.length);
    ss_strbuf_fini(&out);
    return text;
}
