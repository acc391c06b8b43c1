/* SPDX-License-Identifier: Apache-2.0 */
/* libstepscope and a recorder by hand, both in one test program. main calls own_recorder_begin
 * first, which starts the program again: the library searches its folder when it is loaded. */
#ifndef SS_FAKES_OWN_RECORDER_H
#define SS_FAKES_OWN_RECORDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "ring/folder.h"
#include "source/ring_file.h"

enum { BATCH = 256 };

/* The recorder's folder. */
static const char *folder;

struct recorded {
    struct ss_ring_file *file;
    struct ss_ring_consumer consumer;
    uint64_t by_type[SS_RING_TYPE_COUNT];
    uint64_t records;
};

static inline bool find_file(pid_t pid, char *path, size_t size)
{
    DIR *entries = opendir(folder);
    bool found = false;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        pid_t whose;
        uint64_t start;
        if (ss_ring_file_parse_name(entry->d_name, &whose, &start) && whose == pid) {
            snprintf(path, size, "%s/%s", folder, entry->d_name);
            found = true;
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return found;
}

static inline void open_recorded(struct recorded *recorded, pid_t pid)
{
    char path[512];
    memset(recorded, 0, sizeof *recorded);
    assert_true(find_file(pid, path, sizeof path));
    assert_int_equal(ss_ring_file_open(path, &recorded->file, NULL), SS_OK);
    struct ss_ring_memory memory = ss_ring_file_memory(recorded->file);
    assert_int_equal(ss_ring_consumer_open(&memory, &recorded->consumer, NULL), SS_OK);
}

static inline void close_recorded(struct recorded *recorded)
{
    ss_ring_consumer_close(&recorded->consumer);
    ss_ring_file_close(recorded->file);
}

static inline void drain(struct recorded *recorded)
{
    static struct ss_ring_record records[BATCH];
    ss_ring_consumer_refresh(&recorded->consumer);
    for (uint32_t i = 0; i < recorded->consumer.lanes.count; i++) {
        size_t got;
        while ((got = ss_ring_consumer_read(&recorded->consumer, i, records, BATCH, true)) > 0) {
            for (size_t j = 0; j < got; j++) {
                recorded->by_type[records[j].type]++;
            }
            recorded->records += got;
        }
        ss_ring_consumer_release(&recorded->consumer, i);
    }
}

/* produced = consumed + dropped, over all rings. */
static inline uint64_t check_sums(struct recorded *recorded)
{
    uint64_t produced = 0;
    for (uint32_t i = 0; i < recorded->consumer.lanes.count; i++) {
        const struct ss_ring_counts *counts = ss_ring_consumer_count(&recorded->consumer, i);
        assert_int_equal(counts->produced, counts->consumed + counts->dropped + counts->torn);
        assert_int_equal(counts->damaged, 0);
        produced += counts->produced;
    }
    return produced;
}

/* Opens the gate of this process anew: as if a recorder had just attached. */
static inline void start(struct recorded *recorded, uint32_t slots_log2, uint64_t now_ns)
{
    open_recorded(recorded, getpid());
    struct ss_ring_request request = {.gate = SS_RING_GATE_ALL,
                                      .slots_log2 = slots_log2,
                                      .recorder_pid = getpid(),
                                      .now_ns = now_ns};
    ss_ring_consumer_start(&recorded->consumer, &request);
}

/* A heartbeat that lasts for an hour: on a slow machine a test takes longer than the library waits
 * for the next one. */
static inline uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return ((uint64_t)time.tv_sec + 3600) * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline void stop(struct recorded *recorded)
{
    ss_ring_consumer_stop(&recorded->consumer);
    close_recorded(recorded);
}

/* The page of this program as it was before main started it again. */
static inline void remove_first_page(void)
{
    char place[SS_RING_PATH_BYTES], path[1024];
    const char *recorders = folder;
    folder = place;
    if (ss_ring_folder_user(place) && find_file(getpid(), path, sizeof path)) {
        unlink(path);
    }
    folder = recorders;
}

static inline void remove_folder(void)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    rmdir(folder);
}

/* Makes the folder and starts the program again, unless this was done. 0: go on. */
static inline int own_recorder_begin(char **argv)
{
    folder = getenv("STEPSCOPE_RINGS");
    if (folder == NULL) {
        char path[] = "/tmp/stepscope-test-XXXXXX", page[600];
        folder = mkdtemp(path);
        snprintf(page, sizeof page, "%s/" SS_RING_RECORDER_FILE, path);
        FILE *file = fopen(page, "w");
        if (file == NULL || chmod(page, 0600) != 0 || ftruncate(fileno(file), 4096) != 0) {
            return 1;
        }
        fclose(file);
        setenv("STEPSCOPE_RINGS", path, 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    return 0;
}

static inline void own_recorder_end(void)
{
    remove_folder();
    remove_first_page();
}

#endif
