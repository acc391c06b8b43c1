/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field numbers of the Perfetto messages that stepscope writes or reads
 * (https://github.com/google/perfetto, protos/perfetto/trace), as of v59. Published numbers never
 * change. Values only.
 */
#ifndef SS_WIRE_PERFETTO_H
#define SS_WIRE_PERFETTO_H

enum { SS_PF_TRACE_PACKET = 1 };

enum ss_pf_packet {
    SS_PF_CLOCK_SNAPSHOT = 6,
    SS_PF_TIMESTAMP = 8,
    SS_PF_SEQUENCE_ID = 10,
    SS_PF_TRACK_EVENT = 11,
    SS_PF_INTERNED_DATA = 12,
    SS_PF_SEQUENCE_FLAGS = 13,
    SS_PF_SYNCHRONIZATION_MARKER = 36,
    SS_PF_PREVIOUS_PACKET_DROPPED = 42,
    SS_PF_COMPRESSED_PACKETS = 50,
    SS_PF_TIMESTAMP_CLOCK_ID = 58,
    SS_PF_PACKET_DEFAULTS = 59,
    SS_PF_TRACK_DESCRIPTOR = 60,
    SS_PF_PERF_SAMPLE = 66,
    SS_PF_FIRST_PACKET_ON_SEQUENCE = 87,
    SS_PF_TRACE_UUID = 89,
    SS_PF_TRACE_ATTRIBUTES = 126,
    SS_PF_STACK_SAMPLE = 135
};

enum { SS_PF_STATE_CLEARED = 1, SS_PF_NEEDS_STATE = 2 };

enum ss_pf_defaults {
    SS_PF_DEFAULT_PERF_SAMPLE = 12,
    SS_PF_DEFAULT_CLOCK_ID = 58,
    SS_PF_DEFAULT_STACK_SAMPLE = 100
};

enum ss_pf_clock { SS_PF_CLOCKS = 1, SS_PF_PRIMARY_TRACE_CLOCK = 2 };
enum ss_pf_clock_field { SS_PF_CLOCK_ID = 1, SS_PF_CLOCK_TIME = 2, SS_PF_CLOCK_INCREMENTAL = 3 };
enum ss_pf_clock_id {
    SS_PF_REALTIME = 1,
    SS_PF_MONOTONIC = 3,
    SS_PF_MONOTONIC_RAW = 5,
    SS_PF_BOOTTIME = 6,
    SS_PF_SEQUENCE_CLOCK = 64 /* the first of the clocks that a sequence may define */
};

enum ss_pf_interned {
    SS_PF_FUNCTION_NAMES = 5,
    SS_PF_FRAMES = 6,
    SS_PF_CALLSTACKS = 7,
    SS_PF_MAPPING_PATHS = 17,
    SS_PF_SOURCE_PATHS = 18,
    SS_PF_MAPPINGS = 19,
    SS_PF_TASK_CONTEXTS = 48
};

enum { SS_PF_IID = 1, SS_PF_STRING_BYTES = 2 };
enum { SS_PF_MAPPING_PATH_IDS = 7 };
enum { SS_PF_CALLSTACK_FRAMES = 2 };
enum { SS_PF_TASK_PID = 2, SS_PF_TASK_TID = 3 };

enum ss_pf_frame {
    SS_PF_FRAME_FUNCTION = 2,
    SS_PF_FRAME_MAPPING = 3,
    SS_PF_FRAME_SOURCE_PATH = 5,
    SS_PF_FRAME_LINE = 6,
    SS_PF_FRAME_KIND = 7
};

enum ss_pf_stack_sample {
    SS_PF_SAMPLE_TASK_IID = 2,
    SS_PF_SAMPLE_CALLSTACK_IID = 6,
    SS_PF_SAMPLE_UNWIND_ERROR = 7,
    SS_PF_SAMPLE_WEIGHT = 11
};
enum { SS_PF_SAMPLE_DEFAULT_SOURCE = 1, SS_PF_SAMPLE_DEFAULT_PRIMARY = 2 };
enum { SS_PF_COUNTER_NAME = 2, SS_PF_COUNTER_UNIT = 3, SS_PF_COUNTER_DESCRIPTION = 6 };
enum { SS_PF_SAMPLE_UNIT_COUNT = 9 };

enum ss_pf_perf_sample {
    SS_PF_PERF_PID = 2,
    SS_PF_PERF_TID = 3,
    SS_PF_PERF_CALLSTACK_IID = 4,
    SS_PF_PERF_CPU_MODE = 5
};
enum { SS_PF_PERF_MODE_USER = 2 };
enum { SS_PF_PERF_DEFAULT_TIMEBASE = 1 };
enum { SS_PF_TIMEBASE_COUNTER = 4, SS_PF_TIMEBASE_NAME = 10 };
enum { SS_PF_COUNTER_CPU_CLOCK = 1 };

enum ss_pf_track {
    SS_PF_TRACK_UUID = 1,
    SS_PF_TRACK_NAME = 2,
    SS_PF_TRACK_PROCESS = 3,
    SS_PF_TRACK_THREAD = 4,
    SS_PF_TRACK_PARENT = 5,
    SS_PF_TRACK_COUNTER = 8
};
enum ss_pf_process {
    SS_PF_PROCESS_PID = 1,
    SS_PF_PROCESS_CMDLINE = 2,
    SS_PF_PROCESS_NAME = 6,
    SS_PF_PROCESS_LABELS = 8
};
enum { SS_PF_THREAD_PID = 1, SS_PF_THREAD_TID = 2, SS_PF_THREAD_NAME = 5 };
enum { SS_PF_TRACK_COUNTER_UNIT = 3, SS_PF_TRACK_UNIT_COUNT = 2 };

enum ss_pf_event {
    SS_PF_EVENT_ANNOTATIONS = 4,
    SS_PF_EVENT_TYPE = 9,
    SS_PF_EVENT_TRACK = 11,
    SS_PF_EVENT_NAME = 23,
    SS_PF_EVENT_COUNTER_VALUE = 30
};
enum { SS_PF_EVENT_INSTANT = 3, SS_PF_EVENT_COUNTER = 4 };
enum { SS_PF_ANNOTATION_INT = 4, SS_PF_ANNOTATION_STRING = 6, SS_PF_ANNOTATION_NAME = 10 };

enum { SS_PF_UUID_MSB = 1, SS_PF_UUID_LSB = 2 };
enum { SS_PF_ATTRIBUTE = 1 };
enum { SS_PF_ATTRIBUTE_KEY = 1, SS_PF_ATTRIBUTE_LONG = 2, SS_PF_ATTRIBUTE_STRING = 3 };

#endif
