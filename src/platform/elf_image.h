/* SPDX-License-Identifier: Apache-2.0 */
/* Exported symbols of an ELF file as it lies in a process's memory: for files that cannot be opened
 * any more (replaced by an upgrade, in a folder we may not enter). Everything read is checked. */
#ifndef SS_PLATFORM_ELF_IMAGE_H
#define SS_PLATFORM_ELF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"

/* `start` is where the file's first byte is mapped. *address is the address in the process. */
bool ss_elf_image_symbol(struct ss_memory_reader *reader, uint64_t start, const char *name,
                         uint64_t *address);

#endif
