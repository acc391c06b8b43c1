/* SPDX-License-Identifier: Apache-2.0 */
/* Exports of Nsight Systems in the shapes of three generations of its schema: work of devices,
 * calls, processes and clocks. */
#include "sqlite_writer.h"

/* Global ids: of process 100 its main thread and thread 101, of process 200 its main thread. */
#define P100 "(1<<48|100<<24)"
#define P200 "(1<<48|200<<24)"
#define T100 "(1<<48|100<<24|100)"
#define T101 "(1<<48|100<<24|101)"
#define T200 "(1<<48|200<<24|200)"

#define STRINGS                                                                                    \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"               \
    "INSERT INTO StringIds VALUES (1,'void add<float>(float *)'), (2,'add'), "                     \
    "(3,'cudaLaunchKernel_v7000'), (4,'cudaMemcpyAsync_ptsz_v7000'), (5,'python3'),"               \
    "(6,'cudaStreamSynchronize_v3020'), (7,'read'), (8,'MPI_Allreduce'), (9,'loader');"
#define CALLS                                                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"      \
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"     \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000,1100,0," T100 ",7,3),"                   \
    " (1200,1300,0," T101 ",8,4), (1400,3400,0," T100 ",9,6);"

/* Before 2023: no names of processes, no date of the session, no counts of multiprocessors. */
static const char schema_3_13[] = STRINGS CALLS
    "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
    "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_PRODUCT_VERSION','2022.4.1.21'),"
    " ('EXPORT_SCHEMA_VERSION','3.13.0');"
    "CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
    "INSERT INTO ThreadNames VALUES (5,20," T100 "), (9,20," T101 ");"
    "CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER,"
    " stopTime INTEGER);"
    "INSERT INTO ANALYSIS_DETAILS VALUES (0,9000,5000,14000);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    " globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER,"
    " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
    " staticSharedMemory INTEGER, dynamicSharedMemory INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    " (1500,2500,0,1,7,7," P100 ",1,2,16,8,1,1,128,1,1,0,512);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,"
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    " bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (2600,2700,0,1,7,8," P100 ",4096,1,1,2);";

/* The columns of 2025, of which only some rows have values. */
#define KERNELS_3_20                                                                               \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"       \
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"              \
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"                        \
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,"            \
    " registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,"    \
    " blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER,"    \
    " graphNodeId INTEGER, graphId INTEGER);"
#define TARGET_3_20                                                                                \
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"                              \
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION','2025.3.1.90');"                \
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"                          \
    "INSERT INTO PROCESSES VALUES (" P100 ",100,'train.py'), (" P200 ",200,'train.py'),"           \
    " (1<<48|5<<24,5,'bash');"                                                                     \
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT,"               \
    " localTime TEXT);"                                                                            \
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000,'','');"               \
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT,"         \
    " totalMemory INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER, threadsPerWarp INTEGER);" \
    "INSERT INTO TARGET_INFO_GPU VALUES (0,0,'Tesla T4','0000:00:04.0',16000,40,'5c9a-1',0,32),"   \
    " (0,3,'Tesla T4','0000:00:05.0',16000,40,'5c9a-2',3,32);"

static const char schema_3_20[] = STRINGS CALLS KERNELS_3_20 TARGET_3_20
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    " (1500,2500,0,1,NULL,7,7," P100 ",1,2,1,16,8,1,1,128,1,1,0,512,NULL,NULL),"
    " (2550,2560,0,1,NULL,7,10," P100 ",1,2,1,16,8,1,1,128,1,1,0,512,33,4);"
    "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
    "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1,'','Pinned'), (2,'','Device');"
    "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
    "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,"
    " contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER,"
    " globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER,"
    " graphNodeId INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (2600,2700,0,1,NULL,7,8," P100
    ",4096,1,1,2,NULL);";

/* Two processes that share correlations and number their devices from 0, and waits. */
static const char schema_3_25[] = STRINGS CALLS KERNELS_3_20 TARGET_3_20
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000,1100,0," T200 ",7,3);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    " (1500,2500,0,1,NULL,7,7," P100 ",1,2,1,16,8,1,1,128,1,1,0,512,NULL,0),"
    " (1700,2500,0,1,NULL,7,7," P200 ",1,2,1,16,8,1,1,128,1,1,0,512,NULL,0);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0,0,100), (3,0,200);"
    "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, processId INTEGER,"
    " contextId INTEGER);"
    "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7,100,1);"
    "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, processId INTEGER,"
    " contextId INTEGER, priority INTEGER, flag INTEGER);"
    "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7,200,1,-5,2);"
    "CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (name TEXT, processId INTEGER, contextId INTEGER,"
    " streamId INTEGER);"
    "INSERT INTO TARGET_INFO_NVTX_CUDA_STREAM VALUES ('copies',200,1,7);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
    " deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
    " correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
    " (1450,3400,0,1,NULL,7,9," P200 ",NULL,3),"
    " (3500,3600,0,1,NULL,4294967295,11," P200 ",NULL,4);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,"
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    " value INTEGER, bytes INTEGER, memKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3000,3010,0,1,7,12," P100 ",0,4,2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,"
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    " graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (4000,5000,0,1,7,13," P100 ",2,3);";

static const char kernel[] = "void add<float>(float *)";

static void every_generation_has_its_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *statements, *tool;
        size_t kernels;
        uint64_t base_ns;
    } generations[] = {{schema_3_13, "Nsight Systems 2022.4.1", 1, 5000},
                       {schema_3_20, "Nsight Systems 2025.3.1", 2, 1700000000000000000},
                       {schema_3_25, "Nsight Systems 2025.3.1", 2, 1700000000000000000}};
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        load_statements(generations[i].statements);
        assert_int_equal(count_ranges(kernel), generations[i].kernels);
        const struct ss_model_range *range = find_range(kernel, 0);
        assert_int_equal(range->begin_ns, generations[i].base_ns + 1500);
        assert_int_equal(range->end_ns, generations[i].base_ns + 2500);
        assert_int_equal(payload(range), 7);
        assert_int_equal(field(range, SS_EVENT_FIELD_grid_x), 8);
        assert_int_equal(field(range, SS_EVENT_FIELD_block_x), 128);
        assert_int_equal(field(range, SS_EVENT_FIELD_registers), 16);
        assert_int_equal(field(range, SS_EVENT_FIELD_static_shared_bytes), 0);
        assert_int_equal(field(range, SS_EVENT_FIELD_dynamic_shared_bytes), 512);
        assert_int_equal(name_of(range)->type, SS_EVENT_TYPE_kernel);
        const struct ss_model_track *track = track_of(range);
        assert_int_equal(model.streams.data[track->stream].number, 7);
        assert_int_equal(model.processes.data[track->process].pid, 100);
        assert_int_equal(model.devices.data[track->device].number, 0);
        const struct ss_model_input *input = &model.inputs.data[0];
        assert_string_equal(text(input->tool), generations[i].tool);
        assert_int_equal(input->skipped.events, 0);
        assert_int_equal(input->summary.first_event_ns, generations[i].base_ns + 1000);
    }
}

static void absent_columns_are_absent_values(void **state)
{
    (void)state;
    load_statements(schema_3_13);
    const struct ss_model_range *old = find_range(kernel, 0);
    assert_int_equal(field(old, SS_EVENT_FIELD_graph), -1);
    assert_int_equal(field(old, SS_EVENT_FIELD_blocks_per_sm), -1);
    assert_string_equal(text(model.devices.data[track_of(old)->device].model), "");
    load_statements(schema_3_20);
    const struct ss_model_range *plain = find_range(kernel, 0), *of_graph = find_range(kernel, 1);
    assert_int_equal(field(plain, SS_EVENT_FIELD_graph), -1);
    assert_int_equal(field(of_graph, SS_EVENT_FIELD_graph), 4);
    assert_int_equal(field(of_graph, SS_EVENT_FIELD_graph_node), 33);
    const struct ss_model_field *blocks =
        ss_model_field_of(&model, plain->payload, SS_EVENT_FIELD_blocks_per_sm);
    const struct ss_model_field *warps =
        ss_model_field_of(&model, plain->payload, SS_EVENT_FIELD_warps_per_sm);
    assert_true(blocks->real == 8.0 / 40 && warps->real == 8.0 / 40 * 128 / 32);
}

static void copies_have_memories_and_sizes(void **state)
{
    (void)state;
    static const char *const generations[] = {schema_3_13, schema_3_20};
    for (size_t i = 0; i < 2; i++) { /* with and without the tables of kinds */
        load_statements(generations[i]);
        const struct ss_model_range *copy = find_range("Memcpy HtoD (Pinned -> Device)", 0);
        assert_int_equal(payload(copy), 4096);
        assert_int_equal(field(copy, SS_EVENT_FIELD_correlation), 8);
        assert_string_equal(field_text(copy, SS_EVENT_FIELD_from_memory), "pinned");
        assert_string_equal(field_text(copy, SS_EVENT_FIELD_to_memory), "device");
        assert_int_equal(name_of(copy)->type, SS_EVENT_TYPE_copy);
    }
}

static void processes_have_streams_and_devices_of_their_own(void **state)
{
    (void)state;
    load_statements(schema_3_25);
    const struct ss_model_track *a = track_of(find_range(kernel, 0));
    const struct ss_model_track *b = track_of(find_range(kernel, 1));
    assert_int_equal(model.processes.data[a->process].pid, 100);
    assert_int_equal(model.processes.data[b->process].pid, 200);
    assert_int_not_equal(a->stream, b->stream);
    assert_int_equal(model.devices.data[a->device].number, 0);
    assert_int_equal(model.devices.data[b->device].number, 3);
    const struct ss_model_device *device = &model.devices.data[b->device];
    assert_string_equal(text(device->model), "Tesla T4");
    assert_string_equal(text(device->uuid), "GPU-5c9a-2");
    assert_string_equal(text(device->pci_address), "0000:00:05.0");
    assert_int_equal(device->memory_bytes, 16000);
    const struct ss_model_stream *stream = &model.streams.data[b->stream];
    assert_int_equal(stream->priority, -5);
    assert_string_equal(text(stream->name), "copies");
    assert_false(stream->is_default);
    assert_true(model.streams.data[a->stream].is_default);
    assert_int_equal(model.processes.count, 3); /* those without events are left out */
    assert_string_equal(text(model.processes.data[a->process].name), "train.py");
}

/* Their own column states device 0. */
static void waits_are_on_the_device_of_their_context(void **state)
{
    (void)state;
    load_statements(schema_3_25);
    const struct ss_model_range *stream = find_range("Stream Sync", 0);
    const struct ss_model_range *context = find_range("Context Sync", 0);
    assert_int_equal(model.devices.data[track_of(stream)->device].number, 3);
    assert_int_equal(field(stream, SS_EVENT_FIELD_stream), track_of(find_range(kernel, 1))->stream);
    assert_string_equal(text(track_of(stream)->name), "stream 7 synchronisations");
    assert_int_equal(track_of(stream)->stream, 0); /* no work */
    assert_string_equal(text(track_of(context)->name), "context 1 synchronisations");
    assert_int_equal(field(context, SS_EVENT_FIELD_stream), -1);
    assert_int_equal(name_of(context)->type, SS_EVENT_TYPE_synchronisation);
}

static void graphs_and_memsets_are_work(void **state)
{
    (void)state;
    load_statements(schema_3_25);
    const struct ss_model_range *graph = find_range("CUDA graph 2", 0);
    const struct ss_model_range *memset = find_range("Memset (Device)", 0);
    assert_int_equal(name_of(graph)->type, SS_EVENT_TYPE_kernel);
    assert_int_equal(payload(graph), 13);
    assert_int_equal(field(graph, SS_EVENT_FIELD_graph), 2);
    assert_int_not_equal(track_of(graph)->stream, 0);
    assert_int_equal(payload(memset), 4);
    assert_string_equal(field_text(memset, SS_EVENT_FIELD_to_memory), "device");
}

static void calls_are_on_their_threads(void **state)
{
    (void)state;
    load_statements(schema_3_13);
    const struct ss_model_range *launch = find_range("cudaLaunchKernel", 0);
    const struct ss_model_range *copy = find_range("cudaMemcpyAsync_ptsz", 0);
    const struct ss_model_thread *thread = &model.threads.data[track_of(copy)->thread];
    assert_int_equal(payload(launch), 7);
    assert_int_equal(name_of(launch)->type, SS_EVENT_TYPE_launch);
    assert_string_equal(text(name_of(launch)->category), "runtime");
    assert_string_equal(text(track_of(launch)->name), "CUDA API");
    assert_int_equal(thread->tid, 101);
    assert_string_equal(text(thread->name), "loader");
    assert_false(thread->is_main);
    assert_true(model.threads.data[track_of(launch)->thread].is_main);
    /* Without a table of processes, the main thread names its process. */
    assert_string_equal(text(model.processes.data[thread->process].name), "python3");
}

static void other_calls_have_tracks_of_their_own(void **state)
{
    (void)state;
    load_statements(STRINGS
                    "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER,"
                    " globalTid INTEGER, nameId INTEGER, nestingLevel INTEGER);"
                    "INSERT INTO OSRT_API VALUES (-5,10,27," T100 ",7,0), (20,30,27," T100 ",99,0);"
                    "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);"
                    "INSERT INTO MPI_RANKS VALUES (" T100 ",3);"
                    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER,"
                    " globalTid INTEGER, textId INTEGER, rootRank INTEGER, size INTEGER);"
                    "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (40,50," T100 ",8,NULL,64);");
    const struct ss_model_range *call = find_range("read", 0);
    assert_int_equal(call->begin_ns, 0); /* began before the session, whose date is unknown */
    assert_int_equal(call->end_ns, 10);
    assert_string_equal(text(track_of(call)->name), "OS runtime");
    assert_int_equal(count_ranges("<unknown>"), 1);
    const struct ss_model_range *collective = find_range("MPI_Allreduce", 0);
    assert_int_equal(payload(collective), 64);
    assert_int_equal(field(collective, SS_EVENT_FIELD_root), -1);
    assert_int_equal(name_of(collective)->type, SS_EVENT_TYPE_collective);
    const struct ss_model_process *process = &model.processes.data[track_of(call)->process];
    assert_true(process->has_rank);
    assert_int_equal(process->rank, 3);
}

/* The environment of the command, of which only ranks are read. */
static void a_launcher_names_the_rank(void **state)
{
    (void)state;
    static const char environment[] =
        "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND','python'),"
        " ('PROCESS_0:ARGUMENT_0','train.py'), ('PROCESS_0:ARGUMENT_1','--api-key=s3cr3t'),"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE','SLURM_PROCID=\"6\"'),"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE','RANK=\"5\"'),"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE','WORLD_SIZE=\"8\"'),"
        " ('PROCESS_0:ENVIRONMENT_VARIABLE','HOME=\"/root\"');";
    char statements[8192];
    snprintf(statements, sizeof statements, "%s%s", schema_3_20, environment);
    load_statements(statements);
    const struct ss_model_process *process =
        &model.processes.data[track_of(find_range(kernel, 0))->process];
    assert_true(process->has_rank);
    assert_int_equal(process->rank, 5);
    assert_int_equal(process->world_size, 8);
    assert_string_equal(text(process->name), "train.py");
    assert_string_equal(text(model.attributes.data[0].key), "command");
    assert_string_equal(text(model.attributes.data[0].text), "python train.py --api-key=***");
    for (size_t i = 0; i < model.attributes.count; i++) {
        assert_null(strstr(text(model.attributes.data[i].text), "/root"));
    }
    snprintf(statements, sizeof statements, "%s%s", schema_3_25, environment);
    load_statements(statements); /* of two processes, neither */
    assert_false(model.processes.data[1].has_rank || model.processes.data[2].has_rank);
}

static void unreadable_rows_are_counted(void **state)
{
    (void)state;
    load_statements(STRINGS CALLS
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5,4,0," T100 ",1,3),"
                    " ('soon',9,0," T100 ",1,3), (1,2,0,'main',1,3),"
                    " (9223372036854775807,9223372036854775807,0," T100 ",1,3);"
                    "CREATE TABLE ANALYSIS_DETAILS (duration INTEGER, startTime INTEGER);"
                    "INSERT INTO ANALYSIS_DETAILS VALUES (9,5);");
    const struct ss_model_input *input = &model.inputs.data[0];
    assert_int_equal(count_ranges("cudaLaunchKernel"), 1);
    assert_int_equal(input->skipped.events, 4);
    assert_string_equal(text(input->skipped.reason),
                        "an end before its begin, or a time below 0 or beyond 63 bits");
    assert_int_equal(input->summary.events, 3);
}

static void a_time_range_selects(void **state)
{
    (void)state;
    struct ss_model_load load = {
        .size = sizeof load, .quiet = true, .has_time_range = true, .from_ns = 0, .to_ns = 300};
    write_file(schema_3_20);
    assert_int_equal(load_file_with(&load), SS_OK);
    size_t inside = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        inside += (model.ranges.data[i].flags & SS_RANGE_OUTSIDE) == 0;
    }
    assert_int_equal(inside, 2); /* the calls at 1000 and 1200: the first event is the origin */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generation_has_its_kernels),
        cmocka_unit_test(absent_columns_are_absent_values),
        cmocka_unit_test(copies_have_memories_and_sizes),
        cmocka_unit_test(processes_have_streams_and_devices_of_their_own),
        cmocka_unit_test(waits_are_on_the_device_of_their_context),
        cmocka_unit_test(graphs_and_memsets_are_work),
        cmocka_unit_test(calls_are_on_their_threads),
        cmocka_unit_test(other_calls_have_tracks_of_their_own),
        cmocka_unit_test(a_launcher_names_the_rank),
        cmocka_unit_test(unreadable_rows_are_counted),
        cmocka_unit_test(a_time_range_selects),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
