/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/page.h"

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
    page_write_dashboard(&out, s, NULL, &data, 1, false);
    assert_false(out.failed);
    buf_char(&out, '\0');
    assert_non_null(strstr(out.at, "{\"name\":\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\"}</script>"));
    assert_null(strstr(out.at, "alert(1)</script>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(data_in_the_page_cannot_end_its_element)};
    return RUN_TESTS(tests);
}
