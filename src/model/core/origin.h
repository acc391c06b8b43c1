/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a frame's code, by its path. Pure functions over const tables; thread-safe. */
#ifndef SS_MODEL_CORE_ORIGIN_H
#define SS_MODEL_CORE_ORIGIN_H

#include <stdbool.h>

#include "base/strview.h"

enum ss_code_origin {
    SS_ORIGIN_UNKNOWN,
    SS_ORIGIN_USER,    /* none of the below: "your own code" */
    SS_ORIGIN_STDLIB,  /* frozen and built-in modules too */
    SS_ORIGIN_PACKAGE, /* site-packages, dist-packages */
    SS_ORIGIN_NATIVE,
    SS_ORIGIN_DEVICE /* runs on a device: kernels, copies, memsets */
};

/* `path` as in a code object (traces). */
enum ss_code_origin ss_origin_of_path(struct ss_strview path);
/* `path` as py-spy shortens it: relative to the folder above the outermost package. Unknown
 * packages count as the user's own code. */
enum ss_code_origin ss_origin_of_short_path(struct ss_strview path);
/* Sets *module to the part of `path` behind the folder of packages ("torch/serialization.py"), or,
 * of the standard library, behind its folder ("json/encoder.py"); false: there is none, it is as
 * before. */
bool ss_module_of_path(struct ss_strview path, enum ss_code_origin origin,
                       struct ss_strview *module);
/* Whether a path relative to such a folder is of `module`: one that ends in ".py" is a whole path,
 * any other is a prefix. */
bool ss_module_is(struct ss_strview path, const char *module);
/* Whether the path is a native library or source file, not Python source. A raw line does not
 * say. */
bool ss_path_is_native(struct ss_strview path);

#endif
