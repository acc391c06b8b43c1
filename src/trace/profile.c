/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/profile.h"

/* Field 36 of TracePacket, 16 bytes, and Perfetto's fixed marker 82477a76-b28d-42ba-81dc-… */
const uint8_t ss_marker[SS_MARKER_BYTES] = {0xa2, 0x02, 0x10, 0x82, 0x47, 0x7a, 0x76,
                                            0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33,
                                            0x32, 0x6d, 0x57, 0xa0, 0x79};
