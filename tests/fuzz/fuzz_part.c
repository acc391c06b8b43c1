/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the message of a worker: those that are accepted are absorbed twice, and written as
 * the same message again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/absorb.h"
#include "model/load/part_wire.h"
#include "wire/crc32c.h"

enum { HEADER_BYTES = 24 };

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* The bytes behind a header with their length and checksum, which mutations would not hit. */
static uint8_t *message_of(const uint8_t *data, size_t size, const char *magic)
{
    const uint32_t version = 1, crc = ss_crc32c(0, data, size);
    const uint64_t length = size;
    uint8_t *message = malloc(HEADER_BYTES + size);
    check(message != NULL, "memory");
    memcpy(message, magic, 8);
    memcpy(message + 8, &version, sizeof version);
    memcpy(message + 12, &crc, sizeof crc);
    memcpy(message + 16, &length, sizeof length);
    if (size > 0) {
        memcpy(message + HEADER_BYTES, data, size);
    }
    return message;
}

static void check_part(const struct ss_model *part)
{
    static const struct ss_model_load load = {.size = sizeof load};
    struct ss_wire_buffer written = {0};
    struct ss_model model, again;
    ss_model_init(&model);
    ss_model_absorb(&model, part, &load);
    ss_model_absorb(&model, part, &load);
    ss_part_encode(part, &written);
    check(ss_part_decode(written.data, written.length, &again, NULL) == SS_OK, "it is read again");
    ss_model_fini(&again);
    ss_model_fini(&model);
    ss_wire_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_model part;
    struct ss_part_request request;
    size_t skip = size >= HEADER_BYTES ? HEADER_BYTES : size; /* of messages as the corpus has */
    uint8_t *message = message_of(data + skip, size - skip, "SSPART\r\n");
    if (ss_part_decode(message, HEADER_BYTES + size - skip, &part, NULL) == SS_OK) {
        check_part(&part);
    }
    ss_model_fini(&part);
    memcpy(message, "SSWANT\r\n", 8);
    ss_part_request_decode(message, HEADER_BYTES + size - skip, &request, NULL);
    ss_part_request_fini(&request);
    free(message);
    return 0;
}
