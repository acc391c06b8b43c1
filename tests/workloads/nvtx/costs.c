/* SPDX-License-Identifier: Apache-2.0 */
/* What NVTX's calls cost this program, in ns: one line "name value" for each. The fastest of many
 * short runs, less the loop. Compiled by tests/bench/bench_nvtx.sh with NVTX's headers. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LOOPS = 20000, RUNS = 200 };

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t event;

static void nothing(void)
{
    for (int i = 0; i < LOOPS; i++) {
        __asm__ volatile("" : : : "memory");
    }
}

static void pair_of_texts(void)
{
    for (int i = 0; i < LOOPS; i++) {
        nvtxRangePushA("forward");
        __asm__ volatile("" : : : "memory");
        nvtxRangePop();
    }
}

static void pair_of_registered(void)
{
    for (int i = 0; i < LOOPS; i++) {
        nvtxDomainRangePushEx(domain, &event);
        __asm__ volatile("" : : : "memory");
        nvtxDomainRangePop(domain);
    }
}

static void pair_with_colour(void)
{
    nvtxEventAttributes_t styled = event;
    styled.colorType = NVTX_COLOR_ARGB;
    styled.color = 0xff00ff00;
    styled.category = 3;
    for (int i = 0; i < LOOPS; i++) {
        nvtxDomainRangePushEx(domain, &styled);
        __asm__ volatile("" : : : "memory");
        nvtxDomainRangePop(domain);
    }
}

static void mark(void)
{
    for (int i = 0; i < LOOPS; i++) {
        nvtxMarkA("forward");
    }
}

static void clocks(void)
{
    for (int i = 0; i < LOOPS; i++) {
#if defined(__x86_64__)
        __asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()) : "memory");
        __asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()) : "memory");
#endif
    }
}

static double once(void (*work)(void))
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    work();
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / LOOPS;
}

static void print_cost(const char *name, void (*work)(void))
{
    double least = 1e9, empty = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double without = once(nothing), with = once(work);
        empty = without < empty ? without : empty;
        least = with < least ? with : least;
    }
    printf("%s %.2f\n", name, least - empty);
}

int main(void)
{
    domain = nvtxDomainCreateA("costs");
    memset(&event, 0, sizeof event);
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "forward");
    print_cost("texts", pair_of_texts);
    print_cost("registered", pair_of_registered);
    print_cost("coloured", pair_with_colour);
    print_cost("mark", mark);
    print_cost("clocks", clocks);
    return 0;
}
