/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and error values.
 *
 * A fallible function returns `enum ss_status` and takes `struct ss_error *err` last. The error
 * lives on the caller's stack, may be NULL, and is written only when the function fails. There is
 * no thread-local "last error". Thread rules: an error belongs to the thread that owns the storage.
 */
#ifndef SS_BASE_ERROR_H
#define SS_BASE_ERROR_H

#include <stddef.h>

enum ss_status {
#define SS_STATUS(name, exit_code, text) SS_E_##name,
#include "base/status.def"
#undef SS_STATUS
    SS_STATUS_COUNT
};
#define SS_OK SS_E_OK

/* One line for people: what failed, why, and the fix. Never ends in a newline. */
struct ss_error {
    enum ss_status status;
    char message[512];
};

#define SS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets *err (when not NULL) and returns `status`, for `return ss_fail(err, …)`. */
enum ss_status ss_fail(struct ss_error *err, enum ss_status status, const char *format, ...)
    SS_PRINTF(3, 4);

/* As ss_fail, with ": strerror(saved_errno)" appended; maps ENOSPC, EACCES, ENOENT… to their
 * status and all other values to SS_E_IO. */
enum ss_status ss_fail_errno(struct ss_error *err, int saved_errno, const char *format, ...)
    SS_PRINTF(3, 4);

/* Puts "context: " before the message of an error that is already set. Returns err->status. */
enum ss_status ss_error_wrap(struct ss_error *err, enum ss_status status, const char *format, ...)
    SS_PRINTF(3, 4);

const char *ss_status_name(enum ss_status status);
const char *ss_status_text(enum ss_status status);
int ss_status_exit_code(enum ss_status status);

/* For broken invariants only: prints the location and aborts. */
_Noreturn void ss_bug_at(const char *file, int line, const char *format, ...) SS_PRINTF(3, 4);
#define ss_bug(...) ss_bug_at(__FILE__, __LINE__, __VA_ARGS__)

#define SS_TRY(expression)                                                                         \
    do {                                                                                           \
        enum ss_status ss_try_status_ = (expression);                                              \
        if (ss_try_status_ != SS_OK) {                                                             \
            return ss_try_status_;                                                                 \
        }                                                                                          \
    } while (0)

#endif
