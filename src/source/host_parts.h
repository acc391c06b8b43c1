/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the host source: system (CPU, load, pressure, memory), devices (disks, networks),
 * energy (of processors and memory), container (limits of the control group) and processes. Each
 * part opens its files once, stores the last readings, and emits its metrics at each tick. Owned by
 * the recorder's thread.
 */
#ifndef SS_SOURCE_HOST_PARTS_H
#define SS_SOURCE_HOST_PARTS_H

#include "base/strview.h"
#include "platform/polled_file.h"
#include "source/source.h"

struct ss_host_tick {
    const struct ss_source_setup *setup;
    uint64_t now_ns;
    char *buffer; /* content of the current file */
    size_t buffer_bytes;
};

/* Reads into the buffer of the tick; `*time_ns` is the time of the read. */
bool ss_host_read(const struct ss_host_tick *tick, const struct ss_polled_file *file,
                  struct ss_strview *text, uint64_t *time_ns);

struct ss_host_system;
struct ss_host_system *ss_host_system_open(const struct ss_source_setup *setup);
void ss_host_system_tick(struct ss_host_system *part, const struct ss_host_tick *tick);
void ss_host_system_close(struct ss_host_system *part);

struct ss_host_devices;
struct ss_host_devices *ss_host_devices_open(const struct ss_source_setup *setup);
void ss_host_devices_tick(struct ss_host_devices *part, const struct ss_host_tick *tick);
/* Devices omitted because of the device limits. */
uint64_t ss_host_devices_left_out(const struct ss_host_devices *part);
void ss_host_devices_close(struct ss_host_devices *part);

/* Whether the machine has counters of energy that this user may read. */
enum ss_host_energy_access { SS_HOST_ENERGY_NONE, SS_HOST_ENERGY_REFUSED, SS_HOST_ENERGY_READABLE };
struct ss_host_energy;
enum ss_host_energy_access ss_host_energy_probe(const struct ss_source_setup *setup);
struct ss_host_energy *ss_host_energy_open(const struct ss_source_setup *setup);
void ss_host_energy_tick(struct ss_host_energy *part, const struct ss_host_tick *tick);
void ss_host_energy_close(struct ss_host_energy *part);

struct ss_host_container;
struct ss_host_container *ss_host_container_open(const struct ss_source_setup *setup);
void ss_host_container_tick(struct ss_host_container *part, const struct ss_host_tick *tick);
void ss_host_container_close(struct ss_host_container *part);

struct ss_host_processes;
struct ss_host_processes *ss_host_processes_open(const struct ss_source_setup *setup);
void ss_host_processes_tick(struct ss_host_processes *part, const struct ss_host_tick *tick);
/* The last reading of a zombie. */
void ss_host_processes_ending(struct ss_host_processes *part, const struct ss_host_tick *tick,
                              pid_t pid);
void ss_host_processes_close(struct ss_host_processes *part);

#endif
