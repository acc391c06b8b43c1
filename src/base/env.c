/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stdlib.h>

static const struct {
    const char *name;
    const char *text;
} env_table[SS_ENV_COUNT] = {
#define SS_ENV(name, text) [SS_ENV_##name] = {#name, text},
#include "base/env.def"
#undef SS_ENV
};

const char *ss_env_name(enum ss_env variable)
{
    return env_table[variable].name;
}

const char *ss_env_text(enum ss_env variable)
{
    return env_table[variable].text;
}

const char *ss_env_get(enum ss_env variable)
{
    return getenv(env_table[variable].name);
}
