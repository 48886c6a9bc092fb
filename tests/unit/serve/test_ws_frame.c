/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/live/ws_frame.h"

#include "test.h"

#ifdef HAVE_WSLAY
#include <wslay/wslay.h>
#endif

/* A masked client frame. */
static size_t frame(char *out, unsigned first, const char *payload, size_t len)
{
    size_t n = 0;
    out[n++] = (char)first;
    if (len < 126) {
        out[n++] = (char)(0x80 | len);
    } else if (len < 65536) {
        out[n++] = (char)(0x80 | 126);
        out[n++] = (char)(len >> 8);
        out[n++] = (char)len;
    } else {
        out[n++] = (char)(0x80 | 127);
        for (int i = 7; i >= 0; i--)
            out[n++] = (char)((uint64_t)len >> (8 * i));
    }
    static const char key[4] = {1, (char)0xfe, 3, 4};
    memcpy(out + n, key, 4);
    n += 4;
    for (size_t i = 0; i < len; i++)
        out[n + i] = (char)(payload[i] ^ key[i % 4]);
    return n + len;
}

static char bytes[2 * WS_MESSAGE_MAX], payload[WS_MESSAGE_MAX + 1];

static void frames_of_every_length_come_back(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 125, 126, 127, 65535, 65536};
    for (size_t i = 0; i < WS_MESSAGE_MAX; i++)
        payload[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct ws_frame f;
        size_t len = frame(bytes, 0x80 | WS_TEXT, payload, lengths[i]);
        assert_int_equal(ws_frame_parse(bytes, len - 1, &f), 0);
        assert_int_equal(ws_frame_parse(bytes, len, &f), (ssize_t)len);
        assert_true(f.final);
        assert_int_equal(f.opcode, WS_TEXT);
        assert_int_equal(f.payload.len, lengths[i]);
        assert_memory_equal(f.payload.at, payload, lengths[i]);
    }
}

static void broken_frames_are_refused(void **state)
{
    (void)state;
    struct ws_frame f;
    static const struct {
        const char *bytes;
        size_t len;
        int code;
    } bad[] = {
        {"\x81\x05hello", 7, WS_PROTOCOL_ERROR},                         /* not masked */
        {"\xc1\x80\0\0\0\0", 6, WS_PROTOCOL_ERROR},                      /* a reserved bit */
        {"\x83\x80\0\0\0\0", 6, WS_PROTOCOL_ERROR},                      /* a reserved opcode */
        {"\x8b\x80\0\0\0\0", 6, WS_PROTOCOL_ERROR},                      /* a reserved control opcode */
        {"\x09\x80\0\0\0\0", 6, WS_PROTOCOL_ERROR},                      /* a ping in parts */
        {"\x89\xfe\0\x7e\0\0\0\0", 8, WS_PROTOCOL_ERROR},                /* a long ping */
        {"\x81\xfe\0\x05\0\0\0\0", 8, WS_PROTOCOL_ERROR},                /* two bytes for a length below 126 */
        {"\x81\xff\0\0\0\0\0\0\x01\x00\0\0\0\0", 14, WS_PROTOCOL_ERROR}, /* eight bytes for 256 */
        {"\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14, WS_PROTOCOL_ERROR},   /* the sign bit */
        {"\x81\xff\0\0\0\0\0\x01\0\x01\0\0\0\0", 14, WS_TOO_BIG},        /* one more than allowed */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(bytes, bad[i].bytes, bad[i].len);
        ssize_t got = ws_frame_parse(bytes, bad[i].len, &f);
        if (got != -bad[i].code)
            fail_msg("case %zu: %zd", i, got);
    }
}

static void heads_of_ours_have_the_shortest_form(void **state)
{
    (void)state;
    uint8_t head[WS_HEAD_MAX];
    assert_int_equal(ws_frame_head(head, WS_TEXT, 125), 2);
    assert_memory_equal(head, "\x81\x7d", 2);
    assert_int_equal(ws_frame_head(head, WS_TEXT, 126), 4);
    assert_memory_equal(head, "\x81\x7e\x00\x7e", 4);
    assert_int_equal(ws_frame_head(head, WS_TEXT, 65536), 10);
    assert_memory_equal(head, "\x81\x7f\0\0\0\0\0\x01\0\0", 10);
}

static void close_codes_and_text(void **state)
{
    (void)state;
    static const unsigned good[] = {1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999};
    static const unsigned bad[] = {0, 999, 1004, 1005, 1006, 1015, 1100, 2999, 5000, 65535};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(ws_close_code_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(ws_close_code_is_valid(bad[i]));
    assert_true(ws_text_is_valid(STR("κόσμε \xf0\x9f\x8e\xae")));
    assert_false(ws_text_is_valid(STR("cut \xe2\x82")));
    assert_false(ws_text_is_valid(STR("\xed\xa0\x80")));
    assert_false(ws_text_is_valid(STR("\xc0\xaf")));
}

#ifdef HAVE_WSLAY
struct tape {
    const char *at;
    size_t len;
};

static ssize_t play(uint8_t *to, size_t len, int flags, void *user)
{
    (void)flags;
    struct tape *t = user;
    size_t n = len < t->len ? len : t->len;
    if (n == 0)
        return -1;
    memcpy(to, t->at, n);
    t->at += n;
    t->len -= n;
    return (ssize_t)n;
}

/* Another program's opinion: 0 incomplete, 1 fine, -1 refused. */
static int ask_wslay(const char *at, size_t len)
{
    struct tape tape = {at, len};
    struct wslay_frame_callbacks callbacks = {.recv_callback = play};
    wslay_frame_context_ptr context;
    assert_int_equal(wslay_frame_context_init(&context, &callbacks, &tape), 0);
    struct wslay_frame_iocb io = {0};
    uint64_t seen = 0;
    int verdict = 0;
    for (;;) {
        ssize_t n = wslay_frame_recv(context, &io);
        if (n == WSLAY_ERR_PROTO)
            verdict = -1;
        if (n < 0)
            break;
        seen += io.data_length;
        if (seen == io.payload_length) {
            bool known = io.opcode <= WS_BINARY || (io.opcode >= WS_CLOSE && io.opcode <= WS_PONG);
            verdict = io.mask && !io.rsv && known ? 1 : -1; /* these are left to the caller there */
            break;
        }
    }
    wslay_frame_context_free(context);
    return verdict;
}

static void wslay_says_the_same_of_random_frames(void **state)
{
    (void)state;
    uint32_t seed = 12345;
    int verdicts[3] = {0};
    for (int i = 0; i < 200000; i++) {
        char text[24], copy[24];
        for (size_t k = 0; k < sizeof text; k++) {
            seed = seed * 1664525 + 1013904223;
            text[k] = (char)(seed >> 24);
        }
        /* Make the interesting first bytes frequent. */
        if (i % 2)
            text[0] = (char)((text[0] & 0x8f));
        if (i % 3)
            text[1] = (char)(0x80 | (text[1] & 0x1f));
        size_t len = (seed >> 8) % (sizeof text + 1);
        memcpy(copy, text, sizeof text);
        struct ws_frame f;
        ssize_t ours = ws_frame_parse(text, len, &f);
        int theirs = ask_wslay(copy, len);
        int verdict = ours > 0 ? 1 : ours == 0 ? 0 : -1;
        verdicts[verdict + 1]++;
        /* We refuse some frames before they are complete, and those that are too big: it has no opinion on either. */
        if (verdict != theirs && !(verdict < 0 && theirs == 0))
            fail_msg("frame %d: %d here, %d there (%02x %02x, %zu bytes)", i, verdict, theirs, (unsigned char)copy[0],
                     (unsigned char)copy[1], len);
    }
    assert_true(verdicts[0] > 1000 && verdicts[1] > 1000 && verdicts[2] > 1000);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(frames_of_every_length_come_back),     TEST(broken_frames_are_refused),
        TEST(heads_of_ours_have_the_shortest_form), TEST(close_codes_and_text),
#ifdef HAVE_WSLAY
        TEST(wslay_says_the_same_of_random_frames),
#endif
    };
    return RUN_TESTS(tests);
}
