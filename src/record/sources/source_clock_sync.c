/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pings to the recorder of another machine, or answers to those of others: at the start, every ten
 * seconds, and at the end. Each of the fastest is two marks on a track that names the other clock:
 * what it showed after the question was sent, and what it showed before the answer arrived. Readers
 * fit the clocks to them. Which one asks is an option, or follows from a file in the folder of
 * the run (clock_rendezvous.h). Off unless requested. Nothing blocks but the last round, for a
 * moment.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "record/run/clock_domain.h"
#include "record/run/clock_rendezvous.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"
#include "source/clock_ping.h"

enum {
    ROUND = 32,
    BEST = 4,
    MOST_CLIENTS = 4096,
    MOST_ADDRESS = 256,
    LAST_ROUND_MS = 200,
    BACKLOG = 128
};
static const uint64_t period_ns = UINT64_C(10000000000);
static const uint64_t retry_ns = UINT64_C(500000000);

/* A peer that asks; NULL fields of the vec are free. */
struct peer {
    int fd;
    size_t length;
    uint8_t bytes[SS_PING_FRAME_BYTES];
};

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

struct clock_sync {
    struct ss_record_context *context;
    struct ss_ping_key key;
    struct ss_record_clock_domain own;
    int epoll_fd, listen_fd;
    struct ss_vec_of(struct peer *) peers; /* of the machine that answers */
    struct peer asked;                     /* of the one that asks; fd -1: not connected */
    struct address addresses[SS_RENDEZVOUS_HOSTS];
    size_t address_count, tried;           /* the next one to connect to, modulo the count */
    struct ss_clock_rendezvous rendezvous; /* of "auto" */
    uint64_t next_ns, number, sent_ns;
    size_t count; /* of the round */
    struct ss_ping pings[ROUND];
    struct ss_ping_frame other; /* the last answer */
    uint32_t track, at_most, at_least;
    uint64_t written, answered;
};

static uint64_t now_of(const struct clock_sync *sync)
{
    return ss_clock_now_ns(sync->context->clock);
}

/* --- marks ------------------------------------------------------------------------------------ */

static uint32_t name_of(struct clock_sync *sync, const char *text)
{
    struct ss_record_context *context = sync->context;
    struct ss_error err = {0};
    struct ss_event_name key = {.text = ss_intern_put(&context->names.texts, text, strlen(text)),
                                .type = SS_EVENT_TYPE_clock};
    uint32_t ref = ss_event_names_put(&context->names, context->recording, &key, &err);
    ss_record_context_check(context, err.status, &err);
    return ref;
}

static void define_track(struct clock_sync *sync)
{
    char name[SS_PING_BOOT_BYTES + 64];
    struct ss_record_context *context = sync->context;
    struct ss_error err = {0};
    snprintf(name, sizeof name, "clock of %.*s/%llu", SS_PING_BOOT_BYTES, sync->other.boot_id,
             (unsigned long long)sync->other.time_namespace);
    struct ss_trace_track track = {
        .ref = ++context->track_refs, .kind = SS_TRACK_RANGES, .name = ss_strview_of(name)};
    ss_record_context_check(context, ss_recording_track(context->recording, &track, &err), &err);
    sync->track = track.ref;
    sync->at_most = name_of(sync, "at most");
    sync->at_least = name_of(sync, "at least");
}

static void write_mark(struct clock_sync *sync, uint32_t name, uint64_t time_ns, uint64_t other_ns)
{
    struct ss_record_context *context = sync->context;
    struct ss_error err = {0};
    struct ss_trace_event mark = {.time_ns = time_ns,
                                  .track_ref = sync->track,
                                  .name_ref = name,
                                  .kind = SS_EVENT_INSTANT,
                                  .payload = {.type = SS_VALUE_INT, .integer = (int64_t)other_ns}};
    ss_record_context_check(
        context, ss_recording_event(context->recording, (struct ss_route){0, 0}, &mark, &err),
        &err);
}

static void finish_round(struct clock_sync *sync)
{
    size_t count = ss_ping_select(sync->pings, sync->count, BEST);
    if (count > 0 && sync->track == 0) {
        define_track(sync);
    }
    for (size_t i = 0; i < count && sync->context->error.status == SS_OK; i++) {
        write_mark(sync, sync->at_most, sync->pings[i].sent_ns, sync->pings[i].received_ns);
        write_mark(sync, sync->at_least, sync->pings[i].returned_ns, sync->pings[i].answered_ns);
        sync->written++;
    }
    sync->count = 0;
    sync->sent_ns = 0;
}

/* --- asking ----------------------------------------------------------------------------------- */

static void disconnect(struct clock_sync *sync)
{
    if (sync->asked.fd >= 0) {
        sync->tried += sync->written == 0;
        close(sync->asked.fd);
    }
    sync->asked = (struct peer){.fd = -1};
    sync->sent_ns = 0;
}

static void watch(struct clock_sync *sync, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    epoll_ctl(sync->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void set_quick(int fd)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* One address after the other, until one answers with this secret. */
static void connect_again(struct clock_sync *sync)
{
    const struct address *to = &sync->addresses[sync->tried % sync->address_count];
    int fd = socket(to->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        set_quick(fd);
        if (connect(fd, (const struct sockaddr *)&to->storage, to->length) != 0 &&
            errno != EINPROGRESS) {
            sync->tried++;
            close(fd);
            return;
        }
        sync->asked = (struct peer){.fd = fd};
        watch(sync, fd, &sync->asked);
    }
}

static void ask(struct clock_sync *sync)
{
    uint8_t bytes[SS_PING_FRAME_BYTES];
    struct ss_ping_frame frame = {.number = ++sync->number,
                                  .time_namespace = sync->own.time_namespace};
    memcpy(frame.boot_id, sync->own.boot_id, sizeof frame.boot_id - 1);
    frame.sent_ns = now_of(sync);
    ss_ping_encode(&frame, &sync->key, bytes);
    sync->sent_ns = frame.sent_ns;
    if (send(sync->asked.fd, bytes, sizeof bytes, MSG_NOSIGNAL) != (ssize_t)sizeof bytes) {
        disconnect(sync); /* not connected yet, or gone: again at the next tick */
    }
}

static void on_answer(struct clock_sync *sync, const struct ss_ping_frame *frame,
                      uint64_t returned_ns)
{
    if (!frame->is_answer || frame->number != sync->number || frame->sent_ns != sync->sent_ns) {
        return;
    }
    sync->other = *frame;
    sync->pings[sync->count++] =
        (struct ss_ping){frame->sent_ns, frame->received_ns, frame->answered_ns, returned_ns};
    if (sync->count < ROUND) {
        ask(sync);
    } else {
        finish_round(sync);
    }
}

/* --- answering -------------------------------------------------------------------------------- */

static void answer(struct clock_sync *sync, struct peer *peer, const struct ss_ping_frame *asked,
                   uint64_t received_ns)
{
    uint8_t bytes[SS_PING_FRAME_BYTES];
    struct ss_ping_frame frame = {.is_answer = true,
                                  .number = asked->number,
                                  .sent_ns = asked->sent_ns,
                                  .received_ns = received_ns,
                                  .time_namespace = sync->own.time_namespace};
    memcpy(frame.boot_id, sync->own.boot_id, sizeof frame.boot_id - 1);
    frame.answered_ns = now_of(sync);
    ss_ping_encode(&frame, &sync->key, bytes);
    if (send(peer->fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof bytes) {
        sync->answered++;
    }
}

static void remove_peer(struct clock_sync *sync, struct peer *peer)
{
    for (size_t i = 0; i < sync->peers.count; i++) {
        if (sync->peers.data[i] == peer) {
            sync->peers.data[i] = sync->peers.data[--sync->peers.count];
            break;
        }
    }
    close(peer->fd);
    ss_free(peer);
}

static void accept_peers(struct clock_sync *sync)
{
    int fd;
    while ((fd = accept4(sync->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (sync->peers.count >= MOST_CLIENTS) {
            close(fd);
            return;
        }
        set_quick(fd);
        struct peer *peer = ss_alloc_zero(1, sizeof *peer);
        peer->fd = fd;
        ss_vec_push(&sync->peers, peer);
        watch(sync, fd, peer);
    }
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reads what is there. false: the peer is gone, or sent what is not a frame. */
static bool read_frames(struct clock_sync *sync, struct peer *peer)
{
    for (;;) {
        ssize_t got = recv(peer->fd, peer->bytes + peer->length, SS_PING_FRAME_BYTES - peer->length,
                           MSG_DONTWAIT);
        uint64_t now_ns = now_of(sync);
        if (got <= 0) {
            return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        }
        peer->length += (size_t)got;
        if (peer->length < SS_PING_FRAME_BYTES) {
            continue;
        }
        struct ss_ping_frame frame;
        peer->length = 0;
        if (!ss_ping_decode(peer->bytes, &sync->key, &frame)) {
            return false;
        }
        if (peer == &sync->asked) {
            on_answer(sync, &frame, now_ns);
        } else if (!frame.is_answer) {
            answer(sync, peer, &frame, now_ns);
        }
        if (peer->fd < 0) {
            return true; /* disconnected meanwhile */
        }
    }
}

static void poll_once(struct clock_sync *sync, int wait_ms)
{
    struct epoll_event events[16];
    int count = epoll_wait(sync->epoll_fd, events, 16, wait_ms);
    for (int i = 0; i < count; i++) {
        struct peer *peer = events[i].data.ptr;
        if (peer == NULL) {
            accept_peers(sync);
        } else if (!read_frames(sync, peer)) {
            if (peer == &sync->asked) {
                disconnect(sync);
            } else {
                remove_peer(sync, peer);
            }
        }
    }
}

static void on_ready(void *source, uint64_t now_ns)
{
    (void)now_ns;
    poll_once(source, 0);
}

/* Begins a round; of one that had no answer in time, what there is. */
static uint64_t on_tick(void *source, uint64_t now_ns)
{
    struct clock_sync *sync = source;
    if (sync->listen_fd >= 0) {
        return UINT64_MAX;
    }
    if (sync->asked.fd < 0) {
        connect_again(sync);
        return now_ns + retry_ns / 10;
    }
    if (now_ns < sync->next_ns) {
        return sync->next_ns;
    }
    finish_round(sync);
    ask(sync);
    if (sync->asked.fd < 0) {
        return now_ns + retry_ns;
    }
    sync->next_ns = now_ns + period_ns;
    return sync->next_ns;
}

/* --- life ------------------------------------------------------------------------------------- */

/* "HOST:PORT"; ":PORT" answers on all addresses. */
static const char *resolve(struct clock_sync *sync, const char *text, bool *is_listening)
{
    char host[MOST_ADDRESS];
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon[1] == '\0' || (size_t)(colon - text) >= sizeof host) {
        return "it has no port: HOST:PORT, or :PORT on the machine that answers";
    }
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    *is_listening = host[0] == '\0';
    struct addrinfo hints = {.ai_family = *is_listening ? AF_INET : AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = *is_listening ? AI_PASSIVE : 0};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(*is_listening ? NULL : host, colon + 1, &hints, &found);
    if (code != 0) {
        return gai_strerror(code);
    }
    struct address *address = &sync->addresses[sync->address_count++];
    memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    freeaddrinfo(found);
    return NULL;
}

static const char *begin_listening(struct clock_sync *sync)
{
    int yes = 1;
    const struct address *at = &sync->addresses[0];
    sync->listen_fd = socket(at->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sync->listen_fd < 0) {
        return strerror(errno);
    }
    setsockopt(sync->listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(sync->listen_fd, (const struct sockaddr *)&at->storage, at->length) != 0 ||
        listen(sync->listen_fd, BACKLOG) != 0) {
        return strerror(errno);
    }
    watch(sync, sync->listen_fd, NULL);
    return NULL;
}

static void close_all(struct clock_sync *sync)
{
    while (sync->peers.count > 0) {
        remove_peer(sync, sync->peers.data[0]);
    }
    disconnect(sync);
    if (sync->listen_fd >= 0) {
        close(sync->listen_fd);
    }
    ss_clock_rendezvous_end(&sync->rendezvous);
    close(sync->epoll_fd);
    ss_vec_fini(&sync->peers);
    ss_free(sync);
}

/* Listens at a port of the system's choice, for the case that this recorder is the first. */
static unsigned listen_anywhere(struct clock_sync *sync)
{
    bool is_listening;
    struct sockaddr_in bound = {0};
    socklen_t length = sizeof bound;
    if (resolve(sync, ":0", &is_listening) != NULL || begin_listening(sync) != NULL ||
        getsockname(sync->listen_fd, (struct sockaddr *)&bound, &length) != 0) {
        return 0;
    }
    return ntohs(bound.sin_port);
}

static char *folder_of(const struct ss_record_options *options)
{
    const char *slash = strrchr(options->path, '/');
    if (options->run_folder != NULL) {
        return ss_strdup(options->run_folder);
    }
    return slash == NULL ? ss_strdup(".")
                         : ss_strndup(options->path, (size_t)(slash - options->path));
}

static void stop_listening(struct clock_sync *sync)
{
    close(sync->listen_fd); /* it was watched until now */
    sync->listen_fd = -1;
    sync->address_count = 0;
}

/* "auto". Returns why not, with `err` as its storage; NULL: the role is known. */
static const char *join_others(struct clock_sync *sync, const struct ss_record_options *options,
                               struct ss_error *err)
{
    struct ss_clock_rendezvous *rendezvous = &sync->rendezvous;
    unsigned port = listen_anywhere(sync);
    if (port == 0) {
        return "no port can be opened to answer pings";
    }
    char *folder = folder_of(options);
    enum ss_status status = ss_clock_rendezvous_join(folder, &sync->own, port, rendezvous, err);
    ss_free(folder);
    if (status != SS_OK || rendezvous->role != SS_RENDEZVOUS_ANSWER) {
        stop_listening(sync);
    }
    for (size_t i = 0; rendezvous->role == SS_RENDEZVOUS_ASK && i < rendezvous->host_count; i++) {
        char address[SS_RENDEZVOUS_HOST_BYTES + 8];
        bool is_listening;
        snprintf(address, sizeof address, "%s:%u", rendezvous->hosts[i], rendezvous->port);
        resolve(sync, address, &is_listening);
    }
    ss_ping_key_make(rendezvous->secret, &sync->key);
    bool unaddressed =
        status == SS_OK && rendezvous->role == SS_RENDEZVOUS_ASK && sync->address_count == 0;
    return status != SS_OK ? err->message
           : unaddressed   ? "the file of the run names no address"
                           : NULL;
}

/* "HOST:PORT" or ":PORT". Returns why not. */
static const char *join_named(struct clock_sync *sync, const char *address)
{
    const char *secret = getenv("STEPSCOPE_RUN_SECRET");
    bool is_listening = false;
    if (secret == NULL || !ss_ping_key_make(secret, &sync->key)) {
        return "STEPSCOPE_RUN_SECRET is missing or has less than 16 characters: give all recorders "
               "of the run one";
    }
    const char *why = resolve(sync, address, &is_listening);
    return why == NULL && is_listening ? begin_listening(sync) : why;
}

static enum ss_source_state start(const struct ss_source_setup *setup, void **source, char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    const char *address = recorder->options->clock_sync, *why = NULL;
    struct ss_error err = {0};
    if (address == NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "not requested (--clock-sync)");
        return SS_SOURCE_NOT_REQUESTED;
    }
    bool is_auto = strcmp(address, "auto") == 0;
    struct clock_sync *sync = ss_alloc_zero(1, sizeof *sync);
    sync->context = &recorder->context;
    sync->listen_fd = sync->asked.fd = -1;
    sync->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    ss_record_clock_domain_read(&sync->own);
    if (recorder->context.follows_schedule) {
        why = "a recording with a schedule writes none";
    } else {
        why = is_auto ? join_others(sync, recorder->options, &err) : join_named(sync, address);
    }
    bool is_covered = why == NULL && sync->listen_fd < 0 && sync->address_count == 0;
    if (why != NULL || is_covered) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s: %.*s", address, SS_SOURCE_REASON_BYTES - 64,
                 is_covered ? "another recorder of this machine does it" : why);
        close_all(sync);
        return is_covered ? SS_SOURCE_NOT_REQUESTED : SS_SOURCE_NOT_AVAILABLE;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, sync->listen_fd >= 0 ? "answers at %s" : "asks %s",
             address);
    *source = sync;
    return SS_SOURCE_RUNS;
}

static int fd_of(const void *source)
{
    return ((const struct clock_sync *)source)->epoll_fd;
}

/* The last round waits for its answers. */
static enum ss_source_state stop(void *source, uint64_t now_ns, char *reason)
{
    struct clock_sync *sync = source;
    (void)now_ns;
    if (sync->asked.fd >= 0) {
        uint64_t until_ns = now_of(sync) + LAST_ROUND_MS * UINT64_C(1000000);
        finish_round(sync);
        ask(sync);
        while (sync->asked.fd >= 0 && sync->sent_ns != 0 && now_of(sync) < until_ns) {
            poll_once(sync, 10);
        }
        finish_round(sync);
    }
    if (sync->listen_fd >= 0) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "answered %llu pings",
                 (unsigned long long)sync->answered);
    } else {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%llu pings recorded%s",
                 (unsigned long long)sync->written,
                 sync->written == 0 ? ": no answer with the same secret" : "");
    }
    enum ss_source_state state =
        sync->listen_fd >= 0 || sync->written > 0 ? SS_SOURCE_RUNS : SS_SOURCE_BROKE;
    close_all(sync);
    return state;
}

const struct ss_source_ops ss_source_clock_sync = {
    .name = "clock-sync",
    .summary = "pings between machines",
    .starts_first = true, /* its descriptor is watched from then on */
    .start = start,
    .fd = fd_of,
    .ready = on_ready,
    .tick = on_tick,
    .stop = stop};
