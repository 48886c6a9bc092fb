/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include "test.h"

static void check(struct str message, const char *want1, const char *want256)
{
    uint8_t digest[SHA256_SIZE];
    char text[HEX_SIZE(SHA256_SIZE)];
    sha1(message, digest);
    hex_encode(digest, SHA1_SIZE, text);
    assert_string_equal(text, want1);
    sha256(message, digest);
    hex_encode(digest, SHA256_SIZE, text);
    assert_string_equal(text, want256);
}

static void digests_match_the_published_examples(void **state)
{
    (void)state;
    check(STR(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check(STR("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d",
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static char million[1000000];
    memset(million, 'a', sizeof million);
    check((struct str){million, sizeof million}, "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void texts_of_bytes(void **state)
{
    (void)state;
    char text[BASE64_SIZE(6)];
    static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t len = 0; len <= 6; len++) {
        base64_encode((const uint8_t *)"foobar", len, text);
        assert_string_equal(text, want[len]);
    }
    uint8_t bytes[2];
    assert_true(hex_decode(STR("aB09"), bytes, 2));
    assert_int_equal(bytes[0], 0xab);
    assert_int_equal(bytes[1], 0x09);
    assert_false(hex_decode(STR("aB0"), bytes, 2));
    assert_false(hex_decode(STR("aB0g"), bytes, 2));
    assert_true(digest_equal((const uint8_t *)"same", (const uint8_t *)"same", 4));
    assert_false(digest_equal((const uint8_t *)"same", (const uint8_t *)"samd", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(digests_match_the_published_examples), TEST(texts_of_bytes)};
    return RUN_TESTS(tests);
}
