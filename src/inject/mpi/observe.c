/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observes one ABI of MPI: compiled with its headers, once for each that the build finds, and
 * loaded by mpi.so into processes of that ABI (mpi-mpich.so, mpi-openmpi.so). It is linked with no
 * MPI: the process has one. Its own calls of MPI are local, and never communicate.
 */
#include <stdbool.h>
#include <string.h>

#include "inject/mpi/observe_wrappers.inc"

const struct ss_mpi_recorder *ss_mpi_recorder;
uint64_t ss_mpi_null_request;
_Thread_local int ss_mpi_is_inside;
_Atomic int ss_mpi_stage;

/* --- what this file itself calls -------------------------------------------------------------- */

#define OWN_CALLS(row)                                                                             \
    row(Initialized) row(Comm_test_inter) row(Comm_size) row(Comm_rank) row(Comm_group)            \
        row(Group_translate_ranks) row(Group_free) row(Type_size_x) row(Type_get_name)             \
            row(Type_get_envelope) row(Get_library_version) row(Query_thread)

#define DECLARE(name) __typeof__(&PMPI_##name) name;
static struct {
    OWN_CALLS(DECLARE)
} own;

#define FIND(name)                                                                                 \
    *(void **)&own.name = find("PMPI_" #name);                                                     \
    is_complete = is_complete && own.name != NULL;

static MPI_Comm comm_world, comm_null;
static MPI_Datatype null_type;

/* The constants of Open MPI are addresses in its library; in MPICH they are numbers. */
static bool find_constants(void *(*find)(const char *name))
{
#ifdef OPEN_MPI
    comm_world = (MPI_Comm)find("ompi_mpi_comm_world");
    comm_null = (MPI_Comm)find("ompi_mpi_comm_null");
    null_type = (MPI_Datatype)find("ompi_mpi_datatype_null");
    ss_mpi_null_request = KEY(find("ompi_request_null"));
    return comm_world != NULL && comm_null != NULL && ss_mpi_null_request != 0;
#else
    (void)find;
    comm_world = MPI_COMM_WORLD;
    comm_null = MPI_COMM_NULL;
    null_type = MPI_DATATYPE_NULL;
    ss_mpi_null_request = KEY(MPI_REQUEST_NULL);
    return true;
#endif
}

static bool find_own_calls(void *(*find)(const char *name))
{
    bool is_complete = true;
    OWN_CALLS(FIND)
    return is_complete && find_constants(find);
}

/* --- datatypes -------------------------------------------------------------------------------- */

enum { TYPE_SLOTS = 512, LONGEST_TYPE = 24 };

struct type {
    _Atomic uint64_t key; /* publishes the rest */
    int64_t size;
    uint32_t name;
};

/* Only predefined types: their handles are never freed. */
static struct type known_types[TYPE_SLOTS];
static atomic_flag types_lock = ATOMIC_FLAG_INIT;

/* As the other collectives of a recording call them. */
static const char *known_name(const char *name)
{
    static const char *const names[][2] = {{"MPI_FLOAT", "float32"},
                                           {"MPI_DOUBLE", "float64"},
                                           {"MPI_C_FLOAT_COMPLEX", "complex64"},
                                           {"MPI_C_DOUBLE_COMPLEX", "complex128"},
                                           {"MPI_SIGNED_CHAR", "int8"},
                                           {"MPI_INT8_T", "int8"},
                                           {"MPI_SHORT", "int16"},
                                           {"MPI_INT16_T", "int16"},
                                           {"MPI_INT", "int32"},
                                           {"MPI_INT32_T", "int32"},
                                           {"MPI_LONG_LONG", "int64"},
                                           {"MPI_LONG_LONG_INT", "int64"},
                                           {"MPI_INT64_T", "int64"},
                                           {"MPI_UNSIGNED_CHAR", "uint8"},
                                           {"MPI_UINT8_T", "uint8"},
                                           {"MPI_UNSIGNED_SHORT", "uint16"},
                                           {"MPI_UINT16_T", "uint16"},
                                           {"MPI_UNSIGNED", "uint32"},
                                           {"MPI_UINT32_T", "uint32"},
                                           {"MPI_UNSIGNED_LONG_LONG", "uint64"},
                                           {"MPI_UINT64_T", "uint64"},
                                           {"MPI_C_BOOL", "bool"},
                                           {"MPI_BYTE", "byte"},
                                           {"MPI_CHAR", "char"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

static uint32_t define_type(MPI_Datatype type, int64_t size)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int length = 0;
    own.Type_get_name(type, name, &length);
    const char *known = known_name(name);
    bool is_long = strcmp(name, "MPI_LONG") == 0,
         is_unsigned = strcmp(name, "MPI_UNSIGNED_LONG") == 0;
    if (is_long || is_unsigned) {
        known = size == 8 ? (is_long ? "int64" : "uint64") : is_long ? "int32" : "uint32";
    }
    if (known == NULL && name[0] == '\0') {
        return 0;
    }
    return ss_mpi_recorder->define(known != NULL ? known : name);
}

/* The place of the type, or the free one that it would have. */
static struct type *place_of(uint64_t key)
{
    size_t first = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TYPE_SLOTS;
    for (size_t i = 0; i < TYPE_SLOTS; i++) {
        struct type *type = &known_types[(first + i) % TYPE_SLOTS];
        uint64_t here = atomic_load_explicit(&type->key, memory_order_acquire);
        if (here == key || here == 0) {
            return type;
        }
    }
    return NULL;
}

static bool is_predefined(MPI_Datatype type)
{
    int integers = 0, addresses = 0, parts = 0, combiner = 0;
    return own.Type_get_envelope(type, &integers, &addresses, &parts, &combiner) == MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

/* Returns the name. */
static uint32_t add_type(MPI_Datatype type, int64_t size)
{
    uint32_t name = define_type(type, size);
    if (atomic_flag_test_and_set_explicit(&types_lock, memory_order_acquire)) {
        return name; /* another thread adds one: the next call tries again */
    }
    struct type *place = place_of(KEY(type));
    if (place != NULL && atomic_load_explicit(&place->key, memory_order_relaxed) == 0) {
        place->size = size;
        place->name = name;
        atomic_store_explicit(&place->key, KEY(type), memory_order_release);
    }
    atomic_flag_clear_explicit(&types_lock, memory_order_release);
    return name;
}

/* The size of an element, and the name of its type (0: it is the program's own). */
static int64_t element_of(MPI_Datatype type, uint32_t *name)
{
    const struct type *known = place_of(KEY(type));
    MPI_Count size = MPI_UNDEFINED;
    *name = 0;
    if (type == null_type) {
        return -1;
    }
    if (known != NULL && atomic_load_explicit(&known->key, memory_order_acquire) == KEY(type)) {
        *name = known->name;
        return known->size;
    }
    if (own.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) {
        return -1;
    }
    if (is_predefined(type)) {
        *name = add_type(type, (int64_t)size);
    }
    return (int64_t)size;
}

static int64_t product_of(int64_t count, int64_t size)
{
    return count < 0 || size < 0 || (size > 0 && count > INT64_MAX / size) ? -1 : count * size;
}

int64_t ss_mpi_bytes_of(int64_t count, MPI_Datatype type)
{
    uint32_t name;
    return count <= 0 ? count : product_of(count, element_of(type, &name));
}

/* --- communicators ---------------------------------------------------------------------------- */

/* NULL: the communicator connects two groups, or has ranks of another world. */
static const int *world_ranks_of(MPI_Comm comm, int size, int *lists)
{
    MPI_Group world, group;
    int is_inter = 0, *ranks = lists, *found = lists + size;
    if (own.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter ||
        own.Comm_group(comm_world, &world) != MPI_SUCCESS) {
        return NULL;
    }
    bool is_known = own.Comm_group(comm, &group) == MPI_SUCCESS;
    if (is_known) {
        for (int i = 0; i < size; i++) {
            ranks[i] = i;
        }
        is_known = own.Group_translate_ranks(group, size, ranks, world, found) == MPI_SUCCESS;
        own.Group_free(&group);
    }
    own.Group_free(&world);
    for (int i = 0; i < size && is_known; i++) {
        is_known = found[i] >= 0;
    }
    return is_known ? found : NULL;
}

static struct ss_mpi_group *add_group(MPI_Comm comm)
{
    int size = 0;
    struct ss_mpi_group *group = NULL;
    if (comm == comm_null || own.Comm_size(comm, &size) != MPI_SUCCESS || size <= 0) {
        return NULL;
    }
    int *lists = ss_mpi_recorder->lock_ranks((uint32_t)size);
    if (lists != NULL) {
        const int *ranks = world_ranks_of(comm, size, lists);
        group = ss_mpi_recorder->add_group(KEY(comm), ranks, (uint32_t)size, comm == comm_world);
        ss_mpi_recorder->unlock_ranks();
    }
    return group;
}

struct ss_mpi_group *ss_mpi_group_of(MPI_Comm comm)
{
    struct ss_mpi_group *group = ss_mpi_recorder->find_group(KEY(comm));
    return __builtin_expect(group != NULL, 1) ? group : add_group(comm);
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct ss_mpi_call call_of(MPI_Comm comm, int64_t count, MPI_Datatype type, int rank)
{
    struct ss_mpi_call call = {.group = ss_mpi_group_of(comm), .bytes = -1, .rank = rank};
    /* In others, arguments may be of the other side's ranks alone. */
    if (ss_mpi_recorder->group_size(call.group) > 0) {
        int64_t size = element_of(type, &call.datatype);
        call.bytes = count == 0 ? 0 : product_of(count, size);
    }
    return call;
}

struct ss_mpi_call ss_mpi_collective(MPI_Comm comm, int64_t count, MPI_Datatype type, int rank)
{
    struct ss_mpi_call call = call_of(comm, count, type, rank);
    call.is_collective = true;
    call.waits_for_none = call.bytes == 0;
    return call;
}

struct ss_mpi_call ss_mpi_collective_each(MPI_Comm comm, int64_t count, MPI_Datatype type)
{
    struct ss_mpi_call call = ss_mpi_collective(comm, count, type, SS_MPI_NO_RANK);
    call.bytes = product_of(call.bytes, ss_mpi_recorder->group_size(call.group));
    return call;
}

struct ss_mpi_call ss_mpi_barrier(MPI_Comm comm)
{
    return (struct ss_mpi_call){
        .group = ss_mpi_group_of(comm), .bytes = -1, .rank = SS_MPI_NO_RANK, .is_collective = true};
}

struct ss_mpi_call ss_mpi_transfer(MPI_Comm comm, int64_t count, MPI_Datatype type, int rank)
{
    return call_of(comm, count, type, rank);
}

struct ss_mpi_call ss_mpi_other(void)
{
    return (struct ss_mpi_call){.bytes = -1, .rank = SS_MPI_NO_RANK};
}

/* --- begin and end of MPI --------------------------------------------------------------------- */

/* "Open MPI v4.1.4, package: …" and "MPICH Version:      4.0.2\n…" without what follows, with one
 * space between words. */
static void shorten(char *version)
{
    size_t put = 0;
    for (const char *at = version; *at != '\0' && *at != '\n' && *at != ','; at++) {
        char now = *at;
        if (now == '\t') {
            now = ' ';
        }
        if (now != ' ' || (put > 0 && version[put - 1] != ' ')) {
            version[put++] = now;
        }
    }
    version[put] = '\0';
}

static void add_world(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0, level = MPI_THREAD_SINGLE;
    struct ss_mpi_world world = {.library = version};
    add_group(comm_world);
    own.Get_library_version(version, &length);
    shorten(version);
    own.Query_thread(&level);
    world.threads = level == MPI_THREAD_MULTIPLE     ? "multiple"
                    : level == MPI_THREAD_SERIALIZED ? "serialized"
                    : level == MPI_THREAD_FUNNELED   ? "funneled"
                                                     : "single";
    own.Comm_rank(comm_world, &world.rank);
    own.Comm_size(comm_world, &world.size);
    ss_mpi_recorder->begin_world(&world);
    atomic_store_explicit(&ss_mpi_stage, SS_MPI_READY, memory_order_release);
}

void ss_mpi_check_ready(void)
{
    int is_initialized = 0;
    if (atomic_load_explicit(&ss_mpi_stage, memory_order_acquire) == SS_MPI_UNKNOWN &&
        own.Initialized(&is_initialized) == MPI_SUCCESS && is_initialized) {
        add_world();
    }
}

#define INITIALISES(name, parameters, arguments)                                                   \
    FORWARDS(name)                                                                                 \
    static int OBSERVED(name) parameters                                                           \
    {                                                                                              \
        static struct ss_mpi_function function = {#name, false, {0, 0}};                           \
        struct ss_mpi_call call = ss_mpi_other();                                                  \
        if (ss_mpi_is_inside) {                                                                    \
            return NEXT(name) arguments;                                                           \
        }                                                                                          \
        call.function = &function;                                                                 \
        ss_mpi_is_inside = 1;                                                                      \
        uint64_t id = ss_mpi_recorder->begin(&call);                                               \
        int result = NEXT(name) arguments;                                                         \
        ss_mpi_recorder->end(id);                                                                  \
        ss_mpi_check_ready();                                                                      \
        ss_mpi_leave();                                                                            \
        return result;                                                                             \
    }

INITIALISES(MPI_Init, (int *argc, char ***argv), (argc, argv))
INITIALISES(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
            (argc, argv, required, provided))

static void finalize(uint64_t id)
{
    ss_mpi_recorder->end(id);
    ss_mpi_recorder->end_world();
    atomic_store_explicit(&ss_mpi_stage, SS_MPI_FINALIZED, memory_order_release);
}

WRAPPER(MPI_Finalize, "MPI_Finalize", false, (void), (), ss_mpi_other(), finalize(id))

/* --- new communicators ------------------------------------------------------------------------ */

static void end_with(uint64_t id, int result, const MPI_Comm *made)
{
    ss_mpi_recorder->end(id);
    if (result == MPI_SUCCESS && *made != comm_null) {
        add_group(*made);
    }
}

#define MAKES(name, parameters, arguments)                                                         \
    WRAPPER(name, #name, false, parameters, arguments, ss_mpi_other(), end_with(id, result, made))

MAKES(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES(MPI_Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made),
      (comm, colour, key, made))
MAKES(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
      (comm, type, key, info, made))
MAKES(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
      (comm, group, tag, made))
MAKES(MPI_Cart_create,
      (MPI_Comm comm, int count, const int *dims, const int *periods, int reorder, MPI_Comm *made),
      (comm, count, dims, periods, reorder, made))
MAKES(MPI_Cart_sub, (MPI_Comm comm, const int *remains, MPI_Comm *made), (comm, remains, made))
MAKES(MPI_Graph_create,
      (MPI_Comm comm, int count, const int *ends, const int *edges, int reorder, MPI_Comm *made),
      (comm, count, ends, edges, reorder, made))
MAKES(MPI_Dist_graph_create,
      (MPI_Comm comm, int count, const int *sources, const int *degrees, const int *destinations,
       const int *weights, MPI_Info info, int reorder, MPI_Comm *made),
      (comm, count, sources, degrees, destinations, weights, info, reorder, made))
MAKES(MPI_Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int *sources, const int *source_weights, int out,
       const int *destinations, const int *weights, MPI_Info info, int reorder, MPI_Comm *made),
      (comm, in, sources, source_weights, out, destinations, weights, info, reorder, made))
MAKES(MPI_Intercomm_merge, (MPI_Comm comm, int is_high, MPI_Comm *made), (comm, is_high, made))

static struct ss_mpi_call forget(const MPI_Comm *comm)
{
    /* Before the call: another thread may get the same handle right after it. */
    ss_mpi_recorder->remove_group(KEY(*comm));
    return ss_mpi_other();
}

WRAPPER(MPI_Comm_free, "MPI_Comm_free", false, (MPI_Comm * comm), (comm), forget(comm),
        ss_mpi_recorder->end(id))
WRAPPER(MPI_Comm_disconnect, "MPI_Comm_disconnect", false, (MPI_Comm * comm), (comm), forget(comm),
        ss_mpi_recorder->end(id))

/* --- collectives and transfers ---------------------------------------------------------------- */

BLOCKING(MPI_Barrier, "MPI_Barrier", (MPI_Comm comm), (comm), ss_mpi_barrier(comm))
STARTED(MPI_Ibarrier, "MPI_Ibarrier", (MPI_Comm comm, MPI_Request *request), (comm, request),
        ss_mpi_barrier(comm))

#define COUNT int
#define PLACE int
#define NAME(function) function
#include "inject/mpi/observe_counted.inc"
#if MPI_VERSION >= 4
#undef COUNT
#undef PLACE
#undef NAME
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define NAME(function) PASTE(function, _c)
#include "inject/mpi/observe_counted.inc"
PERSISTENT(MPI_Barrier_init, "MPI_Barrier_init",
           (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request),
           ss_mpi_barrier(comm))
#endif

/* --- requests --------------------------------------------------------------------------------- */

static void claim_all(struct ss_mpi_claims *claims, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        if (KEY(requests[i]) != ss_mpi_null_request) {
            ss_mpi_recorder->claim(claims, KEY(requests[i]), (uint32_t)i);
        }
    }
}

/* `count`: of the indices of complete requests; SS_MPI_ALL: all are. */
static void complete(struct ss_mpi_claims *claims, int count, const int *indices)
{
    if (count == SS_MPI_ALL) {
        ss_mpi_recorder->complete(claims, SS_MPI_ALL);
    }
    for (int i = 0; i < count; i++) {
        if (indices[i] >= 0) { /* not MPI_UNDEFINED: none was active */
            ss_mpi_recorder->complete(claims, indices[i]);
        }
    }
    ss_mpi_recorder->release(claims);
}

/* A test that finds nothing complete is not an event. `done`: how many are complete. */
#define COMPLETES(name, parameters, arguments, is_wait, count, requests, done, indices)            \
    FORWARDS(name)                                                                                 \
    static int OBSERVED(name) parameters                                                           \
    {                                                                                              \
        static struct ss_mpi_function function = {#name, false, {0, 0}};                           \
        struct ss_mpi_claims claims = {0, 0};                                                      \
        struct ss_mpi_call call = ss_mpi_other();                                                  \
        if (!ss_mpi_enter()) {                                                                     \
            return NEXT(name) arguments;                                                           \
        }                                                                                          \
        call.function = &function;                                                                 \
        claim_all(&claims, count, requests);                                                       \
        uint64_t id = (is_wait) ? ss_mpi_recorder->begin(&call) : 0;                               \
        int result = NEXT(name) arguments;                                                         \
        complete(&claims, result == MPI_SUCCESS ? (done) : 0, indices);                            \
        ss_mpi_recorder->end(id);                                                                  \
        ss_mpi_leave();                                                                            \
        return result;                                                                             \
    }

COMPLETES(MPI_Wait, (MPI_Request * request, MPI_Status *status), (request, status), true, 1,
          request, SS_MPI_ALL, NULL)
COMPLETES(MPI_Waitall, (int count, MPI_Request *requests, MPI_Status *statuses),
          (count, requests, statuses), true, count, requests, SS_MPI_ALL, NULL)
COMPLETES(MPI_Waitany, (int count, MPI_Request *requests, int *index, MPI_Status *status),
          (count, requests, index, status), true, count, requests, 1, index)
COMPLETES(MPI_Waitsome,
          (int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses),
          (count, requests, found, indices, statuses), true, count, requests, *found, indices)
COMPLETES(MPI_Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status),
          false, 1, request, *flag ? SS_MPI_ALL : 0, NULL)
COMPLETES(MPI_Testall, (int count, MPI_Request *requests, int *flag, MPI_Status *statuses),
          (count, requests, flag, statuses), false, count, requests, *flag ? SS_MPI_ALL : 0, NULL)
COMPLETES(MPI_Testany,
          (int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status),
          (count, requests, index, flag, status), false, count, requests, *flag ? 1 : 0, index)
COMPLETES(MPI_Testsome,
          (int count, MPI_Request *requests, int *found, int *indices, MPI_Status *statuses),
          (count, requests, found, indices, statuses), false, count, requests, *found, indices)

FORWARDS(MPI_Start)
static int OBSERVED(MPI_Start)(MPI_Request *request)
{
    if (!ss_mpi_enter()) {
        return NEXT(MPI_Start)(request);
    }
    ss_mpi_recorder->start_request(KEY(*request));
    int result = NEXT(MPI_Start)(request);
    ss_mpi_leave();
    return result;
}

FORWARDS(MPI_Startall)
static int OBSERVED(MPI_Startall)(int count, MPI_Request *requests)
{
    if (!ss_mpi_enter()) {
        return NEXT(MPI_Startall)(count, requests);
    }
    for (int i = 0; i < count; i++) {
        ss_mpi_recorder->start_request(KEY(requests[i]));
    }
    int result = NEXT(MPI_Startall)(count, requests);
    ss_mpi_leave();
    return result;
}

FORWARDS(MPI_Request_free)
static int OBSERVED(MPI_Request_free)(MPI_Request *request)
{
    if (ss_mpi_enter()) {
        ss_mpi_recorder->free_request(KEY(*request));
        ss_mpi_leave();
    }
    return NEXT(MPI_Request_free)(request);
}

WRAPPER(MPI_Probe, "MPI_Probe", false, (int source, int tag, MPI_Comm comm, MPI_Status *status),
        (source, tag, comm, status), ss_mpi_other(), ss_mpi_recorder->end(id))

/* --- all of them ------------------------------------------------------------------------------ */

#define ROW(name) {#name, (void *)(uintptr_t)OBSERVED(name), (void **)&NEXT(name)},
#if MPI_VERSION >= 4
#define SS_MPI_COUNTED(name, arguments) ROW(name) ROW(name##_c)
#else
#define SS_MPI_COUNTED(name, arguments) ROW(name)
#endif
#define SS_MPI_FUNCTION(name, arguments) ROW(name)
#if MPI_VERSION < 4
#define SS_MPI_SINCE_4(name, arguments)
#define SS_MPI_COUNTED_SINCE_4(name, arguments)
#endif

static const struct ss_mpi_observed observed[] = {
#include "inject/mpi/forwarded.def"
    {NULL, NULL, NULL}};

__attribute__((visibility("default"))) ss_mpi_observer ss_mpi_observe;
const struct ss_mpi_observed *ss_mpi_observe(const struct ss_mpi_recorder *recorder,
                                             void *(*find)(const char *name))
{
    ss_mpi_recorder = recorder;
    return recorder != NULL && find_own_calls(find) ? observed : NULL;
}
