/* SPDX-License-Identifier: Apache-2.0 */
/* What NVTX's headers do in NCCL, with version 1.3 of the payload extension, in its first edition
   (up to NCCL 2.21) or the later one. Names, types and members are NCCL's; the declarations are the
   fake's own, so that a mistake in stepscope's is not repeated here. */
#include "nccl_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 15, FIRST_EDITION = 18, WITHOUT_COMMUNICATOR = 24, COMPLETE = 26 };
enum { CORE2 = 5, CORE2_SLOTS = 16, PUSH = 4, POP = 5, REGISTER_STRING = 10, CREATE_DOMAIN = 12 };
enum { TYPE_INT = 5, TYPE_UINT64 = 18, TYPE_SIZE = 22, STATIC_START = 1 << 24 };
enum { EXTENSION_SLOTS = 63, REGISTER_SCHEMA = 0, REGISTER_ENUM = 1, POP_PAYLOAD = 4 };

struct event {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    const void *message;
};
struct payload {
    uint64_t schemaId;
    size_t size;
    const void *payload;
};
struct entry {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t arrayOrUnionDetail, offset;
    const void *semantics, *reserved;
};
struct schema {
    uint64_t fieldMask;
    const char *name;
    uint64_t type, flags;
    const struct entry *entries;
    size_t numEntries, payloadStaticSize, packAlign;
    uint64_t schemaId;
    void *extension; /* not in the first edition */
};
struct enum_value {
    const char *name;
    uint64_t value;
    int8_t isFlag;
};
struct enumeration {
    uint64_t fieldMask;
    const char *name;
    const struct enum_value *entries;
    size_t numEntries, sizeOfEnum;
    uint64_t schemaId;
};
struct segment {
    size_t segmentId, slotCount;
    intptr_t *functionSlots;
};
struct module {
    uint16_t nvtxVer, structSize, moduleId, compatId;
    size_t segmentsCount;
    struct segment *segments;
    intptr_t (*getExportFunction)(uint32_t id);
    const void *extInfo;
};
struct callbacks {
    size_t structSize;
    int (*getModuleFunctionTable)(int module, void (****table)(void), unsigned *size);
};

static struct {
    int edition;
    bool is_loaded;
    void (*functions[CORE2_SLOTS])(void);
    intptr_t slots[EXTENSION_SLOTS];
    const void *domain;
} nvtx;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- the injection --- */

static int get_table(int module, void (****table)(void), unsigned *size)
{
    static void (**addresses[CORE2_SLOTS])(void);
    static void (**none[1])(void);
    for (int i = 1; i < CORE2_SLOTS; i++) {
        addresses[i] = &nvtx.functions[i];
    }
    *table = module == CORE2 ? addresses : none;
    *size = module == CORE2 ? CORE2_SLOTS : 1;
    return module >= 1 && module <= 6;
}

static const void *get_export(uint32_t id)
{
    static const struct callbacks callbacks = {sizeof callbacks, get_table};
    return id == 1 ? &callbacks : NULL;
}

static void load_extension(void *library)
{
    int (*initialize)(struct module *) = NULL;
    *(void **)&initialize = dlsym(library, "InitializeInjectionNvtxExtension");
    struct segment segment = {0, nvtx.edition <= FIRST_EDITION ? 2 : EXTENSION_SLOTS, nvtx.slots};
    struct module module = {3, sizeof module, 2, 0x0103, 1, &segment, NULL, NULL};
    if (initialize == NULL || initialize(&module) == 0) {
        memset(nvtx.slots, 0, sizeof nvtx.slots);
    }
}

static uint64_t redop_id(void)
{
    return STATIC_START + (nvtx.edition <= FIRST_EDITION          ? 11
                           : nvtx.edition <= WITHOUT_COMMUNICATOR ? 14
                                                                  : 15);
}

static void register_reductions(void)
{
    static const struct enum_value values[] = {
        {"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}, {"Min", 3, 0}, {"Avg", 4, 0}};
    struct enumeration enumeration = {
        1 << 2 | 1 << 3 | 1 << 4 | 1 << 5, NULL, values, 5, sizeof(int), redop_id()};
    uint64_t (*add)(const void *, const struct enumeration *) =
        (uint64_t(*)(const void *, const struct enumeration *))nvtx.slots[REGISTER_ENUM];
    if (add != NULL) {
        add(nvtx.domain, &enumeration);
    }
}

static void load(void)
{
    const char *edition = getenv("FAKE_NCCL_NVTX"), *path = getenv("NVTX_INJECTION64_PATH");
    int (*initialize)(const void *(*)(uint32_t)) = NULL;
    nvtx.edition = edition != NULL ? atoi(edition) : COMPLETE;
    void *library = path != NULL && *path != '\0' ? dlopen(path, RTLD_LAZY) : NULL;
    if (library != NULL) {
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    }
    if (initialize == NULL || initialize(get_export) == 0 ||
        nvtx.functions[CREATE_DOMAIN] == NULL) {
        return;
    }
    nvtx.is_loaded = true;
    nvtx.domain = ((const void *(*)(const char *))nvtx.functions[CREATE_DOMAIN])("NCCL");
    if (nvtx.edition >= FIRST_EDITION) {
        load_extension(library);
        register_reductions();
    }
}

static bool is_on(void)
{
    pthread_once(&once, load);
    return nvtx.is_loaded;
}

bool nccl_nvtx_groups_messages(void)
{
    return is_on() && nvtx.edition <= FIRST_EDITION;
}

/* --- schemas --- */

enum { MOST_MEMBERS = 5, MOST_BYTES = 40 };

/* A structure's members, one after the other. */
struct arguments {
    struct entry entries[MOST_MEMBERS];
    unsigned count;
    size_t size;
    unsigned char bytes[MOST_BYTES];
};

static void add(struct arguments *to, uint64_t type, const char *name, const void *value,
                size_t size)
{
    to->size = (to->size + size - 1) / size * size;
    to->entries[to->count++] = (struct entry){.type = type, .name = name, .offset = to->size};
    memcpy(to->bytes + to->size, value, size);
    to->size += size;
}

static void add_int(struct arguments *to, const char *name, int value)
{
    add(to, TYPE_INT, name, &value, sizeof value);
}

static void add_communicator(struct arguments *to, uint64_t hash)
{
    if (nvtx.edition >= COMPLETE) {
        add(to, TYPE_UINT64, "NCCL communicator ID", &hash, sizeof hash);
    }
}

/* Once for each function, as the static variables of NCCL's macros. */
static void register_schema(unsigned number, const char *name, const struct arguments *arguments)
{
    static atomic_uint registered;
    bool is_old = nvtx.edition < COMPLETE;
    struct schema schema = {1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8,
                            is_old ? name : NULL,
                            1,
                            0,
                            arguments->entries,
                            arguments->count,
                            is_old ? 0 : (arguments->size + 7) / 8 * 8,
                            0,
                            STATIC_START + number,
                            NULL};
    uint64_t (*add_schema)(const void *, const struct schema *) =
        (uint64_t(*)(const void *, const struct schema *))nvtx.slots[REGISTER_SCHEMA];
    if (add_schema != NULL && (atomic_fetch_or(&registered, 1u << number) >> number & 1) == 0) {
        add_schema(nvtx.domain, &schema);
    }
}

/* --- ranges --- */

static const void *registered_string(const char *text)
{
    return ((const void *(*)(const void *, const char *))nvtx.functions[REGISTER_STRING])(
        nvtx.domain, text);
}

static void push(const char *function, unsigned number, const struct arguments *arguments)
{
    struct payload payload = {0};
    struct event event = {.version = 3,
                          .size = sizeof event,
                          .messageType = 3,
                          .message = registered_string(function)};
    if (arguments != NULL) {
        register_schema(number, function + strlen("nccl"), arguments);
        payload = (struct payload){STATIC_START + number, (arguments->size + 7) / 8 * 8,
                                   arguments->bytes};
        event.payloadType = (int32_t)0xDFBD0009;
        event.reserved0 = 1;
        event.payload = (uintptr_t)&payload;
    }
    ((int (*)(const void *, const struct event *))nvtx.functions[PUSH])(nvtx.domain, &event);
}

void nccl_nvtx_push(const char *function)
{
    if (is_on()) {
        push(function, 0, NULL);
    }
}

void nccl_nvtx_pop(void)
{
    if (is_on()) {
        ((int (*)(const void *))nvtx.functions[POP])(nvtx.domain);
    }
}

void nccl_nvtx_push_operation(const struct operation *operation)
{
    static const struct {
        const char *name;
        unsigned number;
    } functions[] = {{"ncclAllReduce", 5}, {"ncclReduce", 8},        {"ncclBroadcast", 6},
                     {"ncclAllGather", 4}, {"ncclReduceScatter", 7}, {"ncclSend", 9},
                     {"ncclRecv", 10}};
    enum function function = operation->function;
    bool is_message = function >= SEND, has_root = function == REDUCE || function == BROADCAST;
    bool reduces = function == ALL_REDUCE || function == REDUCE || function == REDUCE_SCATTER;
    bool is_short = nvtx.edition < COMPLETE && (is_message || function == BROADCAST);
    struct arguments arguments = {.count = 0};
    if (!is_on()) {
        return;
    }
    if (nvtx.edition < FIRST_EDITION) {
        push(functions[function].name, 0, NULL);
        return;
    }
    size_t bytes = operation->type >= 0 && operation->type < NCCL_TYPES
                       ? nccl_bytes(operation->type, operation->count)
                       : 0;
    add_communicator(&arguments, operation->comm != NULL ? operation->comm->hash : 0);
    add(&arguments, TYPE_SIZE, is_short ? "Bytes" : "Message size [bytes]", &bytes, sizeof bytes);
    if (has_root || is_message) {
        add_int(&arguments, has_root ? "Root" : "Peer rank", operation->root);
    }
    if (reduces) {
        add(&arguments, redop_id(), "Reduction operation", &operation->reduction, sizeof(int));
    }
    push(functions[function].name, functions[function].number, &arguments);
}

static void describe(const struct nccl_made *made, struct arguments *arguments)
{
    *arguments = (struct arguments){.count = 0};
    if (nvtx.edition >= COMPLETE) {
        add_communicator(arguments, made->hash);
        add_int(arguments, "No. of ranks", made->ranks);
        add_int(arguments, "Rank", made->rank);
    } else {
        add_int(arguments, "Rank", made->rank);
        add_int(arguments, "No. of ranks", made->ranks);
    }
    add_int(arguments, "CUDA device", made->device);
}

static unsigned number_of(const struct nccl_made *made)
{
    return strcmp(made->function, "ncclCommDestroy") == 0          ? 2
           : strcmp(made->function, "ncclCommInitRankConfig") == 0 ? 11
                                                                   : 0;
}

void nccl_nvtx_push_made(const struct nccl_made *made)
{
    struct arguments arguments;
    unsigned number = number_of(made);
    if (!is_on()) {
        return;
    }
    /* Later versions say it at the end, except of the end of a communicator. */
    bool says = nvtx.edition >= COMPLETE ? number == 2
                                         : nvtx.edition > FIRST_EDITION ||
                                               (nvtx.edition == FIRST_EDITION && number != 11);
    describe(made, &arguments);
    push(made->function, number, says ? &arguments : NULL);
}

void nccl_nvtx_pop_made(const struct nccl_made *made, bool is_made)
{
    struct arguments arguments;
    int (*pop)(const void *, const struct payload *, size_t) =
        (int (*)(const void *, const struct payload *, size_t))nvtx.slots[POP_PAYLOAD];
    if (!is_on()) {
        return;
    }
    if (nvtx.edition < COMPLETE || number_of(made) == 2 || !is_made) {
        nccl_nvtx_pop();
    } else if (pop != NULL) {
        describe(made, &arguments);
        register_schema(number_of(made), made->function + strlen("nccl"), &arguments);
        struct payload payload = {STATIC_START + number_of(made), (arguments.size + 7) / 8 * 8,
                                  arguments.bytes};
        pop(nvtx.domain, &payload, 1);
    }
}
