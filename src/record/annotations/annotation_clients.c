/* SPDX-License-Identifier: Apache-2.0 */
#include "record/annotations/annotation_clients.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pages.h"
#include "platform/procfs.h"
#include "record/processes/process_table.h"
#include "record/run/ring_directory.h"
#include "record/tracks/annotation_tracks.h"
#include "record/tracks/torch_profiles.h"
#include "record/windows/window_filter.h"
#include "ring/folder.h"
#include "source/annot.h"
#include "source/ring_file.h"

/* Another recorder counts as dead after this time without a heartbeat. */
static const uint64_t recorder_timeout_ns = UINT64_C(5000000000);

void ss_annotations_note(struct ss_record_annotations *annotations, uint32_t process_ref,
                         const char *kind, const char *text, uint64_t now_ns)
{
    struct ss_trace_note record = {.time_ns = now_ns,
                                   .process_ref = process_ref,
                                   .kind = ss_strview_of(kind),
                                   .text = ss_strview_of(text)};
    struct ss_route route = {.process_ref = process_ref};
    struct ss_error err = {0};
    ss_record_context_check(
        annotations->context,
        ss_recording_note(annotations->context->recording, route, &record, &err), &err);
}

static struct ss_record_client *find_client(struct ss_record_annotations *annotations,
                                            const char *path)
{
    for (size_t i = annotations->clients.count; i > 0; i--) {
        if (strcmp(annotations->clients.data[i - 1]->path, path) == 0) {
            return annotations->clients.data[i - 1];
        }
    }
    return NULL;
}

struct ss_record_client *ss_annotations_client(const struct ss_record_annotations *annotations,
                                               uint32_t process_ref)
{
    struct ss_record_client **entry = ss_pages_get(&annotations->by_process, process_ref);
    return entry != NULL ? *entry : NULL;
}

void ss_client_write_counts(struct ss_record_client *client, uint64_t now_ns)
{
    struct ss_annot_totals totals;
    ss_annot_get_totals(client->annot, &totals);
    totals.dropped += ss_annotation_tracks_refused(client->tracks);
    if (memcmp(&totals, &client->totals, sizeof totals) == 0) {
        return;
    }
    client->totals = totals;
    struct ss_trace_counts counts = {.source_ref =
                                         client->annotations->context->annotations_source_ref,
                                     .process_ref = client->process_ref,
                                     .time_ns = now_ns,
                                     .seen = client->produced_before + totals.produced,
                                     .lost = client->dropped_before + totals.dropped};
    counts.ok = counts.seen - counts.lost;
    counts.dropped = counts.lost;
    struct ss_error err = {0};
    ss_record_context_check(
        client->annotations->context,
        ss_recording_counts(client->annotations->context->recording, &counts, &err), &err);
}

/* Notes on data problems, at the end of the process. */
static void note_problems(struct ss_record_client *client, uint64_t now_ns)
{
    static const struct {
        size_t offset;
        const char *text;
    } problems[] = {
        {offsetof(struct ss_annot_totals, overrun), "annotations were dropped: rings were full"},
        {offsetof(struct ss_annot_totals, lost_rings), "rings could not be mapped"},
        {offsetof(struct ss_annot_totals, damaged), "parts of a ring held no valid records"},
        {offsetof(struct ss_annot_totals, unmatched), "ranges ended whose begin was not recorded"},
        {offsetof(struct ss_annot_totals, lost_names), "names were lost: there was no space for "
                                                       "them"}};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        uint64_t count;
        char text[160];
        memcpy(&count, (char *)&client->totals + problems[i].offset, sizeof count);
        if (count > 0) {
            snprintf(text, sizeof text, "%s (%llu)", problems[i].text, (unsigned long long)count);
            ss_annotations_note(client->annotations, client->process_ref, "annotations", text,
                                now_ns);
        }
    }
}

/* The cause that an empty table of the report shows. */
static void note_unbuffered(struct ss_record_client *client, uint64_t now_ns)
{
    char text[SS_ANNOTATIONS_REASON_BYTES];
    if (client->totals.unbuffered == 0) {
        return;
    }
    snprintf(
        text, sizeof text,
        "%llu annotations of process %d were lost because it had no ring for them: %s%.300s%s",
        (unsigned long long)client->totals.unbuffered, (int)client->pid,
        client->is_confined ? "it has set a filter of system calls (seccomp), which might kill "
                              "it"
                            : "",
        client->is_confined ? "" : client->annotations->directory.path,
        client->is_confined ? ""
                            : " is full, open files, memory or file sizes are limited (ulimit), "
                              "or their threads were ending");
    ss_annotations_note(client->annotations, client->process_ref, "annotations-lost", text, now_ns);
}

static void note_truncated(struct ss_record_annotations *annotations, uint32_t process_ref,
                           pid_t pid, uint64_t now_ns)
{
    char text[160];
    snprintf(text, sizeof text,
             "another program truncated the ring file of process %d: its annotations, steps and "
             "operators since then are lost",
             (int)pid);
    ss_annotations_note(annotations, process_ref, "annotations-lost", text, now_ns);
    ss_log(SS_WARN, "record", "%s", text);
}

/* The rings that no process writes any more, and the notifications that none reads. */
static void remove_files(struct ss_record_client *client)
{
    if (client->is_dead) {
        unlink(client->sealed_path);
    }
    if (client->is_dead || client->annotations->attach_pid == 0) {
        unlink(client->path);
        client->path[0] = '\0'; /* the next image of the process may reuse the name */
    }
}

/* What only a live client needs. */
static void release(struct ss_record_client *client)
{
    if (client->process != NULL) {
        ss_recorded_process_set_annotated(client->process, NULL);
        client->process = NULL;
    }
    ss_annot_free(client->annot);
    ss_window_filter_free(client->filter);
    ss_detail_filter_free(client->detail);
    ss_torch_files_fini(&client->torch);
    ss_annotation_tracks_free(client->tracks);
    ss_ring_file_close(client->file);
    ss_vec_fini(&client->edges);
    client->annot = NULL;
    client->filter = NULL;
    client->detail = NULL;
    client->tracks = NULL;
    client->file = NULL;
}

static void attach_devices(struct ss_record_client *client)
{
    if (client->devices == NULL) {
        client->devices = ss_device_tracks_open(client->annotations->context, client->tracks,
                                                client->process, client->detail, client->path);
    }
}

void ss_client_end(struct ss_record_client *client, uint64_t now_ns, bool is_dead)
{
    const struct ss_record_client *window_owner =
        client->is_ended ? NULL : ss_client_window_owner(client);
    if (client->is_ended) {
        return;
    }
    client->is_ended = true;
    client->is_dead = is_dead;
    client->annotations->live--;
    ss_stamp_clock_read(&client->annotations->clock);
    if (!is_dead) {
        ss_annot_stop(client->annot);
    }
    ss_torch_files_collect(&client->torch, now_ns);
    attach_devices(client);
    ss_annot_drain(client->annot, now_ns); /* the work of devices needs the steps that it is of */
    ss_detail_filter_drained(client->detail, now_ns);
    ss_device_tracks_end(client->devices, now_ns, client->annotations->device_totals);
    client->devices = NULL;
    if (window_owner != NULL) { /* without their edges, the last events are in no window */
        ss_annot_drain(window_owner->annot, now_ns);
    }
    ss_annot_end(client->annot, now_ns, is_dead ? client->seen_ns : now_ns, is_dead);
    ss_client_demand_ended(client);
    ss_client_write_counts(client, now_ns);
    note_problems(client, now_ns);
    note_unbuffered(client, now_ns);
    if (ss_ring_file_lost_pages(client->file)) {
        note_truncated(client->annotations, client->process_ref, client->pid, now_ns);
    }
    ss_client_add_windows(client, &client->annotations->ended);
    if (ss_annotations_client(client->annotations, client->process_ref) == client) {
        ss_pages_drop(&client->annotations->by_process, client->process_ref);
    }
    remove_files(client);
    release(client);
}

/* A new image of the process began at `begin_ns`: earlier images ran at most until then. */
static void end_images_before(struct ss_record_annotations *annotations, pid_t pid,
                              uint64_t begin_ns, uint64_t now_ns)
{
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (client->pid == pid && !client->is_ended) {
            client->seen_ns = client->seen_ns < begin_ns ? client->seen_ns : begin_ns;
            ss_client_end(client, now_ns, true);
        }
    }
}

/* Whether another live recorder records the process. */
static bool is_recorded_elsewhere(const struct ss_ring_header *header, uint64_t now_ns)
{
    uint64_t heartbeat_ns = atomic_load(&header->heartbeat_ns);
    return (atomic_load(&header->gate) & SS_RING_GATE_ALL) != 0 &&
           atomic_load(&header->recorder_pid) != (int32_t)getpid() &&
           now_ns < heartbeat_ns + recorder_timeout_ns;
}

static struct ss_recorded_process *process_of(struct ss_record_annotations *annotations, pid_t pid,
                                              uint64_t start_time_ticks,
                                              const struct ss_ring_header *header)
{
    bool is_ours = atomic_load(&header->recorder_pid) == (int32_t)getpid();
    struct ss_process_identity identity = {.pid = pid,
                                           .parent_pid = header->parent_pid,
                                           .start_time_ticks = start_time_ticks,
                                           .is_alive = ss_procfs_is_alive(pid, start_time_ticks)};
    return ss_process_table_process(annotations->processes, &identity, is_ours);
}

static struct ss_record_client *add_client(struct ss_record_annotations *annotations,
                                           const char *path, pid_t pid, uint64_t start_time_ticks)
{
    struct ss_record_client *client = ss_alloc_zero(1, sizeof *client);
    client->annotations = annotations;
    client->pid = pid;
    client->start_time_ticks = start_time_ticks;
    client->is_ended = client->is_refused = true;
    snprintf(client->path, sizeof client->path, "%s", path);
    ss_vec_push(&annotations->clients, client);
    return client;
}

/* The process of the file; NULL: not a ring file, or not part of this recording. */
static struct ss_recorded_process *
identify_process(struct ss_record_client *client, uint64_t now_ns, bool *is_new, uint64_t *begin_ns)
{
    struct ss_error err = {0};
    struct ss_ring_memory memory = ss_ring_file_memory(client->file);
    struct ss_ring_consumer peek;
    enum ss_status status = ss_ring_consumer_open(&memory, &peek, &err);
    struct ss_recorded_process *process = NULL;
    if (status == SS_OK && !is_recorded_elsewhere(peek.header, now_ns)) {
        *is_new = atomic_load(&peek.header->recorder_pid) != (int32_t)getpid();
        *begin_ns = peek.header->created_ns;
        process =
            process_of(client->annotations, client->pid, client->start_time_ticks, peek.header);
    } else if (status == SS_E_FORMAT) {
        ss_annotations_note(client->annotations, 0, "annotations", err.message, now_ns);
    }
    ss_ring_consumer_close(&peek);
    return process;
}

/* Counts are per process: they include earlier images. */
static void count_images_before(struct ss_record_client *client)
{
    for (size_t i = 0; i < client->annotations->clients.count; i++) {
        const struct ss_record_client *other = client->annotations->clients.data[i];
        if (other != client && other->process_ref == client->process_ref &&
            other->process_ref != 0) {
            client->produced_before += other->totals.produced;
            client->dropped_before += other->totals.dropped;
        }
    }
}

static void name_sealed_file(struct ss_record_client *client)
{
    size_t stem = strlen(client->path) - (sizeof SS_RING_FILE_SUFFIX - 1);
    snprintf(client->sealed_path, sizeof client->sealed_path, "%.*s" SS_RING_SEALED_SUFFIX,
             (int)stem, client->path);
    unlink(client->sealed_path); /* from an earlier recording */
}

static struct ss_annot_sink detail_sink(struct ss_record_client *client)
{
    struct ss_annot_sink sink = ss_annotation_tracks_sink(client->tracks);
    struct ss_detail_output output = ss_annotation_tracks_detail(client->tracks);
    client->detail = ss_detail_filter_new(&sink, &output, &client->annotations->context->detail,
                                          (int32_t)client->pid);
    return ss_detail_filter_sink(client->detail);
}

static bool start_client(struct ss_record_client *client, struct ss_recorded_process *process,
                         uint64_t now_ns, bool is_new)
{
    struct ss_record_annotations *annotations = client->annotations;
    struct ss_ring_memory memory = ss_ring_file_memory(client->file);
    client->process_ref = ss_recorded_process_ref(process);
    client->tracks = ss_annotation_tracks_new(annotations->context, process);
    struct ss_annot_sink sink = detail_sink(client);
    uint64_t since_ns = is_new ? now_ns : annotations->since_ns;
    if (ss_annot_open(&memory, &annotations->clock, since_ns, &sink, &client->annot, NULL) !=
        SS_OK) {
        ss_detail_filter_free(client->detail);
        ss_annotation_tracks_free(client->tracks);
        client->detail = NULL;
        client->tracks = NULL;
        return false;
    }
    struct ss_record_client **entry = ss_pages_put(&annotations->by_process, client->process_ref);
    *entry = client;
    ss_client_start_filter(client);
    struct ss_ring_request request = ss_ring_directory_request(&annotations->directory, now_ns);
    ss_annot_start(client->annot, &request, is_new);
    client->process = process;
    ss_torch_files_init(&client->torch, annotations->torch_profiles, client->tracks, process,
                        client->path);
    count_images_before(client);
    client->seen_ns = now_ns;
    client->is_ended = client->is_refused = false;
    name_sealed_file(client);
    ss_recorded_process_set_annotated(process, client);
    annotations->live++;
    annotations->next_ns = now_ns;
    ss_client_poll_header(client);
    ss_client_replay_edges(client);
    if (is_new) {
        ss_client_enter_open_window(client, now_ns);
    }
    return true;
}

static void open_client(struct ss_record_client *client, uint64_t now_ns)
{
    struct ss_error err = {0};
    bool is_new = false;
    enum ss_status status = ss_ring_file_open(client->path, &client->file, &err);
    client->is_unreadable = status != SS_OK && status != SS_E_NOTFOUND;
    if (status != SS_OK) {
        ss_log(SS_DEBUG, "record", "%s", err.message);
        return;
    }
    uint64_t begin_ns = now_ns;
    struct ss_recorded_process *process = identify_process(client, now_ns, &is_new, &begin_ns);
    if (process != NULL) {
        end_images_before(client->annotations, client->pid, begin_ns, now_ns);
    }
    if (process == NULL || !start_client(client, process, now_ns, is_new)) {
        ss_ring_file_close(client->file);
        client->file = NULL;
    }
}

/* Whether the program has finished the file. Opens it read-only, so that closing it causes no
 * IN_CLOSE_WRITE event. Out of descriptors or memory: treat it as complete, so that the failed open
 * is reported. */
static bool is_complete(const char *path)
{
    uint64_t magic = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    }
    bool complete = pread(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic;
    close(fd);
    return complete && magic != 0;
}

void ss_annotations_scan_file(struct ss_record_annotations *annotations, const char *name,
                              uint64_t now_ns, bool retry_refused)
{
    char path[SS_CLIENT_PATH_BYTES], ring[64];
    pid_t pid;
    uint64_t start;
    bool is_torch = ss_ring_file_parse_profile_name(name, ring);
    bool is_device = !is_torch && ss_ring_file_parse_device_name(name, ring);
    name = is_torch || is_device ? ring : name;
    snprintf(path, sizeof path, "%.*s/%.255s", SS_RING_PATH_BYTES, annotations->directory.path,
             name);
    if (!ss_ring_file_parse_name(name, &pid, &start)) {
        return;
    }
    struct ss_record_client *client = find_client(annotations, path);
    if (is_torch) {
        if (client != NULL && !client->is_ended) {
            ss_torch_files_collect(&client->torch, now_ns);
        }
    } else if (is_device) {
        if (client != NULL && !client->is_ended) {
            attach_devices(client);
        }
    } else if (client == NULL && is_complete(path)) {
        open_client(add_client(annotations, path, pid, start), now_ns);
    } else if (client != NULL && client->is_refused && retry_refused) {
        open_client(client, now_ns);
    }
}

void ss_annotations_scan(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    DIR *entries = annotations->is_off ? NULL : opendir(annotations->directory.path);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        ss_annotations_scan_file(annotations, entry->d_name, now_ns, true);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* A ring file that was truncated before the recorder had opened it. */
static void note_if_empty(struct ss_record_annotations *annotations, const char *name,
                          uint64_t now_ns)
{
    char path[SS_CLIENT_PATH_BYTES];
    struct stat status;
    pid_t pid;
    uint64_t start;
    snprintf(path, sizeof path, "%.*s/%.255s", SS_RING_PATH_BYTES, annotations->directory.path,
             name);
    if (!ss_ring_file_parse_name(name, &pid, &start) || lstat(path, &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_size >= (off_t)sizeof(struct ss_ring_header)) {
        return;
    }
    struct ss_record_client *client = find_client(annotations, path);
    if (client == NULL || client->is_refused) {
        note_truncated(annotations, 0, pid, now_ns);
    }
    if (client != NULL) {
        client->is_unreadable = false; /* its cause is known */
    }
}

void ss_annotations_note_empty_files(struct ss_record_annotations *annotations, uint64_t now_ns)
{
    DIR *entries = opendir(annotations->directory.path);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        note_if_empty(annotations, entry->d_name, now_ns);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

void ss_client_process_ended(struct ss_record_annotations *annotations,
                             struct ss_record_client *annotated, uint64_t now_ns)
{
    (void)annotations;
    ss_client_end(annotated, now_ns, true);
}

static bool is_mapped(pid_t pid, const char *path)
{
    char name[64], line[1024];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, path) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

void ss_client_image_ended(struct ss_record_annotations *annotations,
                           struct ss_record_client *annotated, uint64_t now_ns)
{
    (void)annotations;
    if (!is_mapped(annotated->pid, annotated->path)) {
        ss_client_end(annotated, now_ns, true);
    }
}

void ss_client_label(struct ss_record_client *annotated, int32_t tid,
                     struct ss_trace_sample *sample)
{
    struct ss_annot_label label;
    if (annotated->is_ended) {
        return;
    }
    ss_annot_label(annotated->annot, tid, &label);
    sample->step = label.step;
    sample->window = label.window;
    sample->phase_name = ss_annotation_tracks_name(annotated->tracks, label.phase);
    sample->range_name = ss_annotation_tracks_name(annotated->tracks, label.range);
}

bool ss_client_is_unread(const struct ss_record_client *client)
{
    return client->is_unreadable || client->totals.lost_rings > 0;
}

static void free_client(struct ss_record_client *client)
{
    client->annotations->unreadable_before += ss_client_is_unread(client);
    ss_free(client);
}

void ss_annotations_forget(struct ss_record_annotations *annotations, uint32_t process_ref)
{
    size_t remaining = 0;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (client->process_ref == process_ref && client->is_ended && client->is_dead) {
            free_client(client);
        } else {
            annotations->clients.data[remaining++] = client;
        }
    }
    annotations->clients.count = remaining;
}

void ss_annotations_forget_refused(struct ss_record_annotations *annotations)
{
    size_t remaining = 0;
    for (size_t i = 0; i < annotations->clients.count; i++) {
        struct ss_record_client *client = annotations->clients.data[i];
        if (client->is_refused && access(client->path, F_OK) != 0) {
            free_client(client);
        } else {
            annotations->clients.data[remaining++] = client;
        }
    }
    annotations->clients.count = remaining;
}
