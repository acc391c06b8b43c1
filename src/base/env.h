/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all environment variables that stepscope reads. Immutable; thread-safe as long as no
 * thread calls setenv. */
#ifndef SS_BASE_ENV_H
#define SS_BASE_ENV_H

enum ss_env {
#define SS_ENV(name, text) SS_ENV_##name,
#include "base/env.def"
#undef SS_ENV
    SS_ENV_COUNT
};

const char *ss_env_name(enum ss_env variable);
const char *ss_env_text(enum ss_env variable);
const char *ss_env_get(enum ss_env variable); /* NULL when not set */

#endif
