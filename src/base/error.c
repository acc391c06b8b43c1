/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int exit_code;
    const char *text;
} status_table[SS_STATUS_COUNT] = {
#define SS_STATUS(name, exit_code, text) [SS_E_##name] = {#name, exit_code, text},
#include "base/status.def"
#undef SS_STATUS
};

static void set_message(struct ss_error *err, enum ss_status status, const char *format,
                        va_list arguments) SS_PRINTF(3, 0);
static void set_message(struct ss_error *err, enum ss_status status, const char *format,
                        va_list arguments)
{
    if (err == NULL) {
        return;
    }
    err->status = status;
    vsnprintf(err->message, sizeof err->message, format, arguments);
}

enum ss_status ss_fail(struct ss_error *err, enum ss_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_message(err, status, format, arguments);
    va_end(arguments);
    return status;
}

static enum ss_status status_of_errno(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return SS_E_NOSPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return SS_E_PERMISSION;
    case ENOENT:
    case ENOTDIR:
        return SS_E_NOTFOUND;
    case ESRCH:
        return SS_E_GONE;
    case ENOMEM:
        return SS_E_NOMEM;
    case ENOSYS:
        return SS_E_UNSUPPORTED;
    default:
        return SS_E_IO;
    }
}

enum ss_status ss_fail_errno(struct ss_error *err, int saved_errno, const char *format, ...)
{
    enum ss_status status = status_of_errno(saved_errno);
    va_list arguments;
    va_start(arguments, format);
    set_message(err, status, format, arguments);
    va_end(arguments);
    if (err != NULL) {
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(saved_errno));
    }
    return status;
}

enum ss_status ss_error_wrap(struct ss_error *err, enum ss_status status, const char *format, ...)
{
    if (err == NULL) {
        return status;
    }
    struct ss_error inner = *err;
    va_list arguments;
    va_start(arguments, format);
    set_message(err, status, format, arguments);
    va_end(arguments);
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", inner.message);
    return status;
}

const char *ss_status_name(enum ss_status status)
{
    return (unsigned)status < SS_STATUS_COUNT ? status_table[status].name : "?";
}

const char *ss_status_text(enum ss_status status)
{
    return (unsigned)status < SS_STATUS_COUNT ? status_table[status].text : "unknown status";
}

int ss_status_exit_code(enum ss_status status)
{
    return (unsigned)status < SS_STATUS_COUNT ? status_table[status].exit_code : 5;
}

void ss_bug_at(const char *file, int line, const char *format, ...)
{
    char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "stepscope: bug at %s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    used = strlen(text);
    text[used < sizeof text - 1 ? used++ : used - 1] = '\n';
    for (size_t i = 0; i + 1 < used; i++) { /* the Python extension links no clean.c */
        text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    }
    ssize_t written = write(STDERR_FILENO, text, used);
    (void)written; /* a failed write cannot be reported */
    abort();
}
