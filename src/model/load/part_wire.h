/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers in other processes are asked for, and send, as bytes: a request to load files, and
 * the model of one file. Both begin with magic, version, length and checksum; bytes of another
 * version are refused. Native byte order: workers run the same program. The bytes are not trusted:
 * every count is checked against their length, and every reference against its table.
 */
#ifndef SS_MODEL_LOAD_PART_WIRE_H
#define SS_MODEL_LOAD_PART_WIRE_H

#include "base/strbuf.h"
#include "model/core/model.h"
#include "wire/proto.h"

/* A model of one input. */
void ss_part_encode(const struct ss_model *part, struct ss_wire_buffer *out);
/* Initialises `part`, also on failure. SS_E_FORMAT: what is wrong with the bytes. */
enum ss_status ss_part_decode(const void *bytes, size_t length, struct ss_model *part,
                              struct ss_error *err);

struct ss_part_request {
    struct ss_model_load load;       /* only what selects rows */
    struct ss_vec_of(char *) tracks; /* what load.only_tracks points to; ends with NULL */
    struct ss_vec_of(char *) paths;
    struct ss_vec_of(bool) is_named; /* by path */
};

/* Of the files first, first + stride, … of `paths`. */
struct ss_part_paths {
    const char *const *paths;
    const bool *is_named;
    size_t count, first, stride;
};
void ss_part_request_encode(const struct ss_model_load *load, const struct ss_part_paths *paths,
                            struct ss_wire_buffer *out);
enum ss_status ss_part_request_decode(const void *bytes, size_t length,
                                      struct ss_part_request *request, struct ss_error *err);
void ss_part_request_fini(struct ss_part_request *request);

#endif
