/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL calls its functions, datatypes, algorithms and protocols, by number or by text, and
 * what recordings call them. Pure. */
#ifndef SS_INJECT_NCCL_NCCL_NAMES_H
#define SS_INJECT_NCCL_NCCL_NAMES_H

#include <stdint.h>

#include "base/strview.h"

struct ss_nccl_datatype {
    const char *theirs, *name; /* "ncclFloat32", "float32" */
    uint32_t bytes;            /* of an element; 0: unknown */
};

/* NULL: unknown. */
const struct ss_nccl_datatype *ss_nccl_datatype_of(const char *theirs);
const char *ss_nccl_datatype_numbered(uint8_t number); /* "ncclFloat32" */
const char *ss_nccl_function_numbered(uint8_t number); /* "AllReduce" */
const char *ss_nccl_algorithm_numbered(uint8_t number);
const char *ss_nccl_protocol_numbered(uint8_t number);
/* "ring" of "RING", "simple" of "SIMPLE", "LL128" as it is. What is not known stays as it is. */
const char *ss_nccl_plain(const char *theirs);

#endif
