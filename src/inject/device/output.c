/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "annot/process.h"
#include "base/alloc.h"
#include "inject/device/texts.h"
#include "ring/page_guard.h"

enum { WAIT_NS = 500000, NAME_SLOTS = 8192, MOST_NAME_BYTES = 16 << 10 };

/* By address: CUPTI gives each kernel's name as the same pointer. */
struct ss_device_name_cache {
    struct {
        uint64_t address;
        uint32_t number, length;
        const char *text;
    } slots[NAME_SLOTS];
};

/* --- the file --------------------------------------------------------------------------------- */

bool ss_device_output_open(struct ss_device_output *output, enum ss_device_interface_of interface,
                           uint32_t version, char *problem, size_t size)
{
    const size_t bytes = SS_DEVICE_RING_PAGE_BYTES + ((size_t)1 << SS_DEVICE_RING_LOG2);
    int fd = ss_process_make_device_file(bytes);
    void *memory =
        fd >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        snprintf(problem, size,
                 "no room for a ring of %zu MiB beside the process's other rings: %s", bytes >> 20,
                 strerror(errno));
    } else {
        *output = (struct ss_device_output){.is_patient = true,
                                            .names = ss_alloc_zero(1, sizeof *output->names)};
        ss_page_guard_add(memory, bytes);
        ((struct ss_device_ring_header *)memory)->interface_version = version;
        ((struct ss_device_ring_header *)memory)->interface = interface;
        ss_device_producer_init(&output->ring, memory, SS_DEVICE_RING_LOG2,
                                (int32_t)ss_process_pid());
    }
    if (fd >= 0) {
        close(fd);
    }
    if (memory != MAP_FAILED) {
        ss_process_announce_device_file();
    }
    return memory != MAP_FAILED;
}

void ss_device_output_close(struct ss_device_output *output)
{
    void *memory = output->ring.header;
    if (memory != NULL) {
        ss_page_guard_remove(memory);
        munmap(memory, SS_DEVICE_RING_PAGE_BYTES + ((size_t)1 << SS_DEVICE_RING_LOG2));
    }
    ss_free(output->names);
    *output = (struct ss_device_output){.is_patient = false};
}

/* --- messages --------------------------------------------------------------------------------- */

static void put(struct ss_device_output *output, struct ss_device_message *message, size_t bytes,
                struct ss_strview text)
{
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    struct ss_device_ring_header *header = output->ring.header;
    while (!ss_device_put(&output->ring, message, bytes, text.data, text.length)) {
        if (!output->is_patient) {
            atomic_fetch_add_explicit(&header->lost_messages, 1, memory_order_relaxed);
            return;
        }
        nanosleep(&wait, NULL);
        ss_process_check_heartbeat();
        output->is_patient = (atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed) &
                              SS_RING_GATE_ALL) != 0;
    }
}

static const struct ss_strview nothing = {"", 0};

/* Texts first, then the frames that refer to them, then the stacks of these. */
static void put_definitions(struct ss_device_output *output)
{
    struct ss_device_text_counts counts = ss_device_text_counts();
    while (output->defined.texts < counts.texts) {
        struct ss_strview text = ss_device_text_get(output->defined.texts + 1);
        struct ss_device_text message = {.head.kind = SS_DEVICE_TEXT,
                                         .number = ++output->defined.texts,
                                         .length = (uint32_t)text.length};
        put(output, &message.head, sizeof message, text);
    }
    while (output->defined.frames < counts.frames) {
        struct ss_device_frame_message message;
        ss_device_frame_get(++output->defined.frames, &message);
        put(output, &message.head, sizeof message, nothing);
    }
    while (output->defined.stacks < counts.stacks) {
        struct ss_device_stack_message message;
        ss_device_stack_get(++output->defined.stacks, &message);
        put(output, &message.head, sizeof message, nothing);
    }
}

void ss_device_output_put(struct ss_device_output *output, struct ss_device_message *message,
                          size_t bytes)
{
    put_definitions(output);
    put(output, message, bytes, nothing);
}

void ss_device_output_put_metrics(struct ss_device_output *output,
                                  struct ss_device_metrics_message *message,
                                  const struct ss_device_metric *values)
{
    put_definitions(output);
    put(output, &message->head, sizeof *message,
        (struct ss_strview){(const char *)values, message->count * sizeof *values});
}

uint32_t ss_device_output_name(struct ss_device_output *output, uint64_t address)
{
    if (address == 0) {
        return 0;
    }
    const char *text = (const char *)(uintptr_t)address;
    size_t slot = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 51) % NAME_SLOTS;
    size_t length = strnlen(text, MOST_NAME_BYTES);
    uint32_t number = output->names->slots[slot].number;
    if (number == 0 || output->names->slots[slot].address != address ||
        output->names->slots[slot].length != length ||
        memcmp(output->names->slots[slot].text, text, length) != 0) {
        number = ss_device_text_put(text, length);
        if (number != 0) {
            output->names->slots[slot].address = address;
            output->names->slots[slot].number = number;
            output->names->slots[slot].length = (uint32_t)length;
            output->names->slots[slot].text = ss_device_text_get(number).data;
        }
    }
    return number;
}
