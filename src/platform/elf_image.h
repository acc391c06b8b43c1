/* SPDX-License-Identifier: Apache-2.0 */
/* Exported symbols of an ELF file that is mapped into a process: for files that stepscope cannot
 * open (replaced by an upgrade, in a folder without access). Every value read is checked. */
#ifndef SS_PLATFORM_ELF_IMAGE_H
#define SS_PLATFORM_ELF_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"

/* `start`: the address at which the file's first byte is mapped. *address: in the process. */
bool ss_elf_image_symbol(struct ss_memory_reader *reader, uint64_t start, const char *name,
                         uint64_t *address);

#endif
