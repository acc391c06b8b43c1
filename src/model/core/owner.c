/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/owner.h"

#include <string.h>

#include "model/core/origin.h"

struct row {
    const char *module;
    enum ss_code_owner owner;
};

#define SS_PACKAGE_OWNER(owner, module) {module, SS_OWNER_##owner},
static const struct row package_rows[] = {
#include "model/core/owner.def"
};
#undef SS_PACKAGE_OWNER

#define SS_STDLIB_OWNER(owner, module) {module, SS_OWNER_##owner},
static const struct row stdlib_rows[] = {
#include "model/core/owner.def"
};
#undef SS_STDLIB_OWNER

static enum ss_code_owner find(const struct row *rows, size_t count, struct ss_strview module,
                               enum ss_code_owner other)
{
    for (size_t i = 0; i < count; i++) {
        if (ss_module_is(module, rows[i].module)) {
            return rows[i].owner;
        }
    }
    return other;
}

enum ss_code_owner ss_owner_of(enum ss_code_origin origin, struct ss_strview path)
{
    struct ss_strview module = path; /* a short path is relative already */
    ss_module_of_path(path, origin, &module);
    switch (origin) {
    case SS_ORIGIN_USER:
        return SS_OWNER_PROGRAM;
    case SS_ORIGIN_STDLIB:
        return find(stdlib_rows, sizeof stdlib_rows / sizeof *stdlib_rows, module, SS_OWNER_STDLIB);
    case SS_ORIGIN_PACKAGE:
        return find(package_rows, sizeof package_rows / sizeof *package_rows, module,
                    SS_OWNER_LIBRARY);
    case SS_ORIGIN_NATIVE: /* compiled parts of packages serve Python code, which has its owner */
        return ss_module_is(module, "torch/") ? SS_OWNER_TORCH : SS_OWNER_NATIVE;
    case SS_ORIGIN_DEVICE:
    case SS_ORIGIN_UNKNOWN:
        break;
    }
    return SS_OWNER_UNKNOWN;
}
