/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/env.h"

static enum ss_log_level default_level = SS_WARN;

static int level_named(const char *text, size_t length)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int level = SS_ERROR; level <= SS_DEBUG; level++) {
        if (strlen(names[level]) == length && strncmp(text, names[level], length) == 0) {
            return level;
        }
    }
    return -1;
}

/* STEPSCOPE_LOG is a comma-separated list of LEVEL or DOMAIN:LEVEL; the last match wins. */
static enum ss_log_level level_of(const char *domain)
{
    int level = (int)default_level;
    const char *at = ss_env_get(SS_ENV_STEPSCOPE_LOG);
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ",");
        const char *colon = memchr(at, ':', length);
        if (colon == NULL) {
            int named = level_named(at, length);
            level = named >= 0 ? named : level;
        } else if (strlen(domain) == (size_t)(colon - at) &&
                   strncmp(at, domain, (size_t)(colon - at)) == 0) {
            int named = level_named(colon + 1, length - (size_t)(colon + 1 - at));
            level = named >= 0 ? named : level;
        }
        at += length + (at[length] == ',');
    }
    return (enum ss_log_level)level;
}

void ss_log(enum ss_log_level level, const char *domain, const char *format, ...)
{
    if (level > level_of(domain)) {
        return;
    }
    static const char *const labels[] = {"error: ", "", "", "debug: "};
    char line[1024];
    int used = snprintf(line, sizeof line, "stepscope: %s", labels[level]);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 2) {
        length = sizeof line - 2;
    }
    line[length++] = '\n';
    ss_clean_write(STDERR_FILENO, line, length);
}

void ss_log_set_level(enum ss_log_level level)
{
    default_level = level;
}
