/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a frame's code, by its path. Pure functions over const tables; thread-safe. */
#ifndef SS_MODEL_ORIGIN_H
#define SS_MODEL_ORIGIN_H

#include <stdbool.h>

#include "base/strview.h"
#include "model/model.h"

/* `path` as in a code object (traces). */
enum ss_code_origin ss_origin_of_path(struct ss_strview path);
/* `path` as py-spy shortens it: relative to the folder above the outermost package. Unknown
 * packages count as the user's own code. */
enum ss_code_origin ss_origin_of_short_path(struct ss_strview path);
/* Whether the path is a native library or source file, not Python source. A raw line does not
 * say. */
bool ss_path_is_native(struct ss_strview path);

#endif
