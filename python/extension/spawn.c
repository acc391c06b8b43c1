/* SPDX-License-Identifier: Apache-2.0 */
/* _spawn: the recorder of a program that records itself, as a process that is not its child: no
 * wait() of the program returns it, and the program need not reap it. */
#include "extension.h" /* Python.h wants to be first */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

enum { STACK_BYTES = 64 * 1024, OUR_FILES = 3 };

struct spawn {
    const char *path;
    char *const *arguments, *const *environment;
    int stderr_fd;
    char *stack; /* of the two processes below, one half each */
    /* They share our memory: */
    int error;
    pid_t pid;
    int pidfd;
};

/* --- between clone and exec: system calls only, on memory that is the program's --- */

static void close_files_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) {
        return;
    }
#endif
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < (limit > 0 && limit < 65536 ? limit : 65536); fd++) {
        close(fd);
    }
}

static bool set_up_files(int stderr_fd)
{
    /* Out of the way, where the program runs without its first three. */
    int messages = fcntl(stderr_fd, F_DUPFD, OUR_FILES);
    int nothing = open("/dev/null", O_RDWR);
    int spare = nothing >= 0 ? fcntl(nothing, F_DUPFD, OUR_FILES) : -1;
    if (messages < 0 || spare < 0 || dup2(spare, 0) < 0 || dup2(spare, 1) < 0 ||
        dup2(messages, 2) < 0) {
        return false;
    }
    close_files_from(OUR_FILES);
    return true;
}

/* Becomes the recorder. */
static int run_recorder(void *argument)
{
    struct spawn *spawn = argument;
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGPIPE, &by_default, NULL); /* Python ignores these two */
    sigaction(SIGXFSZ, &by_default, NULL);
    sigaction(SIGHUP, &by_default, NULL); /* and `nohup` this one */
    setsid(); /* Ctrl-C is meant for the program, which then ends its recording */
    if (set_up_files(spawn->stderr_fd)) {
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(spawn->path, spawn->arguments, spawn->environment);
    }
    spawn->error = errno;
    _exit(127);
}

/* Has the recorder as its child and ends at once. Shares the table of files, so that the pidfd is
 * ours. */
static int run_middle(void *argument)
{
    struct spawn *spawn = argument;
    spawn->pid = clone(run_recorder, spawn->stack + STACK_BYTES,
                       CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, spawn, &spawn->pidfd);
    if (spawn->pid < 0) {
        spawn->error = errno;
    }
    _exit(0);
}

/* --- the program --- */

static void spawn_recorder(struct spawn *spawn)
{
    sigset_t all, before;
    spawn->stack =
        mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (spawn->stack == MAP_FAILED) {
        spawn->error = errno;
        return;
    }
    /* Yama permits only ancestors to read a process, and the process that it names: the recorder,
     * whose pid is known only when it may have begun to read. Without Yama both calls do nothing.
     */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    sigfillset(&all); /* our handlers are not for processes that share our memory */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t middle = clone(run_middle, spawn->stack + 2 * STACK_BYTES,
                         CLONE_VM | CLONE_VFORK | CLONE_FILES, spawn);
    if (middle < 0) {
        spawn->error = errno;
    } else { /* it ends without SIGCHLD, so that only this wait sees it */
        while (waitpid(middle, NULL, __WCLONE) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    prctl(PR_SET_PTRACER, spawn->pid > 0 ? (unsigned long)spawn->pid : 0UL);
    munmap(spawn->stack, 2 * STACK_BYTES);
}

/* The bytes of a sequence, NULL at its end; borrowed from it. NULL: raised. */
static char **read_words(PyObject *sequence)
{
    Py_ssize_t count = PySequence_Size(sequence);
    char **words = count >= 0 ? PyMem_Calloc((size_t)count + 1, sizeof *words) : NULL;
    if (words == NULL) {
        return PyErr_Occurred() ? NULL : (char **)PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *word = PyList_GetItem(sequence, i);
        words[i] = word != NULL ? PyBytes_AsString(word) : NULL;
        if (words[i] == NULL) {
            PyMem_Free(words);
            return NULL;
        }
    }
    return words;
}

/* _spawn(path, arguments, environment, stderr): bytes, lists of bytes, a file descriptor →
 * (pid, pidfd). */
PyObject *ss_python_spawn(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *arguments, *environment;
    struct spawn spawn = {.pid = -1, .pidfd = -1};
    if (!PyArg_ParseTuple(args, "yO!O!i", &spawn.path, &PyList_Type, &arguments, &PyList_Type,
                          &environment, &spawn.stderr_fd)) {
        return NULL;
    }
    char **words = read_words(arguments);
    char **variables = words != NULL ? read_words(environment) : NULL;
    if (variables == NULL) {
        PyMem_Free(words);
        return NULL;
    }
    spawn.arguments = words;
    spawn.environment = variables;
    PyThreadState *thread = PyEval_SaveThread();
    spawn_recorder(&spawn);
    PyEval_RestoreThread(thread);
    PyMem_Free(words);
    PyMem_Free(variables);
    if (spawn.error != 0) {
        if (spawn.pidfd >= 0) {
            close(spawn.pidfd);
        }
        errno = spawn.error;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, spawn.path);
    }
    return Py_BuildValue("ii", (int)spawn.pid, spawn.pidfd);
}

/* _signal(pidfd, signal): to that process and no other that has its number. */
PyObject *ss_python_signal(PyObject *module, PyObject *args)
{
    (void)module;
    int pidfd, number;
    if (!PyArg_ParseTuple(args, "ii", &pidfd, &number)) {
        return NULL;
    }
    if (syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

/* _let_read(pid): Yama's exception, which a forked child does not inherit. */
PyObject *ss_python_let_read(PyObject *module, PyObject *number)
{
    (void)module;
    long pid = PyLong_AsLong(number);
    if (pid == -1 && PyErr_Occurred()) {
        return NULL;
    }
    prctl(PR_SET_PTRACER, (unsigned long)pid);
    Py_RETURN_NONE;
}
