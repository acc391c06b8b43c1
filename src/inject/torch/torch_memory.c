/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory counters of the process, read between the phases of a step: each has a value right before
 * a phase or step begins. A step has all its readings or none: where steps are too short for them,
 * some have none, so that reading takes less than 1/LEAST_TIMES of the time.
 *
 * The kernel and PyTorch's allocator keep the peaks. The program may reset them; stepscope
 * never does. Nothing here runs Python code: Python would run the handler of a pending signal in
 * it, and an exception of that handler would be lost.
 */
#include "inject/torch/torch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/process.h"
#include "annot/training.h"
#include "base/shared_names.h"

enum { LEAST_TIMES = 800, MOST_READINGS = 10000, HIGH_FILE = 512, MOST_DEVICES = 64 };

/* --- the process ----------------------------------------------------------------------------- */

/* /proc/self/statm. It stays open, since opening takes four times as long as reading; its
 * descriptor is above those that the program usually has. The program may still close it and open
 * its own file there. */
static struct {
    int file;
    pid_t pid;
    dev_t device;
    ino_t inode;
} statm = {.file = -1};

static bool is_statm_open(void)
{
    struct stat now;
    return statm.file >= 0 && fstat(statm.file, &now) == 0 && now.st_dev == statm.device &&
           now.st_ino == statm.inode;
}

/* A forked child inherits its parent's file. */
static void open_statm(void)
{
    pid_t pid = ss_process_pid();
    bool is_open = is_statm_open();
    if (is_open && statm.pid == pid) {
        return;
    }
    if (is_open) {
        close(statm.file);
    }
    statm.file = -1;
    int low_file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    struct stat now;
    if (low_file >= 0 && fstat(low_file, &now) == 0) {
        statm.file = fcntl(low_file, F_DUPFD_CLOEXEC, HIGH_FILE);
        statm.pid = pid;
        statm.device = now.st_dev;
        statm.inode = now.st_ino;
    }
    if (low_file >= 0) {
        close(low_file);
    }
}

/* 0: unknown. */
static uint64_t resident_bytes(void)
{
    char text[128] = "";
    open_statm();
    ssize_t length = statm.file >= 0 ? pread(statm.file, text, sizeof text - 1, 0) : -1;
    const char *second = length > 0 ? strchr(text, ' ') : NULL;
    uint64_t pages = second != NULL ? strtoull(second, NULL, 10) : 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The peak of resident memory since exec; 0: unknown. RUSAGE_THREAD is the query that involves no
 * other thread. */
static uint64_t peak_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* "VmHWM:	  312 kB" */
static uint64_t peak_of_status(void)
{
    char text[4096] = "";
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    const char *found = length > 0 ? strstr(text, "VmHWM:") : NULL;
    return found != NULL ? strtoull(found + strlen("VmHWM:"), NULL, 10) * 1024 : 0;
}

/* exec passes on the peak of the process before it, which is meaningless until it is exceeded. */
static uint64_t own_peak_bytes(void)
{
    static uint64_t inherited;
    static pid_t checked_pid;
    uint64_t peak = peak_bytes();
    if (checked_pid != ss_process_pid()) {
        checked_pid = ss_process_pid();
        inherited = peak > peak_of_status() ? peak : 0;
    }
    return peak > inherited ? peak : 0;
}

/* --- devices --------------------------------------------------------------------------------- */

/* Entries are written under the lock of the hooks (devices.py) before the count includes them. */
static struct device {
    ss_python_object *function, *number; /* returns the allocator's statistics as nested dicts */
    uint32_t allocated, reserved, peak;  /* counters */
    bool has_failed;                     /* guarded by is_reading */
} devices[MOST_DEVICES];
static _Atomic size_t device_count;

static void count_bytes(uint32_t counter, uint64_t bytes)
{
    ss_event_count(counter, (struct ss_event_value){bytes, SS_RING_VALUE_SIGNED});
}

/* Emits stats[kind]["all"][which]; false: there is none. */
static bool count_stat(ss_python_object *stats, const char *kind, const char *which,
                       uint32_t counter)
{
    ss_python_object *of = ss_python.PyDict_GetItemString(stats, kind);
    ss_python_object *all = of != NULL ? ss_python.PyDict_GetItemString(of, "all") : NULL;
    ss_python_object *found = all != NULL ? ss_python.PyDict_GetItemString(all, which) : NULL;
    long long bytes = found != NULL ? ss_python.PyLong_AsLongLong(found) : -1;
    if (bytes >= 0) {
        count_bytes(counter, (uint64_t)bytes);
    }
    return bytes >= 0;
}

/* false: statistics are missing. */
static bool read_device(const struct device *device)
{
    ss_python_object *stats =
        ss_python.PyObject_CallFunctionObjArgs(device->function, device->number, NULL);
    bool is_complete = stats != NULL &&
                       count_stat(stats, "allocated_bytes", "current", device->allocated) &&
                       count_stat(stats, "reserved_bytes", "current", device->reserved) &&
                       count_stat(stats, "allocated_bytes", "peak", device->peak);
    if (stats != NULL) {
        ss_python.Py_DecRef(stats);
    }
    return is_complete;
}

/* A device without statistics is not queried again. */
static void read_devices(void)
{
    /* pairs with the store in watch_device */
    size_t count = atomic_load_explicit(&device_count, memory_order_acquire);
    if (count == 0 || ss_python.PyGILState_Check() == 0) {
        return;
    }
    ss_python_object *type = NULL, *value = NULL, *traceback = NULL;
    ss_python.PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < count; i++) {
        if (!devices[i].has_failed && !read_device(&devices[i])) {
            ss_python.PyErr_Clear();
            devices[i].has_failed = true;
        }
    }
    ss_python.PyErr_Restore(type, value, traceback);
}

/* --- when to read ----------------------------------------------------------------------------- */

static uint32_t resident_counter, peak_counter;
static atomic_flag is_reading = ATOMIC_FLAG_INIT;

/* The current step, or the last one with readings; guarded by is_reading. Times are stamps. The
 * cost of a reading is that of the fastest: during others the kernel ran other threads. */
static struct {
    bool is_read;
    unsigned readings;
    uint64_t begin, fastest;
} step = {.is_read = true, .fastest = UINT64_MAX};

static void read_all(void)
{
    uint64_t resident = resident_bytes(), peak = own_peak_bytes();
    if (resident > 0) {
        count_bytes(resident_counter, resident);
    }
    if (peak > 0) {
        count_bytes(peak_counter, peak);
    }
    read_devices();
}

/* Whether the step that begins now has readings: if the last such step began long enough ago. */
static bool begin_step(uint64_t now)
{
    bool is_read =
        step.readings == 0 || (now - step.begin) / LEAST_TIMES / step.readings >= step.fastest;
    if (is_read) {
        step.begin = now;
        step.readings = 0;
        step.fastest = UINT64_MAX;
    }
    return is_read;
}

static void read_within_budget(bool is_step, uint64_t now)
{
    bool ends = is_step && step.is_read;
    if (is_step) {
        step.is_read = begin_step(now);
    }
    if ((ends || step.is_read) && step.readings < MOST_READINGS) {
        read_all();
        uint64_t took = ss_stamp_now() - now;
        step.fastest = took < step.fastest ? took : step.fastest;
        step.readings++;
    }
}

static void on_part(bool is_step)
{
    int saved = errno;
    if (ss_event_is_on(SS_RING_GATE_COUNTERS) && !ss_torch_is_off() &&
        !atomic_flag_test_and_set_explicit(&is_reading, memory_order_acquire)) {
        read_within_budget(is_step, ss_stamp_now());
        atomic_flag_clear_explicit(&is_reading, memory_order_release);
    }
    errno = saved;
}

/* --- functions for Python --------------------------------------------------------------------- */

static uint32_t define_counter(const char *text)
{
    uint32_t name = ss_define_name(text, strlen(text));
    ss_define_counter(name, ss_define_name("bytes", 5), SS_RING_GAUGE);
    return name;
}

/* Starts the counters of the process. */
static ss_python_object *watch_memory(ss_python_object *self, ss_python_object *none)
{
    (void)self;
    (void)none;
    resident_counter = define_counter("memory rss");
    peak_counter = define_counter(ss_counter_memory_peak);
    ss_training_observe_begins(on_part);
    return ss_python_none();
}

/* torch's function, the device's number, counters: allocated, reserved, peak */
static ss_python_object *watch_device(ss_python_object *self, ss_python_object *const *args,
                                      ptrdiff_t count)
{
    (void)self;
    if (!ss_torch_has_arguments(count, 5)) {
        return NULL;
    }
    size_t number = atomic_load_explicit(&device_count, memory_order_relaxed);
    if (number < MOST_DEVICES) {
        ss_python.Py_IncRef(args[0]);
        ss_python.Py_IncRef(args[1]);
        devices[number] =
            (struct device){args[0], args[1], (uint32_t)ss_python.PyLong_AsLongLong(args[2]),
                            (uint32_t)ss_python.PyLong_AsLongLong(args[3]),
                            (uint32_t)ss_python.PyLong_AsLongLong(args[4])};
        atomic_store_explicit(&device_count, number + 1, memory_order_release);
    }
    return ss_python_none();
}

static struct ss_python_method methods[] = {
    {"watch_memory", {.one = watch_memory}, SS_PYTHON_NONE},
    {"watch_device", {watch_device}, SS_PYTHON_FASTCALL},
};

bool ss_torch_add_memory_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
