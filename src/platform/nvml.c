/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

/* The part of the library's interface that this file calls. All its functions return a status; a
 * device is an opaque pointer. */
typedef void *nvml_device;
typedef int (*plain_function)(void);
typedef int (*count_function)(unsigned int *count);
typedef int (*handle_function)(unsigned int index, nvml_device *device);
typedef int (*text_function)(nvml_device device, char *text, unsigned int size);
typedef int (*number_function)(nvml_device device, unsigned int *value);
typedef int (*long_function)(nvml_device device, unsigned long long *value);
typedef int (*choice_function)(nvml_device device, unsigned int which, unsigned int *value);
typedef int (*pair_function)(nvml_device device, unsigned int values[2]);
typedef int (*memory_function)(nvml_device device, void *memory);
typedef const char *(*error_function)(int status);

enum { OK = 0, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { TEXT_BYTES = 96, PCI_ADDRESS_BYTES = 32, MEMORY_V2 = 0x02000028 /* version 2, 40 bytes */ };

struct memory_v1 {
    unsigned long long total, free, used;
};
/* `used` excludes memory that the driver reserves. */
struct memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};
_Static_assert(sizeof(struct memory_v2) == (MEMORY_V2 & 0xff), "as the library has it");

struct device {
    nvml_device handle;
    char name[TEXT_BYTES], uuid[TEXT_BYTES], pci_address[PCI_ADDRESS_BYTES];
    unsigned number;
    bool lost;
    struct ss_nvml_gpm *gpm; /* NULL: none */
    char gpm_reason[SS_NVML_GPM_REASON_BYTES];
};

struct ss_nvml {
    void *library;
    plain_function shutdown;
    pair_function utilisation;
    memory_function memory_v1, memory_v2;
    number_function power, power_limit;
    long_function energy, throttle;
    choice_function clock, temperature;
    size_t count;
    struct device devices[SS_NVML_MOST_DEVICES];
};

/* POSIX lets dlsym return a function; C has no cast from an object pointer to it, hence memcpy. */
static void find(void *library, void *function, const char *name, const char *older)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL && older != NULL) {
        symbol = dlsym(library, older);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static void find_functions(struct ss_nvml *nvml)
{
    void *library = nvml->library;
    find(library, &nvml->shutdown, "nvmlShutdown", NULL);
    find(library, &nvml->utilisation, "nvmlDeviceGetUtilizationRates", NULL);
    find(library, &nvml->memory_v1, "nvmlDeviceGetMemoryInfo", NULL);
    find(library, &nvml->memory_v2, "nvmlDeviceGetMemoryInfo_v2", NULL);
    find(library, &nvml->power, "nvmlDeviceGetPowerUsage", NULL);
    find(library, &nvml->power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL);
    find(library, &nvml->energy, "nvmlDeviceGetTotalEnergyConsumption", NULL);
    find(library, &nvml->clock, "nvmlDeviceGetClockInfo", NULL);
    find(library, &nvml->temperature, "nvmlDeviceGetTemperature", NULL);
    find(library, &nvml->throttle, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
}

static void read_text(struct ss_nvml *nvml, nvml_device handle, const char *function, char *text)
{
    text_function get;
    find(nvml->library, &get, function, NULL);
    if (get == NULL || get(handle, text, TEXT_BYTES) != OK) {
        text[0] = '\0';
    }
    text[TEXT_BYTES - 1] = '\0';
}

/* nvmlPciInfo_t, for its last member. */
struct pci_info {
    char legacy_address[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char address[PCI_ADDRESS_BYTES];
};

static void read_pci_address(struct ss_nvml *nvml, struct device *device)
{
    int (*get)(nvml_device handle, struct pci_info * info);
    struct pci_info info = {.address = ""};
    find(nvml->library, &get, "nvmlDeviceGetPciInfo_v3", NULL);
    if (get != NULL && get(device->handle, &info) == OK) {
        info.address[sizeof info.address - 1] = '\0';
        memcpy(device->pci_address, info.address, sizeof info.address);
    }
}

static bool find_devices(struct ss_nvml *nvml, char *reason)
{
    count_function count;
    handle_function handle;
    unsigned int found = 0;
    find(nvml->library, &count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    find(nvml->library, &handle, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
    if (count == NULL || handle == NULL || count(&found) != OK) {
        snprintf(reason, SS_NVML_REASON_BYTES, "NVML does not report how many GPUs there are");
        return false;
    }
    for (unsigned int i = 0; i < found && nvml->count < SS_NVML_MOST_DEVICES; i++) {
        struct device *device = &nvml->devices[nvml->count];
        if (handle(i, &device->handle) == OK) { /* fails for GPUs outside this container */
            read_text(nvml, device->handle, "nvmlDeviceGetName", device->name);
            read_text(nvml, device->handle, "nvmlDeviceGetUUID", device->uuid);
            read_pci_address(nvml, device);
            device->number = i;
            device->gpm = ss_nvml_gpm_open(nvml->library, device->handle, device->gpm_reason);
            nvml->count++;
        }
    }
    if (nvml->count == 0) {
        snprintf(reason, SS_NVML_REASON_BYTES, "NVML is here, but no GPU is visible");
    }
    return nvml->count > 0;
}

static bool init(struct ss_nvml *nvml, char *reason)
{
    plain_function begin;
    error_function describe;
    find(nvml->library, &begin, "nvmlInit_v2", "nvmlInit");
    find(nvml->library, &describe, "nvmlErrorString", NULL);
    int status = begin != NULL ? begin() : -1;
    if (status != OK) {
        const char *why = begin == NULL ? "it has no nvmlInit" : NULL;
        why = why == NULL && status == DRIVER_NOT_LOADED ? "the NVIDIA driver is not loaded" : why;
        why = why == NULL && describe != NULL ? describe(status) : why;
        snprintf(reason, SS_NVML_REASON_BYTES, "NVML does not start: %.180s",
                 why != NULL ? why : "unknown error");
        return false;
    }
    find_functions(nvml);
    return true;
}

struct ss_nvml *ss_nvml_open(const char *path, char *reason)
{
    static const char default_path[] = "libnvidia-ml.so.1";
    struct ss_nvml *nvml = ss_alloc_zero(1, sizeof *nvml);
    nvml->library = dlopen(path != NULL ? path : default_path, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        const char *why = dlerror();
        bool absent = why == NULL || strstr(why, "No such file") != NULL;
        snprintf(reason, SS_NVML_REASON_BYTES, "%.200s",
                 absent ? "no NVIDIA driver here (libnvidia-ml.so.1 is not installed)" : why);
        ss_free(nvml);
        return NULL;
    }
    if (init(nvml, reason)) {
        if (find_devices(nvml, reason)) {
            return nvml;
        }
        ss_nvml_close(nvml);
        return NULL;
    }
    dlclose(nvml->library);
    ss_free(nvml);
    return NULL;
}

void ss_nvml_close(struct ss_nvml *nvml)
{
    for (size_t i = 0; i < nvml->count; i++) {
        ss_nvml_gpm_close(nvml->devices[i].gpm);
    }
    if (nvml->shutdown != NULL) {
        nvml->shutdown();
    }
    dlclose(nvml->library);
    ss_free(nvml);
}

size_t ss_nvml_count(const struct ss_nvml *nvml)
{
    return nvml->count;
}

const char *ss_nvml_name(const struct ss_nvml *nvml, size_t device)
{
    return nvml->devices[device].name;
}

const char *ss_nvml_uuid(const struct ss_nvml *nvml, size_t device)
{
    return nvml->devices[device].uuid;
}

const char *ss_nvml_pci_address(const struct ss_nvml *nvml, size_t device)
{
    return nvml->devices[device].pci_address;
}

unsigned ss_nvml_number(const struct ss_nvml *nvml, size_t device)
{
    return nvml->devices[device].number;
}

const char *ss_nvml_gpm_reason(const struct ss_nvml *nvml, size_t device)
{
    return nvml->devices[device].gpm != NULL ? NULL : nvml->devices[device].gpm_reason;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void set_value(struct ss_nvml_sample *sample, enum ss_nvml_field field, uint64_t value,
                      int status)
{
    sample->lost = sample->lost || status == GPU_IS_LOST;
    if (status == OK) {
        sample->known |= UINT32_C(1) << field;
        sample->values[field] = value;
    }
}

static void read_utilisation(const struct ss_nvml *nvml, nvml_device handle,
                             struct ss_nvml_sample *sample)
{
    unsigned int shares[2] = {0, 0};
    if (nvml->utilisation != NULL) {
        int status = nvml->utilisation(handle, shares);
        set_value(sample, SS_NVML_UTILISATION, shares[0], status);
        set_value(sample, SS_NVML_MEMORY_UTILISATION, shares[1], status);
    }
}

static void read_memory(const struct ss_nvml *nvml, nvml_device handle,
                        struct ss_nvml_sample *sample)
{
    struct memory_v2 newer = {.version = MEMORY_V2};
    struct memory_v1 older = {0};
    if (nvml->memory_v2 != NULL && nvml->memory_v2(handle, &newer) == OK) {
        set_value(sample, SS_NVML_MEMORY_USED, newer.used, OK);
        set_value(sample, SS_NVML_MEMORY_TOTAL, newer.total, OK);
    } else if (nvml->memory_v1 != NULL) {
        int status = nvml->memory_v1(handle, &older);
        set_value(sample, SS_NVML_MEMORY_USED, older.used, status);
        set_value(sample, SS_NVML_MEMORY_TOTAL, older.total, status);
    }
}

static void read_number(number_function get, nvml_device handle, enum ss_nvml_field field,
                        struct ss_nvml_sample *sample)
{
    unsigned int value = 0;
    if (get != NULL) {
        int status = get(handle, &value);
        set_value(sample, field, value, status);
    }
}

static void read_long(long_function get, nvml_device handle, enum ss_nvml_field field,
                      struct ss_nvml_sample *sample)
{
    unsigned long long value = 0;
    if (get != NULL) {
        int status = get(handle, &value);
        set_value(sample, field, value, status);
    }
}

static void read_choice(choice_function get, nvml_device handle, unsigned int which,
                        enum ss_nvml_field field, struct ss_nvml_sample *sample)
{
    unsigned int value = 0;
    if (get != NULL) {
        int status = get(handle, which, &value);
        set_value(sample, field, value, status);
    }
}

void ss_nvml_read(struct ss_nvml *nvml, size_t index, uint64_t now_ns,
                  struct ss_nvml_sample *sample)
{
    struct device *device = &nvml->devices[index];
    *sample = (struct ss_nvml_sample){.time_ns = now_ns, .lost = device->lost};
    if (device->lost) {
        return;
    }
    nvml_device handle = device->handle;
    read_utilisation(nvml, handle, sample);
    read_memory(nvml, handle, sample);
    read_number(nvml->power, handle, SS_NVML_POWER, sample);
    read_number(nvml->power_limit, handle, SS_NVML_POWER_LIMIT, sample);
    read_long(nvml->energy, handle, SS_NVML_ENERGY, sample);
    read_choice(nvml->clock, handle, CLOCK_SM, SS_NVML_SM_CLOCK, sample);
    read_choice(nvml->clock, handle, CLOCK_MEMORY, SS_NVML_MEMORY_CLOCK, sample);
    read_choice(nvml->temperature, handle, 0, SS_NVML_TEMPERATURE, sample);
    read_long(nvml->throttle, handle, SS_NVML_THROTTLE, sample);
    if (device->gpm != NULL && !sample->lost) {
        ss_nvml_gpm_read(device->gpm, now_ns, &sample->gpm);
    }
    if (sample->lost) {
        sample->known = 0;
        device->lost = true;
    }
}
