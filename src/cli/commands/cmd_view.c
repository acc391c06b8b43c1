/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/reading/reading.h"
#include "cli/view/view_cache.h"
#include "cli/view/view_pages.h"

extern char **environ;

static const struct ss_option options[] = {
    {"port", 0, "PORT", "port of 127.0.0.1 (default a free one)", "Server", false},
    {"socket", 0, "PATH", "a socket file that only you may open, in place of a port", NULL, false},
    {"open", 0, NULL, "open the page in your browser", NULL, false},
    {"no-cache", 0, NULL, "read a large recording anew, and save no timeline of it", NULL, false},
    SS_READING_FILTER_OPTIONS("to"),
    {0}};

struct request {
    struct ss_reading reading;
    int port;
    const char *socket;
    bool opens;
    bool caches; /* the whole recording: saved timelines have no parts */
};

static bool is_whole(const struct ss_arguments *arguments)
{
    static const char *const parts[] = {"from",  "to",      "steps", "thread", "process", "rank",
                                        "match", "exclude", "idle",  "i",      "gil",     "strict"};
    bool has_part = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        has_part = has_part || ss_arguments_has(arguments, parts[i]);
    }
    return !has_part;
}

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
    request->caches = !ss_arguments_has(arguments, "no-cache") && is_whole(arguments);
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
        fprintf(ss_stdout(), "http://localhost:%d/#token=%s\n", TUNNEL_PORT, access->token);
        fprintf(ss_stderr(), "stepscope view: from your machine: ssh -N -L %d:%s%s%s %s\n",
                TUNNEL_PORT, is_relative ? folder : "", is_relative ? "/" : "", listening->path,
                host);
    } else {
        fprintf(ss_stdout(), "http://127.0.0.1:%d/#token=%s\n", listening->port, access->token);
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
    snprintf(address, sizeof address, "http://127.0.0.1:%d/#token=%s", listening->port,
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
    const struct ss_serve_options serving = {.size = sizeof serving,
                                             .access = &access,
                                             .answer = ss_view_answer,
                                             .is_public = ss_view_is_public,
                                             .context = pages};
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

/* --- what is served --------------------------------------------------------------------------- */

/* What was printed about the recording: a saved timeline has it, too. */
static void describe(const struct ss_arguments *arguments, struct ss_viewed *viewed)
{
    struct ss_sink sink;
    ss_sink_open_memory(&sink, SS_SAVED_MESSAGE_BYTES);
    FILE *out = ss_sink_stream(&sink);
    if (out != NULL) {
        ss_reading_warn_axes(arguments, &viewed->model, out);
        fflush(out);
        size_t printed = sink.buffer.length; /* loading did */
        viewed->exit_status = ss_reading_write_problems(arguments, &viewed->selection, true, out);
        fclose(out);
        fputs(sink.buffer.data + printed, ss_stderr());
        ss_strbuf_append(&viewed->messages, sink.buffer.data, sink.buffer.length);
    }
    ss_sink_abandon(&sink);
}

static enum ss_status build(const struct ss_arguments *arguments, const struct request *request,
                            const char *const *paths, size_t count, struct ss_viewed *viewed,
                            struct ss_error *err)
{
    static const struct ss_steps_options all_steps = {.size = sizeof all_steps};
    SS_TRY(ss_reading_load_paths(arguments, &request->reading, paths, count, &viewed->model, err));
    SS_TRY(ss_selection_init(&viewed->selection, &viewed->model, &request->reading.selection, err));
    describe(arguments, viewed);
    ss_timeline_init(&viewed->timeline, &viewed->selection);
    ss_timeline_links_init(&viewed->links, &viewed->timeline);
    ss_step_summary_init(&viewed->steps, &viewed->selection, &all_steps);
    return SS_OK;
}

static enum ss_status serve_viewed(const struct request *request, const char *input,
                                   const struct ss_viewed *viewed, struct ss_error *err)
{
    const struct ss_timeline *timeline = &viewed->timeline;
    struct ss_view_notes notes;
    uint64_t base_ns = timeline->tracks.count > 0 ? timeline->tracks.data[0].base_ns : 0;
    ss_view_notes_init(&notes, input, ss_reading_output_mode(&viewed->model), (int64_t)base_ns);
    struct ss_view_pages pages = {
        .answering = {.timeline = timeline, .steps = &viewed->steps, .links = &viewed->links},
        .notes = &notes};
    enum ss_status status = serve(request, &pages, err);
    ss_view_notes_fini(&notes);
    return status;
}

static enum ss_status view(const struct ss_arguments *arguments, const struct request *request,
                           const char *const *paths, size_t count, int *exit_status,
                           struct ss_error *err)
{
    struct ss_viewed viewed;
    struct ss_view_cache cache;
    enum ss_status status = SS_OK;
    ss_viewed_init(&viewed);
    ss_view_cache_init(&cache, paths, request->caches ? count : 0);
    if (request->caches && ss_view_cache_load(&cache, &viewed)) {
        fputs(viewed.messages.data, ss_stderr());
    } else {
        status = build(arguments, request, paths, count, &viewed, err);
        if (status == SS_OK && request->caches) {
            ss_view_cache_store(&cache, &viewed);
        }
    }
    if (status == SS_OK) {
        *exit_status = viewed.exit_status;
        status = serve_viewed(request, paths[0], &viewed, err);
    }
    ss_view_cache_fini(&cache);
    ss_viewed_fini(&viewed);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    struct ss_error err = {0};
    struct ss_strbuf newest;
    int exit_status = 0;
    if (!parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_strbuf_init(&newest, 65536);
    const char *const *paths = (const char *const *)arguments->positional;
    size_t count = (size_t)arguments->positional_count;
    enum ss_status status = SS_OK;
    const char *only;
    if (count == 0) {
        status = ss_reading_newest(arguments, &request.reading, &newest, &err);
        only = newest.data;
        paths = &only;
        count = 1;
    }
    if (status == SS_OK) {
        status = view(arguments, &request, paths, count, &exit_status, &err);
    }
    ss_strbuf_fini(&newest);
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
