/* SPDX-License-Identifier: Apache-2.0 */
#include "push/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "net/retry.h"
#include "test.h"

static const char text[] =
    "# HELP a what\n# TYPE a gauge\na{gpu=\"0\",name=\"x y\"} 1\na{gpu=\"1\"} 2.5\n# TYPE b_total counter\nb_total 7\n";

static void lines_are_read_with_their_types(void **state)
{
    (void)state;
    struct push_scrape s;
    assert_int_equal(push_scrape_init(&s, str_from(text), (struct wall){5}), 0);
    assert_int_equal(s.count, 3);
    assert_true(str_is(s.lines[0].series, "a{gpu=\"0\",name=\"x y\"}") && s.lines[0].value == 1 && !s.lines[0].counter);
    assert_true(str_is(s.lines[2].series, "b_total") && s.lines[2].counter);
    push_scrape_done(&s);
}

static void series_that_end_are_marked_once(void **state)
{
    (void)state;
    struct push_scrape before, now, later;
    push_scrape_init(&before, str_from(text), (struct wall){5});
    push_scrape_init(&now, STR("a{gpu=\"1\"} 3\nc 4\n"), (struct wall){6});
    push_scrape_init(&later, STR("a{gpu=\"1\"} 3\nc 4\n"), (struct wall){7});
    assert_int_equal(push_mark_stale(&now, &before), 0);
    assert_int_equal(now.count, 4);
    assert_true(now.lines[2].stale && str_starts(now.lines[2].series, "a{gpu=\"0\""));
    assert_true(now.lines[3].stale && str_is(now.lines[3].series, "b_total"));
    assert_int_equal(push_mark_stale(&later, &now), 0);
    assert_int_equal(later.count, 2);
    push_scrape_done(&before);
    push_scrape_done(&now);
    push_scrape_done(&later);
}

static void series_in_another_order_have_not_ended(void **state)
{
    (void)state;
    enum { SERIES = 100 };
    AUTO_BUF struct buf up = BUF(4096), down = BUF(4096);
    for (int i = 0; i < SERIES; i++) {
        buf_printf(&up, "a{gpu=\"%d\"} 1\n", i);
        buf_printf(&down, "a{gpu=\"%d\"} 1\n", SERIES - 1 - i);
    }
    struct push_scrape before, now;
    push_scrape_init(&before, buf_view(&up), (struct wall){5});
    push_scrape_init(&now, buf_view(&down), (struct wall){6});
    assert_int_equal(push_mark_stale(&now, &before), 0);
    assert_int_equal(now.count, SERIES);
    push_scrape_done(&before);
    push_scrape_done(&now);
}

static void labels_are_sorted_unescaped_and_never_empty(void **state)
{
    (void)state;
    struct push_labels l;
    push_labels_init(&l);
    assert_true(push_labels_read(&l, STR("m{z=\"1\",UUID=\"a\\\"b\\\\c\\nd\",e=\"\",b=\"},=\"}"), STR("whirr"), STR("box")));
    static const char *const wanted[][2] = {{"UUID", "a\"b\\c\nd"}, {"__name__", "m"}, {"b", "},="},
                                            {"instance", "box"},    {"job", "whirr"},  {"z", "1"}};
    assert_int_equal(l.count, ARRAY_LEN(wanted));
    for (size_t i = 0; i < l.count; i++)
        assert_true(str_is(l.list[i].name, wanted[i][0]) && str_is(l.list[i].value, wanted[i][1]));
    assert_true(push_labels_read(&l, STR("m{job=\"own\"}"), STR("whirr"), STR("")));
    assert_int_equal(l.count, 2);
    assert_false(push_labels_read(&l, STR("m{a=b}"), STR(""), STR("")));
    assert_false(push_labels_read(&l, STR("m{a=\"b"), STR(""), STR("")));
    assert_false(push_labels_read(&l, STR(""), STR(""), STR("")));
    push_labels_done(&l);
}

static void no_more_labels_than_there_is_room_for(void **state)
{
    (void)state;
    struct push_labels l;
    push_labels_init(&l);
    for (int own = PUSH_LABELS_MAX - 4; own < PUSH_LABELS_MAX; own++) { /* beside the name, the job and the instance */
        AUTO_BUF struct buf series = BUF(4096);
        for (int i = 0; i < own; i++)
            buf_printf(&series, "%sl%02d=\"%d\"", i ? "," : "m{", i, i);
        buf_text(&series, "}");
        bool fits = own + 3 <= PUSH_LABELS_MAX;
        assert_int_equal(push_labels_read(&l, buf_view(&series), STR("whirr"), STR("box")), fits);
        assert_true(!fits || (l.count == (size_t)own + 3 && str_is(l.list[l.count - 1].name, own == 45 ? "l44" : "l43")));
    }
    push_labels_done(&l);
}

/* Whatever stands there: no crash, and what is understood is whole. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char letters[] = "abm{}\"\\,=n \n";
    uint32_t seed = 11;
    struct push_labels l;
    push_labels_init(&l);
    for (int round = 0; round < 20000; round++) {
        char line[64];
        size_t len = (size_t)next_random(&seed) % sizeof line;
        for (size_t i = 0; i < len; i++)
            line[i] = letters[(size_t)next_random(&seed) % (sizeof letters - 1)];
        char *exact = malloc(len + 1); /* so that a step beyond the end is seen */
        memcpy(exact, line, len);
        if (push_labels_read(&l, (struct str){exact, len}, STR("j"), STR("i")))
            for (size_t i = 0; i < l.count; i++)
                assert_true(l.list[i].value.len > 0);
        struct push_scrape s;
        assert_int_equal(push_scrape_init(&s, (struct str){exact, len}, (struct wall){1}), 0);
        push_scrape_done(&s);
        free(exact);
    }
    push_labels_done(&l);
}

/* A decoder that knows only the format description. */
static size_t unsnappy(const unsigned char *in, size_t len, unsigned char *out, size_t room)
{
    size_t at = 0, want = 0, made = 0;
    for (unsigned shift = 0;; shift += 7) {
        want |= (size_t)(in[at] & 0x7f) << shift;
        if (!(in[at++] & 0x80))
            break;
    }
    assert_true(want <= room);
    while (at < len) {
        unsigned tag = in[at++];
        if ((tag & 3) == 0) {
            size_t n = (tag >> 2) + 1, more = tag >> 2 >= 60 ? (tag >> 2) - 59 : 0;
            if (more) {
                n = 1;
                for (size_t i = 0; i < more; i++)
                    n += (size_t)in[at++] << 8 * i;
            }
            assert_true(at + n <= len && made + n <= want);
            memcpy(out + made, in + at, n);
            at += n;
            made += n;
            continue;
        }
        assert_int_equal(tag & 3, 2); /* the only kind of copy that we write */
        size_t n = (tag >> 2) + 1, distance = in[at] | (size_t)in[at + 1] << 8;
        at += 2;
        assert_true(distance && distance <= made && made + n <= want);
        for (size_t i = 0; i < n; i++, made++)
            out[made] = out[made - distance];
    }
    assert_int_equal(made, want);
    return made;
}

static void what_is_compressed_comes_back(void **state)
{
    (void)state;
    enum { ROOM = 300000 };
    AUTO_FREE unsigned char *plain = malloc(ROOM), *back = malloc(ROOM);
    uint32_t seed = 7;
    for (int round = 0; round < 400; round++) {
        size_t len = round < 70 ? (size_t)round : (size_t)next_random(&seed) % ROOM;
        unsigned letters = 1 + (unsigned)round % 60;
        for (size_t i = 0; i < len; i++)
            plain[i] = round % 3 == 0 && i > 40 ? plain[i - 37] : (unsigned char)(next_random(&seed) % letters);
        AUTO_BUF struct buf packed = BUF(2 * ROOM);
        push_snappy(&packed, (struct str){(const char *)plain, len});
        assert_false(packed.failed);
        assert_int_equal(unsnappy((const unsigned char *)packed.at, packed.len, back, ROOM), len);
        assert_memory_equal(plain, back, len);
    }
}

static void small_steps_back_keep_the_order_and_large_ones_tell_the_truth(void **state)
{
    (void)state;
    assert_int_equal(push_time((struct wall){1000}, (struct wall){0}).ms, 1000);
    assert_int_equal(push_time((struct wall){100000}, (struct wall){100000}).ms, 100001);
    assert_int_equal(push_time((struct wall){100000}, (struct wall){105000}).ms, 105001);
    assert_int_equal(push_time((struct wall){100000}, (struct wall){9000000}).ms, 100000);
    assert_int_equal(push_time((struct wall){9000000}, (struct wall){100000}).ms, 9000000);
}

static void put(struct push_queue *q, const char *body, uint32_t samples, int expected)
{
    struct error err = {0};
    assert_int_equal(push_queue_put(q, str_from(body), samples, &err), expected);
}

static void expect_first(struct push_queue *q, const char *body)
{
    AUTO_BUF struct buf got = BUF(1000);
    uint32_t samples;
    if (!body) {
        assert_false(push_queue_first(q, &got, &samples));
        return;
    }
    assert_true(push_queue_first(q, &got, &samples));
    assert_string_equal(got.at, body);
}

static void the_queue_survives_a_restart_in_order(void **state)
{
    (void)state;
    char folder[] = "/tmp/whirr-push-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/q", folder);
    struct push_queue *q = push_queue_new(path, 1000);
    put(q, "one", 1, 0);
    put(q, "two", 2, 0);
    put(q, "three", 3, 0);
    push_queue_drop_first(q);
    push_queue_free(q);
    q = push_queue_new(path, 1000);
    struct push_queue_state s;
    push_queue_get(q, &s);
    assert_true(s.requests == 2 && s.samples == 5 && s.bytes == 8 && s.lost_samples == 0);
    put(q, "four", 4, 0);
    expect_first(q, "two");
    push_queue_drop_first(q);
    expect_first(q, "three");
    push_queue_drop_first(q);
    expect_first(q, "four");
    push_queue_drop_first(q);
    expect_first(q, NULL);
    push_queue_free(q);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_full_queue_loses_the_oldest_and_says_so(void **state)
{
    (void)state;
    struct push_queue *q = push_queue_new(NULL, 10);
    put(q, "12345", 7, 0);
    put(q, "67890", 1, 0);
    put(q, "abc", 1, 0);
    struct push_queue_state s;
    push_queue_get(q, &s);
    assert_true(s.requests == 2 && s.lost_samples == 7 && s.bytes == 8);
    expect_first(q, "67890");
    push_queue_free(q);
}

/* A directory that is gone, as a full or read-only disk is: the newest wait in memory, in order, and few of them. */
static void without_a_disk_the_newest_wait_in_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/whirr-push-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct push_queue *q = push_queue_new(folder, 100000);
    put(q, "disk", 1, 0);
    char gone[64];
    snprintf(gone, sizeof gone, "%s-gone", folder);
    assert_int_equal(rename(folder, gone), 0);
    for (int i = 0; i < PUSH_MEMORY_MAX + 5; i++) {
        char body[16];
        snprintf(body, sizeof body, "m%d", i);
        put(q, body, 1, -ENOENT);
    }
    struct push_queue_state s;
    push_queue_get(q, &s);
    assert_int_equal(s.requests, PUSH_MEMORY_MAX);
    assert_int_equal(s.lost_samples, 6);
    expect_first(q, "m5");
    push_queue_free(q);
    char file[96];
    snprintf(file, sizeof file, "%s/00000000000000000001.1", gone);
    unlink(file);
    assert_int_equal(rmdir(gone), 0);
}

/* What a receiver of 1.0 gets is byte for byte what would have been sent to it at once. */
static void a_request_of_2_becomes_the_one_of_1(void **state)
{
    (void)state;
    struct push_scrape s;
    const struct push_identity who = {.job = "whirr", .instance = "box", .host = "box", .started = {1000}};
    const struct wall at = {1800000000000};
    assert_int_equal(
        push_scrape_init(&s,
                         STR("# HELP a_bytes Words of a\n# TYPE a_bytes gauge\na_bytes{x=\"1\",y=\"\"} 5\na_bytes{x=\"2\"} 6\n"
                             "# HELP whirr_b_total b\n# TYPE whirr_b_total counter\nwhirr_b_total 7\n"),
                         at),
        0);
    s.lines[1].stale = true;
    AUTO_BUF struct buf first = BUF(1 << 20), second = BUF(1 << 20), packed = BUF(1 << 20), plain = BUF(1 << 20),
                        back = BUF(1 << 20);
    push_remote_write(&first, s.lines, s.count, at, &who);
    push_remote_write_2(&second, s.lines, s.count, at, &who);
    push_snappy(&packed, buf_view(&second));
    assert_int_equal(push_kind_of(buf_view(&packed)), PUSH_WRITE_2);
    assert_int_equal(push_unsnappy(&plain, buf_view(&packed)), 0);
    assert_true(str_equal(buf_view(&plain), buf_view(&second)));
    assert_int_equal(push_back_to_1(&back, buf_view(&plain)), 0);
    assert_true(str_equal(buf_view(&back), buf_view(&first)));
    packed.len = 0;
    push_snappy(&packed, buf_view(&first));
    assert_int_equal(push_kind_of(buf_view(&packed)), PUSH_WRITE_1);
    back.len = 0;
    push_otlp(&back, s.lines, s.count, at, &who);
    assert_int_equal(push_kind_of(buf_view(&back)), PUSH_OTLP_JSON);
    back.len = 0;
    push_otlp_protobuf(&back, s.lines, s.count, at, &who);
    assert_int_equal(push_kind_of(buf_view(&back)), PUSH_OTLP_PROTOBUF);
    assert_int_equal(push_kind_of((struct str){"", 0}), PUSH_WRITE_1);
    for (size_t len = 0; len < second.len; len++) { /* cut anywhere: refused or shorter, never more than there is */
        back.len = plain.len = packed.len = 0;
        push_back_to_1(&back, (struct str){second.at, len});
        push_snappy(&packed, (struct str){second.at, len});
        assert_int_equal(push_unsnappy(&plain, (struct str){packed.at, packed.len - (packed.len > 3)}) == 0, packed.len <= 3);
    }
    push_scrape_done(&s);
}

/* A secret that was cut would be refused by the other side, and the user would not know why. */
static void what_is_too_long_to_be_sent_is_refused_and_not_cut(void **state)
{
    (void)state;
    char secret[5000] = "", url[3000] = "http://127.0.0.1:1/";
    memset(secret, 's', sizeof secret - 1);
    struct env env;
    env_init_system(&env);
    struct config_pair header = {"Authorization", "Bearer short"};
    struct config_push settings = {.entry.name = "db", .url = url, .job = "whirr", .instance = "box", .token = "", .tenant = ""};
    settings.ca = settings.certificate = settings.key = "";
    settings.batch = settings.timeout_ms = settings.queue_bytes = 1000;
    settings.headers = (struct config_map){&header, 1};
    const struct push_setup setup = {.env = &env, .host = "box"};
    struct error err = {0};
    struct push_sender *sender = push_sender_new(&setup, &settings, &err);
    assert_non_null(sender);
    push_sender_free(sender);
    header.value = secret;
    assert_null(push_sender_new(&setup, &settings, &err));
    assert_int_equal(err.code, -E2BIG);
    assert_string_equal(err.text, "push.db has more than 24 headers, or one of more than 4095 bytes");
    header.value = "Bearer short";
    memset(url + strlen(url), 'u', sizeof url - 1 - strlen(url));
    assert_null(push_sender_new(&setup, &settings, &err));
    assert_string_equal(err.text, "push 'db' has a URL of more than 2047 bytes");
}

static void pauses_grow_to_a_minute_and_are_no_shorter_than_asked(void **state)
{
    (void)state;
    struct retry r = {.seed = 1};
    const struct mono now = {7LL * NS_PER_S};
    assert_int_equal(retry_wait_ms(&r, now), 0);
    int64_t full = 1000;
    for (int i = 0; i < 50; i++, full = MIN_OF(2 * full, 60000)) {
        int64_t pause = retry_failed(&r, now, 60000, 0);
        assert_in_range(pause, full * 3 / 4, full);
        assert_in_range(retry_wait_ms(&r, now), pause, pause + 1);
    }
    assert_int_equal(r.failures, 50);
    assert_int_equal(retry_failed(&r, now, 60000, 90000), 90000);
    assert_int_equal(retry_wait_ms(&r, (struct mono){now.ns + 90001LL * NS_PER_MS}), 0);
    r.failures = 0; /* it was reached */
    assert_in_range(retry_failed(&r, now, 60000, 0), 750, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_are_read_with_their_types),
        TEST(a_request_of_2_becomes_the_one_of_1),
        TEST(series_that_end_are_marked_once),
        TEST(series_in_another_order_have_not_ended),
        TEST(labels_are_sorted_unescaped_and_never_empty),
        TEST(no_more_labels_than_there_is_room_for),
        TEST(nonsense_is_refused),
        TEST(what_is_compressed_comes_back),
        TEST(small_steps_back_keep_the_order_and_large_ones_tell_the_truth),
        TEST(the_queue_survives_a_restart_in_order),
        TEST(a_full_queue_loses_the_oldest_and_says_so),
        TEST(without_a_disk_the_newest_wait_in_memory),
        TEST(pauses_grow_to_a_minute_and_are_no_shorter_than_asked),
        TEST(what_is_too_long_to_be_sent_is_refused_and_not_cut),
    };
    return RUN_TESTS(tests);
}
