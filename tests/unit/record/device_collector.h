/* SPDX-License-Identifier: Apache-2.0 */
/* A collector of devices whose messages a test writes, and the recording that takes them. */
#ifndef SS_TESTS_DEVICE_COLLECTOR_H
#define SS_TESTS_DEVICE_COLLECTOR_H

#include <fcntl.h>
#include <sys/mman.h>

#include "counters/samples.h"
#include "record/devices/device_tracks.h"
#include "recorded_story.h"

enum {
    RING_BYTES = SS_DEVICE_RING_PAGE_BYTES + (1 << SS_DEVICE_RING_LOG2),
    DEVICE = 3,
    CONTEXT = 1,
    STREAM = 7,
    PINNED = 2,
    ON_DEVICE = 3,
    HOST_TO_DEVICE = 1,
    ALL_SERIES = (1 << SS_SAMPLE_SERIES_COUNT) - 1,
};

struct fixture {
    struct recorded_story story;
    struct ss_device_producer producer;
    struct ss_device_tracks *devices;
    struct ss_device_totals totals;
    void *memory;
    uint32_t texts, frames, stacks;
};

/* Of what `begin` opens; NULL: all is written. */
static struct ss_detail_filter *detail_of_devices;

static inline uint64_t at(uint64_t ns)
{
    return STORY_BASE_NS + ns;
}

static inline void begin(struct fixture *fixture)
{
    char folder[] = "/tmp/stepscope-test-XXXXXX", ring[128], device_ring[128];
    memset(fixture, 0, sizeof *fixture);
    story_begin(&fixture->story);
    assert_non_null(mkdtemp(folder));
    snprintf(ring, sizeof ring, "%s/1.2.3" SS_RING_FILE_SUFFIX, folder);
    snprintf(device_ring, sizeof device_ring, "%s/1.2.3" SS_DEVICE_RING_SUFFIX, folder);
    int fd = open(device_ring, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(ftruncate(fd, RING_BYTES), 0);
    fixture->memory = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(fixture->memory, MAP_FAILED);
    close(fd);
    ss_device_producer_init(&fixture->producer, fixture->memory, SS_DEVICE_RING_LOG2, 1);
    fixture->devices = ss_device_tracks_open(&fixture->story.context, fixture->story.tracks,
                                             fixture->story.process, detail_of_devices, ring);
    assert_non_null(fixture->devices);
    assert_int_equal(rmdir(folder), 0); /* the ring has no name any more */
}

static inline void put(struct fixture *fixture, enum ss_device_message_kind kind, void *message,
                       size_t bytes)
{
    struct ss_device_message *head = message;
    head->kind = kind;
    assert_true(ss_device_put(&fixture->producer, head, bytes, NULL, 0));
}

static inline uint32_t put_text(struct fixture *fixture, const char *text)
{
    struct ss_device_text message = {
        .head.kind = SS_DEVICE_TEXT, .number = ++fixture->texts, .length = (uint32_t)strlen(text)};
    assert_true(
        ss_device_put(&fixture->producer, &message.head, sizeof message, text, strlen(text)));
    return message.number;
}

/* A frame that `outer` called. */
static inline uint32_t put_stack(struct fixture *fixture, uint32_t outer, const char *file,
                                 int32_t line, const char *function)
{
    struct ss_device_frame_message frame = {.number = ++fixture->frames,
                                            .file = put_text(fixture, file),
                                            .function = put_text(fixture, function),
                                            .line = line};
    struct ss_device_stack_message stack = {
        .number = ++fixture->stacks, .outer = outer, .frame = frame.number};
    put(fixture, SS_DEVICE_FRAME, &frame, sizeof frame);
    put(fixture, SS_DEVICE_STACK, &stack, sizeof stack);
    return stack.number;
}

static inline void put_launch(struct fixture *fixture, uint32_t correlation, const char *name,
                              struct ss_device_launch_message more)
{
    more.begin_ns = more.begin_ns != 0 ? more.begin_ns : at(10);
    more.end_ns = more.end_ns != 0 ? more.end_ns : at(20);
    more.thread = (uint32_t)getpid();
    more.correlation = correlation;
    more.name = put_text(fixture, name);
    put(fixture, SS_DEVICE_LAUNCH, &more, sizeof more);
}

static inline void put_call(struct fixture *fixture, uint32_t correlation, const char *name,
                            enum ss_device_domain domain)
{
    struct ss_device_call_message call = {.begin_ns = at(11),
                                          .end_ns = at(19),
                                          .domain = domain,
                                          .thread = (uint32_t)getpid(),
                                          .correlation = correlation,
                                          .name = put_text(fixture, name)};
    put(fixture, SS_DEVICE_CALL, &call, sizeof call);
}

static inline struct ss_device_work_message work_of(enum ss_device_work_kind kind,
                                                    uint32_t correlation)
{
    return (struct ss_device_work_message){.begin_ns = at(100),
                                           .end_ns = at(200),
                                           .work = (uint8_t)kind,
                                           .device = DEVICE,
                                           .context = CONTEXT,
                                           .stream = STREAM,
                                           .correlation = correlation};
}

static inline void put_work(struct fixture *fixture, struct ss_device_work_message work)
{
    put(fixture, SS_DEVICE_WORK, &work, sizeof work);
}

static inline void drain(struct fixture *fixture, uint64_t now_ns)
{
    ss_device_tracks_drain(fixture->devices, at(now_ns));
}

/* Until 10,000 ns everything has happened. */
static inline void end(struct fixture *fixture)
{
    atomic_store(&fixture->producer.header->collector, SS_DEVICE_ENDED);
    ss_device_tracks_end(fixture->devices, at(10000), &fixture->totals);
    story_end(&fixture->story);
    munmap(fixture->memory, RING_BYTES);
}

#endif
