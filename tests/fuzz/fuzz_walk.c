/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose memory is wrong, or becomes wrong while it is read. First byte: which version's
 * layout. Then patches of 12 bytes: from which range on it holds (2 bytes), where (2, in words),
 * and the new word (8). Small words are taken as addresses within the process, so that pointers
 * lead to other things more often than into nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "../fakes/cpython_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATCH_BYTES = 12, FRAMES = 20, WALKS = 6, MAX_RANGES = 400000 };

struct patches {
    const uint8_t *data;
    size_t count, done;
};

static void apply(struct image *image, uint64_t serial)
{
    struct patches *patches = image->context;
    if (serial > MAX_RANGES) {
        abort(); /* reading without end */
    }
    for (; patches->done < patches->count; patches->done++) {
        const uint8_t *patch = patches->data + patches->done * PATCH_BYTES;
        uint16_t when, where;
        uint64_t word;
        memcpy(&when, patch, sizeof when);
        memcpy(&where, patch + 2, sizeof where);
        memcpy(&word, patch + 4, sizeof word);
        if (serial < when) {
            return;
        }
        if ((word >> 32) == 0) {
            word = IMAGE_BASE + word % IMAGE_BYTES;
        }
        memcpy(image->bytes + (size_t)where * 8 % (IMAGE_BYTES - 8), &word, sizeof word);
    }
}

static void take_name(void *context, uint64_t pthread, struct ss_strview text)
{
    (void)pthread;
    *(size_t *)context += text.length;
}

static void use(struct image *image)
{
    struct ss_python_location location = image_location(image);
    struct ss_python *python = NULL;
    if (ss_python_open(&image->reader, &location, NULL, &python, NULL) != SS_OK) {
        return;
    }
    size_t sum = 0;
    for (int i = 0; i < WALKS; i++) {
        ss_python_update_threads(python, i % 2 == 1, NULL, NULL, NULL);
        for (size_t k = 0; k < ss_python_thread_count(python) && k < 4; k++) {
            struct ss_python_stack stack;
            enum ss_python_result result =
                ss_python_walk_thread(python, ss_python_thread_at(python, k), &stack);
            bool has_frames = result == SS_PYTHON_OK || result == SS_PYTHON_PARTIAL;
            if (stack.depth > SS_PYTHON_MAX_DEPTH || has_frames != (stack.depth > 0)) {
                abort();
            }
            for (uint32_t n = 0; n < stack.depth; n++) {
                struct ss_python_frame frame;
                if (stack.frames[n] == 0 || stack.frames[n] > ss_python_frame_count(python)) {
                    abort();
                }
                ss_python_frame_get(python, stack.frames[n], &frame);
                sum += frame.function.length + frame.file.length;
            }
        }
        ss_python_check_cache(python);
        ss_python_thread_names(python, take_name, &sum);
    }
    ss_python_close(python);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t memory[IMAGE_BYTES];
    if (size < 1) {
        return 0;
    }
    struct image image;
    uint16_t version = (uint16_t)(0x0308 + data[0] % 5);
    image_build(&image, ss_cpython_layout_get(version, data[0] >= 128, false), memory);
    for (int i = 0; i < FRAMES; i++) {
        image_push(&image, image_code(&image, i % 2 == 0 ? "even" : "odd", i + 1), 3);
    }
    struct patches patches = {data + 1, (size - 1) / PATCH_BYTES, 0};
    image.context = &patches;
    image.on_range = apply;
    use(&image);
    return 0;
}
