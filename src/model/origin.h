/* SPDX-License-Identifier: Apache-2.0 */
/* Whose code a frame is, told from its path. Pure functions over const tables; thread-safe. */
#ifndef SS_MODEL_ORIGIN_H
#define SS_MODEL_ORIGIN_H

#include <stdbool.h>

#include "base/strview.h"
#include "model/model.h"

/* `path` as a code object has it (traces). */
enum ss_code_origin ss_origin_of_path(struct ss_strview path);
/* `path` as py-spy shortens it: relative to the folder above the outermost package. What it
 * cannot tell (a package nobody knows) counts as the user's own. */
enum ss_code_origin ss_origin_of_short_path(struct ss_strview path);
/* Python source, or a native library or source file? A raw line does not say. */
bool ss_path_is_native(struct ss_strview path);

#endif
