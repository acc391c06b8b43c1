/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stepscope puts on top of a Perfetto trace: the field numbers of its own payload and the
 * limits that writer and reader agree on. docs/trace-format.md is the description; the numbers are
 * never reused for another meaning. Values only.
 */
#ifndef SS_TRACE_PROFILE_H
#define SS_TRACE_PROFILE_H

#include <stdint.h>

/* TracePacket extension that carries our payload. Perfetto hands out 1000 to 1999 from below. */
enum { SS_EXTENSION = 1990 };

/* The payload's first field: 'S' in the low seven bits, the version above. */
enum { SS_FORMAT_VERSION = 1, SS_FORMAT_MAGIC = 'S' };
static inline uint64_t ss_format_word(unsigned version)
{
    return SS_FORMAT_MAGIC | (uint64_t)version << 7;
}

enum ss_payload {
    SS_PAYLOAD_FORMAT = 1,
    SS_PAYLOAD_SAMPLE_FLAGS = 2, /* state | gil << 3 | partial << 5 */
    SS_PAYLOAD_WINDOW = 3,
    SS_PAYLOAD_STEP = 4, /* step + 1 */
    SS_PAYLOAD_PHASE = 5,
    SS_PAYLOAD_RANGE = 6,
    SS_PAYLOAD_CLOCK_WIDTH = 7,
    SS_PAYLOAD_UNIT = 8,
    SS_PAYLOAD_TRAILER = 9,
    SS_PAYLOAD_PROCESS = 10,
    SS_PAYLOAD_THREAD = 11,
    SS_PAYLOAD_FRAME = 12,
    SS_PAYLOAD_SOURCE = 13,
    SS_PAYLOAD_COUNTS = 14,
    SS_PAYLOAD_NOTE = 15,
    SS_PAYLOAD_ATTRIBUTE = 16,
    SS_PAYLOAD_TRACK = 17,
    SS_PAYLOAD_LANE = 18,
    SS_PAYLOAD_NAME = 19,
    SS_PAYLOAD_EVENT_FLAGS = 20, /* enum ss_event_flag */
    SS_PAYLOAD_EVENT_TEXT = 21,  /* a payload text that is not UTF-8 */
    SS_PAYLOAD_LINE = 22
};

enum ss_payload_track {
    SS_TRACK_UUID = 1,
    SS_TRACK_KIND = 2,
    SS_TRACK_PROCESS_UUID = 3,
    SS_TRACK_THREAD_UUID = 4,
    SS_TRACK_PARENT_UUID = 5,
    SS_TRACK_NAME = 6,
    SS_TRACK_UNIT = 7,
    SS_TRACK_COUNTER_VALUES = 8, /* enum ss_counter_kind */
    SS_TRACK_RANK = 9            /* zigzag */
};

/* A lane of an ASYNC track is a track of its own to Perfetto. */
enum { SS_LANE_UUID = 1, SS_LANE_TRACK_UUID = 2, SS_LANE_NUMBER = 3 };

/* What an EventName of the packet's InternedData has beside its text. */
enum ss_payload_name {
    SS_NAME_IID = 1,
    SS_NAME_COLOUR = 2, /* fixed32 */
    SS_NAME_CATEGORY = 3,
    SS_NAME_TEXT = 4, /* the bytes, where they are not UTF-8 */
    SS_NAME_FILE = 5,
    SS_NAME_LINE = 6
};

enum ss_payload_unit {
    SS_UNIT_NUMBER = 1,
    SS_UNIT_RESTART = 2,
    SS_UNIT_GAP = 3,
    SS_UNIT_PERIOD = 4 /* which restart period: ids of another mean something else */
};

enum ss_payload_trailer {
    SS_TRAILER_NUMBER = 1,
    SS_TRAILER_FIRST = 2,
    SS_TRAILER_LAST = 3, /* minus first */
    SS_TRAILER_EVENTS = 4,
    SS_TRAILER_SAMPLES = 5,
    SS_TRAILER_PLAIN_BYTES = 6,
    SS_TRAILER_SEALED = 7,
    SS_TRAILER_CRC = 15 /* fixed32, the last bytes of the unit */
};

enum ss_payload_process {
    SS_PROCESS_UUID = 1,
    SS_PROCESS_PARENT_UUID = 2,
    SS_PROCESS_PID = 3,
    SS_PROCESS_PARENT_PID = 4,
    SS_PROCESS_NAMESPACE = 5,
    SS_PROCESS_START = 6,
    SS_PROCESS_CMDLINE = 7,
    SS_PROCESS_NAME = 8,
    SS_PROCESS_RUNTIME = 9,
    SS_PROCESS_EXECUTABLE = 10,
    SS_PROCESS_LABEL = 11,
    SS_PROCESS_FIRST_SEEN = 12
};

enum ss_payload_thread {
    SS_THREAD_UUID = 1,
    SS_THREAD_PROCESS_UUID = 2,
    SS_THREAD_TID = 3,
    SS_THREAD_IS_MAIN = 4,
    SS_THREAD_NAME = 5,
    SS_THREAD_IID = 6 /* its task context in this restart period */
};

/* One for each Frame of the packet's InternedData, in the same order. */
enum ss_payload_frame {
    SS_FRAME_NAME_TAIL = 1, /* the name is this many last bytes of the function */
    SS_FRAME_NAME = 2,      /* else the name itself; neither: as the function */
    SS_FRAME_SHORT_OFFSET = 3,
    SS_FRAME_FIRST_LINE = 4, /* zigzag of line - first line; absent: unknown */
};

enum ss_payload_source {
    SS_SOURCE_ID = 1,
    SS_SOURCE_NAME = 2,
    SS_SOURCE_STATUS = 3,
    SS_SOURCE_REASON = 4
};

/* 1: source, 2: process uuid, 3: time; the counters follow in the order of struct ss_trace_counts
 * from 4 on. */
enum ss_payload_counts {
    SS_COUNTS_SOURCE = 1,
    SS_COUNTS_PROCESS_UUID,
    SS_COUNTS_TIME,
    SS_COUNTS_FIRST
};
enum { SS_COUNTS_FIELDS = 13 };

enum ss_payload_note {
    SS_LINE_TIME = 1,
    SS_LINE_PROCESS_UUID = 2,
    SS_LINE_NAME = 3, /* an event name of the main sequence */
    SS_LINE_NUMBER = 4,
    SS_LINE_HITS = 5,
    SS_LINE_NS = 6
};

enum {
    SS_NOTE_TIME = 1,
    SS_NOTE_PROCESS_UUID = 2,
    SS_NOTE_KIND = 3,
    SS_NOTE_TEXT = 4,
    SS_NOTE_VALUE = 5 /* zigzag */
};

enum { SS_ATTRIBUTE_KEY = 1, SS_ATTRIBUTE_TEXT = 2 };

/* The packet that begins a unit starts with: packet tag, length, marker field. The marker's value
 * is Perfetto's own, so that its tools find the same boundaries. */
enum { SS_MARKER_BYTES = 19 }; /* tag (2), length (1), the 16 bytes */
extern const uint8_t ss_marker[SS_MARKER_BYTES];

/* Limits of the format: a writer stays below, a reader refuses what is beyond. */
enum {
    SS_MAX_UNIT_BYTES = 2 * 1024 * 1024,  /* as stored */
    SS_MAX_PLAIN_BYTES = 4 * 1024 * 1024, /* of one compressed packet, inflated */
    SS_MAX_TEXT_BYTES = 16 * 1024,
    SS_MAX_STACK_DEPTH = 16 * 1024,
    SS_MAX_IID = 1 << 22,
    SS_MAX_TRACKS = 1 << 20,
    SS_MAX_TRACK_DEPTH = 8, /* groups in groups */
    SS_MAX_LANES = 1024,    /* of one track */
    /* The main sequence, and the last of those of single tracks. */
    SS_SEQUENCE = 1,
    SS_MAX_SEQUENCE = 1000
};

/* What viewers show around the tracks of the machine. */
#define SS_HOST_TRACK_NAME "host"

#endif
