/* SPDX-License-Identifier: Apache-2.0
 * Plots as cells.
 */
#include "tui/canvas.h"

#include <math.h>

#include "base/cleanup.h"
#include "test.h"

static void assert_plot(enum plot_form form, const float *values, int width, int height, const char *want)
{
    struct canvas c = {0};
    AUTO_BUF struct buf text = BUF(4096);
    assert_int_equal(canvas_resize(&c, width, height), 0);
    canvas_clear(&c);
    canvas_plot(&c, 0, 0, width, height, TINT_UTIL, form, values);
    canvas_write(&c, &text);
    canvas_done(&c);
    assert_string_equal(text.at, want);
}

static void without_utf8_a_column_has_eight_steps_a_line(void **state)
{
    (void)state;
    static const float values[] = {0, 0.125F, 0.25F, 0.5F, 0.75F, 1, NAN};
    assert_plot(PLOT_AREA, values, 7, 2, "    -#\n_.-###\n");
}

static void what_hangs_from_the_top_is_rounded_to_whole_lines(void **state)
{
    (void)state;
    static const float values[] = {0, 0.125F, 0.25F, 0.5F, 0.75F, 1, NAN};
    assert_plot(PLOT_DOWN, values, 7, 2, "__####\n    ##\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_utf8_a_column_has_eight_steps_a_line),
        TEST(what_hangs_from_the_top_is_rounded_to_whole_lines),
    };
    return RUN_TESTS(tests);
}
