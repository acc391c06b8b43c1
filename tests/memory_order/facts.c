/* SPDX-License-Identifier: Apache-2.0 */
/* A fact that changes its value and type: a recorder that attaches reads one value with its type.
 */
#include "model.h"

#include "ring/consumer.c"
#include "ring/producer.c"

static struct ss_ring_fact fact;

static void *read(void *unused)
{
    uint64_t value;
    (void)unused;
    enum ss_ring_value type = ss_ring_read_fact(&fact, &value);
    assert(type != SS_RING_VALUE_SIGNED || value == 1 || value == 3);
    assert(type != SS_RING_VALUE_NAME || value == 2);
    return NULL;
}

int main(void)
{
    pthread_t reader;
    ss_ring_write_fact(&fact, 7, SS_RING_VALUE_SIGNED, 1);
    pthread_create(&reader, NULL, read, NULL);
    ss_ring_write_fact(&fact, 7, SS_RING_VALUE_NAME, 2);
    ss_ring_write_fact(&fact, 7, SS_RING_VALUE_SIGNED, 3);
    pthread_join(reader, NULL);
    return 0;
}
