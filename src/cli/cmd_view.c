/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "cli/view_pages.h"

extern char **environ;

static const struct ss_option options[] = {
    {"port", 0, "PORT", "port of 127.0.0.1 (default a free one)", "Server", false},
    {"socket", 0, "PATH", "a socket file that only you may open, in place of a port", NULL, false},
    {"open", 0, NULL, "open the page in your browser", NULL, false},
    SS_READING_FILTER_OPTIONS("to"),
    {0}};

struct request {
    struct ss_reading reading;
    int port;
    const char *socket;
    bool opens;
};

static bool parse(const struct ss_arguments *arguments, struct request *request)
{
    long long port;
    *request = (struct request){0};
    if (!ss_reading_parse_filters(arguments, "to", SS_IDLE_ALL, &request->reading) ||
        !ss_arguments_get_integer(arguments, "port", 0, 65535, 0, &port)) {
        return false;
    }
    request->reading.load.keep_samples = true;
    request->port = (int)port;
    request->socket = ss_arguments_get(arguments, "socket");
    request->opens = ss_arguments_has(arguments, "open");
    if (request->socket != NULL && (ss_arguments_has(arguments, "port") || request->opens)) {
        ss_cli_usage(arguments, "--socket has no port, and browsers cannot open it: leave --port "
                                "and --open out");
        return false;
    }
    return true;
}

/* --- the address ------------------------------------------------------------------------------ */

static const char *host_name(char *name, size_t size)
{
    bool is_known = gethostname(name, size - 1) == 0 && name[0] != '\0';
    name[size - 1] = '\0';
    return is_known ? name : "HOST";
}

/* On the other end of the tunnel. */
enum { TUNNEL_PORT = 8790 };

static void print_address(const struct ss_listening *listening, const struct ss_access *access)
{
    char host[256];
    host_name(host, sizeof host);
    if (listening->path != NULL) {
        char folder[4096];
        bool is_relative = listening->path[0] != '/' && getcwd(folder, sizeof folder) != NULL;
        fprintf(ss_stdout(), "http://localhost:%d/?token=%s\n", TUNNEL_PORT, access->token);
        fprintf(ss_stderr(), "stepscope view: from your machine: ssh -N -L %d:%s%s%s %s\n",
                TUNNEL_PORT, is_relative ? folder : "", is_relative ? "/" : "", listening->path,
                host);
    } else {
        fprintf(ss_stdout(), "http://127.0.0.1:%d/?token=%s\n", listening->port, access->token);
        fprintf(ss_stderr(), "stepscope view: from another machine: ssh -N -L %d:127.0.0.1:%d %s\n",
                listening->port, listening->port, host);
    }
    fprintf(ss_stderr(), "stepscope view: Ctrl-C ends it\n");
    fflush(ss_stdout());
    fflush(ss_stderr());
}

static void open_browser(const struct ss_listening *listening, const struct ss_access *access)
{
    char address[128], program[] = "xdg-open";
    char *const words[] = {program, address, NULL};
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child;
    snprintf(address, sizeof address, "http://127.0.0.1:%d/?token=%s", listening->port,
             access->token);
    /* This process blocks the signals that end it. */
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp(&child, program, NULL, &attributes, words, environ) != 0) {
        fprintf(ss_stderr(), "stepscope view: no xdg-open here: open the address yourself\n");
    }
    posix_spawnattr_destroy(&attributes);
}

/* --- serving ---------------------------------------------------------------------------------- */

static void wait_for_end(struct ss_server *server, const sigset_t *ends)
{
    const struct timespec second = {.tv_sec = 1};
    while (sigtimedwait(ends, NULL, &second) < 0) {
        ss_server_tick(server);
    }
}

static enum ss_status serve(const struct request *request, struct ss_view_pages *pages,
                            struct ss_error *err)
{
    struct ss_access access;
    struct ss_listening listening;
    struct ss_server *server;
    sigset_t ends;
    if (!ss_access_init(&access)) {
        return ss_fail(err, SS_E_UNSUPPORTED, "the system gives no random bytes for a token");
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    SS_TRY(ss_listening_open(&listening, request->port, request->socket, err));
    const struct ss_serve_options serving = {
        .size = sizeof serving, .access = &access, .answer = ss_view_answer, .context = pages};
    enum ss_status status = ss_server_start(&server, &listening, &serving, err);
    if (status == SS_OK) {
        listening.fd = -1; /* the server closes it */
        print_address(&listening, &access);
        if (request->opens) {
            open_browser(&listening, &access);
        }
        wait_for_end(server, &ends);
        ss_server_stop(server);
    }
    ss_listening_close(&listening);
    return status;
}

static enum ss_status build_and_serve(const struct request *request, const char *input,
                                      const struct ss_selection *selection, struct ss_error *err)
{
    static const struct ss_steps_options all_steps = {.size = sizeof all_steps};
    struct ss_timeline timeline;
    struct ss_timeline_links links;
    struct ss_step_summary steps;
    ss_timeline_init(&timeline, selection);
    ss_timeline_links_init(&links, &timeline);
    ss_step_summary_init(&steps, selection, &all_steps);
    struct ss_view_notes notes;
    uint64_t base_ns = timeline.tracks.count > 0 ? timeline.tracks.data[0].base_ns : 0;
    ss_view_notes_init(&notes, input, ss_reading_output_mode(selection->model), (int64_t)base_ns);
    struct ss_view_pages pages = {
        .answering = {.timeline = &timeline, .steps = &steps, .links = &links}, .notes = &notes};
    enum ss_status status = serve(request, &pages, err);
    ss_view_notes_fini(&notes);
    ss_step_summary_fini(&steps);
    ss_timeline_links_fini(&links);
    ss_timeline_fini(&timeline);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    if (!parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    struct ss_error err = {0};
    struct ss_model model;
    struct ss_selection selection = {0};
    const char *input = "";
    int exit_status = 0;
    ss_model_init(&model);
    enum ss_status status = ss_reading_load(arguments, &request.reading, &model, &input, &err);
    if (status == SS_OK) {
        status = ss_selection_init(&selection, &model, &request.reading.selection, &err);
    }
    if (status == SS_OK) {
        exit_status = ss_reading_report_problems(arguments, &selection, true);
        status = build_and_serve(&request, input, &selection, &err);
    }
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return status == SS_OK ? exit_status : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {
    "stepscope view",
    "the newest recording here",
    "stepscope view --socket ~/view.sock run.pftrace",
    "on a shared machine: a private socket, and the ssh command that leads to it",
    "stepscope view rank0.json.gz rank1.json.gz",
    "two ranks on one timeline",
    "stepscope view --steps 10:20 run.pftrace",
    "ten steps of a long recording",
    NULL};

const struct ss_command ss_command_view = {
    .name = "view",
    .summary = "show the timeline of a recording in a browser",
    .synopsis = "[options] [INPUT…]",
    .description =
        "Loads the recording, prints the address of a page on this machine, and serves it until "
        "Ctrl-C. The page draws recordings of any size: joining what is too short to be seen "
        "happens here, and the browser gets a few thousand rectangles whatever the zoom. INPUT is "
        "as for report; the default is the newest recording in the current folder.\n\nThe server "
        "answers to this machine alone, and only to those who have the token of the address; "
        "with --socket, only to processes of yours. From another machine, use the ssh command "
        "that it prints.\n\nExit status: 0, or 3 when the recording failed, is damaged or was not "
        "closed.",
    .options = options,
    .examples = examples,
    .run = run,
};
