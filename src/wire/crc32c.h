/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli polynomial, as in iSCSI and ext4). Pure function, any thread. */
#ifndef SS_WIRE_CRC32C_H
#define SS_WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* `crc`: 0 at the start, else the result for the preceding bytes. Uses the processor's instruction
 * where available. */
uint32_t ss_crc32c(uint32_t crc, const void *bytes, size_t length);
/* The table version, for processors without the instruction and for the test. */
uint32_t ss_crc32c_portable(uint32_t crc, const void *bytes, size_t length);

#endif
