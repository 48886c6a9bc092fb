/* SPDX-License-Identifier: Apache-2.0 */
#include "net/protobuf.h"

#include <errno.h>

#include "base/cleanup.h"
#include "test.h"

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(1024);
    struct pb_field f;
    pb_number(&out, 1, 0);
    pb_number(&out, 2, UINT64_MAX);
    pb_fixed64(&out, 3, 0x7ff0000000000002ULL);
    pb_text(&out, 4, "text");
    pb_bytes(&out, 100, (struct str){"", 0});
    struct str rest = buf_view(&out);
    assert_int_equal(pb_next(&rest, &f), 1);
    assert_true(f.number == 1 && f.value == 0 && !f.bytes.at);
    assert_int_equal(pb_next(&rest, &f), 1);
    assert_true(f.number == 2 && f.value == UINT64_MAX);
    assert_int_equal(pb_next(&rest, &f), 1);
    assert_true(f.number == 3 && f.value == 0x7ff0000000000002ULL);
    assert_int_equal(pb_next(&rest, &f), 1);
    assert_true(f.number == 4 && str_is(f.bytes, "text"));
    assert_int_equal(pb_next(&rest, &f), 1);
    assert_true(f.number == 100 && f.bytes.at && f.bytes.len == 0);
    assert_int_equal(pb_next(&rest, &f), 0);
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    static const struct str broken[] = {
        STR("\x08"), /* no value */
        STR("\x0a\x05"
            "abc"), /* shorter than it says */
        STR("\x09"
            "1234567"), /* seven bytes of eight */
        STR("\x0b"),    /* a group */
        STR("\x02\x01"
            "a"),                                            /* field 0 */
        STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), /* a number without an end */
        STR("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),     /* longer than memory */
    };
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct str rest = broken[i];
        struct pb_field f;
        assert_int_equal(pb_next(&rest, &f), -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_is_written_is_read_again), TEST(what_is_no_message_is_refused)};
    return RUN_TESTS(tests);
}
