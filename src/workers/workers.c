/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/workers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/launchers.h"
#include "base/log.h"
#include "base/thread.h"
#include "model/load/part_wire.h"
#include "platform/runtime_library.h"
#include "workers/choice.h"
#include "workers/plugin.h"

enum {
    MOST_UNREAD_MS = 2000, /* that an abort waits for the launcher to read */
    DEFAULT_TIMEOUT_S = 60,
    MOST_TIMEOUT_S = 86400,
    MOST_END_S = 10,
    LATER_END_S = 2,
    NAME_BYTES = 64
};
#define SECOND_NS UINT64_C(1000000000)
#define POLL_NS 200000
#define PASS_ON_NS 200000000

/* A message without content says that its worker is alive; one byte, that the work is done (of the
 * first), or that the first must load this file itself (of the others). */
static const char word[] = {'-'};

struct ss_workers {
    const struct ss_workers_plugin *plugin;
    int rank, size;
    bool has_failed;
    uint64_t timeout_ns, alive_ns; /* when this worker last said that it is alive */
    struct ss_part_workers of_load;
};

/* --- the launcher ----------------------------------------------------------------------------- */

static const char *own_variable(void *context, enum ss_env variable)
{
    (void)context;
    return ss_env_get(variable);
}

/* Whether our parent is a launcher, or its daemon on this machine. */
static bool is_started_by_launcher(void)
{
    char path[64], name[NAME_BYTES] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)getppid());
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool has_name = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return has_name && ss_workers_is_launcher(name);
}

/* One ABI of MPI: the plug-in, and the names that its library has. */
struct abi {
    const char *plugin;
    const char *libraries[5]; /* ends with NULL */
};

static const struct abi abis[] = {
    [SS_WORKERS_OPENMPI] = {"workers-openmpi.so", {"libmpi.so.40", NULL}},
    [SS_WORKERS_MPICH] = {"workers-mpich.so",
                          {"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", NULL}}};

/* Of the first process, which then works alone. */
static void say_alone(const struct ss_rank_facts *facts, const char *what, const char *why)
{
    if (facts->numbers[SS_RANK] == 0) {
        ss_log(SS_WARN, "workers",
               "the first of %u processes works alone, the others have ended: %s %s",
               facts->numbers[SS_WORLD_SIZE], what, why);
    }
}

/* Libraries stay: MPI cannot be started twice. NULL: the reason is logged. */
static const struct ss_workers_plugin *load_plugin(const struct abi *abi,
                                                   const struct ss_rank_facts *facts)
{
    char path[4096];
    void *library = NULL;
    if (!ss_libexec_find(abi->plugin, path, sizeof path)) {
        say_alone(facts, abi->plugin, "was not installed with stepscope");
        return NULL;
    }
    for (size_t i = 0; abi->libraries[i] != NULL && library == NULL; i++) {
        library = dlopen(abi->libraries[i], RTLD_NOW | RTLD_GLOBAL);
    }
    if (library == NULL) {
        say_alone(facts, abi->libraries[0], "is not found: is its folder in LD_LIBRARY_PATH?");
        return NULL;
    }
    void *own = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct ss_workers_plugin *plugin =
        own != NULL ? dlsym(own, SS_WORKERS_PLUGIN_SYMBOL) : NULL;
    if (plugin == NULL || plugin->version != SS_WORKERS_PLUGIN_VERSION) {
        say_alone(facts, abi->plugin, "is of another stepscope, or cannot be loaded");
        return NULL;
    }
    return plugin;
}

static uint64_t timeout_ns(void)
{
    const char *text = ss_env_get(SS_ENV_STEPSCOPE_WORKER_TIMEOUT);
    long seconds = text != NULL ? strtol(text, NULL, 10) : 0;
    return (uint64_t)(seconds > 0 && seconds <= MOST_TIMEOUT_S ? seconds : DEFAULT_TIMEOUT_S) *
           SECOND_NS;
}

/* --- messages --------------------------------------------------------------------------------- */

static void wait_briefly(void)
{
    const struct timespec pause = {0, POLL_NS};
    nanosleep(&pause, NULL);
}

static enum ss_status fail_worker(struct ss_workers *workers, int worker, const char *why,
                                  struct ss_error *err)
{
    workers->has_failed = true;
    return ss_fail(err, SS_E_IO,
                   "worker %d of %d %s: start the command again, or without the launcher", worker,
                   workers->size, why);
}

static enum ss_status fail_silent(struct ss_workers *workers, int from, struct ss_error *err)
{
    return fail_worker(workers, from, "does not answer: it was stopped, or is gone", err);
}

static bool is_late(uint64_t last_ns, uint64_t limit_ns)
{
    return limit_ns != 0 && ss_clock_now_ns(NULL) - last_ns > limit_ns;
}

static enum ss_status receive_pieces(struct ss_workers *workers, int from, uint64_t limit_ns,
                                     struct ss_wire_buffer *message, struct ss_error *err)
{
    for (uint64_t done = 0; done < message->length; done += SS_WORKERS_PIECE_BYTES) {
        uint64_t left = message->length - done, last_ns = ss_clock_now_ns(NULL);
        if (!workers->plugin->receive(from, message->data + done,
                                      left < SS_WORKERS_PIECE_BYTES ? left
                                                                    : SS_WORKERS_PIECE_BYTES)) {
            return fail_worker(workers, from, "cannot be reached", err);
        }
        while (!workers->plugin->has_received()) {
            if (is_late(last_ns, limit_ns)) {
                return fail_silent(workers, from, err);
            }
            wait_briefly();
        }
    }
    return SS_OK;
}

/* Waits for a message with content. `limit_ns` 0: for ever. */
static enum ss_status receive_message(struct ss_workers *workers, int from, uint64_t limit_ns,
                                      struct ss_wire_buffer *message, struct ss_error *err)
{
    uint64_t last_ns = ss_clock_now_ns(NULL), length = 0;
    if (workers->has_failed) {
        return fail_silent(workers, from, err);
    }
    while (length == 0) {
        if (workers->plugin->poll(from, &length)) {
            last_ns = ss_clock_now_ns(NULL);
        } else if (is_late(last_ns, limit_ns)) {
            return fail_silent(workers, from, err);
        } else {
            wait_briefly();
        }
    }
    message->length = 0;
    ss_wire_reserve(message, length);
    message->length = length;
    return receive_pieces(workers, from, limit_ns, message, err);
}

static enum ss_status send_request(void *context, unsigned worker, const void *bytes, size_t length,
                                   struct ss_error *err)
{
    struct ss_workers *workers = context;
    return workers->plugin->send((int)worker, bytes, length)
               ? SS_OK
               : fail_worker(workers, (int)worker, "cannot be reached", err);
}

static enum ss_status receive_part(void *context, unsigned worker, struct ss_wire_buffer *message,
                                   struct ss_error *err)
{
    struct ss_workers *workers = context;
    return receive_message(workers, (int)worker, workers->timeout_ns, message, err);
}

/* --- the others ------------------------------------------------------------------------------- */

/* While a file is being loaded. */
static void say_alive(void *context, const char *path, uint64_t done_bytes, uint64_t all_bytes)
{
    struct ss_workers *workers = context;
    uint64_t now_ns = ss_clock_now_ns(NULL);
    (void)path;
    (void)done_bytes;
    (void)all_bytes;
    if (now_ns - workers->alive_ns >= SECOND_NS) {
        workers->alive_ns = now_ns;
        workers->plugin->send(0, word, 0);
    }
}

static bool send_part(struct ss_workers *workers, struct ss_load_parts *parts, size_t index,
                      struct ss_wire_buffer *message)
{
    struct ss_model part;
    struct ss_error ignored;
    if (ss_load_parts_take(parts, index, &part, &ignored) != SS_OK) {
        return workers->plugin->send(0, word, sizeof word);
    }
    ss_part_encode(&part, message);
    ss_model_fini(&part);
    return workers->plugin->send(0, message->data, message->length);
}

static bool send_parts(struct ss_workers *workers, struct ss_part_request *request)
{
    size_t count = request->paths.count;
    struct ss_part_file *files = ss_alloc_zero(count + 1, sizeof *files);
    struct ss_wire_buffer message = {0};
    for (size_t i = 0; i < count; i++) {
        files[i] = (struct ss_part_file){request->paths.data[i], request->is_named.data[i]};
    }
    request->load.threads = 1;
    request->load.loads_aside = true; /* so that it can say that it is alive */
    request->load.progress = say_alive;
    request->load.progress_context = workers;
    struct ss_load_parts *parts;
    struct ss_error ignored;
    bool is_sent = ss_load_parts_begin(files, count, &request->load, &parts, &ignored) == SS_OK;
    for (size_t i = 0; i < count && is_sent; i++) {
        is_sent = send_part(workers, parts, i, &message);
    }
    ss_load_parts_end(parts);
    ss_wire_fini(&message);
    ss_free(files);
    return is_sent;
}

enum ss_status ss_workers_serve(struct ss_workers *workers, struct ss_error *err)
{
    struct ss_wire_buffer message = {0};
    enum ss_status status = SS_OK;
    while (status == SS_OK) {
        struct ss_part_request request = {0};
        status = receive_message(workers, 0, 0, &message, err);
        if (status == SS_OK && message.length == sizeof word) {
            break;
        }
        status = status == SS_OK
                     ? ss_part_request_decode(message.data, message.length, &request, err)
                     : status;
        if (status == SS_OK && !send_parts(workers, &request)) {
            status = fail_worker(workers, 0, "cannot be reached", err);
        }
        ss_part_request_fini(&request);
    }
    workers->has_failed = status != SS_OK;
    ss_wire_fini(&message);
    return status;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* SS_WORKERS_NONE also for the descendants of a program that a launcher started. */
static enum ss_workers_mpi own_mpi(struct ss_rank_facts *facts)
{
    ss_rank_facts_own(facts);
    enum ss_workers_mpi mpi = ss_workers_choose(facts, own_variable, NULL);
    return mpi != SS_WORKERS_NONE && is_started_by_launcher() ? mpi : SS_WORKERS_NONE;
}

bool ss_workers_may_be(void)
{
    struct ss_rank_facts facts;
    return own_mpi(&facts) != SS_WORKERS_NONE;
}

/* Starts MPI; NULL: the reason is logged. */
static const struct ss_workers_plugin *
start_mpi(enum ss_workers_mpi mpi, const struct ss_rank_facts *facts, int *rank, int *size)
{
    const struct abi *abi = &abis[mpi];
    const struct ss_workers_plugin *plugin = load_plugin(abi, facts);
    if (plugin != NULL && !plugin->begin(rank, size)) {
        say_alone(facts, abi->libraries[0], "does not start");
        return NULL;
    }
    if (plugin != NULL && *size == 1) { /* the MPI of another launcher */
        say_alone(facts, abi->libraries[0], "sees one process: the launcher is not of this MPI");
        plugin->end();
        return NULL;
    }
    return plugin;
}

enum ss_workers_role ss_workers_begin(struct ss_workers **workers)
{
    struct ss_rank_facts facts;
    const struct ss_workers_plugin *plugin = NULL;
    int rank = 0, size = 1;
    *workers = NULL;
    enum ss_workers_mpi mpi = own_mpi(&facts);
    if (mpi == SS_WORKERS_NONE || facts.numbers[SS_WORLD_SIZE] < 2) {
        return SS_WORKERS_ALONE;
    }
    if (mpi == SS_WORKERS_UNJOINED) {
        say_alone(&facts, "srun",
                  "joins them with no MPI; srun --mpi=pmi2 (for MPICH) or --mpi=pmix "
                  "(for Open MPI) lets all of them read");
    } else {
        plugin = start_mpi(mpi, &facts, &rank, &size);
    }
    if (plugin == NULL) {
        return facts.numbers[SS_RANK] == 0 ? SS_WORKERS_ALONE : SS_WORKERS_IDLE;
    }
    *workers = ss_alloc_zero(1, sizeof **workers);
    **workers = (struct ss_workers){
        .plugin = plugin, .rank = rank, .size = size, .timeout_ns = timeout_ns()};
    (*workers)->of_load = (struct ss_part_workers){.count = (unsigned)size - 1,
                                                   .context = *workers,
                                                   .request = send_request,
                                                   .receive = receive_part};
    return rank == 0 ? SS_WORKERS_FIRST : SS_WORKERS_OTHER;
}

const struct ss_part_workers *ss_workers_of_load(struct ss_workers *workers)
{
    return workers != NULL && workers->rank == 0 ? &workers->of_load : NULL;
}

/* How this process ends if its MPI does not. */
struct end {
    bool is_first;
    int status;
};

static void *end_late(void *context)
{
    const struct end *end = context;
    const struct timespec most = {MOST_END_S + (end->is_first ? 0 : LATER_END_S), 0};
    nanosleep(&most, NULL);
    if (end->is_first) {
        ss_log(SS_WARN, "workers",
               "the MPI does not end, so this command ends without it; its output is complete "
               "(docs/mpi.md, Programs that do not end)");
    }
    _exit(end->status);
}

/* All that this process says is written: it need not wait for ever for an MPI that does not end. */
static void end_mpi(const struct ss_workers *workers, int status)
{
    static struct end end;
    pthread_t thread;
    fflush(NULL);
    end = (struct end){workers->rank == 0, status};
    ss_thread_start("stepscope-end", end_late, &end, &thread);
    workers->plugin->end();
}

/* A launcher ends all processes at once when one aborts, and loses what it has not read from their
 * pipes, or not passed on. */
static void wait_for_launcher(void)
{
    const struct timespec pause = {0, 1000000}, passing = {0, PASS_ON_NS};
    int unread = 0;
    for (int i = 0;
         i < MOST_UNREAD_MS && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; i++) {
        nanosleep(&pause, NULL);
    }
    nanosleep(&passing, NULL);
}

void ss_workers_end(struct ss_workers *workers, int status)
{
    if (workers == NULL) {
        return;
    }
    if (workers->has_failed) {
        fflush(NULL);
        wait_for_launcher();
        workers->plugin->stop(status != 0 ? status : 1);
    }
    for (int i = 1; workers->rank == 0 && i < workers->size; i++) {
        workers->plugin->send(i, word, sizeof word);
    }
    end_mpi(workers, status);
    ss_free(workers);
}
