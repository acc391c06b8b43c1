/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Linux before 3.17 has no getrandom(2), and C libraries before glibc 2.25 no function for it. */
static bool read_device(unsigned char *bytes, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    size_t filled = 0;
    while (fd >= 0 && filled < size) {
        ssize_t count = read(fd, bytes + filled, size - filled);
        if (count > 0) {
            filled += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            break;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return filled == size;
}

bool ss_random_bytes(void *bytes, size_t size)
{
    size_t filled = 0;
    while (filled < size) {
        long count = syscall(SYS_getrandom, (unsigned char *)bytes + filled, size - filled, 0);
        if (count > 0) {
            filled += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            return read_device(bytes, size);
        }
    }
    return true;
}
