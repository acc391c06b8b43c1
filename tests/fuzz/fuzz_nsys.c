/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports of Nsight Systems. The first byte chooses: bytes as they are (even), or rows of tables
 * that have every known column (odd), so that what is behind SQLite's own checks is reached too: a
 * byte for the table, then one for each value's type, and its bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "import_checks.h"

#define WORK "start,end,deviceId,contextId,streamId,correlationId,globalPid,graphNodeId,graphId,"

static const struct {
    const char *name, *columns;
} tables[] = {
    {"StringIds", "id INTEGER PRIMARY KEY,value"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     WORK "demangledName,shortName,registersPerThread,gridX,gridY,gridZ,blockX,blockY,blockZ,"
          "staticSharedMemory,dynamicSharedMemory"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", WORK "bytes,copyKind,srcKind,dstKind"},
    {"CUPTI_ACTIVITY_KIND_MEMSET", WORK "bytes,memKind"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", WORK "syncType"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", WORK "graphExecId"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start,end,globalTid,nameId,correlationId"},
    {"NVTX_EVENTS", "start,end,eventType,category,color,text,globalTid,textId,domainId,uint64Value,"
                    "int64Value,doubleValue,jsonText,binaryData"},
    {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId,schemaId,type,name,offset"},
    {"OSRT_API", "start,end,globalTid,nameId"},
    {"MPI_P2P_EVENTS", "start,end,globalTid,textId,size,remoteRank"},
    {"MPI_RANKS", "globalTid,rank"},
    {"COMPOSITE_EVENTS", "id,start,globalTid,threadState"},
    {"SAMPLING_CALLCHAINS", "id,symbol,module,kernelMode,unresolved,unwindMethod"},
    {"GPU_METRICS", "timestamp,typeId,metricId,value"},
    {"TARGET_INFO_GPU_METRICS", "typeId,metricId,metricName"},
    {"NET_NIC_METRIC", "start,globalId,portId,metricsListId,metricsIdx,value"},
    {"TARGET_INFO_NETWORK_METRICS", "metricsListId,metricsIdx,name,unit"},
    {"TARGET_INFO_NIC_INFO", "nicId,name"},
    {"NIC_ID_MAP", "nicId,globalId"},
    {"DIAGNOSTIC_EVENT", "timestamp,severity,text,globalPid"},
    {"TARGET_INFO_GPU", "id,name,busLocation,totalMemory,smCount,uuid,cuDevice,threadsPerWarp"},
    {"TARGET_INFO_CUDA_DEVICE", "gpuId,cudaId,pid"},
    {"TARGET_INFO_CUDA_CONTEXT_INFO", "processId,contextId,nullStreamId"},
    {"TARGET_INFO_CUDA_STREAM", "processId,contextId,streamId,priority,flag"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs"},
    {"ANALYSIS_DETAILS", "startTime,duration"},
    {"META_DATA_CAPTURE", "name,value"},
    {"META_DATA_EXPORT", "name,value"},
    {"PROCESSES", "globalPid,name"},
    {"ThreadNames", "globalTid,nameId"},
    {"ENUM_CUDA_MEM_KIND", "id,label"},
    {"ENUM_CUDA_MEMCPY_OPER", "id,name"},
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Values that decide on paths. */
static const char *const texts[] = {"step 1",
                                    "step 2",
                                    "epoch 1",
                                    "aten::add, seq = 1, op_id = 2, sizes = [[1]]",
                                    "forward",
                                    "backward",
                                    "ncclAllReduce",
                                    "NCCL communicator ID",
                                    "Message size [bytes]",
                                    "{\"Root\": 1}",
                                    "cudaLaunchKernel_v7000",
                                    "UVM_HTOD",
                                    "CUDA_MEMCPY_KIND_DTOH",
                                    "PROCESS_0:ENVIRONMENT_VARIABLE",
                                    "RANK=\"1\"",
                                    "SMs Active [%]"};
static const int64_t numbers[] = {0,
                                  1,
                                  2,
                                  59,
                                  60,
                                  34,
                                  75,
                                  33,
                                  INT64_C(281474976710656),
                                  INT64_C(281476654432356),
                                  UINT32_MAX,
                                  INT64_MAX,
                                  INT64_MIN,
                                  -1,
                                  1700000000,
                                  16777223};

struct input {
    const uint8_t *at, *end;
};

static uint8_t next(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static void bind(sqlite3_stmt *statement, int column, struct input *input)
{
    uint8_t type = next(input);
    size_t length;
    switch (type & 7) {
    case 0:
        sqlite3_bind_null(statement, column);
        break;
    case 1:
        sqlite3_bind_text(statement, column, texts[type >> 4], -1, SQLITE_STATIC);
        break;
    case 2:
        sqlite3_bind_double(statement, column, (double)next(input) / 3);
        break;
    case 3:
        length = next(input) % 64;
        length = length < (size_t)(input->end - input->at) ? length : 0;
        sqlite3_bind_blob(statement, column, input->at, (int)length, SQLITE_TRANSIENT);
        input->at += length;
        break;
    case 4:
        sqlite3_bind_int64(statement, column, numbers[type >> 4]);
        break;
    default:
        sqlite3_bind_int64(statement, column, (int64_t)next(input) << (type >> 4));
    }
}

static void insert(sqlite3 *database, size_t table, bool *is_there, struct input *input)
{
    char text[1024];
    sqlite3_stmt *statement;
    if (!*is_there) {
        snprintf(text, sizeof text, "CREATE TABLE %s (%s)", tables[table].name,
                 tables[table].columns);
        sqlite3_exec(database, text, NULL, NULL, NULL);
        *is_there = true;
    }
    int columns = 1;
    for (const char *at = tables[table].columns; *at != '\0'; at++) {
        columns += *at == ',';
    }
    int length = snprintf(text, sizeof text, "INSERT INTO %s VALUES (?", tables[table].name);
    for (int i = 1; i < columns; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, ",?");
    }
    snprintf(text + length, sizeof text - (size_t)length, ")");
    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK) {
        for (int i = 1; i <= columns; i++) {
            bind(statement, i, input);
        }
        sqlite3_step(statement); /* a row with a number that exists is refused */
    }
    sqlite3_finalize(statement);
}

static void write_rows(const char *path, struct input input)
{
    sqlite3 *database;
    bool is_there[TABLES] = {false};
    check(sqlite3_open(path, &database) == SQLITE_OK, "a file is written");
    sqlite3_exec(database,
                 "PRAGMA page_size=512; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN",
                 NULL, NULL, NULL);
    while (input.at < input.end) {
        size_t table = next(&input) % TABLES;
        insert(database, table, &is_there[table], &input);
    }
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(database);
}

static size_t read_head(const char *path, char *head)
{
    FILE *file = fopen(path, "rb");
    size_t length = file != NULL ? fread(head, 1, SS_IMPORT_HEAD_BYTES, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return length;
}

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char head[SS_IMPORT_HEAD_BYTES];
    if (size == 0) {
        return 0;
    }
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "/dev/shm/ss_fuzz_nsys.%d", (int)getpid());
        atexit(remove_file);
    }
    unlink(path);
    if (data[0] % 2 == 1) {
        write_rows(path, (struct input){data + 1, data + size});
    } else {
        FILE *file = fopen(path, "wb");
        check(file != NULL && fwrite(data + 1, 1, size - 1, file) == size - 1, "it is written");
        fclose(file);
    }
    struct ss_import_file file = {
        .path = path, .head = head, .head_length = read_head(path, head), .fd = -1};
    check_import_file(&ss_importer_nsys, &file);
    return 0;
}
