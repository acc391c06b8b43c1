/* SPDX-License-Identifier: Apache-2.0 */
/*
 * itt_life WHAT [COUNT]: a program that speaks ITT and knows nothing of stepscope, for the tests.
 * Without a collector it does the same and nothing is called.
 */
#include <float.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakes/itt_part.h"

enum { MOST_THREADS = 256 };

static struct itt_part part;
static const struct ss_itt_id no_id;
static int count;

/* ITT's macros: a NULL is not called. */
#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        if (ITT(&part, name) != NULL) {                                                            \
            ITT(&part, name)(__VA_ARGS__);                                                         \
        }                                                                                          \
    } while (0)
#define MAKE(name, ...) (ITT(&part, name) != NULL ? ITT(&part, name)(__VA_ARGS__) : NULL)

static void pairs(struct ss_itt_domain *domain, struct ss_itt_string *name)
{
    for (int i = 0; i < count; i++) {
        CALL(task_begin, domain, no_id, no_id, name);
        CALL(task_end, domain);
    }
}

static void *thread_main(void *argument)
{
    char text[32];
    snprintf(text, sizeof text, "worker %d", (int)(intptr_t)argument);
    CALL(thread_set_name, text);
    pairs(MAKE(domain_create, "threads"), MAKE(string_handle_create, "pair"));
    return NULL;
}

static int in_threads(void)
{
    pthread_t threads[MOST_THREADS];
    for (intptr_t i = 0; i < MOST_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, thread_main, (void *)i) != 0) {
            return 1;
        }
        if (i % 16 == 15) { /* so that rings are reused */
            for (intptr_t j = i - 15; j <= i; j++) {
                pthread_join(threads[j], NULL);
            }
        }
    }
    return 0;
}

static void tasks(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "my domain");
    struct ss_itt_domain *other = MAKE(domain_create, "another");
    struct ss_itt_id one = {1, 2, 3}, two = {4, 5, 6};
    CALL(task_begin, domain, no_id, no_id, MAKE(string_handle_create, "outer"));
    CALL(task_begin, other, no_id, no_id, MAKE(string_handle_create, "elsewhere"));
    CALL(task_begin, domain, one, no_id, MAKE(string_handle_create, "inner"));
    CALL(metadata_add, domain, no_id, MAKE(string_handle_create, "half"), SS_ITT_DOUBLE, 1,
         &(double){0.5});
    CALL(metadata_add, domain, no_id, MAKE(string_handle_create, "shape"), SS_ITT_S32, 3,
         (int32_t[]){2, -3, 4});
    CALL(metadata_str_add, domain, no_id, MAKE(string_handle_create, "text"), "words and more", 5);
    CALL(formatted_metadata_add, domain, MAKE(string_handle_create, "%s=%d"), "width", 7);
    CALL(task_end, domain);
    CALL(task_end, domain); /* "outer", around a task of another domain that continues */
    CALL(task_begin_fn, domain, two, one, (void *)pthread_create);
    CALL(relation_add_to_current, domain, 1, one);
    CALL(task_end, domain);
    CALL(task_end, other);
    CALL(marker, domain, no_id, MAKE(string_handle_create, "a marker"), 3);
}

static void overlapping(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "my domain");
    struct ss_itt_id one = {1, 0, 0}, two = {2, 0, 0};
    CALL(task_begin_overlapped, domain, one, no_id, MAKE(string_handle_create, "first"));
    CALL(task_begin_overlapped, domain, two, one, MAKE(string_handle_create, "second"));
    CALL(region_begin, domain, one, no_id, MAKE(string_handle_create, "region"));
    CALL(task_end_overlapped, domain, one);
    CALL(region_end, domain, one);
    CALL(task_end_overlapped, domain, two);
    int event = ITT(&part, event_create) != NULL ? ITT(&part, event_create)("an event", 8) : 0;
    CALL(event_start, event);
    CALL(event_end, event);
}

static void frames(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "frames");
    for (int i = 0; i < 3; i++) {
        CALL(frame_begin_v3, domain, NULL);
        CALL(frame_begin_v3, domain, NULL); /* says nothing */
        CALL(frame_end_v3, domain, NULL);
        CALL(frame_end_v3, domain, NULL);
    }
    unsigned long long begin = ITT(&part, get_timestamp) != NULL ? ITT(&part, get_timestamp)() : 0;
    usleep(2000);
    unsigned long long end = ITT(&part, get_timestamp) != NULL ? ITT(&part, get_timestamp)() : 0;
    pairs(domain, MAKE(string_handle_create, "later"));
    CALL(frame_submit_v3, MAKE(domain_create, "submitted"), NULL, begin, end);
    struct ss_itt_domain *old = MAKE(frame_create, "old frames");
    CALL(frame_begin, old);
    CALL(frame_end, old);
}

static void counters(void)
{
    void *bytes = MAKE(counter_create, "bytes", "my domain");
    CALL(counter_inc, bytes);
    CALL(counter_inc_delta, bytes, 10);
    CALL(counter_dec, bytes);
    CALL(counter_set_value, bytes, &(uint64_t){UINT64_MAX});
    void *load = MAKE(counter_create_typed, "load", NULL, SS_ITT_DOUBLE);
    CALL(counter_set_value, load, &(double){0.25});
    CALL(counter_inc_delta, load, 2);
    CALL(counter_inc, &part.early_counter);
    CALL(counter_set_value, &part.early_counter, &(int32_t){-5});
    struct ss_itt_domain *domain = MAKE(domain_create, "v3");
    struct ss_itt_string *name = MAKE(string_handle_create, "steps");
    CALL(counter_dec_v3, domain, name);
    CALL(counter_inc_delta_v3, domain, name, 5);
}

static void early(void)
{
    CALL(task_begin, &part.early_domain, no_id, no_id, &part.early_string);
    CALL(task_end, &part.early_domain);
}

static void one(struct ss_itt_domain *domain, const char *name)
{
    CALL(task_begin, domain, no_id, no_id, MAKE(string_handle_create, name));
}

static void pauses(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "my domain");
    struct ss_itt_id id = {7, 7, 7};
    one(domain, "around");
    CALL(pause, );
    CALL(pause, );
    one(domain, "left out");
    CALL(marker, domain, no_id, MAKE(string_handle_create, "left out"), 0);
    CALL(task_begin_overlapped, domain, id, no_id, MAKE(string_handle_create, "left out"));
    CALL(resume, );
    one(domain, "within what was left out");
    CALL(task_end, domain);
    CALL(task_end, domain);
    CALL(task_end_overlapped, domain, id);
    CALL(pause_scoped, 2); /* not of the host */
    one(domain, "after");
    CALL(task_end, domain);
    CALL(pause, );
    CALL(task_end, domain); /* of "around" */
    CALL(resume_scoped, 1);
}

/* Arguments of a careless program. */
static void nonsense(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "my domain");
    char *huge = malloc(1 << 20);
    memset(huge, 'x', (1 << 20) - 1);
    huge[(1 << 20) - 1] = '\0';
    CALL(task_end, domain);
    CALL(task_end, NULL);
    CALL(task_begin, NULL, no_id, no_id, NULL);
    CALL(task_end, NULL);
    CALL(task_begin_fn, domain, no_id, no_id, NULL);
    CALL(task_end, domain);
    CALL(task_begin_fn, domain, no_id, no_id, (void *)huge);
    CALL(task_end, domain);
    one(domain, huge);
    one(domain, "");
    one(domain, "\xff\xfe not UTF-8 \x01");
    CALL(task_end, domain);
    CALL(task_end, domain);
    CALL(task_end, domain);
    CALL(domain_create, NULL);
    CALL(domain_create, "");
    CALL(domain_create, huge);
    CALL(string_handle_create, NULL);
    CALL(metadata_add, domain, no_id, NULL, 99, 1, huge);
    CALL(metadata_add, domain, no_id, NULL, SS_ITT_U64, 1000, huge);
    CALL(metadata_add, domain, no_id, NULL, SS_ITT_U16, 1, huge + 1);
    CALL(metadata_add, domain, no_id, NULL, SS_ITT_DOUBLE, 30, (double[30]){-DBL_MAX, DBL_MIN});
    CALL(metadata_add, domain, no_id, NULL, SS_ITT_U64, 1, NULL);
    CALL(metadata_str_add, domain, no_id, NULL, huge, (size_t)-1);
    CALL(metadata_str_add, domain, no_id, NULL, NULL, 5);
    CALL(formatted_metadata_add, domain, NULL);
    CALL(formatted_metadata_add, domain, MAKE(string_handle_create, "%s"), huge);
    CALL(counter_inc, NULL);
    CALL(counter_set_value, MAKE(counter_create, "c", ""), NULL);
    CALL(counter_create, NULL, NULL);
    CALL(counter_create_typed, huge, huge, 77);
    CALL(counter_inc_v3, NULL, NULL);
    CALL(frame_submit_v3, domain, NULL, UINT64_MAX, 5);
    CALL(frame_submit_v3, NULL, NULL, 5, UINT64_MAX);
    CALL(frame_end_v3, NULL, NULL);
    CALL(event_start, -7);
    CALL(event_end, 1 << 30);
    CALL(event_create, "short", -1);
    CALL(mark, -1, huge);
    CALL(thread_set_name, NULL);
    CALL(thread_set_name, huge);
    CALL(relation_add, domain, no_id, 99, no_id);
    free(huge);
}

static void many_names(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "my domain");
    for (int i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "text number %d", i);
        CALL(metadata_str_add, domain, no_id, NULL, text, 0);
    }
    one(domain, "still a name of its own");
    CALL(task_end, domain);
}

static int forks(void)
{
    struct ss_itt_domain *domain = MAKE(domain_create, "my domain");
    one(domain, "parent");
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            char name[32];
            snprintf(name, sizeof name, "child %d", i);
            one(domain, name);
            CALL(task_end, domain);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid) {
            return 1;
        }
    }
    CALL(task_end, domain);
    return 0;
}

/* Several libraries with a copy of ITT each, one of them loaded again. */
static void copies(const char *library)
{
    static struct itt_part parts[3];
    for (int i = 0; i < 4; i++) {
        struct itt_part *mine = &parts[i % 3];
        if (i < 3) {
            itt_part_init(mine);
        }
        itt_part_connect(mine, library);
        struct ss_itt_domain *domain = ITT(mine, domain_create)("copies");
        ITT(mine, task_begin)(domain, no_id, no_id, &mine->early_string);
        ITT(mine, task_end)(&mine->early_domain); /* not this one's */
        ITT(mine, task_end)(domain);
    }
}

/* As before there was __itt_api_init. */
static void oldest(void)
{
    void *library = dlopen(getenv("INTEL_LIBITTNOTIFY64"), RTLD_LAZY);
    if (library == NULL || dlsym(library, "__itt_api_version") == NULL) {
        return;
    }
    part.pointers[ITT_domain_create] = dlsym(library, "__itt_domain_create");
    part.pointers[ITT_string_handle_create] = dlsym(library, "__itt_string_handle_create");
    part.pointers[ITT_task_begin] = dlsym(library, "__itt_task_begin");
    part.pointers[ITT_task_end] = dlsym(library, "__itt_task_end");
    struct ss_itt_domain *domain = MAKE(domain_create, "old domain");
    one(domain, "old task");
    CALL(task_end, domain);
}

static bool is_filled(const struct itt_part *mine)
{
    return mine->pointers[ITT_task_begin] != NULL;
}

/* What is no copy of ITT that the collector knows stays as it is. */
static int strangers(const char *library)
{
    static struct itt_part mine;
    static struct ss_itt_function none[1];
    for (int i = 0; i < 5; i++) {
        itt_part_init(&mine);
        mine.global.magic[0] ^= i == 0;
        mine.global.version_major += i == 1;
        mine.global.functions = i == 2 ? NULL : i == 3 ? none : mine.functions;
        mine.functions[0].otherwise = i == 4 ? NULL : mine.functions[0].otherwise;
        itt_part_connect(&mine, library);
        if (is_filled(&mine)) {
            return 10 + i;
        }
    }
    itt_part_init(&mine);
    for (int i = 0; i < ITT_COUNT; i++) {
        mine.functions[i].group = 0x1000;
    }
    mine.functions[ITT_counter_inc].group = 0x100;
    itt_init init = NULL;
    *(void **)&init = dlsym(dlopen(library, RTLD_LAZY), "__itt_api_init");
    init(NULL, -1);
    init(&mine.global, 0x100); /* of one group only */
    if (is_filled(&mine) || mine.pointers[ITT_counter_inc] == NULL) {
        return 20;
    }
    memset(mine.pointers, 0, sizeof mine.pointers); /* as __itt_fini_ittlib does */
    init(&mine.global, -1);
    return is_filled(&mine) ? 0 : 21;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *library = getenv("INTEL_LIBITTNOTIFY64");
    count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    itt_part_init(&part);
    const char *why = itt_part_connect(&part, library);
    if (why != NULL) {
        fprintf(stderr, "itt_life: %s\n", why);
    } else if (ITT(&part, task_begin) == NULL || part.pointers[ITT_sync_acquired] != NULL ||
               part.pointers[ITT_invented] != NULL) {
        return 1;
    }
    static const struct {
        const char *name;
        void (*play)(void);
    } plays[] = {{"tasks", tasks},       {"overlapping", overlapping},
                 {"frames", frames},     {"counters", counters},
                 {"early", early},       {"pauses", pauses},
                 {"nonsense", nonsense}, {"names", many_names},
                 {"oldest", oldest}};
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        if (strcmp(plays[i].name, what) == 0) {
            plays[i].play();
            return 0;
        }
    }
    if (strcmp(what, "secure") == 0) {
        puts(getauxval(AT_SECURE) != 0 ? "secure" : "ordinary");
        what = "pairs";
    }
    if (strcmp(what, "pairs") == 0) {
        pairs(MAKE(domain_create, "my domain"), MAKE(string_handle_create, "pair"));
    } else if (strcmp(what, "threads") == 0) {
        return in_threads();
    } else if (strcmp(what, "forks") == 0) {
        return forks();
    } else if (strcmp(what, "strangers") == 0 && why == NULL) {
        return strangers(library);
    } else if (strcmp(what, "copies") == 0 && why == NULL) {
        copies(library);
    } else {
        return 2;
    }
    return 0;
}
