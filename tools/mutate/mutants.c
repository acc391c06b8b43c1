/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mutants.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned char ss_mutant_on[SS_MUTANTS_MAX];
unsigned char *ss_mutant_reached;

static void read_numbers(const char *text)
{
    while (text && *text) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || number < 0 || number >= SS_MUTANTS_MAX) {
            abort();
        }
        ss_mutant_on[number] = 1;
        text = *end == ',' ? end + 1 : end;
    }
}

static void map_reached(const char *path)
{
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *bytes = mmap(NULL, SS_MUTANTS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ss_mutant_reached = bytes == MAP_FAILED ? NULL : bytes;
        close(file);
    }
}

__attribute__((constructor(101))) static void read_environment(void)
{
    read_numbers(getenv("STEPSCOPE_MUTANT"));
    map_reached(getenv("STEPSCOPE_MUTANTS_REACHED"));
}
