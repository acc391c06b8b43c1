/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/sink.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

enum { BUFFER_BYTES = 256 * 1024, BUFFER_MAXIMUM = 64 * 1024 * 1024, NAME_ATTEMPTS = 100 };

/* ".name.PID-N.part": in the same folder, since rename does not cross file systems. */
static char *temporary_name(const char *name, int attempt)
{
    /* The name may already have the maximum length. */
    struct ss_strbuf temporary;
    ss_strbuf_init(&temporary, NAME_MAX);
    ss_strbuf_append_format(&temporary, ".%.200s.%ld-%d.part", name, (long)getpid(), attempt);
    return temporary.data;
}

static int create_temporary(struct ss_sink *sink, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        sink->temporary = temporary_name(sink->target.name, attempt);
        int fd = openat(sink->target.folder_fd, sink->temporary, flags, mode);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
        ss_free(sink->temporary);
        sink->temporary = NULL;
    }
    errno = EEXIST;
    return -1;
}

static void release(struct ss_sink *sink)
{
    if (sink->fd >= 0) {
        close(sink->fd);
    }
    if (sink->temporary != NULL) {
        unlinkat(sink->target.folder_fd, sink->temporary, 0);
    }
    ss_output_target_close(&sink->target);
    ss_free(sink->temporary);
    ss_free(sink->name);
    ss_gzip_free(sink->gzip);
    ss_strbuf_fini(&sink->buffer);
    *sink = (struct ss_sink){.fd = -1, .target = {.folder_fd = -1}};
}

int ss_sink_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
        return STDOUT_FILENO;
    }
    if (strcmp(path, "/dev/stderr") == 0) {
        return STDERR_FILENO;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *name = path + strlen(folders[i]);
        char *end;
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 && isdigit((unsigned char)*name)) {
            long fd = strtol(name, &end, 10);
            return *end == '\0' && fd <= INT_MAX ? (int)fd : -1;
        }
    }
    return -1;
}

/* Duplicates the descriptor: opening it by name would open the file anew and overwrite it. */
static enum ss_status open_descriptor(struct ss_sink *sink, int fd, struct ss_error *err)
{
    sink->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (sink->fd < 0) {
        return ss_fail_errno(err, errno, "cannot write to file descriptor %d", fd);
    }
    sink->cleans = isatty(fd) == 1;
    sink->name = ss_strdup(fd == STDOUT_FILENO ? "standard output" : "a file descriptor");
    ss_strbuf_init(&sink->buffer, BUFFER_MAXIMUM);
    return SS_OK;
}

static enum ss_status open_file(struct ss_sink *sink, const char *path, mode_t mode,
                                struct ss_error *err)
{
    const struct stat *status = &sink->target.status;
    bool exists = sink->target.exists;
    if (exists && S_ISDIR(status->st_mode)) {
        return ss_fail(err, SS_E_IO, "%s is a folder: name a file", path);
    }
    if (exists && !S_ISREG(status->st_mode)) {
        sink->fd = openat(sink->target.folder_fd, sink->target.name, O_WRONLY | O_CLOEXEC);
    } else {
        sink->fd = create_temporary(sink, mode);
        if (sink->fd >= 0 && exists && status->st_uid == geteuid()) {
            (void)fchmod(sink->fd, status->st_mode & 0777);
        }
    }
    return sink->fd >= 0 ? SS_OK : ss_fail_errno(err, errno, "cannot write %s", path);
}

enum ss_status ss_sink_open(struct ss_sink *sink, const char *path, mode_t mode,
                            struct ss_error *err)
{
    *sink = (struct ss_sink){.fd = -1, .target = {.folder_fd = -1}};
    if (ss_sink_descriptor(path) >= 0) {
        return open_descriptor(sink, ss_sink_descriptor(path), err);
    }
    /* Replaces the file that a symbolic link points to, not the link. */
    enum ss_status opened = ss_output_target_open(path, SS_OUTPUT_FOLLOW_LINK, &sink->target, err);
    if (opened == SS_OK) {
        opened = open_file(sink, path, mode, err);
    }
    if (opened != SS_OK) {
        release(sink);
        return opened;
    }
    sink->cleans = isatty(sink->fd) == 1;
    sink->name = ss_strdup(path);
    ss_strbuf_init(&sink->buffer, BUFFER_MAXIMUM);
    return SS_OK;
}

void ss_sink_open_memory(struct ss_sink *sink, size_t maximum_bytes)
{
    *sink = (struct ss_sink){.fd = -1, .target = {.folder_fd = -1}, .name = ss_strdup("memory")};
    ss_strbuf_init(&sink->buffer, maximum_bytes);
}

/* write(2) with SIGPIPE blocked: a closed pipe is an error and does not kill the process. */
static ssize_t write_quietly(int fd, const char *bytes, size_t length)
{
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t wrote = write(fd, bytes, length);
    int saved = errno;
    /* If the reader closes the pipe during a write, a partial success raises the signal too. */
    const struct timespec now = {0};
    sigtimedwait(&pipe_signal, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return wrote;
}

static void write_all(struct ss_sink *sink, const char *at, size_t left)
{
    while (left > 0 && sink->failure.status == SS_OK) {
        ssize_t wrote = write_quietly(sink->fd, at, left);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            ss_fail_errno(&sink->failure, errno, "cannot write %s", sink->name);
            break;
        }
        at += wrote;
        left -= (size_t)wrote;
        sink->stored_bytes += (size_t)wrote;
    }
}

static void write_compressed(void *sink, const char *bytes, size_t length)
{
    write_all(sink, bytes, length);
}

static void flush(struct ss_sink *sink, bool is_end)
{
    if (sink->gzip != NULL) {
        ss_gzip_write(sink->gzip, sink->buffer.data, sink->buffer.length, is_end, write_compressed,
                      sink);
    } else if (sink->cleans) {
        struct ss_strbuf cleaned;
        ss_strbuf_init(&cleaned, 3 * (sink->buffer.length + sizeof sink->clean.held));
        ss_clean_append(&sink->clean, &cleaned, sink->buffer.data, sink->buffer.length);
        write_all(sink, cleaned.data, cleaned.length);
        ss_strbuf_fini(&cleaned);
    } else {
        write_all(sink, sink->buffer.data, sink->buffer.length);
    }
    ss_strbuf_clear(&sink->buffer);
}

/* Called after each append to the buffer. */
static void check_buffer(struct ss_sink *sink)
{
    if (sink->buffer.overflow) {
        ss_fail(&sink->failure, SS_E_LIMIT, "%s holds at most %zu bytes", sink->name,
                sink->buffer.maximum);
    } else if (sink->fd >= 0 && sink->buffer.length >= BUFFER_BYTES) {
        flush(sink, false);
    }
}

void ss_sink_compress(struct ss_sink *sink)
{
    sink->gzip = ss_gzip_new();
}

void ss_sink_write(struct ss_sink *sink, const void *bytes, size_t length)
{
    if (sink->failure.status == SS_OK) {
        sink->written_bytes += length;
        ss_strbuf_append(&sink->buffer, bytes, length);
        check_buffer(sink);
    }
}

void ss_sink_text(struct ss_sink *sink, const char *text)
{
    ss_sink_write(sink, text, strlen(text));
}

void ss_sink_view(struct ss_sink *sink, struct ss_strview view)
{
    ss_sink_write(sink, view.data, view.length);
}

void ss_sink_format(struct ss_sink *sink, const char *format, ...)
{
    if (sink->failure.status == SS_OK) {
        size_t before = sink->buffer.length;
        va_list arguments;
        va_start(arguments, format);
        ss_strbuf_append_vformat(&sink->buffer, format, arguments);
        va_end(arguments);
        sink->written_bytes += sink->buffer.length - before;
        check_buffer(sink);
    }
}

bool ss_sink_failed(const struct ss_sink *sink)
{
    return sink->failure.status != SS_OK;
}

static void put_in_place(struct ss_sink *sink)
{
    /* Some file systems (NFS, quotas) report a full disk only here. */
    if (close(sink->fd) != 0 && errno != EINTR) {
        ss_fail_errno(&sink->failure, errno, "cannot write %s", sink->name);
    } else if (renameat(sink->target.folder_fd, sink->temporary, sink->target.folder_fd,
                        sink->target.name) != 0) {
        ss_fail_errno(&sink->failure, errno, "cannot put %s in place", sink->name);
    } else {
        ss_free(sink->temporary);
        sink->temporary = NULL;
    }
    sink->fd = -1;
}

enum ss_status ss_sink_close_sized(struct ss_sink *sink, uint64_t *stored_bytes,
                                   struct ss_error *err)
{
    if (sink->fd >= 0) {
        flush(sink, true);
    }
    *stored_bytes = sink->stored_bytes;
    if (sink->failure.status == SS_OK && sink->temporary != NULL) {
        put_in_place(sink);
    }
    enum ss_status status = sink->failure.status;
    if (status != SS_OK && err != NULL) {
        *err = sink->failure;
    }
    release(sink);
    return status;
}

enum ss_status ss_sink_close(struct ss_sink *sink, struct ss_error *err)
{
    uint64_t stored_bytes;
    return ss_sink_close_sized(sink, &stored_bytes, err);
}

void ss_sink_abandon(struct ss_sink *sink)
{
    release(sink);
}

static ssize_t write_to_sink(void *cookie, const char *bytes, size_t length)
{
    struct ss_sink *sink = cookie;
    ss_sink_write(sink, bytes, length);
    return ss_sink_failed(sink) ? 0 : (ssize_t)length;
}

FILE *ss_sink_stream(struct ss_sink *sink)
{
    return fopencookie(sink, "w", (cookie_io_functions_t){.write = write_to_sink});
}
