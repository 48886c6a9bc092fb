/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "http/site.h"
#include "test.h"

static void only_names_of_this_machine_are_hosts(void **state)
{
    (void)state;
    static const char *const allowed[] = {"gpu.example.org"};
    static const char *const good[] = {"localhost",  "localhost:9447",     "LOCALHOST", "a.localhost:1", "127.0.0.1:9447",
                                       "10.1.2.3",   "[::1]:9447",         "[fe80::1]", "box",           "Box.local:80",
                                       "localhost.", "gpu.example.org:443"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!host_is_known(str_from(good[i]), allowed, 1, "box"))
            fail_msg("%s should be known", good[i]);
    static const char *const bad[] = {"evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "box.evil",
                                      "notlocalhost",
                                      ".localhost",
                                      "[::1",
                                      ":9447",
                                      "x:127.0.0.1",
                                      "",
                                      "127.1",
                                      "2130706433",
                                      "0x7f.0.0.1",
                                      "localhost:80evil.com",
                                      "[::1]evil.example",
                                      "gpu.example.org@evil.example",
                                      "localhost:99999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (host_is_known(str_from(bad[i]), allowed, 1, "box"))
            fail_msg("%s should not be known", bad[i]);
    static const char *const everything[] = {"*"};
    assert_true(host_is_known(STR("evil.example"), everything, 1, "box"));
}

static struct peer_id address(const char *text)
{
    struct in6_addr a;
    assert_int_equal(inet_pton(AF_INET6, text, &a), 1);
    return peer_id_of_address(&a);
}

static void failures_make_an_address_wait(void **state)
{
    (void)state;
    static struct limiter l;
    struct peer_id guesser = address("::ffff:192.0.2.1"), other = address("::ffff:192.0.2.2");
    for (int i = 0; i < LIMITER_FAILURES; i++) {
        assert_int_equal(limiter_wait_ms(&l, &guesser, 1000 + i), 0);
        limiter_failed(&l, &guesser, 1000 + i);
    }
    assert_int_equal(limiter_wait_ms(&l, &guesser, 2000), LIMITER_WINDOW_MS - 1000);
    assert_int_equal(limiter_wait_ms(&l, &other, 2000), 0);
    assert_int_equal(limiter_wait_ms(&l, &guesser, 1000 + LIMITER_WINDOW_MS), 0);
}

static void an_ipv6_network_counts_as_one(void **state)
{
    (void)state;
    static struct limiter l;
    for (int i = 0; i < LIMITER_FAILURES; i++) {
        char text[64];
        snprintf(text, sizeof text, "2001:db8:0:1::%x", (unsigned)i);
        struct peer_id a = address(text);
        limiter_failed(&l, &a, 5);
    }
    struct peer_id neighbor = address("2001:db8:0:1:ffff::9"), elsewhere = address("2001:db8:0:2::1");
    assert_true(limiter_wait_ms(&l, &neighbor, 6) > 0);
    assert_int_equal(limiter_wait_ms(&l, &elsewhere, 6), 0);
}

static void a_full_table_forgets_the_oldest(void **state)
{
    (void)state;
    static struct limiter l;
    struct peer_id a;
    for (int i = 0; i <= LIMITER_SLOTS; i++) {
        char text[64];
        snprintf(text, sizeof text, "::ffff:10.0.%d.%d", i >> 8, i & 255);
        a = address(text);
        for (int n = 0; n < LIMITER_FAILURES; n++)
            limiter_failed(&l, &a, 10 + i);
    }
    assert_true(limiter_wait_ms(&l, &a, 300) > 0);
    struct peer_id first = address("::ffff:10.0.0.0"), second = address("::ffff:10.0.0.1");
    assert_int_equal(limiter_wait_ms(&l, &first, 300), 0);
    assert_true(limiter_wait_ms(&l, &second, 300) > 0);
}

static void an_address_counts_what_it_has(void **state)
{
    (void)state;
    static struct peers p;
    struct peer_id a = address("::ffff:192.0.2.1"), same = address("::ffff:192.0.2.1"), user = peer_id_of_user(1000);
    struct peer *first = peers_enter(&p, &a), *again = peers_enter(&p, &same), *other = peers_enter(&p, &user);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, other);
    peers_leave(&p, first);
    assert_ptr_equal(peers_find(&p, &a), again);
    peers_leave(&p, again);
    assert_null(peers_find(&p, &a));
    peers_leave(&p, other);
}

static const uint8_t *find(const struct sessions *s, const char *cookie, int64_t now_ms)
{
    uint8_t id[SHA256_SIZE];
    sha256(str_from(cookie), id);
    return sessions_find(s, id, now_ms);
}

static void sessions_end(void **state)
{
    (void)state;
    static struct sessions s;
    const uint8_t token[SHA256_SIZE] = {1}, other[SHA256_SIZE] = {2};
    char first[SESSION_ID_SIZE], second[SESSION_ID_SIZE], id[SESSION_ID_SIZE];
    assert_true(sessions_open(&s, token, 1000, first) && sessions_open(&s, other, 2000, second));
    assert_string_not_equal(first, second);
    assert_memory_equal(find(&s, first, 3000), token, SHA256_SIZE);
    assert_memory_equal(find(&s, second, 3000), other, SHA256_SIZE);
    assert_null(find(&s, "", 3000));
    assert_null(find(&s, "0", 3000));
    /* After their time, and at a logout. */
    assert_null(find(&s, first, 1000 + SESSION_SECONDS * 1000LL));
    assert_non_null(find(&s, second, 1000 + SESSION_SECONDS * 1000LL));
    uint8_t id_of_second[SHA256_SIZE];
    sha256(str_from(second), id_of_second);
    sessions_close(&s, id_of_second);
    assert_null(find(&s, second, 3000));
    /* In a full table the oldest makes room. */
    for (int i = 0; i < SESSIONS_MAX; i++)
        assert_true(sessions_open(&s, token, 5000 + i, id));
    assert_null(find(&s, first, 6000));
    assert_non_null(find(&s, id, 6000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(only_names_of_this_machine_are_hosts), TEST(failures_make_an_address_wait),
                                       TEST(an_ipv6_network_counts_as_one),        TEST(a_full_table_forgets_the_oldest),
                                       TEST(an_address_counts_what_it_has),        TEST(sessions_end)};
    return RUN_TESTS(tests);
}
