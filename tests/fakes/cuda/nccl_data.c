/* SPDX-License-Identifier: Apache-2.0 */
/* libnccl: the data of small collectives, such as programs exchange to agree on shapes. Larger ones
   give each rank its own data back. */
#include "nccl_inside.h"

#include <string.h>

#define REDUCE_VALUES(value_type)                                                                  \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            value_type a, b;                                                                       \
            memcpy(&a, (unsigned char *)to + i * sizeof a, sizeof a);                              \
            memcpy(&b, from + i * sizeof b, sizeof b);                                             \
            a = reduction == NCCL_PRODUCT ? a * b                                                  \
                : reduction == NCCL_MAX   ? (a > b ? a : b)                                        \
                : reduction == NCCL_MIN   ? (a < b ? a : b)                                        \
                                          : a + b;                                                   \
            memcpy((unsigned char *)to + i * sizeof a, &a, sizeof a);                              \
        }                                                                                          \
    } while (0)

/* Of the four types that programs agree in; others keep the rank's own values. */
static void reduce_into(void *to, const unsigned char *from, size_t count, int type, int reduction)
{
    switch (type) {
    case NCCL_INT32:
        REDUCE_VALUES(int32_t);
        break;
    case NCCL_INT64:
        REDUCE_VALUES(int64_t);
        break;
    case NCCL_FLOAT:
        REDUCE_VALUES(float);
        break;
    case NCCL_DOUBLE:
        REDUCE_VALUES(double);
        break;
    default:
        break;
    }
}

static void divide(void *values, size_t count, int type, int ranks)
{
    for (size_t i = 0; i < count; i++) {
        if (type == NCCL_FLOAT) {
            ((float *)values)[i] /= (float)ranks;
        } else if (type == NCCL_DOUBLE) {
            ((double *)values)[i] /= (double)ranks;
        }
    }
}

/* The values of all ranks from this offset on. */
static void reduce_all(const struct operation *operation, const struct slot *slot, size_t offset)
{
    const struct comm *comm = operation->comm;
    memcpy(operation->to, slot->data[comm->rank] + offset,
           nccl_bytes(operation->type, operation->count));
    for (int rank = 0; rank < comm->ranks; rank++) {
        if (rank != comm->rank) {
            reduce_into(operation->to, slot->data[rank] + offset, operation->count, operation->type,
                        operation->reduction);
        }
    }
    if (operation->reduction == NCCL_AVERAGE) {
        divide(operation->to, operation->count, operation->type, comm->ranks);
    }
}

static void keep_own(const struct operation *operation, size_t bytes)
{
    const struct comm *comm = operation->comm;
    size_t own = (size_t)comm->rank * bytes;
    switch (operation->function) {
    case ALL_GATHER:
        memmove((char *)operation->to + own, operation->from, bytes);
        break;
    case REDUCE_SCATTER:
        memmove(operation->to, (const char *)operation->from + own, bytes);
        break;
    default:
        memmove(operation->to, operation->from, bytes);
        break;
    }
}

void nccl_move(const struct operation *operation, struct slot *slot)
{
    const struct comm *comm = operation->comm;
    size_t bytes = nccl_bytes(operation->type, operation->count);
    size_t sent = operation->function == REDUCE_SCATTER ? bytes * (size_t)comm->ranks : bytes;
    if (operation->to == NULL || operation->from == NULL) {
        return;
    }
    if (sent > DATA_BYTES) {
        keep_own(operation, bytes);
        return;
    }
    switch (operation->function) {
    case BROADCAST:
        memcpy(operation->to, slot->data[operation->root], bytes);
        break;
    case ALL_GATHER:
        for (int rank = 0; rank < comm->ranks; rank++) {
            memcpy((char *)operation->to + (size_t)rank * bytes, slot->data[rank], bytes);
        }
        break;
    case REDUCE:
        if (comm->rank == operation->root) {
            reduce_all(operation, slot, 0);
        }
        break;
    case ALL_REDUCE:
        reduce_all(operation, slot, 0);
        break;
    case REDUCE_SCATTER:
        reduce_all(operation, slot, (size_t)comm->rank * bytes);
        break;
    default:
        break;
    }
}
