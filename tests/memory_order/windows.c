/* SPDX-License-Identifier: Apache-2.0 */
/* The step and the window of a sample are of one instant. Windows: 1 of step 1, 2 of step 3. */
#include "model.h"

#include "ring/consumer.c"
#include "ring/producer.c"

static struct ss_ring_header header;

static void *read(void *unused)
{
    uint32_t window;
    (void)unused;
    int64_t step = ss_ring_read_step(&header, &window);
    assert(window == 0 || step == 2 * (int64_t)window - 1);
    return NULL;
}

int main(void)
{
    pthread_t reader;
    atomic_init(&header.step, 0);
    pthread_create(&reader, NULL, read, NULL);
    for (int64_t step = 1; step <= 4; step++) {
        uint32_t window = step % 2 == 1 ? (uint32_t)(step + 1) / 2 : 0;
        ss_ring_leave_window(&header, window);
        ss_ring_set_step(&header, step);
        ss_ring_enter_window(&header, window);
    }
    pthread_join(reader, NULL);
    return 0;
}
