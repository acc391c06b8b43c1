/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/listening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

static enum ss_status open_port(struct ss_listening *listening, int port, struct ss_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int yes = 1;
    listening->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening->fd < 0) {
        return ss_fail_errno(err, errno, "cannot make a socket");
    }
    setsockopt(listening->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listening->fd, (struct sockaddr *)&address, size) != 0) {
        return errno == EADDRINUSE
                   ? ss_fail(err, SS_E_BUSY,
                             "port %d of 127.0.0.1 is in use: leave --port out to take a free one",
                             port)
                   : ss_fail_errno(err, errno, "cannot bind port %d of 127.0.0.1", port);
    }
    if (listen(listening->fd, BACKLOG) != 0 ||
        getsockname(listening->fd, (struct sockaddr *)&address, &size) != 0) {
        return ss_fail_errno(err, errno, "cannot listen on port %d of 127.0.0.1", port);
    }
    listening->port = ntohs(address.sin_port);
    return SS_OK;
}

/* A socket file that an ended server left. */
static bool is_abandoned(const struct sockaddr_un *address)
{
    struct stat file;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_own =
        lstat(address->sun_path, &file) == 0 && S_ISSOCK(file.st_mode) && file.st_uid == geteuid();
    bool is_refused = fd >= 0 &&
                      connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                      errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    return is_own && is_refused;
}

static enum ss_status open_path(struct ss_listening *listening, const char *path,
                                struct ss_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return ss_fail(err, SS_E_USAGE, "%s: the path of a socket has at most %zu bytes", path,
                       sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    listening->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening->fd < 0) {
        return ss_fail_errno(err, errno, "cannot make a socket");
    }
    if (is_abandoned(&address)) {
        unlink(path);
    }
    /* The file is private from the moment it exists. */
    mode_t mask = umask(0177);
    int failed = bind(listening->fd, (struct sockaddr *)&address, sizeof address) != 0 ? errno : 0;
    umask(mask);
    if (failed == EADDRINUSE) {
        return ss_fail(err, SS_E_BUSY, "%s exists: remove it, or name another path", path);
    }
    if (failed != 0 || listen(listening->fd, BACKLOG) != 0 || lstat(path, &listening->file) != 0) {
        return ss_fail_errno(err, failed != 0 ? failed : errno, "cannot listen on %s", path);
    }
    listening->path = path;
    return SS_OK;
}

enum ss_status ss_listening_open(struct ss_listening *listening, int port, const char *path,
                                 struct ss_error *err)
{
    *listening = (struct ss_listening){.fd = -1};
    enum ss_status status =
        path != NULL ? open_path(listening, path, err) : open_port(listening, port, err);
    if (status != SS_OK) {
        ss_listening_close(listening);
    }
    return status;
}

void ss_listening_close(struct ss_listening *listening)
{
    struct stat now;
    if (listening->path != NULL && lstat(listening->path, &now) == 0 &&
        now.st_dev == listening->file.st_dev && now.st_ino == listening->file.st_ino) {
        unlink(listening->path);
    }
    if (listening->fd >= 0) {
        close(listening->fd);
    }
    *listening = (struct ss_listening){.fd = -1};
}
