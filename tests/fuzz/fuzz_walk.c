/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose memory is wrong, or becomes wrong while it is read. First byte: which version's
 * layout (from 3.13 on published, which may be wrong too), and whether it has a generator. Then
 * patches of 12 bytes: from which range on it holds (2 bytes), where (2, in words), and the new
 * word (8). Small words are taken as addresses within the process, so that pointers lead to other
 * things more often than into nothing; but not among the published offsets.
 */
#include <stdlib.h>
#include <string.h>

/* Small, so that building it costs little and made-up pointers lead to something more often. */
#define IMAGE_BYTES (1 << 16)
#include "../fakes/cpython_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATCH_BYTES = 12, FRAMES = 12, WALKS = 5, LIFE_RANGES = 2000, MAX_RANGES = 400000 };

struct patches {
    const uint8_t *data;
    size_t count, done;
    size_t published_bytes;
    uint64_t life; /* ranges that are read before the process has ended */
};

static void apply(struct image *image, uint64_t serial)
{
    struct patches *patches = image->context;
    if (serial > MAX_RANGES) {
        abort(); /* reading without end */
    }
    image->is_gone = serial >= patches->life;
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
        size_t offset = (size_t)where * 8 % (IMAGE_BYTES - 8);
        if ((word >> 32) == 0 && offset >= patches->published_bytes) {
            word = IMAGE_BASE + word % IMAGE_BYTES;
        }
        memcpy(image->bytes + offset, &word, sizeof word);
    }
}

static void take_name(void *context, uint64_t pthread, struct ss_strview text)
{
    (void)pthread;
    *(size_t *)context += text.length;
}

struct use {
    struct ss_python *python;
    size_t sum;
};

static void use_stack(struct use *use, enum ss_python_result result,
                      const struct ss_python_stack *stack)
{
    bool has_frames = result == SS_PYTHON_OK || result == SS_PYTHON_PARTIAL;
    if (stack->depth > SS_PYTHON_MAX_DEPTH || has_frames != (stack->depth > 0)) {
        abort();
    }
    for (uint32_t n = 0; n < stack->depth; n++) {
        struct ss_python_frame frame;
        if (stack->frames[n] == 0 || stack->frames[n] > ss_python_frame_count(use->python)) {
            abort();
        }
        ss_python_frame_get(use->python, stack->frames[n], &frame);
        use->sum += frame.function.length + frame.file.length;
    }
}

static void take_stack(void *context, struct ss_python_thread *thread, enum ss_python_result result,
                       const struct ss_python_stack *stack)
{
    (void)thread;
    use_stack(context, result, stack);
}

static void use_image(struct image *image)
{
    enum { THREADS = 4 };
    struct ss_python_location location = image_location(image);
    struct use use = {0};
    if (ss_python_open(&image->reader, &location, NULL, &use.python, NULL) != SS_OK) {
        return;
    }
    for (int i = 0; i < WALKS; i++) {
        ss_python_update_threads(use.python, i % 2 == 1, NULL, NULL, NULL);
        struct ss_python_thread *threads[THREADS];
        size_t count = 0;
        while (count < ss_python_thread_count(use.python) && count < THREADS) {
            threads[count] = ss_python_thread_at(use.python, count);
            count++;
        }
        struct ss_python_stack_visitor visitor = {&use, take_stack};
        ss_python_walk_threads(use.python, threads, count, &visitor);
        for (size_t k = 0; k < count; k++) {
            struct ss_python_stack stack;
            use_stack(&use, ss_python_walk_thread(use.python, threads[k], &stack), &stack);
        }
        ss_python_check_cache(use.python);
        ss_python_thread_names(use.python, take_name, &use.sum);
    }
    ss_python_close(use.python);
}

/* A generator that the last function resumed, through C from 3.12 on, and that called another one.
 */
static void add_generator(struct image *image)
{
    const struct ss_cpython_layout *layout = image->layout;
    uint64_t resumed = image->frames[image->frame_count - 1];
    uint64_t generator = image_alloc(image, (uint64_t)layout->frame_size + 16);
    uint64_t entry = image_alloc(image, (uint64_t)layout->frame_size + 16);
    bool has_entry = layout->version >= 0x030c;
    image_put(image, entry, layout->frame_owner, 3, 1);
    image_put_word(image, entry, layout->frame_previous, resumed);
    image_fill_frame(image, generator, image_code(image, "generator", 90),
                     has_entry ? entry : resumed, 3);
    image_put(image, generator, layout->frame_owner, 1, 1);
    uint64_t called = image_push(image, image_code(image, "called", 95), 3);
    image_put_word(image, called, layout->frame_previous, generator);
    image_set_running(image, called, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t memory[IMAGE_BYTES];
    if (size < 1) {
        return 0;
    }
    struct image image;
    /* Walks and self-checks are tried again for long. Most processes end before that is over: what
     * the later tries see differs little, and a thousand inputs are worth more than one. */
    bool is_long_lived = data[0] >= 250;
    uint16_t version = (uint16_t)(0x0308 + data[0] % 8);
    bool is_debug = data[0] >= 128 && !is_long_lived && version < 0x030d;
    image_build(&image, ss_cpython_layout_get(version, is_debug, false), memory);
    for (int i = 0; i < FRAMES; i++) {
        image_push(&image, image_code(&image, i % 2 == 0 ? "even" : "odd", i + 1), 3);
    }
    if (version >= 0x030b && data[0] % 16 >= 8) {
        add_generator(&image);
    }
    image_publish(&image);
    struct patches patches = {
        .data = data + 1,
        .count = (size - 1) / PATCH_BYTES,
        .published_bytes = version >= 0x030d ? (size_t)image.layout->runtime_interpreters_head : 0,
        .life = is_long_lived ? UINT64_MAX : LIFE_RANGES};
    image.context = &patches;
    image.on_range = apply;
    use_image(&image);
    return 0;
}
