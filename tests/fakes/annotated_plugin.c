/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object with annotations, for dlopen, dlclose and dlmopen. */
#include <stepscope/stepscope.h>

__attribute__((visibility("default"))) void plugin_mark(int count);

void plugin_mark(int count)
{
    for (int i = 0; i < count; i++) {
        STEPSCOPE_RANGE("plugin");
    }
}
