/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <math.h>

#include "svg_text.h"
#include "view/pictures/scaling_svg.h"

/* One run of a size. */
static void add(struct ss_scaling *scaling, size_t ranks, double speed_up, double step_ns,
                double exposed)
{
    size_t first = scaling->sizes.count > 0 ? scaling->sizes.data[0].ranks : ranks;
    double ideal = (double)ranks / (double)first;
    ss_vec_push(&scaling->sizes,
                (struct ss_scaling_size){.ranks = ranks,
                                         .runs = 1,
                                         .step_ns = {step_ns, NAN},
                                         .speed_up = {speed_up, NAN},
                                         .efficiency = {100 * speed_up / ideal, NAN},
                                         .exposed = {exposed, NAN}});
}

/* 1, 2, 4 and 8 ranks; of 4 ranks nothing is known but the step. */
static void fill(struct ss_scaling *scaling)
{
    *scaling = (struct ss_scaling){0};
    add(scaling, 1, 1, 80e6, NAN);
    add(scaling, 2, 2, 40e6, 25);
    add(scaling, 4, 0, 30e6, 50);
    add(scaling, 8, 4, 20e6, 100);
}

static char *draw(const struct ss_scaling *scaling)
{
    struct ss_sink sink;
    ss_sink_open_memory(&sink, 1 << 20);
    ss_view_scaling(scaling, &sink);
    char *svg = svg_take(&sink);
    svg_is_whole(svg);
    return svg;
}

static void both_axes_are_logarithms(void **state)
{
    (void)state;
    struct ss_scaling scaling;
    fill(&scaling);
    char *svg = draw(&scaling);
    /* 1 rank is at 78, 8 ranks at 406; 1 time as fast at 320, 8 times at 94. */
    svg_has(svg, "stroke-width=\"2\" points=\"78.0,320.0 187.3,244.7 406.0,169.3 \"/>");
    svg_has(svg, "<line x1=\"78.0\" y1=\"320.0\" x2=\"406.0\" y2=\"94.0\" stroke=\"#999\" "
                 "stroke-dasharray=\"5 4\"/>");
    svg_has(svg, "<circle cx=\"187.3\" cy=\"244.7\" r=\"4\" fill=\"#2a6fb0\"><title>2 ranks, 1 "
                 "runs: 2.00 times as fast, efficiency 100.0 %</title>");
    assert_int_equal(svg_count(svg, "<circle"), 3);
    /* Below its point, but above the frame's end. */
    svg_has(svg, "<text x=\"185.3\" y=\"264.7\" text-anchor=\"middle\" fill=\"#2a6fb0\">100 %");
    svg_has(svg, "<text x=\"404.0\" y=\"189.3\" text-anchor=\"middle\" fill=\"#2a6fb0\">50 %");
    svg_has(svg, "<text x=\"76.0\" y=\"310.0\" text-anchor=\"middle\" fill=\"#2a6fb0\">100 %");
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void ticks_are_sizes_and_powers_of_two(void **state)
{
    (void)state;
    struct ss_scaling scaling;
    fill(&scaling);
    char *svg = draw(&scaling);
    svg_has(svg, "<line x1=\"64.0\" y1=\"320.0\" x2=\"420.0\" y2=\"320.0\" stroke=\"#e4e4e4\"/>\n"
                 "<text x=\"56.0\" y=\"324.0\" text-anchor=\"end\" fill=\"#333\">1×</text>");
    svg_has(svg, "<text x=\"56.0\" y=\"98.0\" text-anchor=\"end\" fill=\"#333\">8×</text>");
    assert_int_equal(svg_count(svg, "#e4e4e4"), 4);
    svg_has(svg, "<line x1=\"296.7\" y1=\"330.0\" x2=\"296.7\" y2=\"334.0\" stroke=\"#999\"/>\n"
                 "<text x=\"296.7\" y=\"348.0\" text-anchor=\"middle\" fill=\"#333\">4</text>");
    svg_has(svg, "<line x1=\"64.0\" y1=\"330.0\" x2=\"420.0\" y2=\"330.0\" stroke=\"#999\"/>");
    svg_has(svg, "<text x=\"242.0\" y=\"368.0\" text-anchor=\"middle\" fill=\"#666\">ranks</text>");
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void bars_are_steps_with_what_nothing_hides_on_top(void **state)
{
    (void)state;
    struct ss_scaling scaling;
    fill(&scaling);
    char *svg = draw(&scaling);
    /* Four bars share 328; 80 ms are 222 high. */
    svg_has(svg, "<g><title>1 ranks: a step takes 80.0 ms, 0.0 % of it exposed communication"
                 "</title>\n<rect x=\"521.0\" y=\"108.0\" width=\"56.0\" height=\"222.0\" "
                 "fill=\"#8fb4d6\"/>\n<rect x=\"521.0\" y=\"108.0\" width=\"56.0\" "
                 "height=\"0.0\" fill=\"#d0662a\"/></g>\n"
                 "<text x=\"549.0\" y=\"102.0\" text-anchor=\"middle\" fill=\"#333\">80.0 ms"
                 "</text>\n"
                 "<text x=\"549.0\" y=\"348.0\" text-anchor=\"middle\" fill=\"#333\">1</text>");
    svg_has(svg, "<rect x=\"603.0\" y=\"246.8\" width=\"56.0\" height=\"83.2\" "
                 "fill=\"#8fb4d6\"/>\n<rect x=\"603.0\" y=\"219.0\" width=\"56.0\" "
                 "height=\"27.8\" fill=\"#d0662a\"/>");
    svg_has(svg, "<rect x=\"767.0\" y=\"330.0\" width=\"56.0\" height=\"0.0\" "
                 "fill=\"#8fb4d6\"/>\n<rect x=\"767.0\" y=\"274.5\" width=\"56.0\" "
                 "height=\"55.5\" fill=\"#d0662a\"/>");
    svg_has(svg, "<line x1=\"508.0\" y1=\"330.0\" x2=\"836.0\" y2=\"330.0\" stroke=\"#999\"/>");
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void several_runs_have_an_error(void **state)
{
    (void)state;
    struct ss_scaling scaling;
    fill(&scaling);
    scaling.sizes.data[1].speed_up = (struct ss_scaling_figure){2, 1};
    scaling.sizes.data[3].speed_up = (struct ss_scaling_figure){4, 4}; /* reaches 0: no line */
    char *svg = draw(&scaling);
    svg_has(svg, "<path d=\"M187.3 200.6V320.0M183.3 200.6h8M183.3 320.0h8\" "
                 "stroke=\"#2a6fb0\"/>");
    assert_int_equal(svg_count(svg, "<path"), 1);
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void slower_than_one_rank_widens_the_axis(void **state)
{
    (void)state;
    struct ss_scaling scaling = {0};
    add(&scaling, 4, 1, 1e6, 0);
    add(&scaling, 8, 0.25, 4e6, 130);
    char *svg = draw(&scaling);
    /* From 1/4 to 2. */
    svg_has(svg, "points=\"78.0,169.3 406.0,320.0 \"/>");
    svg_has(svg, "y=\"324.0\" text-anchor=\"end\" fill=\"#333\">0.25×</text>");
    svg_has(svg, "y=\"98.0\" text-anchor=\"end\" fill=\"#333\">2×</text>");
    svg_has(svg, "8 ranks: a step takes 4.00 ms, 100.0 % of it exposed");
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void one_size_stands_in_the_middle(void **state)
{
    (void)state;
    struct ss_scaling scaling = {0};
    add(&scaling, 4, 1, 0, 0);
    char *svg = draw(&scaling);
    svg_has(svg, "<circle cx=\"242.0\" cy=\"207.0\"");
    svg_has(svg, "<rect x=\"644.0\" y=\"330.0\" width=\"56.0\" height=\"0.0\"");
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void many_sizes_have_fewer_texts(void **state)
{
    (void)state;
    enum { SIZES = 29 };
    struct ss_scaling scaling = {0};
    for (size_t i = 0; i < SIZES; i++) {
        add(&scaling, i + 1, (double)(i + 1), 1e6, 0);
    }
    char *svg = draw(&scaling);
    assert_int_equal(svg_count(svg, "<circle"), SIZES);
    assert_int_equal(svg_count(svg, ">100 %</text>"), 10);  /* every third */
    assert_int_equal(svg_count(svg, ">1.00 ms</text>"), 6); /* every fifth */
    /* Numbers of ranks that would touch the one before are left out. */
    svg_has(svg, ">1</text>");
    svg_has(svg, "width=\"7.9\"");
    assert_in_range(svg_count(svg, "y=\"348.0\""), 6 + 8, 6 + 12);
    ss_free(svg);
    ss_vec_fini(&scaling.sizes);
}

static void the_head_says_what_a_speed_up_is_of(void **state)
{
    (void)state;
    static const struct {
        bool is_by_samples, is_weak;
        const char *text;
    } cases[] = {{false, false, ">of steps per second; dashed: ideal"},
                 {false, true, ">of steps per second of all ranks; dashed"},
                 {true, true, ">of samples per second; dashed"},
                 {true, false, ">of samples per second; dashed"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ss_scaling scaling;
        fill(&scaling);
        scaling.is_by_samples = cases[i].is_by_samples;
        scaling.is_weak = cases[i].is_weak;
        char *svg = draw(&scaling);
        svg_has(svg, cases[i].text);
        svg_has(svg, "width=\"860\" height=\"400\" viewBox=\"0 0 860 400\"");
        svg_has(svg, "<text x=\"500\" y=\"32\" font-size=\"17\">A step</text>");
        ss_free(svg);
        ss_vec_fini(&scaling.sizes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_axes_are_logarithms),
        cmocka_unit_test(ticks_are_sizes_and_powers_of_two),
        cmocka_unit_test(bars_are_steps_with_what_nothing_hides_on_top),
        cmocka_unit_test(several_runs_have_an_error),
        cmocka_unit_test(slower_than_one_rank_widens_the_axis),
        cmocka_unit_test(one_size_stands_in_the_middle),
        cmocka_unit_test(many_sizes_have_fewer_texts),
        cmocka_unit_test(the_head_says_what_a_speed_up_is_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
