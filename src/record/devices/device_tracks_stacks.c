/* SPDX-License-Identifier: Apache-2.0 */
/* Python stacks of launches. A field of a trace has one as a JSON list of frames,
 * "file(line): function", the innermost first. */
#include <inttypes.h>

#include "base/strbuf.h"
#include "record/devices/device_tracks_inside.h"
#include "record/processes/context.h"

enum { MOST_BYTES = 12 << 10 };

void ss_device_on_frame(void *context, const struct ss_device_frame_message *frame)
{
    struct ss_device_tracks *devices = context;
    ss_vec_push(&devices->frames,
                (struct ss_device_frame){frame->file, frame->function, frame->line});
}

void ss_device_on_stack(void *context, const struct ss_device_stack_message *stack)
{
    struct ss_device_tracks *devices = context;
    ss_vec_push(&devices->stacks,
                (struct ss_device_stack){.outer = stack->outer, .frame = stack->frame});
}

static void append_escaped(struct ss_strbuf *out, struct ss_strview text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte == '"' || byte == '\\') {
            ss_strbuf_append_format(out, "\\%c", byte);
        } else if (byte < 0x20) {
            ss_strbuf_append_format(out, "\\u%04x", byte);
        } else {
            ss_strbuf_append(out, (const char *)&byte, 1);
        }
    }
}

static void append_frame(const struct ss_device_tracks *devices,
                         const struct ss_device_frame *frame, struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, out->length > 1 ? ",\"" : "\"");
    append_escaped(out, ss_device_text_of(devices, frame->file));
    ss_strbuf_append_format(out, "(%" PRId32 "): ", frame->line);
    append_escaped(out, ss_device_text_of(devices, frame->function));
    ss_strbuf_append_text(out, "\"");
}

static uint32_t write_stack(struct ss_device_tracks *devices, uint32_t number)
{
    struct ss_intern *texts = &devices->context->names.texts;
    struct ss_strbuf out;
    ss_strbuf_init(&out, 4 * SS_DEVICE_MAX_TEXT_BYTES);
    ss_strbuf_append_text(&out, "[");
    for (; number != 0 && out.length < MOST_BYTES; number = devices->stacks.data[number].outer) {
        uint32_t frame = devices->stacks.data[number].frame;
        append_frame(devices, &devices->frames.data[frame], &out);
    }
    ss_strbuf_append_text(&out, "]");
    uint32_t text = out.overflow ? 0 : ss_intern_put(texts, out.data, out.length);
    ss_strbuf_fini(&out);
    return text;
}

struct ss_strview ss_device_stack_of(struct ss_device_tracks *devices, uint32_t number)
{
    if (number == 0 || number >= devices->stacks.count) {
        return (struct ss_strview){"", 0};
    }
    struct ss_device_stack *stack = &devices->stacks.data[number];
    stack->text = stack->text != 0 ? stack->text : write_stack(devices, number);
    return ss_intern_get(&devices->context->names.texts, stack->text);
}
