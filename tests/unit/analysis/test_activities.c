/* SPDX-License-Identifier: Apache-2.0 */
/* What stacks do, by their frames, by the source of their line and by the state of the thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/samples/activities.h"

#define PYTHON "/usr/lib/python3.11/"
#define PACKAGES "/opt/venv/lib/python3.11/site-packages/"

struct made {
    struct ss_model model;
    struct ss_source_lines source;
    struct ss_activities activities;
    const char *line; /* of the source, whichever is asked for */
};

static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    const struct made *made = context;
    (void)path;
    assert_true(line > 0);
    return made->line != NULL ? ss_strview_of(made->line) : (struct ss_strview){0};
}

static int set_up(void **state)
{
    static struct made made;
    made = (struct made){0};
    ss_model_init(&made.model);
    made.source = (struct ss_source_lines){.line = source_line, .context = &made};
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    struct made *made = *state;
    ss_model_fini(&made->model);
    return 0;
}

static uint32_t call(struct made *made, uint32_t parent, const char *file, const char *name,
                     enum ss_code_origin origin)
{
    return BUILD_CALL(&made->model, parent, .function = name, .file = file, .line = 12,
                      .first_line = 10, .origin = origin);
}

static uint32_t own(struct made *made, uint32_t parent)
{
    return call(made, parent, "/home/ada/train.py", "step", SS_ORIGIN_USER);
}

static uint32_t library(struct made *made, uint32_t parent, const char *file, const char *name)
{
    enum ss_code_origin origin =
        strncmp(file, PACKAGES, strlen(PACKAGES)) == 0 ? SS_ORIGIN_PACKAGE : SS_ORIGIN_STDLIB;
    return call(made, parent, file, name, origin);
}

static enum ss_activity of(struct made *made, uint32_t stack, enum ss_thread_state state,
                           enum ss_gil_state gil)
{
    ss_activities_init(&made->activities, &made->model, &made->source);
    enum ss_activity activity = ss_activity_of_stack(&made->activities, stack, state, gil);
    assert_int_equal(activity,
                     ss_activity_of_stack(&made->activities, stack, state, gil)); /* cached */
    ss_activities_fini(&made->activities);
    return activity;
}

static enum ss_activity computing(struct made *made, uint32_t stack)
{
    return of(made, stack, SS_STATE_ON_CPU, SS_GIL_HELD);
}

static enum ss_activity sleeping(struct made *made, uint32_t stack)
{
    return of(made, stack, SS_STATE_SLEEPING, SS_GIL_NONE);
}

/* --- by frames ------------------------------------------------------------------------------- */

static void library_frames_are_classified(void **state)
{
    static const struct {
        const char *file, *name;
        enum ss_activity activity;
    } rows[] = {
        {PYTHON "json/encoder.py", "iterencode", SS_ACTIVITY_SERIALISATION},
        {PYTHON "copy.py", "deepcopy", SS_ACTIVITY_COPY},
        {PYTHON "re/__init__.py", "sub", SS_ACTIVITY_REGEX},
        {"/usr/local/lib/python3.9/re.py", "sub", SS_ACTIVITY_REGEX},
        {PYTHON "queue.py", "get", SS_ACTIVITY_QUEUE_WAIT},
        {PYTHON "threading.py", "join", SS_ACTIVITY_THREAD_WAIT},
        {PYTHON "threading.py", "wait", SS_ACTIVITY_LOCK_WAIT},
        {PYTHON "threading.py", "start", SS_ACTIVITY_START},
        {PYTHON "subprocess.py", "communicate", SS_ACTIVITY_SUBPROCESS},
        {PYTHON "socket.py", "readinto", SS_ACTIVITY_NETWORK},
        {PYTHON "socketserver.py", "handle_request", SS_ACTIVITY_REQUESTS},
        {PACKAGES "uvicorn/server.py", "serve", SS_ACTIVITY_REQUESTS},
        {PYTHON "random.py", "shuffle", SS_ACTIVITY_RANDOM},
        {"<frozen importlib._bootstrap>", "_find_and_load", SS_ACTIVITY_IMPORT},
        {PACKAGES "PIL/Image.py", "resize", SS_ACTIVITY_IMAGE},
        {PACKAGES "numpy/core/fromnumeric.py", "sum", SS_ACTIVITY_NUMPY},
        {PACKAGES "pandas/core/indexing.py", "__getitem__", SS_ACTIVITY_TABLE},
        {PACKAGES "torch/serialization.py", "save", SS_ACTIVITY_CHECKPOINT},
        {PACKAGES "torch/distributions/constraints.py", "check", SS_ACTIVITY_VALIDATION},
        {PACKAGES "torch/utils/data/dataloader.py", "_get_data", SS_ACTIVITY_LOADER_WAIT},
        {PACKAGES "torch/utils/data/dataloader.py", "__next__", SS_ACTIVITY_NOTHING},
        {PACKAGES "torch/nn/modules/linear.py", "forward", SS_ACTIVITY_NOTHING},
        /* Names that only begin, or end, like those of the table. */
        {PYTHON "copyreg.py", "pickle", SS_ACTIVITY_NOTHING},
        {PACKAGES "mylib/json/encoder.py", "encode", SS_ACTIVITY_NOTHING},
        {PACKAGES "my_numpy/core.py", "sum", SS_ACTIVITY_NOTHING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t stack = library(*state, own(*state, 0), rows[i].file, rows[i].name);
        if (computing(*state, stack) != rows[i].activity) {
            fail_msg("%s, %s: %s", rows[i].file, rows[i].name,
                     ss_activity_text(computing(*state, stack)));
        }
    }
}

/* What the line called decides, not what that needs on its way. */
static void outermost_library_decides(void **state)
{
    uint32_t dumps = library(*state, own(*state, 0), PYTHON "json/__init__.py", "dump");
    assert_int_equal(computing(*state, library(*state, dumps, PYTHON "codecs.py", "write")),
                     SS_ACTIVITY_SERIALISATION);
    uint32_t gets = library(*state, own(*state, 0), PYTHON "queue.py", "get");
    assert_int_equal(sleeping(*state, library(*state, gets, PYTHON "threading.py", "wait")),
                     SS_ACTIVITY_QUEUE_WAIT);
    uint32_t copies = library(*state, own(*state, 0), PYTHON "copy.py", "deepcopy");
    uint32_t tensors = library(*state, copies, PACKAGES "torch/_tensor.py", "__deepcopy__");
    assert_int_equal(computing(*state, tensors), SS_ACTIVITY_COPY);
}

/* Your own code between decides anew: a progress bar or a pool is no more than its caller. */
static void own_code_next_to_the_leaf_decides(void **state)
{
    uint32_t bar = library(*state, own(*state, 0), PACKAGES "pandas/core/series.py", "apply");
    uint32_t stack = library(*state, own(*state, bar), PYTHON "copy.py", "deepcopy");
    assert_int_equal(computing(*state, stack), SS_ACTIVITY_COPY);
}

static void wrappers_say_nothing_of_what_they_wrap(void **state)
{
    uint32_t bar = library(*state, own(*state, 0), PACKAGES "tqdm/std.py", "__iter__");
    assert_int_equal(computing(*state, bar), SS_ACTIVITY_NOTHING);
    assert_int_equal(computing(*state, library(*state, bar, PACKAGES "PIL/Image.py", "open")),
                     SS_ACTIVITY_IMAGE);
    assert_int_equal(computing(*state, library(*state, bar, PACKAGES "tqdm/std.py", "refresh")),
                     SS_ACTIVITY_LOGGING);
}

static void no_own_code_at_all(void **state)
{
    uint32_t stack = library(*state, 0, PYTHON "threading.py", "_bootstrap_inner");
    assert_int_equal(sleeping(*state, library(*state, stack, PYTHON "queue.py", "get")),
                     SS_ACTIVITY_LOCK_WAIT);
    assert_int_equal(computing(*state, 0), SS_ACTIVITY_NOTHING);
}

/* --- by the line's source -------------------------------------------------------------------- */

static void lines_are_classified_by_what_they_call(void **state)
{
    static const struct {
        const char *line;
        enum ss_activity activity;
    } rows[] = {
        {"    time.sleep(0.01)", SS_ACTIVITY_SLEEP},
        {"    sleep(0.01)", SS_ACTIVITY_SLEEP},
        {"    oversleep(0.01)", SS_ACTIVITY_NOTHING},
        {"    batch = copy.deepcopy(state)", SS_ACTIVITY_COPY},
        {"    x = pickle.dumps(state)", SS_ACTIVITY_SERIALISATION},
        {"    x = np.sort(y)", SS_ACTIVITY_NUMPY},
        {"    x = inp.sort(y)", SS_ACTIVITY_NOTHING},
        {"    x = cv2.resize(np.asarray(y), (3, 4))", SS_ACTIVITY_IMAGE},
        {"    x = y.item()", SS_ACTIVITY_TENSOR_READ},
        {"    sys.stdout.write(text)", SS_ACTIVITY_LOGGING},
        {"    f.write(text)", SS_ACTIVITY_FILE_WRITES},
        {"    os.fsync(f.fileno())", SS_ACTIVITY_FILE_WRITES},
        {"    with open(path) as f:", SS_ACTIVITY_FILES},
        {"    seen = torch.cat([seen, out])", SS_ACTIVITY_JOINING},
        {"    seen = np.append(seen, out)", SS_ACTIVITY_JOINING},
        {"    xb, yb = X[j], self.Y[j]", SS_ACTIVITY_INDEXING},
        {"    return self.data[index]", SS_ACTIVITY_INDEXING},
        {"    return f(self.data[index])", SS_ACTIVITY_NOTHING},
        {"    x = y", SS_ACTIVITY_NOTHING},
        {"    x[0] = y", SS_ACTIVITY_NOTHING},
        {"    x[0]", SS_ACTIVITY_NOTHING},
        {"    y = f(x)", SS_ACTIVITY_NOTHING},
        {"    y = f('time.sleep(1)')", SS_ACTIVITY_NOTHING},
        {"    y = f(\"\\\"json.dumps(1)\")", SS_ACTIVITY_NOTHING},
        {"    y = f(x)  # np.sort(x)", SS_ACTIVITY_NOTHING},
        {"    y = f('#') + np.sort(x)", SS_ACTIVITY_NUMPY},
        {"", SS_ACTIVITY_NOTHING},
        {NULL, SS_ACTIVITY_NOTHING},
    };
    struct made *made = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made->line = rows[i].line;
        enum ss_activity activity = computing(made, own(made, 0));
        if (activity != rows[i].activity) {
            fail_msg("%s: %s", rows[i].line, ss_activity_text(activity));
        }
    }
}

static void sleeping_threads_wait(void **state)
{
    struct made *made = *state;
    made->line = "    json.dump(x, open(path, 'w'))";
    assert_int_equal(computing(made, own(made, 0)), SS_ACTIVITY_SERIALISATION);
    assert_int_equal(sleeping(made, own(made, 0)), SS_ACTIVITY_FILES);
    made->line = "    with self._lock:";
    assert_int_equal(sleeping(made, own(made, 0)), SS_ACTIVITY_LOCK_WAIT);
    made->line = "    x = np.dot(a, b)";
    assert_int_equal(sleeping(made, own(made, 0)), SS_ACTIVITY_NUMPY);
}

static void states_are_believed(void **state)
{
    struct made *made = *state;
    made->line = "    x = table[index]";
    uint32_t stack = own(made, 0);
    assert_int_equal(of(made, stack, SS_STATE_UNINTERRUPTIBLE, SS_GIL_NONE), SS_ACTIVITY_DISK_WAIT);
    made->line = "    time.sleep(0.1)";
    assert_int_equal(of(made, stack, SS_STATE_SLEEPING, SS_GIL_WAITED), SS_ACTIVITY_GIL_WAIT);
    assert_int_equal(of(made, stack, SS_STATE_UNKNOWN, SS_GIL_UNKNOWN), SS_ACTIVITY_SLEEP);
}

static enum ss_activity waiting(struct made *made, uint32_t stack, enum ss_thread_state state,
                                enum ss_wait_kind wait)
{
    struct ss_model_total total = {
        .stack = stack, .state = (uint8_t)state, .gil = SS_GIL_NONE, .wait = (uint8_t)wait};
    ss_activities_init(&made->activities, &made->model, &made->source);
    enum ss_activity activity = ss_activity_of_total(&made->activities, &total);
    ss_activities_fini(&made->activities);
    return activity;
}

static void the_kernel_names_what_nothing_else_does(void **state)
{
    struct made *made = *state;
    uint32_t stack = own(made, 0);
    made->line = "    native.step()";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_TIMER), SS_ACTIVITY_SLEEP);
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_SOCKET), SS_ACTIVITY_NETWORK);
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_FUTEX), SS_ACTIVITY_NOTHING);
    assert_int_equal(waiting(made, stack, SS_STATE_ON_CPU, SS_WAIT_UNKNOWN), SS_ACTIVITY_NOTHING);
    assert_int_equal(waiting(made, stack, SS_STATE_UNINTERRUPTIBLE, SS_WAIT_FILE),
                     SS_ACTIVITY_DISK_WAIT);
    /* Recordings without the kernel's word; not all that is uninterruptible is a disk. */
    assert_int_equal(waiting(made, stack, SS_STATE_UNINTERRUPTIBLE, SS_WAIT_UNKNOWN),
                     SS_ACTIVITY_DISK_WAIT);
    assert_int_equal(waiting(made, stack, SS_STATE_UNINTERRUPTIBLE, SS_WAIT_OTHER),
                     SS_ACTIVITY_NOTHING);
    made->line = "    with self.lock:";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_FUTEX), SS_ACTIVITY_LOCK_WAIT);
    made->line = "    with self.guard:";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_FUTEX), SS_ACTIVITY_LOCK_WAIT);
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_POLL), SS_ACTIVITY_NOTHING);
    made->line = "    withdraw(x)";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_FUTEX), SS_ACTIVITY_NOTHING);
    made->line = "    x = np.dot(a, b)";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_FUTEX), SS_ACTIVITY_NUMPY);
    uint32_t gets = library(made, stack, PYTHON "multiprocessing/queues.py", "get");
    assert_int_equal(waiting(made, gets, SS_STATE_SLEEPING, SS_WAIT_PIPE), SS_ACTIVITY_QUEUE_WAIT);
}

/* Named pipes and sockets are read like files, and are none. */
static void what_is_read_may_be_no_file(void **state)
{
    struct made *made = *state;
    uint32_t stack = own(made, 0);
    made->line = "    data = os.read(fifo, 64)";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_PIPE),
                     SS_ACTIVITY_PROCESS_WAIT);
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_SOCKET), SS_ACTIVITY_NETWORK);
    assert_int_equal(waiting(made, stack, SS_STATE_UNINTERRUPTIBLE, SS_WAIT_FILE),
                     SS_ACTIVITY_FILES);
    made->line = "    file.write(data)";
    assert_int_equal(waiting(made, stack, SS_STATE_SLEEPING, SS_WAIT_PIPE),
                     SS_ACTIVITY_PROCESS_WAIT);
}

/* A bare socket in the handler of a request is the client's; what the handler asks others for is
 * not. */
static void handlers_read_their_clients_requests(void **state)
{
    struct made *made = *state;
    uint32_t serves = library(made, own(made, 0), PYTHON "http/server.py", "handle_one_request");
    uint32_t handler = own(made, serves);
    uint32_t reads = library(made, handler, PYTHON "socket.py", "readinto");
    assert_int_equal(waiting(made, reads, SS_STATE_SLEEPING, SS_WAIT_SOCKET), SS_ACTIVITY_REQUESTS);
    made->line = "    body = self.rfile.read(length)";
    assert_int_equal(waiting(made, handler, SS_STATE_SLEEPING, SS_WAIT_SOCKET),
                     SS_ACTIVITY_REQUESTS);
    uint32_t asks = library(made, handler, PACKAGES "redis/client.py", "get");
    assert_int_equal(waiting(made, library(made, asks, PYTHON "socket.py", "recv"),
                             SS_STATE_SLEEPING, SS_WAIT_SOCKET),
                     SS_ACTIVITY_NETWORK);
    /* A cell of a notebook. */
    uint32_t kernel = library(made, 0, PACKAGES "tornado/platform/asyncio.py", "start");
    reads = library(made, own(made, kernel), PYTHON "socket.py", "readinto");
    assert_int_equal(waiting(made, reads, SS_STATE_SLEEPING, SS_WAIT_SOCKET), SS_ACTIVITY_NETWORK);
    reads = library(made, own(made, 0), PYTHON "socket.py", "readinto");
    assert_int_equal(waiting(made, reads, SS_STATE_SLEEPING, SS_WAIT_SOCKET), SS_ACTIVITY_NETWORK);
}

static void long_lines_are_cut(void **state)
{
    static char line[5000];
    struct made *made = *state;
    memset(line, 'x', sizeof line - 1);
    memcpy(&line[sizeof line - 20], " = np.sort(x)", 13);
    made->line = line;
    assert_int_equal(computing(made, own(made, 0)), SS_ACTIVITY_NOTHING);
}

static void no_source_is_no_failure(void **state)
{
    struct made *made = *state;
    made->source.line = NULL;
    assert_int_equal(computing(made, own(made, 0)), SS_ACTIVITY_NOTHING);
}

/* --- the table ------------------------------------------------------------------------------- */

static void each_activity_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(ss_activity_text(SS_ACTIVITY_NOTHING), "");
    assert_null(ss_activity_fix(SS_ACTIVITY_NOTHING));
    for (int i = 1; i < SS_ACTIVITY_COUNT; i++) {
        const char *text = ss_activity_text((enum ss_activity)i);
        assert_true(text != NULL && text[0] != '\0');
        for (int j = 1; j < i; j++) {
            assert_string_not_equal(text, ss_activity_text((enum ss_activity)j));
        }
    }
    assert_true(ss_activity_is_wait(SS_ACTIVITY_SLEEP));
    assert_false(ss_activity_is_wait(SS_ACTIVITY_COPY));
}

static void half_of_the_samples_name_a_line(void **state)
{
    (void)state;
    struct ss_activity_counts counts = {0};
    assert_int_equal(ss_activity_majority(&counts), SS_ACTIVITY_NOTHING);
    ss_activity_count(&counts, SS_ACTIVITY_COPY, 5);
    ss_activity_count(&counts, SS_ACTIVITY_NOTHING, 5);
    assert_int_equal(ss_activity_majority(&counts), SS_ACTIVITY_COPY);
    ss_activity_count(&counts, SS_ACTIVITY_NOTHING, 1);
    assert_int_equal(ss_activity_majority(&counts), SS_ACTIVITY_NOTHING);
}

static enum ss_activity majority_of(uint64_t reads, uint64_t writes, uint64_t serialises,
                                    uint64_t others)
{
    struct ss_activity_counts counts = {0};
    ss_activity_count(&counts, SS_ACTIVITY_FILES, reads);
    ss_activity_count(&counts, SS_ACTIVITY_FILE_WRITES, writes);
    ss_activity_count(&counts, SS_ACTIVITY_SERIALISATION, serialises);
    ss_activity_count(&counts, SS_ACTIVITY_NOTHING, others);
    return ss_activity_majority(&counts);
}

static void parts_of_one_work_name_it_together(void **state)
{
    (void)state;
    assert_int_equal(majority_of(2, 3, 0, 5), SS_ACTIVITY_FILE_WRITES);
    assert_int_equal(majority_of(3, 2, 0, 5), SS_ACTIVITY_FILES);
    assert_int_equal(majority_of(2, 3, 0, 6), SS_ACTIVITY_NOTHING);
    assert_int_equal(majority_of(1, 3, 4, 4), SS_ACTIVITY_STORING);
    assert_int_equal(majority_of(1, 3, 4, 9), SS_ACTIVITY_NOTHING);
    assert_int_equal(majority_of(1, 1, 6, 4), SS_ACTIVITY_SERIALISATION);
}

int main(void)
{
#define ON_MODEL(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_MODEL(library_frames_are_classified),
        ON_MODEL(outermost_library_decides),
        ON_MODEL(own_code_next_to_the_leaf_decides),
        ON_MODEL(wrappers_say_nothing_of_what_they_wrap),
        ON_MODEL(no_own_code_at_all),
        ON_MODEL(lines_are_classified_by_what_they_call),
        ON_MODEL(sleeping_threads_wait),
        ON_MODEL(states_are_believed),
        ON_MODEL(the_kernel_names_what_nothing_else_does),
        ON_MODEL(what_is_read_may_be_no_file),
        ON_MODEL(handlers_read_their_clients_requests),
        ON_MODEL(long_lines_are_cut),
        ON_MODEL(no_source_is_no_failure),
        cmocka_unit_test(each_activity_has_a_text),
        cmocka_unit_test(half_of_the_samples_name_a_line),
        cmocka_unit_test(parts_of_one_work_name_it_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
