# SPDX-License-Identifier: Apache-2.0
"""Described runs as Nsight Systems exports them to SQLite: two schema versions, which differ in tables and
columns. Rows of an export have more columns than any tool reads; those without a value here are NULL."""

import os
import re
import sqlite3
import tempfile

from .halves import ANNOTATION, FRAME

VM = 1 << 48
WORK = "start end deviceId contextId greenContextId streamId correlationId globalPid"
KERNEL = (f"{WORK} demangledName shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ "
          "blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId "
          "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig")
TABLES = {
    "StringIds": "id value:TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName:TEXT name:TEXT nameEnum value:TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT",
    "ANALYSIS_DETAILS": "globalVid duration startTime stopTime",
    "DIAGNOSTIC_EVENT": "timestamp timestampType source severity text:TEXT globalPid",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{WORK} deprecatedSyncType syncType eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{WORK} value bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{WORK} bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId "
                                  "dstDeviceId dstContextId migrationCause graphNodeId virtualAddress copyCount",
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "PROFILER_OVERHEAD": "start end globalTid nameId returnValue",
    "NVTX_EVENTS": "start end eventType rangeId category color text:TEXT globalTid endGlobalTid textId domainId "
                   "uint64Value int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId "
                   "jsonText:TEXT binaryData:TEXT",
    "COMPOSITE_EVENTS": "id start cpu threadState globalTid cpuCycles",
    "SAMPLING_CALLCHAINS": "id symbol module kernelMode thumbCode unresolved specialEntry originalIP unwindMethod "
                           "stackDepth",
    "PROCESSES": "globalPid pid name:TEXT", "ThreadNames": "nameId priority globalTid",
    "TARGET_INFO_GPU": "vmId id name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth "
                       "clockRate smCount uuid:TEXT chipName:TEXT maxShmemPerSm maxRegistersPerSm threadsPerWarp "
                       "maxWarpsPerSm maxBlocksPerSm computeMajor computeMinor",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "META_DATA_CAPTURE": "name:TEXT value:TEXT", "META_DATA_EXPORT": "name:TEXT value:TEXT"}
# Columns and tables that schema 3.25 has, or has no more.
NEWER = {"CUPTI_ACTIVITY_KIND_KERNEL": " qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY "
         "clusterZ clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters "
         "sharedMemoryRequestedPercentage tensorSizeMinusOneElements:TEXT",
         "TARGET_INFO_SESSION_START_TIME": " systemClockNs"}
ENUMS = {
    "ENUM_CUDA_MEMCPY_OPER": [(1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"), (2, "CUDA_MEMCPY_KIND_DTOH",
                              "Device-to-Host"), (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device")],
    "ENUM_CUDA_MEM_KIND": [(0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"), (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED",
                           "Pinned"), (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device")],
    "ENUM_NSYS_EVENT_TYPE": [(59, "NvtxPushPopRange", "NvtxPushPopRange"), (60, "NvtxStartEndRange",
                             "NvtxStartEndRange"), (75, "NvtxDomainCreate", "NvtxDomainCreate")],
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": [(1, "Info", "Info"), (2, "Warning", "Warning"), (3, "Error", "Error")]}
# Versions that stand behind the names of calls of the runtime; those of the driver have none.
VERSIONS = {"cudaLaunchKernel": "v7000", "cudaMemcpyAsync": "v3020", "cudaMemsetAsync": "v3020",
            "cudaStreamSynchronize": "v3020", "cudaEventRecord": "v3020", "cudaStreamWaitEvent": "v3020",
            "cudaLaunchKernelExC": "v11060", "cudaStreamIsCapturing": "v10000"}
SYNCS = {"cudaStreamWaitEvent": 2, "cudaStreamSynchronize": 3}
COPIES = {"HtoD": (1, 1, 2), "DtoH": (2, 2, 0), "DtoD": (8, 2, 2)}


def demangled(name):
    """As Nsight Systems shows a name: types of constants, and another word for unnamed scopes."""
    name = name.replace("(anonymous namespace)", "<unnamed>")
    return re.sub(r"(?<=[<,] )(\d+)(?=[,>])|(?<=<)(\d+)(?=[,>])", lambda match: f"(int){match[0]}", name)


def short(name):
    """Without scopes, arguments and parameters."""
    name = re.sub(r"[<(].*", "", name.replace("(anonymous namespace)", "unnamed").removeprefix("void "))
    return name.rpartition("::")[2]


class Export:
    """One export; runs are its processes. newer: schema 3.25, else 3.20."""

    def __init__(self, runs, newer, start_unix_ns):
        self.runs, self.newer, self.start_unix_ns = runs, newer, start_unix_ns
        self.strings, self.rows = {}, {table: [] for table in TABLES}
        self.text("[Unknown]")

    def text(self, value):
        return self.strings.setdefault(value, len(self.strings))

    def add(self, table, **row):
        self.rows[table].append(row)

    @staticmethod
    def process(run):
        return VM + (run.pid << 24)

    def thread(self, run, thread):
        return self.process(run) + run.pid + {"main": 0, "backward": 97}[thread]

    def place(self, run, stream):
        return {"deviceId": run.number, "contextId": run.number + 1, "streamId": stream, "globalPid": self.process(run)}

    def put(self, run):
        for work in run.works:
            row = {"start": work.begin, "end": work.end, "correlationId": work.correlation, "greenContextId": 0,
                   **self.place(run, work.stream)}
            launch = work.launch
            if work.kind == "kernel":
                name = self.text(demangled(launch.name))
                self.add("CUPTI_ACTIVITY_KIND_KERNEL", **row, demangledName=name, shortName=self.text(short(launch.name)),
                         mangledName=name, launchType=1, cacheConfig=1, registersPerThread=launch.registers,
                         **dict(zip(("gridX", "gridY", "gridZ"), launch.grid, strict=True)),
                         **dict(zip(("blockX", "blockY", "blockZ"), launch.block, strict=True)),
                         staticSharedMemory=launch.shared_bytes, dynamicSharedMemory=0, sharedMemoryExecuted=32768)
            elif work.kind == "memcpy":
                kind, source, target = COPIES[launch.name.split()[1]]
                self.add("CUPTI_ACTIVITY_KIND_MEMCPY", **row, bytes=int(launch.moved_bytes), copyKind=kind,
                         srcKind=source, dstKind=target, copyCount=1)
            else:
                self.add("CUPTI_ACTIVITY_KIND_MEMSET", **row, value=0, bytes=int(launch.moved_bytes), memKind=2)
        for call in run.calls:
            name = f"{call.name}_{VERSIONS[call.name]}" if call.name in VERSIONS else call.name
            self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=call.begin, end=call.end, eventClass=int(call.is_driver),
                     globalTid=self.thread(run, call.thread), correlationId=call.correlation, nameId=self.text(name),
                     returnValue=0)
            if call.name in SYNCS:
                self.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=call.begin + 700, end=call.end - 400,
                         correlationId=call.correlation, **self.place(run, run.main), syncType=SYNCS[call.name],
                         eventId=(1 << 32) - 1, eventSyncId=(1 << 32) - 1)
        for span in visible(run):
            self.range(run, span)
        self.add("PROCESSES", globalPid=self.process(run), pid=run.pid, name="python3")
        self.add("ThreadNames", nameId=self.text("python3"), priority=20, globalTid=self.thread(run, "main"))

    def range(self, run, span):
        domain = span.node.args.get("_domain", 0)
        texts = {"text": f"{span.name}, op_id = {span.id}"}
        if domain or span.node.kind == ANNOTATION:  # registered strings
            texts = {"textId": self.text(span.name)}
        self.add("NVTX_EVENTS", start=span.begin, end=span.end, eventType=59,
                 globalTid=self.thread(run, span.thread), domainId=domain, **texts)

    def about(self, version, **more):
        first = min(run.start for run in self.runs)
        clock = {"systemClockNs": first} if self.newer else {}
        self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=self.start_unix_ns, utcTime="2026-05-26T07:58:50",
                 localTime="2026-05-26T07:58:50", **clock)
        self.add("ANALYSIS_DETAILS", globalVid=VM, duration=max(run.at for run in self.runs) - first,
                 startTime=first, stopTime=max(run.at for run in self.runs))
        schema = "3.25.0" if self.newer else "3.20.2"
        for name, value in {"EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems", "EXPORT_PRODUCT_VERSION": version,
                            "EXPORT_SCHEMA_VERSION": schema, "EXPORT_PARAM_LAZY": "true", **more}.items():
            self.add("META_DATA_EXPORT", name=name, value=value)
        self.add("TARGET_INFO_SYSTEM_ENV", globalVid=VM, devStateName="Local (CLI)", name="Hostname", nameEnum=8,
                 value="node7")

    def capture(self, **settings):
        for name, value in settings.items():
            self.add("META_DATA_CAPTURE", name=name.replace("__", ":"), value=value)

    def bytes(self):
        for run in self.runs:
            self.put(run)
        for value, number in self.strings.items():
            self.add("StringIds", id=number, value=value)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.sqlite")
            database = sqlite3.connect(path)
            database.execute("PRAGMA page_size = 1024")  # small tables, which the pages of an export would pad
            for table, columns in TABLES.items():
                if self.rows[table] or table in ("DIAGNOSTIC_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"):
                    put_table(database, table, columns + NEWER.get(table, "") * self.newer, self.rows[table])
            for table, rows in ENUMS.items():
                put_table(database, table, "id name:TEXT label:TEXT", [
                    dict(zip(("id", "name", "label"), row, strict=True)) for row in rows])
            database.commit()
            database.execute("VACUUM")
            database.close()
            with open(path, "rb") as file:
                return file.read()


def visible(run):
    return [span for span in run.spans if span.node.kind != FRAME and not span.node.args.get("_hidden")]


def put_table(database, table, columns, rows):
    names = [column.partition(":")[0] for column in columns.split()]
    types = [column.partition(":")[2] or "INTEGER" for column in columns.split()]
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    if names[0] == "id" and table != "SAMPLING_CALLCHAINS":
        declared = declared.replace("id INTEGER", "id INTEGER NOT NULL PRIMARY KEY", 1)
    database.execute(f"CREATE TABLE {table} ({declared})")
    for row in rows:
        assert set(row) <= set(names), set(row) - set(names)
    database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})",
                         [[row.get(name) for name in names] for row in sorted(
                             rows, key=lambda row: row.get("start", 0))])
