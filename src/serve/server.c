/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/server.h"

#ifdef SS_HAS_MICROHTTPD

#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    THREADS = 4,
    CONNECTION_BYTES = 24 * 1024, /* headers of a request, and what is being sent */
    DESCRIPTORS = SS_SERVE_MAX_CONNECTIONS + 200
};

static const uint64_t second_ns = UINT64_C(1000000000);

/* One connection, in a list for ss_server_tick. */
struct connection {
    struct connection *next, **link;
    int fd;
    uint64_t opened_ns;
    uint64_t since_ns; /* when it was opened, or its current request or wait began */
    bool is_known;     /* it has shown the token */
    bool is_ended;     /* it was shut down */
};

struct ss_server {
    struct MHD_Daemon *daemon;
    struct ss_serve_options options;
    pthread_mutex_t lock; /* of the list */
    struct connection *connections;
};

/* A request while its body arrives. */
struct incoming {
    struct ss_strbuf body;
};

/* --- connections ------------------------------------------------------------------------------ */

static struct connection *row_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static void restart_clock(struct ss_server *server, struct MHD_Connection *connection)
{
    struct connection *row = row_of(connection);
    pthread_mutex_lock(&server->lock);
    if (row != NULL) {
        row->since_ns = ss_clock_now_ns(server->options.clock);
    }
    pthread_mutex_unlock(&server->lock);
}

static void note_token(struct ss_server *server, struct MHD_Connection *connection)
{
    struct connection *row = row_of(connection);
    pthread_mutex_lock(&server->lock);
    if (row != NULL) {
        row->is_known = true;
    }
    pthread_mutex_unlock(&server->lock);
}

/* Clients without the token could keep all others out by opening connections. The newest are first.
 */
static void end_oldest_stranger(struct ss_server *server)
{
    struct connection *oldest = NULL;
    size_t strangers = 0;
    for (struct connection *row = server->connections; row != NULL; row = row->next) {
        if (!row->is_known && !row->is_ended) {
            strangers++;
            oldest = row;
        }
    }
    if (strangers > SS_SERVE_MAX_STRANGERS) {
        oldest->is_ended = true;
        shutdown(oldest->fd, SHUT_RDWR);
    }
}

static void notify_connection(void *context, struct MHD_Connection *connection,
                              void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    struct ss_server *server = context;
    struct connection *row = *socket_context;
    pthread_mutex_lock(&server->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        row = ss_alloc_zero(1, sizeof *row);
        row->fd =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        row->opened_ns = row->since_ns = ss_clock_now_ns(server->options.clock);
        row->next = server->connections;
        row->link = &server->connections;
        if (row->next != NULL) {
            row->next->link = &row->next;
        }
        server->connections = row;
        *socket_context = row;
        end_oldest_stranger(server);
    } else if (row != NULL) {
        *row->link = row->next;
        if (row->next != NULL) {
            row->next->link = row->link;
        }
        ss_free(row);
        *socket_context = NULL;
    }
    pthread_mutex_unlock(&server->lock);
}

/* Shut down, not closed: libmicrohttpd closes the socket when it sees its end. */
void ss_server_tick(struct ss_server *server)
{
    uint64_t now_ns = ss_clock_now_ns(server->options.clock);
    pthread_mutex_lock(&server->lock);
    for (struct connection *row = server->connections; row != NULL; row = row->next) {
        bool is_slow = now_ns - row->since_ns > SS_SERVE_PATIENCE_S * second_ns;
        bool is_stranger =
            !row->is_known && now_ns - row->opened_ns > SS_SERVE_STRANGER_S * second_ns;
        if (is_slow || is_stranger) {
            shutdown(row->fd, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

static void notify_completed(void *context, struct MHD_Connection *connection, void **state,
                             enum MHD_RequestTerminationCode code)
{
    struct incoming *incoming = *state;
    (void)code;
    if (incoming != NULL) {
        ss_strbuf_fini(&incoming->body);
        ss_free(incoming);
        *state = NULL;
    }
    restart_clock(context, connection);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Of every answer: the page runs its own scripts alone, in no frame, and nothing is stored. */
static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
     "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

static enum MHD_Result queue(struct MHD_Connection *connection, int status, const char *type,
                             struct MHD_Response *response)
{
    if (response == NULL) {
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    MHD_add_response_header(response, "Content-Type", type);
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, int status, const char *why)
{
    return queue(connection, status, "text/plain; charset=utf-8",
                 MHD_create_response_from_buffer(strlen(why), (void *)why, MHD_RESPMEM_PERSISTENT));
}

static void free_body(void *body)
{
    ss_free(body);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct ss_serve_reply *reply)
{
    int status = reply->status != 0 ? reply->status : 200;
    struct MHD_Response *response;
    if (reply->file_fd >= 0) {
        response = MHD_create_response_from_fd64(reply->file_bytes, reply->file_fd);
    } else if (reply->text != NULL) {
        response = MHD_create_response_from_buffer(reply->text_length, (void *)reply->text,
                                                   MHD_RESPMEM_PERSISTENT);
    } else {
        size_t length = reply->body.length;
        response = MHD_create_response_from_buffer_with_free_callback(
            length, ss_strbuf_take(&reply->body), free_body);
    }
    return queue(connection, status, reply->type, response);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* 0: it may pass. */
static int check(struct MHD_Connection *connection, const char *path, const char *method,
                 const char **why)
{
    const char *host = header(connection, "Host"), *origin = header(connection, "Origin");
    bool is_put = strcmp(method, "PUT") == 0;
    if (!ss_access_is_host(host)) {
        *why = "This server answers to 127.0.0.1 and localhost alone.\n";
        return 403;
    }
    if (!ss_access_is_origin(origin, host) || (is_put && origin == NULL)) {
        *why = "This server answers to its own pages alone.\n";
        return 403;
    }
    if (!is_put && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        *why = "Only GET, HEAD and PUT.\n";
        return 405;
    }
    if (!ss_access_is_path(path)) {
        *why = "No such page.\n";
        return 404;
    }
    return 0;
}

static enum MHD_Result answer(struct ss_server *server, struct MHD_Connection *connection,
                              const char *path, const char *method, const struct ss_strbuf *body)
{
    const char *why = "";
    int refused = check(connection, path, method, &why);
    if (refused != 0) {
        return refuse(connection, refused, why);
    }
    bool has_token =
        ss_access_is_authorization(server->options.access, header(connection, "Authorization"));
    bool is_public = strcmp(method, "PUT") != 0 && server->options.is_public != NULL &&
                     server->options.is_public(path);
    if (has_token) {
        note_token(server, connection);
    } else if (!is_public) {
        return refuse(connection, 403,
                      "Open the address that stepscope view printed: it has the token.\n");
    }
    if (body->overflow) {
        return refuse(connection, 413, "Too large.\n");
    }
    struct ss_serve_request request = {.path = path,
                                       .is_put = strcmp(method, "PUT") == 0,
                                       .body = {body->data, body->length},
                                       .connection = connection};
    struct ss_serve_reply reply = {.file_fd = -1, .type = "text/plain; charset=utf-8"};
    ss_strbuf_init(&reply.body, SIZE_MAX / 2);
    server->options.answer(server->options.context, &request, &reply);
    enum MHD_Result result = send_reply(connection, &reply);
    ss_strbuf_fini(&reply.body);
    return result;
}

/* Called when the headers are there, for each piece of the body, and at its end. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    struct ss_server *server = context;
    struct incoming *incoming = *state;
    (void)version;
    if (incoming == NULL) {
        incoming = ss_alloc_zero(1, sizeof *incoming);
        ss_strbuf_init(&incoming->body, SS_SERVE_MAX_BODY_BYTES);
        *state = incoming;
        restart_clock(server, connection);
        return MHD_YES;
    }
    if (*size > 0) {
        ss_strbuf_append(&incoming->body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    return answer(server, connection, path, method, &incoming->body);
}

const char *ss_serve_argument(const struct ss_serve_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* --- start and stop --------------------------------------------------------------------------- */

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A client that breaks its connection is not a problem of the user. */
static void discard_message(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

enum ss_status ss_server_start(struct ss_server **server, const struct ss_listening *listening,
                               const struct ss_serve_options *options, struct ss_error *err)
{
    sigset_t all, before;
    struct ss_server *started = ss_alloc_zero(1, sizeof *started);
    started->options = *options;
    pthread_mutex_init(&started->lock, NULL);
    raise_descriptor_limit();
    /* The threads of the server inherit the mask: signals are the main thread's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, started,
        MHD_OPTION_EXTERNAL_LOGGER, discard_message, NULL, MHD_OPTION_LISTEN_SOCKET,
        (MHD_socket)listening->fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SS_SERVE_MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SS_SERVE_PATIENCE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)THREADS, MHD_OPTION_NOTIFY_CONNECTION, notify_connection, started,
        MHD_OPTION_NOTIFY_COMPLETED, notify_completed, started, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started->daemon == NULL) {
        pthread_mutex_destroy(&started->lock);
        ss_free(started);
        return ss_fail(err, SS_E_IO, "libmicrohttpd cannot start a server here");
    }
    *server = started;
    return SS_OK;
}

void ss_server_stop(struct ss_server *server)
{
    MHD_stop_daemon(server->daemon);
    pthread_mutex_destroy(&server->lock);
    ss_free(server);
}

bool ss_server_is_built(void)
{
    return true;
}

#else

bool ss_server_is_built(void)
{
    return false;
}

enum ss_status ss_server_start(struct ss_server **server, const struct ss_listening *listening,
                               const struct ss_serve_options *options, struct ss_error *err)
{
    (void)server;
    (void)listening;
    (void)options;
    return ss_fail(err, SS_E_UNSUPPORTED,
                   "this stepscope was built without libmicrohttpd: install libmicrohttpd-dev and "
                   "build it again, or use stepscope export for another viewer");
}

void ss_server_tick(struct ss_server *server)
{
    (void)server;
}

void ss_server_stop(struct ss_server *server)
{
    (void)server;
}

const char *ss_serve_argument(const struct ss_serve_request *request, const char *name)
{
    (void)request;
    (void)name;
    return NULL;
}

#endif

bool ss_serve_number(const struct ss_serve_request *request, const char *name, uint64_t most,
                     uint64_t *number)
{
    const char *text = ss_serve_argument(request, name);
    uint64_t value = 0;
    if (text == NULL || text[0] == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *number = value;
    return value <= most;
}
