/* SPDX-License-Identifier: Apache-2.0 */
/* The server at its limits: clients that are slow, silent, or gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/server.h"

enum { PATIENCE_MS = 20000, MORE_THAN_PATIENCE_S = SS_SERVE_PATIENCE_S + 1 };

/* Stands still until the test moves it; the server's threads read it. */
struct moved_clock {
    struct ss_clock clock;
    atomic_uint_fast64_t now_ns;
};

struct fixture {
    struct moved_clock clock;
    struct ss_access access;
    struct ss_listening listening;
    struct ss_server *server;
    int port;
};

static uint64_t now_of(void *context)
{
    struct moved_clock *clock = context;
    return atomic_load(&clock->now_ns);
}

static void advance_s(struct fixture *fixture, uint64_t seconds)
{
    atomic_fetch_add(&fixture->clock.now_ns, seconds * UINT64_C(1000000000));
    ss_server_tick(fixture->server);
}

static void answer(void *context, const struct ss_serve_request *request,
                   struct ss_serve_reply *reply)
{
    (void)context;
    ss_strbuf_append_format(&reply->body, "%s%s", request->path, request->is_put ? " put" : "");
    for (int i = 0; strcmp(request->path, "/large") == 0 && i < 1 << 20; i++) {
        ss_strbuf_append_text(&reply->body, "0123456789abcdef");
    }
}

static bool is_public(const char *path)
{
    return strcmp(path, "/public") == 0;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    fixture.clock.clock = (struct ss_clock){.monotonic_ns = now_of, .context = &fixture.clock};
    atomic_store(&fixture.clock.now_ns, UINT64_C(5000000000));
    const struct ss_serve_options options = {.size = sizeof options,
                                             .access = &fixture.access,
                                             .answer = answer,
                                             .is_public = is_public,
                                             .clock = &fixture.clock.clock};
    *state = &fixture;
    assert_true(ss_access_init(&fixture.access));
    assert_int_equal(ss_listening_open(&fixture.listening, 0, NULL, NULL), SS_OK);
    fixture.port = fixture.listening.port;
    if (ss_server_start(&fixture.server, &fixture.listening, &options, NULL) != SS_OK) {
        fixture.server = NULL;
        ss_listening_close(&fixture.listening);
        return 0;
    }
    fixture.listening.fd = -1;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->server != NULL) {
        ss_server_stop(fixture->server);
        ss_listening_close(&fixture->listening);
    }
    return 0;
}

static struct fixture *started(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->server == NULL) {
        print_message("built without libmicrohttpd\n");
        skip();
    }
    return fixture;
}

static int dial(const struct fixture *fixture)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)fixture->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int small = 4096, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(const struct fixture *fixture, int fd, const char *path)
{
    char text[512];
    int length = snprintf(text, sizeof text,
                          "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
                          path, fixture->access.token);
    assert_int_equal(send(fd, text, (size_t)length, MSG_NOSIGNAL), length);
}

/* What comes within a time; 0: the end, -1: nothing. */
static ssize_t hear(int fd, char *text, size_t size, int wait_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) != 1) {
        return -1;
    }
    ssize_t got = recv(fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? got : 0;
}

/* Waits for the server's end of a connection; what was on the way is skipped. */
static void check_is_closed(int fd)
{
    char text[65536];
    ssize_t got;
    while ((got = hear(fd, text, sizeof text, PATIENCE_MS)) > 0) {
    }
    assert_int_equal(got, 0);
    close(fd);
}

/* The server may still be about to note that an answer was sent: its clock begins then. */
static void check_closes(struct fixture *fixture, int fd)
{
    char text[65536];
    for (int i = 0; i < 200; i++) {
        advance_s(fixture, MORE_THAN_PATIENCE_S);
        ssize_t got = hear(fd, text, sizeof text, 100);
        if (got == 0) {
            close(fd);
            return;
        }
    }
    fail_msg("the connection is still open");
}

/* A connection exists for the server when it has answered once. */
static void check_serves(struct fixture *fixture, int fd)
{
    char text[4096];
    say(fixture, fd, "/here");
    assert_true(hear(fd, text, sizeof text, PATIENCE_MS) > 0);
    assert_non_null(strstr(text, "200 OK"));
}

static void test_silent_clients_are_closed(void **state)
{
    struct fixture *fixture = started(state);
    int fd = dial(fixture);
    check_serves(fixture, fd);
    advance_s(fixture, 1);
    check_serves(fixture, fd);
    check_closes(fixture, fd);
}

/* A byte now and then does not help: the whole request must come in time. */
static void test_clients_that_send_slowly_are_closed(void **state)
{
    static const char request[] = "GET /here HTTP/1.1\r\nHost: localhost\r\nAccept: none\r\n";
    struct fixture *fixture = started(state);
    int fd = dial(fixture);
    check_serves(fixture, fd);
    for (size_t i = 0; i < sizeof request - 1; i++) {
        if (send(fd, &request[i], 1, MSG_NOSIGNAL) != 1) {
            break;
        }
        advance_s(fixture, 2);
    }
    check_is_closed(fd);
}

static void test_clients_that_do_not_read_are_closed(void **state)
{
    struct fixture *fixture = started(state);
    int fd = dial(fixture);
    char text[64];
    say(fixture, fd, "/large");
    assert_true(hear(fd, text, sizeof text, PATIENCE_MS) > 0);
    advance_s(fixture, MORE_THAN_PATIENCE_S);
    check_is_closed(fd);
    fd = dial(fixture);
    check_serves(fixture, fd); /* others are served */
    close(fd);
}

static void test_stops_with_open_connections(void **state)
{
    struct fixture *fixture = started(state);
    char text[64];
    int fd = dial(fixture);
    check_serves(fixture, fd);
    assert_int_equal(send(fd, "GET", 3, MSG_NOSIGNAL), 3);
    ss_server_stop(fixture->server);
    fixture->server = NULL;
    while (hear(fd, text, sizeof text, PATIENCE_MS) > 0) {
    }
    close(fd);
}

/* --- clients without the token ---------------------------------------------------------------- */

static void ask_as_stranger(int fd, const char *path)
{
    char text[256];
    int length = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    assert_int_equal(send(fd, text, (size_t)length, MSG_NOSIGNAL), length);
}

static void test_strangers_get_what_is_public(void **state)
{
    struct fixture *fixture = started(state);
    char text[4096];
    int fd = dial(fixture);
    ask_as_stranger(fd, "/public");
    assert_true(hear(fd, text, sizeof text, PATIENCE_MS) > 0);
    assert_non_null(strstr(text, "200 OK"));
    ask_as_stranger(fd, "/here");
    assert_true(hear(fd, text, sizeof text, PATIENCE_MS) > 0);
    assert_non_null(strstr(text, "403"));
    /* Requests for what is public do not make a client known. */
    advance_s(fixture, SS_SERVE_STRANGER_S + 1);
    check_is_closed(fd);
}

static void test_who_has_shown_the_token_may_wait(void **state)
{
    struct fixture *fixture = started(state);
    int fd = dial(fixture);
    check_serves(fixture, fd);
    advance_s(fixture, SS_SERVE_STRANGER_S + 1);
    check_serves(fixture, fd);
    close(fd);
}

static void test_strangers_keep_no_other_client_out(void **state)
{
    enum { STRANGERS = SS_SERVE_MAX_STRANGERS + 40 };
    static int fds[STRANGERS];
    struct fixture *fixture = started(state);
    int known = dial(fixture);
    check_serves(fixture, known);
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = dial(fixture);
    }
    check_serves(fixture, known);
    int late = dial(fixture); /* one more, that has the token */
    check_serves(fixture, late);
    check_is_closed(fds[0]); /* the oldest made room */
    for (int i = 1; i < STRANGERS; i++) {
        close(fds[i]);
    }
    close(known);
    close(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_silent_clients_are_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clients_that_send_slowly_are_closed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_clients_that_do_not_read_are_closed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_stops_with_open_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strangers_get_what_is_public, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_has_shown_the_token_may_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strangers_keep_no_other_client_out, set_up, tear_down),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
