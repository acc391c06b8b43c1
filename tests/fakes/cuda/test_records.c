/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what cupti_records.c relies on: later versions of CUPTI's records only append fields,
   and have the sizes of its table. Checked by the compiler against the headers. */
#include <stddef.h>
#include <stdio.h>

#include <cupti.h>
#if __has_include(<cupti_activity_deprecated.h>)
#include <cupti_activity_deprecated.h>
#endif

#include "cupti_record_types.h"

#define SAME(old, name, field)                                                                     \
    _Static_assert(offsetof(CUpti_Activity##old, field) == offsetof(fake_##name, field),           \
                   #old "." #field " has moved")
#define SIZE(record, bytes)                                                                        \
    _Static_assert(sizeof(CUpti_Activity##record) == (bytes), "the size of " #record)

SIZE(Kernel8, 200);
SAME(Kernel8, Kernel, start);
SAME(Kernel8, Kernel, deviceId);
SAME(Kernel8, Kernel, streamId);
SAME(Kernel8, Kernel, gridX);
SAME(Kernel8, Kernel, blockZ);
SAME(Kernel8, Kernel, dynamicSharedMemory);
SAME(Kernel8, Kernel, correlationId);
SAME(Kernel8, Kernel, name);
SAME(Kernel8, Kernel, graphNodeId);
SAME(Kernel8, Kernel, graphId);
SAME(Kernel8, Kernel, clusterX);

SIZE(Memcpy5, 88);
SAME(Memcpy5, Memcpy, copyKind);
SAME(Memcpy5, Memcpy, bytes);
SAME(Memcpy5, Memcpy, start);
SAME(Memcpy5, Memcpy, correlationId);
SAME(Memcpy5, Memcpy, graphNodeId);
SAME(Memcpy5, Memcpy, graphId);

SIZE(MemcpyPtoP4, 96);
SIZE(Memset4, 88);

SIZE(Synchronization, 40);
SAME(Synchronization, Synchronization, start);
SAME(Synchronization, Synchronization, streamId);
SAME(Synchronization, Synchronization, cudaEventId);

SIZE(Overhead, 40);
SAME(Overhead, Overhead, objectId);
SAME(Overhead, Overhead, start);
SAME(Overhead, Overhead, end);

SIZE(Memory3, 120);
SAME(Memory3, Memory, address);
SAME(Memory3, Memory, timestamp);
SAME(Memory3, Memory, streamId);
SAME(Memory3, Memory, isAsync);

SIZE(GraphTrace, 48);
SAME(GraphTrace, GraphTrace, start);
SAME(GraphTrace, GraphTrace, graphId);
SAME(GraphTrace, GraphTrace, streamId);

SIZE(Device4, 176);
SAME(Device4, Device, globalMemorySize);
SAME(Device4, Device, id);
SAME(Device4, Device, uuid);
SAME(Device4, Device, name);

SIZE(Context, 16);
SAME(Context, Context, deviceId);
SAME(Context, Context, nullStreamId);

#if CUPTI_API_VERSION >= 130000
SIZE(Kernel10, 216);
SIZE(Memcpy6, 96);
SIZE(Synchronization2, 56);
#endif
#if CUPTI_API_VERSION >= 24
SIZE(Kernel9, 208);
SIZE(Overhead3, 56);
SIZE(Memory4, 128);
SIZE(GraphTrace2, 56);
SIZE(Device5, 184);
SIZE(Context3, 32);
#endif

int main(void)
{
    puts("the headers agree");
    return 0;
}
