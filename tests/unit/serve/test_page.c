/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/data/page.h"

#include <string.h>

#include "base/cleanup.h"
#include "test.h"

/* A process may call itself whatever it likes. */
static void data_in_the_page_cannot_end_its_element(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = snapshot_new(0);
    AUTO_BUF struct buf out = BUF(1 << 20);
    const struct page_data data = {"first-why", STR("{\"name\":\"</script><script>alert(1)</script><!--\"}")};
    page_write_dashboard(&out, s, NULL, &data, 1, false, "01234567");
    assert_false(out.failed);
    buf_char(&out, '\0');
    assert_non_null(strstr(out.at, "{\"name\":\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\"}</script>"));
    assert_null(strstr(out.at, "alert(1)</script>"));
}

/* A dash right before a limit would be a minus. */
static void power_that_is_not_known_is_told_apart_from_its_limit(void **state)
{
    (void)state;
    static const struct {
        struct reading power, limit;
        const char *shown;
    } cases[] = {{{134000, READING_OK}, {450000, READING_OK}, ">134/450 W<"},
                 {{134000, READING_OK}, {0}, ">134 W<"},
                 {{0}, {450000, READING_OK}, ">–/450 W<"},
                 {{0}, {0}, ">–<"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct snapshot *s = snapshot_new(1);
        AUTO_BUF struct buf out = BUF(1 << 20);
        s->gpus[0].power_mw = cases[i].power;
        s->gpus[0].power_limit_mw = cases[i].limit;
        page_write(&out, s, NULL, true);
        buf_char(&out, '\0');
        const char *power = strstr(out.at, "Power");
        assert_non_null(power);
        char row[200];
        str_copy(row, sizeof row, str_from(power));
        if (!strstr(row, cases[i].shown))
            fail_msg("%s is not in %s", cases[i].shown, row);
        snapshot_unref(s);
    }
}

static void a_build_without_the_dashboard_says_how_to_get_it(void **state)
{
    (void)state;
    for (int dashboard = 0; dashboard < 2; dashboard++) {
        struct snapshot *s = snapshot_new(0);
        AUTO_BUF struct buf out = BUF(1 << 20);
        page_write(&out, s, NULL, dashboard);
        buf_char(&out, '\0');
        assert_int_equal(strstr(out.at, "make web") != NULL, !dashboard);
        snapshot_unref(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(data_in_the_page_cannot_end_its_element),
                                       TEST(power_that_is_not_known_is_told_apart_from_its_limit),
                                       TEST(a_build_without_the_dashboard_says_how_to_get_it)};
    return RUN_TESTS(tests);
}
