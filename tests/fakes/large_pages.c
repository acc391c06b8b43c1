/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: files are mapped as by a kernel with pages of 64 KiB, whose offsets must be multiples
 * of them. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/types.h>

enum { PAGE_BYTES = 65536 };

typedef void *mapper(void *, size_t, int, int, int, off_t);

static void *map(const char *name, void *address, size_t length, int protection, int flags, int fd,
                 off_t offset)
{
    if ((flags & MAP_ANONYMOUS) == 0 && offset % PAGE_BYTES != 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    mapper *next = (mapper *)dlsym(RTLD_NEXT, name);
    return next(address, length, protection, flags, fd, offset);
}

__attribute__((visibility("default"))) void *mmap(void *address, size_t length, int protection,
                                                  int flags, int fd, off_t offset)
{
    return map("mmap", address, length, protection, flags, fd, offset);
}

__attribute__((visibility("default"))) void *mmap64(void *address, size_t length, int protection,
                                                    int flags, int fd, off_t offset)
{
    return map("mmap64", address, length, protection, flags, fd, offset);
}
