/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_buckets.h"

#include <pthread.h>

#include "inject/torch/torch.h"

enum { MOST_BUCKETS = 16384, MOST_REDUCERS = 256, BUCKET_ARGUMENTS = 5 };
/* Threads of a group may begin calls in another order than the reducer started them. */
enum { MOST_AHEAD = 4 };

/* Numbered from 1; 0: none. */
struct bucket {
    struct ss_torch_bucket is;
    uint32_t next;     /* of its reducer, or free */
    uint64_t taken_in; /* the last backward in which it was all-reduced */
};

struct reducer {
    uint32_t group; /* 0: not in use */
    uint32_t first, last;
    uint32_t pending;  /* the first one that is not all-reduced in this backward; 0: all are */
    uint64_t backward; /* number of the current one */
    bool is_unknown;   /* its buckets are not known in this backward: any all-reduce may be its */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bucket buckets[MOST_BUCKETS + 1];
static uint32_t bucket_count, free_bucket;
static struct reducer reducers[MOST_REDUCERS];
static uint32_t reducer_count;

/* --- all-reduces ------------------------------------------------------------------------------ */

/* What a call with this many elements would transfer of a reducer; 0: nothing. */
static uint32_t candidate_of(const struct reducer *reducer, int64_t elements, uint32_t ahead)
{
    uint32_t at = reducer->pending;
    for (uint32_t i = 0; i <= ahead && at != 0; at = buckets[at].next) {
        if (buckets[at].taken_in == reducer->backward) {
            continue;
        }
        if (elements < 0 || buckets[at].is.elements == elements) {
            return at;
        }
        i++;
    }
    return 0;
}

/* The only reducer that has a candidate, or of those the only one that is under way. Otherwise none
 * of them is certain any more. */
static struct reducer *reducer_of(uint32_t group, int64_t elements, uint32_t ahead, bool *is_any)
{
    struct reducer *found[MOST_REDUCERS], *begun = NULL;
    uint32_t count = 0, begun_count = 0;
    bool is_uncertain = false;
    for (uint32_t i = 0; i < reducer_count; i++) {
        struct reducer *reducer = &reducers[i];
        is_uncertain = is_uncertain || (reducer->group == group && reducer->is_unknown);
        if (reducer->group == group && candidate_of(reducer, elements, ahead) != 0) {
            found[count++] = reducer;
            if (reducer->pending != reducer->first) {
                begun = reducer;
                begun_count++;
            }
        }
    }
    *is_any = count > 0;
    if (!is_uncertain && (count == 1 || begun_count == 1)) {
        return count == 1 ? found[0] : begun;
    }
    for (uint32_t i = 0; i < count; i++) {
        found[i]->pending = 0;
    }
    return NULL;
}

static void take(struct reducer *reducer, uint32_t bucket)
{
    buckets[bucket].taken_in = reducer->backward;
    while (reducer->pending != 0 && buckets[reducer->pending].taken_in == reducer->backward) {
        reducer->pending = buckets[reducer->pending].next;
    }
}

bool ss_torch_bucket_next(uint32_t group, int64_t elements, struct ss_torch_bucket *bucket)
{
    pthread_mutex_lock(&lock);
    bool is_any = false;
    uint32_t ahead = 0;
    struct reducer *reducer = reducer_of(group, elements, ahead, &is_any);
    if (!is_any) {
        ahead = MOST_AHEAD;
        reducer = reducer_of(group, elements, ahead, &is_any);
    }
    if (reducer != NULL) {
        uint32_t found = candidate_of(reducer, elements, ahead);
        *bucket = buckets[found].is;
        take(reducer, found);
    }
    pthread_mutex_unlock(&lock);
    return reducer != NULL;
}

/* --- functions of the hooks ------------------------------------------------------------------- */

static void clear(struct reducer *reducer)
{
    if (reducer->last != 0) {
        buckets[reducer->last].next = free_bucket;
        free_bucket = reducer->first;
    }
    reducer->first = reducer->last = reducer->pending = 0;
}

static struct reducer *reducer_numbered(int64_t number)
{
    bool is_one = number > 0 && number <= (int64_t)reducer_count;
    return is_one && reducers[number - 1].group != 0 ? &reducers[number - 1] : NULL;
}

/* number of a group → number; 0: too many */
static ss_python_object *make_reducer(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    int64_t group = ss_python.PyLong_AsLongLong(argument);
    uint32_t at = 0;
    if (group <= 0 || group > UINT32_MAX) {
        return ss_python.PyErr_Occurred() != NULL ? NULL : ss_python.PyLong_FromLongLong(0);
    }
    pthread_mutex_lock(&lock);
    while (at < reducer_count && reducers[at].group != 0) {
        at++;
    }
    if (at < MOST_REDUCERS) {
        reducers[at].group = (uint32_t)group;
        reducer_count = at + 1 > reducer_count ? at + 1 : reducer_count;
    }
    pthread_mutex_unlock(&lock);
    return ss_python.PyLong_FromLongLong(at < MOST_REDUCERS ? at + 1 : 0);
}

static uint32_t new_bucket(void)
{
    uint32_t bucket = free_bucket;
    if (bucket != 0) {
        free_bucket = buckets[bucket].next;
    } else if (bucket_count < MOST_BUCKETS) {
        bucket = ++bucket_count;
    }
    return bucket;
}

/* Appends. A reducer that does not fit has none: their order would be wrong. */
static bool add(struct reducer *reducer, struct ss_torch_bucket is)
{
    uint32_t bucket = new_bucket();
    if (bucket == 0) {
        clear(reducer);
        return false;
    }
    buckets[bucket] = (struct bucket){.is = is};
    if (reducer->last != 0) {
        buckets[reducer->last].next = bucket;
    } else {
        reducer->first = bucket;
    }
    reducer->last = bucket;
    return true;
}

/* reducer, a name of what it has, elements, bytes (-1: unknown), a name of the datatype (0:
 * unknown) → whether it fits */
static ss_python_object *add_bucket(ss_python_object *self, ss_python_object *const *args,
                                    ptrdiff_t count)
{
    (void)self;
    int64_t numbers[BUCKET_ARGUMENTS];
    if (!ss_torch_has_arguments(count, BUCKET_ARGUMENTS)) {
        return NULL;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        numbers[i] = ss_python.PyLong_AsLongLong(args[i]);
    }
    if (ss_python.PyErr_Occurred() != NULL) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct reducer *reducer = reducer_numbered(numbers[0]);
    bool is_added =
        reducer != NULL &&
        add(reducer, (struct ss_torch_bucket){(uint32_t)numbers[1], (uint32_t)numbers[4],
                                              numbers[2], numbers[3]});
    pthread_mutex_unlock(&lock);
    return ss_python.PyLong_FromLongLong(is_added);
}

/* Calls a function with the reducer of this number, if there is one. */
static ss_python_object *with_reducer(ss_python_object *number, void (*act)(struct reducer *))
{
    int64_t of = ss_python.PyLong_AsLongLong(number);
    if (of < 0 && ss_python.PyErr_Occurred() != NULL) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct reducer *reducer = reducer_numbered(of);
    if (reducer != NULL) {
        act(reducer);
    }
    pthread_mutex_unlock(&lock);
    return ss_python_none();
}

static void drop(struct reducer *reducer)
{
    clear(reducer);
    reducer->is_unknown = false;
    reducer->group = 0;
}

static void begin(struct reducer *reducer)
{
    reducer->backward++;
    reducer->pending = reducer->first;
    reducer->is_unknown = reducer->first == 0;
}

/* reducer: its buckets are no longer known */
static ss_python_object *clear_reducer(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return with_reducer(argument, clear);
}

/* reducer: it is deleted */
static ss_python_object *drop_reducer(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return with_reducer(argument, drop);
}

/* reducer: a backward follows, in which it starts all of its buckets */
static ss_python_object *begin_reducer(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    return with_reducer(argument, begin);
}

/* In a forked child: a thread that it does not have may have held the lock. */
static ss_python_object *renew_reducers(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    (void)argument;
    pthread_mutex_init(&lock, NULL);
    for (uint32_t i = 0; i < reducer_count; i++) {
        reducers[i].pending = 0;
        reducers[i].is_unknown = false;
    }
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"make_reducer", {.one = make_reducer}, SS_PYTHON_ONE},
    {"add_bucket", {add_bucket}, SS_PYTHON_FASTCALL},
    {"clear_reducer", {.one = clear_reducer}, SS_PYTHON_ONE},
    {"drop_reducer", {.one = drop_reducer}, SS_PYTHON_ONE},
    {"begin_reducer", {.one = begin_reducer}, SS_PYTHON_ONE},
    {"renew_reducers", {.one = renew_reducers}, SS_PYTHON_NONE},
};

bool ss_torch_add_bucket_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
