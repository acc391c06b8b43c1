/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepscope's extension of a Perfetto trace: the field numbers of its payload and the limits shared
 * by writer and reader, described in docs/trace-format.md. A number is never reused for another
 * meaning. Values only.
 */
#ifndef SS_TRACE_PROFILE_H
#define SS_TRACE_PROFILE_H

#include <stdint.h>

/* TracePacket extension of our payload. Perfetto assigns 1000 to 1999 in ascending order. */
enum { SS_EXTENSION = 1990 };

/* The first field of the payload: 'S' in the low seven bits, the version above. */
enum { SS_FORMAT_VERSION = 1, SS_FORMAT_MAGIC = 'S' };
static inline uint64_t ss_format_word(unsigned version)
{
    return SS_FORMAT_MAGIC | (uint64_t)version << 7;
}

enum ss_payload {
    SS_PAYLOAD_FORMAT = 1,
    SS_PAYLOAD_SAMPLE_FLAGS = 2, /* state | gil << 3 | partial << 5 | wait << 6 */
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
    SS_PAYLOAD_EVENT_TEXT = 21,  /* a payload text that is not valid UTF-8 */
    SS_PAYLOAD_LINE = 22,
    SS_PAYLOAD_DEVICE = 23
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
    SS_TRACK_RANK = 9,           /* zigzag */
    SS_TRACK_DEVICE = 10         /* id of a device */
};

/* To Perfetto each lane of an ASYNC track is a separate track. */
enum { SS_LANE_UUID = 1, SS_LANE_TRACK_UUID = 2, SS_LANE_NUMBER = 3 };

/* Attributes of an EventName in the packet's InternedData. */
enum ss_payload_name {
    SS_NAME_IID = 1,
    SS_NAME_COLOUR = 2, /* fixed32 */
    SS_NAME_CATEGORY = 3,
    SS_NAME_TEXT = 4, /* the raw bytes, if not valid UTF-8 */
    SS_NAME_FILE = 5,
    SS_NAME_LINE = 6
};

enum ss_payload_unit {
    SS_UNIT_NUMBER = 1,
    SS_UNIT_RESTART = 2,
    SS_UNIT_GAP = 3,
    SS_UNIT_PERIOD = 4 /* restart period; iids are valid within one period */
};

enum ss_payload_trailer {
    SS_TRAILER_NUMBER = 1,
    SS_TRAILER_FIRST = 2,
    SS_TRAILER_LAST = 3, /* last - first */
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
    SS_THREAD_IID = 6 /* iid of its task context in this restart period */
};

/* One per Frame of the packet's InternedData, in the same order. */
enum ss_payload_frame {
    SS_FRAME_NAME_TAIL = 1, /* the name is a suffix of the function, this many bytes long */
    SS_FRAME_NAME = 2,      /* the name; without both fields it equals the function */
    SS_FRAME_SHORT_OFFSET = 3,
    SS_FRAME_FIRST_LINE = 4, /* zigzag of line - first line; absent: unknown */
};

/* From 4 on: the counters in the order of struct ss_trace_counts. */
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

/* The first packet of a unit begins with packet tag, length, marker field. The marker is that of
 * Perfetto, so that its tools find the same boundaries. */
enum { SS_MARKER_BYTES = 19 }; /* tag (2), length (1), the 16 bytes */
extern const uint8_t ss_marker[SS_MARKER_BYTES];

/* Limits of the format: the writer stays below them, the reader rejects anything above. */
enum {
    SS_MAX_UNIT_BYTES = 2 * 1024 * 1024,  /* as stored */
    SS_MAX_PLAIN_BYTES = 4 * 1024 * 1024, /* of one compressed packet, inflated */
    SS_MAX_TEXT_BYTES = 16 * 1024,
    SS_MAX_STACK_DEPTH = 16 * 1024,
    SS_MAX_IID = 1 << 22,
    SS_MAX_TRACKS = 1 << 20,
    SS_MAX_TRACK_DEPTH = 8, /* nesting of groups */
    SS_MAX_LANES = 1024,    /* of one track */
    /* The main sequence, and the last track sequence. */
    SS_SEQUENCE = 1,
    SS_MAX_SEQUENCE = 1000
};

/* Viewers show this folder around the tracks of the host. */
#define SS_HOST_TRACK_NAME "host"

#endif
