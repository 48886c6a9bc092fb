/* SPDX-License-Identifier: Apache-2.0
 * Changes of a configuration file that a person has written.
 */
#include "config/edit.h"

#include "base/cleanup.h"
#include "test.h"

static struct buf file_with(const char *text)
{
    struct buf out = BUF(EDIT_TEXT_MAX);
    buf_text(&out, text);
    return out;
}

static void a_value_is_replaced_and_the_rest_stays(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = file_with("# mine\nkey = 0\n[a] # first\n  key = 1 # one\n\n[b]\nkey = 2");
    edit_set(&text, "a", "key", "9");
    edit_set(&text, "b", "more", "3");
    edit_set(&text, "c", "key", "4");
    assert_string_equal(text.at, "# mine\nkey = 0\n[a] # first\nkey = 9\n\n[b]\nmore = 3\nkey = 2\n\n[c]\nkey = 4\n");
    edit_unset(&text, "c", "key");
    assert_false(edit_has(&text, "c"));
}

static void lines_inside_of_a_text_or_a_list_are_no_tables_and_no_keys(void **state)
{
    (void)state;
    static const char *const quotes[] = {"\"\"\"", "\'\'\'"};
    for (size_t i = 0; i < 2; i++) {
        AUTO_BUF struct buf text = BUF(EDIT_TEXT_MAX);
        buf_printf(&text, "[a]\nnote = %s\n[b]\nkey = 1 ]\n%s\nlist = [\n  [1], # ]\n  [2],\n]\nkey = 2\n\n[b]\nkey = 3\n",
                   quotes[i], quotes[i]);
        AUTO_BUF struct buf before = file_with(text.at);
        edit_set(&text, "b", "key", "3");
        assert_string_equal(text.at, before.at);
        edit_set(&text, "a", "key", "4");
        edit_set(&text, "a", "list", "[]");
        edit_set(&text, "a", "note", "5");
        assert_string_equal(text.at, "[a]\nnote = 5\nlist = []\nkey = 4\n\n[b]\nkey = 3\n");
        edit_remove(&text, "b");
        assert_false(edit_has(&text, "b"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_value_is_replaced_and_the_rest_stays),
        TEST(lines_inside_of_a_text_or_a_list_are_no_tables_and_no_keys),
    };
    return RUN_TESTS(tests);
}
