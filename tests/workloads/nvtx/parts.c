/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that load shared objects with NVTX and call them at once: parts ROUNDS FILE… */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t together;
static int rounds;

static void *run(void *path)
{
    void *part = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (part == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void (*work)(const char *, int);
    *(void **)&work = dlsym(part, "work");
    pthread_barrier_wait(&together);
    work(path, rounds);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    int count = argc - 2;
    if (count < 1 || count > 16) {
        return 2;
    }
    rounds = atoi(argv[1]);
    pthread_barrier_init(&together, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, run, argv[2 + i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
