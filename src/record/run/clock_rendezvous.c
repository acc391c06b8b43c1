/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/clock_rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/strbuf.h"

static const char first_line[] = "stepscope clock-sync 1";
static const char file_name[] = ".clock-sync";
enum { FILE_BYTES = 4096, PATH_BYTES = 4096, ATTEMPTS = 4 };

/* What the file says, line by line: its kind, clock, process, port, secret, addresses. */
struct content {
    char boot_id[64];
    unsigned long long time_namespace;
    int pid;
    struct ss_clock_rendezvous rendezvous;
};

static const char *boot_of(const struct ss_record_clock_domain *own)
{
    return own->boot_id[0] != '\0' ? own->boot_id : "-";
}

static bool is_same_clock(const struct content *content, const struct ss_record_clock_domain *own)
{
    return content->time_namespace == own->time_namespace &&
           strcmp(content->boot_id, boot_of(own)) == 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Only what this user wrote, and only it could read. */
static enum ss_status read_file(const char *path, char *text, struct ss_error *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return ss_fail_errno(err, errno, "%s", path);
    }
    ssize_t got = -1;
    bool is_ours = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_uid == geteuid() && (status.st_mode & 077) == 0;
    if (is_ours) {
        got = read(fd, text, FILE_BYTES - 1);
    }
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? SS_OK
                   : ss_fail(err, SS_E_FORMAT, "%s: %s", path,
                             is_ours ? "it cannot be read: remove it"
                                     : "it is not a private file of this user: remove it");
}

static bool parse(const char *text, struct content *content)
{
    struct ss_clock_rendezvous *rendezvous = &content->rendezvous;
    char kind[32], end[2], hosts[FILE_BYTES];
    *content = (struct content){.pid = 0};
    int fields = sscanf(text, "%31[^\n] %63s %llu %d %u %32[0-9a-f]%1[\n]%4095[^\n]", kind,
                        content->boot_id, &content->time_namespace, &content->pid,
                        &rendezvous->port, rendezvous->secret, end, hosts);
    if (fields != 8 || strcmp(kind, first_line) != 0 || rendezvous->port > UINT16_MAX) {
        return false;
    }
    char *rest = NULL;
    for (char *host = strtok_r(hosts, " ", &rest);
         host != NULL && rendezvous->host_count < SS_RENDEZVOUS_HOSTS;
         host = strtok_r(NULL, " ", &rest)) {
        snprintf(rendezvous->hosts[rendezvous->host_count++], SS_RENDEZVOUS_HOST_BYTES, "%.63s",
                 host);
    }
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Addresses of interfaces other than loopback; of loopback if there is no other. */
static void put_addresses(struct ss_strbuf *text)
{
    struct ifaddrs *found = NULL;
    bool any = false;
    if (getifaddrs(&found) == 0) {
        for (const struct ifaddrs *one = found; one != NULL; one = one->ifa_next) {
            char host[INET6_ADDRSTRLEN];
            if (one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET &&
                (one->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP &&
                inet_ntop(AF_INET,
                          &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr,
                          host, sizeof host) != NULL) {
                ss_strbuf_append_format(text, "%s%s", any ? " " : "", host);
                any = true;
            }
        }
        freeifaddrs(found);
    }
    ss_strbuf_append_format(text, "%s\n", any ? "" : "127.0.0.1");
}

static bool make_secret(char secret[SS_RENDEZVOUS_SECRET_BYTES])
{
    unsigned char bytes[(SS_RENDEZVOUS_SECRET_BYTES - 1) / 2];
    bool done = ss_random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    }
    return done;
}

/* Whole or not at all: written beside it and linked. EEXIST: another one was first. */
static int publish(const char *path, const char *text, size_t length)
{
    struct ss_strbuf draft;
    ss_strbuf_init(&draft, PATH_BYTES);
    ss_strbuf_append_format(&draft, "%s.%d", path, (int)getpid());
    unlink(draft.data);
    int code = 0;
    int fd = open(draft.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        code = errno;
    } else {
        errno = EIO; /* of a write that was cut short */
        code = write(fd, text, length) == (ssize_t)length ? 0 : errno;
        code = close(fd) == 0 || code != 0 ? code : errno;
        code = code != 0 || link(draft.data, path) == 0 ? code : errno;
        unlink(draft.data);
    }
    ss_strbuf_fini(&draft);
    return code;
}

/* The own file: which address to ask, or that this clock asks already. Returns an errno. */
static int publish_own(const char *path, const struct ss_record_clock_domain *own,
                       const struct ss_clock_rendezvous *rendezvous)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, FILE_BYTES - 1);
    ss_strbuf_append_format(&text, "%s\n%s %llu %d\n%u %s\n", first_line, boot_of(own),
                            (unsigned long long)own->time_namespace, (int)getpid(),
                            rendezvous->port, rendezvous->secret);
    put_addresses(&text);
    int code = publish(path, text.data, text.length);
    ss_strbuf_fini(&text);
    return code;
}

/* --- roles ---------------------------------------------------------------------------------- */

/* Of a recorder of this clock that was killed: out of the way. */
static bool remove_abandoned(const char *path, const struct ss_record_clock_domain *own)
{
    char text[FILE_BYTES];
    struct content content;
    struct ss_error err = {0};
    return read_file(path, text, &err) == SS_OK && parse(text, &content) &&
           is_same_clock(&content, own) && kill(content.pid, 0) != 0 && errno == ESRCH &&
           unlink(path) == 0;
}

/* Publishes under `path`, in place of an abandoned one. */
static int claim(const char *path, const struct ss_record_clock_domain *own,
                 struct ss_clock_rendezvous *rendezvous)
{
    int code = publish_own(path, own, rendezvous);
    if (code == EEXIST && remove_abandoned(path, own)) {
        code = publish_own(path, own, rendezvous);
    }
    if (code == 0) {
        rendezvous->path = ss_strdup(path);
    }
    return code;
}

/* Another clock answers: asks it, unless another recorder of this clock does. */
static enum ss_status ask(const char *path, const struct content *content,
                          const struct ss_record_clock_domain *own,
                          struct ss_clock_rendezvous *rendezvous, struct ss_error *err)
{
    struct ss_strbuf asked;
    int code = EEXIST;
    ss_strbuf_init(&asked, PATH_BYTES);
    *rendezvous = content->rendezvous;
    rendezvous->role = SS_RENDEZVOUS_NONE;
    if (!is_same_clock(content, own)) {
        ss_strbuf_append_format(&asked, "%s.%.36s.%llu", path, boot_of(own),
                                (unsigned long long)own->time_namespace);
        code = claim(asked.data, own, rendezvous);
        rendezvous->role = code == 0 ? SS_RENDEZVOUS_ASK : SS_RENDEZVOUS_NONE;
    }
    ss_strbuf_fini(&asked);
    return code == 0 || code == EEXIST ? SS_OK : ss_fail_errno(err, code, "%s", path);
}

static enum ss_status join(const char *path, const struct ss_record_clock_domain *own,
                           unsigned port, struct ss_clock_rendezvous *rendezvous,
                           struct ss_error *err)
{
    char text[FILE_BYTES];
    struct content content;
    for (int i = 0; i < ATTEMPTS; i++) {
        *rendezvous = (struct ss_clock_rendezvous){.port = port};
        if (!make_secret(rendezvous->secret)) {
            return ss_fail_errno(err, errno, "no random numbers for a secret");
        }
        int code = claim(path, own, rendezvous);
        if (code == 0) {
            rendezvous->role = SS_RENDEZVOUS_ANSWER;
            return SS_OK;
        }
        if (code != EEXIST) {
            return ss_fail_errno(err, code, "%s", path);
        }
        if (access(path, F_OK) != 0) {
            continue; /* it has just ended */
        }
        SS_TRY(read_file(path, text, err));
        return parse(text, &content)
                   ? ask(path, &content, own, rendezvous, err)
                   : ss_fail(err, SS_E_FORMAT, "%s: it is not what a recorder wrote: remove it",
                             path);
    }
    return ss_fail(err, SS_E_IO, "%s: recorders come and go too fast", path);
}

enum ss_status ss_clock_rendezvous_join(const char *folder,
                                        const struct ss_record_clock_domain *own, unsigned port,
                                        struct ss_clock_rendezvous *rendezvous,
                                        struct ss_error *err)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/%s", folder, file_name);
    enum ss_status status = join(path.data, own, port, rendezvous, err);
    ss_strbuf_fini(&path);
    return status;
}

void ss_clock_rendezvous_end(struct ss_clock_rendezvous *rendezvous)
{
    if (rendezvous->path != NULL) {
        unlink(rendezvous->path);
        ss_free(rendezvous->path);
        rendezvous->path = NULL;
    }
}
