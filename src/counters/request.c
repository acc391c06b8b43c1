/* SPDX-License-Identifier: Apache-2.0 */
#include "counters/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ss_status ss_counter_request_set(struct ss_counter_request *request, const char *counters,
                                      const char *kernel, struct ss_error *err)
{
    if (strlen(counters) >= sizeof request->counters ||
        (kernel != NULL && strlen(kernel) >= sizeof request->kernel)) {
        return ss_fail(err, SS_E_LIMIT, "the counters (or the kernel) have too long a text");
    }
    snprintf(request->counters, sizeof request->counters, "%s", counters);
    snprintf(request->kernel, sizeof request->kernel, "%s", kernel != NULL ? kernel : "");
    request->is_kernel = kernel != NULL;
    return SS_OK;
}

void ss_counter_request_put(const struct ss_counter_request *request, char *text, size_t size)
{
    snprintf(text, size, "skip=%lld;count=%lld;counters=%s%s%s", request->skip, request->count,
             request->counters, request->is_kernel ? ";kernel=" : "", request->kernel);
}

/* "NAME=" at *text, which advances. */
static bool read_name(const char **text, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(*text, name, length) != 0 || (*text)[length] != '=') {
        return false;
    }
    *text += length + 1;
    return true;
}

static bool read_number(const char **text, const char *name, long long *number)
{
    char *end = NULL;
    if (!read_name(text, name) || **text < '0' || **text > '9') {
        return false;
    }
    *number = strtoll(*text, &end, 10);
    if (*number > SS_COUNTER_REQUEST_MOST || *end != ';') {
        return false;
    }
    *text = end + 1;
    return true;
}

bool ss_counter_request_parse(const char *text, struct ss_counter_request *request)
{
    *request = (struct ss_counter_request){.skip = 0};
    if (text == NULL || !read_number(&text, "skip", &request->skip) ||
        !read_number(&text, "count", &request->count) || !read_name(&text, "counters")) {
        return false;
    }
    size_t length = strcspn(text, ";");
    if (length == 0 || length >= sizeof request->counters) {
        return false;
    }
    memcpy(request->counters, text, length);
    text += length;
    if (*text == '\0') {
        return true;
    }
    text++;
    if (!read_name(&text, "kernel") || strlen(text) >= sizeof request->kernel) {
        return false;
    }
    request->is_kernel = true;
    snprintf(request->kernel, sizeof request->kernel, "%s", text);
    return true;
}
