/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL attaches to its NVTX ranges: bytes in the layout that a table of the file describes
 * (`nsys export --include-blobs`), or JSON (`--include-json`). Owned by one loader. Private to
 * model/.
 */
#ifndef SS_MODEL_NSYS_NSYS_PAYLOADS_H
#define SS_MODEL_NSYS_NSYS_PAYLOADS_H

#include "model/nsys/nsys_loading.h"

enum ss_nccl_value {
    SS_NCCL_COMMUNICATOR,
    SS_NCCL_BYTES,
    SS_NCCL_REDUCTION,
    SS_NCCL_ROOT,
    SS_NCCL_PEER,
    SS_NCCL_RANKS,
    SS_NCCL_VALUES
};

struct ss_nccl_payload {
    bool has[SS_NCCL_VALUES];
    uint64_t values[SS_NCCL_VALUES];
};

/* A member of a payload's layout. */
struct ss_nsys_payload_entry {
    int64_t domain, schema;
    uint32_t offset, size;
    enum ss_nccl_value value;
};

struct ss_nsys_payloads {
    struct ss_vec_of(struct ss_nsys_payload_entry) entries; /* by domain and schema */
};

void ss_nsys_payloads_init(struct ss_nsys_payloads *payloads, struct ss_nsys_loading *loading);
void ss_nsys_payloads_fini(struct ss_nsys_payloads *payloads);
/* Members that the payload lacks are not set. */
void ss_nsys_payload_read(const struct ss_nsys_payloads *payloads, struct ss_strview bytes,
                          struct ss_nccl_payload *payload);
void ss_nsys_payload_read_json(struct ss_strview json, struct ss_nccl_payload *payload);
/* Adds what the payload says of a collective; its size is the range's payload. */
void ss_nsys_payload_put(const struct ss_nccl_payload *payload, struct ss_nsys_rows *rows,
                         struct ss_nsys_fields *fields, struct ss_builder_range *range);

#endif
