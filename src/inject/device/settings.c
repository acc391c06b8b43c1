/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/settings.h"

#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"off", "light", "default", "full"};

const char *ss_collecting_level_name(enum ss_collecting_level level)
{
    return level_names[level];
}

struct ss_collecting_settings ss_collecting_settings_parse(const char *text)
{
    struct ss_collecting_settings settings = {.level = SS_COLLECTING_OFF};
    size_t length = text != NULL ? strcspn(text, ",") : 0;
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (length > 0 && strlen(level_names[i]) == length &&
            memcmp(text, level_names[i], length) == 0) {
            settings.level = (enum ss_collecting_level)i;
        }
    }
    const char *buffers = text != NULL ? strstr(text, ",buffers=") : NULL;
    if (buffers != NULL) {
        settings.buffers = (uint32_t)strtoul(buffers + strlen(",buffers="), NULL, 10);
    }
    const char *samples = text != NULL ? strstr(text, ",samples=") : NULL;
    if (samples != NULL) {
        settings.sample_ns = strtoull(samples + strlen(",samples="), NULL, 10);
    }
    settings.is_tee = text != NULL && strstr(text, ",tee") != NULL;
    return settings;
}
