/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "past/explain.h"
#include "test.h"

static struct explained_episode episode(enum activity_code code, const char *state, const char *doing)
{
    struct explained_episode e = {.gpu_index = 2,
                                  .util_permille = reading_ok(977),
                                  .power_mw = reading_ok(700000),
                                  .temp_max_mdegc = reading_ok(71000),
                                  .end = EPISODE_ONGOING};
    e.part.activity.code = code;
    snprintf(e.part.brief.state, sizeof e.part.brief.state, "%s", state);
    snprintf(e.part.brief.doing, sizeof e.part.brief.doing, "%s", doing);
    return e;
}

static void an_episode_of_work_has_its_numbers_and_its_end(void **state)
{
    (void)state;
    struct explained_episode e = episode(ACTIVITY_BUSY, "busy", "blender (erin) was computing");
    episode_write_sentence(&e);
    assert_string_equal(e.part.answer, "GPU 2 was busy: blender (erin) was computing. 98% and 700 W on average, up to 71 °C. "
                                       "It was still going on at the end of this time.");
}

/* They are those of the minutes in which it was there. */
static void a_lost_gpu_has_no_numbers(void **state)
{
    (void)state;
    struct explained_episode e = episode(ACTIVITY_LOST, "lost", "");
    episode_write_sentence(&e);
    assert_string_equal(e.part.answer, "GPU 2 was lost. It was still going on at the end of this time.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_episode_of_work_has_its_numbers_and_its_end),
        TEST(a_lost_gpu_has_no_numbers),
    };
    return RUN_TESTS(tests);
}
