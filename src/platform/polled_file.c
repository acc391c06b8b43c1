/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/polled_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

int ss_polled_file_open(struct ss_polled_file *file, const char *folder, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    file->fd = -1;
    if (length < 0 || (size_t)length >= sizeof path) {
        return ENAMETOOLONG;
    }
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return file->fd >= 0 ? 0 : errno;
}

void ss_polled_file_close(struct ss_polled_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
}

/* The kernel returns files that list items (interfaces, disks) in reads of as many whole lines as
 * fit into a page, all others in one read: content shorter than half a page is complete. */
enum { COMPLETE_BELOW_BYTES = 2048 };

bool ss_polled_file_read(const struct ss_polled_file *file, char *buffer, size_t size,
                         struct ss_strview *text)
{
    size_t used = 0;
    while (file->fd >= 0 && used < size) {
        ssize_t got = pread(file->fd, buffer + used, size - used, (off_t)used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            used = 0; /* a partial file would look like counters that decreased */
        }
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
        if (used < COMPLETE_BELOW_BYTES) {
            break;
        }
    }
    *text = (struct ss_strview){buffer, used};
    return used > 0;
}
