/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/nccl/nccl_names.h"

#include <stddef.h>
#include <string.h>

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

/* By the number of ncclDataType_t. */
static const struct ss_nccl_datatype datatypes[] = {
    {"ncclInt8", "int8", 1},
    {"ncclUint8", "uint8", 1},
    {"ncclInt32", "int32", 4},
    {"ncclUint32", "uint32", 4},
    {"ncclInt64", "int64", 8},
    {"ncclUint64", "uint64", 8},
    {"ncclFloat16", "float16", 2},
    {"ncclFloat32", "float32", 4},
    {"ncclFloat64", "float64", 8},
    {"ncclBfloat16", "bfloat16", 2},
    {"ncclFloat8e4m3", "float8_e4m3fn", 1},
    {"ncclFloat8e5m2", "float8_e5m2", 1},
};

/* The plugins of version 1 are of NCCL 2.23, whose functions these are. */
static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

const struct ss_nccl_datatype *ss_nccl_datatype_of(const char *theirs)
{
    for (size_t i = 0; theirs != NULL && i < COUNT_OF(datatypes); i++) {
        if (strcmp(datatypes[i].theirs, theirs) == 0) {
            return &datatypes[i];
        }
    }
    return NULL;
}

const char *ss_nccl_datatype_numbered(uint8_t number)
{
    return number < COUNT_OF(datatypes) ? datatypes[number].theirs : NULL;
}

const char *ss_nccl_function_numbered(uint8_t number)
{
    return number < COUNT_OF(functions) ? functions[number] : NULL;
}

const char *ss_nccl_algorithm_numbered(uint8_t number)
{
    return number < COUNT_OF(algorithms) ? algorithms[number] : NULL;
}

const char *ss_nccl_protocol_numbered(uint8_t number)
{
    return number < COUNT_OF(protocols) ? protocols[number] : NULL;
}

const char *ss_nccl_plain(const char *theirs)
{
    static const char *const plain[][2] = {{"TREE", "tree"},
                                           {"RING", "ring"},
                                           {"COLLNET_DIRECT", "collnet direct"},
                                           {"COLLNET_CHAIN", "collnet chain"},
                                           {"NVLS", "nvls"},
                                           {"NVLS_TREE", "nvls tree"},
                                           {"PAT", "pat"},
                                           {"SIMPLE", "simple"}};
    for (size_t i = 0; theirs != NULL && i < COUNT_OF(plain); i++) {
        if (strcmp(plain[i][0], theirs) == 0) {
            return plain[i][1];
        }
    }
    return theirs;
}
