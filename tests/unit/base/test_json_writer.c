/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_writer.h"

#include <jansson.h>
#include <math.h>

#include "test.h"

static void writes_what_a_reader_reads(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(4096);
    struct json_writer j = JSON_WRITER_PRETTY(&b);
    jw_object(&j);
    jw_key_text(&j, "name", "a\"b\\c\n\x01\xc3\xa4\xff");
    jw_key_number(&j, "watts", 280.1);
    jw_key_number(&j, "small", 0.0000125);
    jw_key_number(&j, "whole", 78.0);
    jw_key_number(&j, "nearly", 70.99999999);
    jw_key_number(&j, "huge", -2.5e300);
    jw_key_number(&j, "none", NAN);
    jw_key_text(&j, "null", NULL);
    jw_key_array(&j, "list");
    jw_int(&j, -5);
    jw_bool(&j, true);
    jw_object(&j);
    jw_end(&j);
    jw_end(&j);
    jw_end(&j);
    assert_false(b.failed);

    json_error_t error;
    json_t *root = json_loads(b.at, 0, &error);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "name")), "a\"b\\c\n\x01\xc3\xa4\xef\xbf\xbd");
    assert_true(fabs(json_real_value(json_object_get(root, "watts")) - 280.1) < 1e-9);
    assert_true(fabs(json_real_value(json_object_get(root, "small")) - 0.0000125) < 1e-12);
    assert_true(json_is_integer(json_object_get(root, "whole")));
    assert_int_equal(json_integer_value(json_object_get(root, "nearly")), 71);
    assert_true(json_real_value(json_object_get(root, "huge")) == -2.5e300);
    assert_true(json_is_null(json_object_get(root, "none")));
    assert_true(json_is_null(json_object_get(root, "null")));
    assert_int_equal(json_array_size(json_object_get(root, "list")), 3);
    json_decref(root);
}

static void misuse_fails_instead_of_writing_nonsense(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF(4096);
    struct json_writer j = JSON_WRITER(&b);
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++)
        jw_array(&j);
    assert_true(b.failed);
    AUTO_BUF struct buf other = BUF(4096);
    struct json_writer closed = JSON_WRITER(&other);
    jw_end(&closed);
    assert_true(other.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writes_what_a_reader_reads),
        TEST(misuse_fails_instead_of_writing_nonsense),
    };
    return RUN_TESTS(tests);
}
