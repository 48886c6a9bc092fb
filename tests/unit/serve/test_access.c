/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/access.h"

#include <arpa/inet.h>

#include "serve/http/limiter.h"
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
                                      "x:127.0.0.1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (host_is_known(str_from(bad[i]), allowed, 1, "box"))
            fail_msg("%s should not be known", bad[i]);
    static const char *const everything[] = {"*"};
    assert_true(host_is_known(STR("evil.example"), everything, 1, "box"));
}

static struct in6_addr address(const char *text)
{
    struct in6_addr a;
    assert_int_equal(inet_pton(AF_INET6, text, &a), 1);
    return a;
}

static void failures_make_an_address_wait(void **state)
{
    (void)state;
    static struct limiter l;
    struct in6_addr guesser = address("::ffff:192.0.2.1"), other = address("::ffff:192.0.2.2");
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
        struct in6_addr a = address("2001:db8:0:1::");
        a.s6_addr[15] = (uint8_t)i;
        limiter_failed(&l, &a, 5);
    }
    struct in6_addr neighbour = address("2001:db8:0:1:ffff::9"), elsewhere = address("2001:db8:0:2::1");
    assert_true(limiter_wait_ms(&l, &neighbour, 6) > 0);
    assert_int_equal(limiter_wait_ms(&l, &elsewhere, 6), 0);
}

static void a_full_table_forgets_the_oldest(void **state)
{
    (void)state;
    static struct limiter l;
    struct in6_addr a = address("::ffff:10.0.0.0");
    for (int i = 0; i <= LIMITER_SLOTS; i++) {
        a.s6_addr[14] = (uint8_t)(i >> 8);
        a.s6_addr[15] = (uint8_t)i;
        for (int n = 0; n < LIMITER_FAILURES; n++)
            limiter_failed(&l, &a, 10 + i);
    }
    assert_true(limiter_wait_ms(&l, &a, 300) > 0);
    struct in6_addr first = address("::ffff:10.0.0.0"), second = address("::ffff:10.0.0.1");
    assert_int_equal(limiter_wait_ms(&l, &first, 300), 0);
    assert_true(limiter_wait_ms(&l, &second, 300) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(only_names_of_this_machine_are_hosts), TEST(failures_make_an_address_wait),
                                       TEST(an_ipv6_network_counts_as_one), TEST(a_full_table_forgets_the_oldest)};
    return RUN_TESTS(tests);
}
