/* SPDX-License-Identifier: Apache-2.0 */
#include "lease/lease_broker.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "test.h"

static const struct wall now = {1800000000000};

static struct lease lease_of(int64_t uid, enum lease_kind kind, const char *gpu, int64_t mem_bytes)
{
    struct lease l = {.kind = kind, .state = LEASE_ACTIVE, .uid = uid, .made = now, .from = now, .gpus_wanted = 1, .gpu_count = 1};
    assert_int_equal(lease_new_id(l.id), 0);
    l.exclusive = !mem_bytes;
    l.mem_bytes = mem_bytes;
    l.gpus[0].free_bytes = reading_ok(24LL << 30);
    snprintf(l.gpus[0].uuid, sizeof l.gpus[0].uuid, "%s", gpu);
    return l;
}

static int judge(struct lease wish, struct lease held)
{
    struct error err = {0};
    const struct lease_list list = {.at = &held, .count = 1};
    return lease_broker_judge(&wish, &list, now, &err);
}

static void a_gpu_is_granted_once(void **state)
{
    (void)state;
    const int64_t most = 20LL << 30;
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", 0), lease_of(2, LEASE_RUN, "a", 0)), -EAGAIN);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", 0), lease_of(1, LEASE_RUN, "a", 0)), -EAGAIN);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", most), lease_of(2, LEASE_RUN, "a", 0)), -EAGAIN);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", 0), lease_of(2, LEASE_RUN, "a", most)), -EAGAIN);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", most), lease_of(2, LEASE_RUN, "a", most)), -EAGAIN);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", most / 2), lease_of(2, LEASE_RUN, "a", most / 2)), 0);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", 0), lease_of(2, LEASE_RUN, "b", 0)), 0);
    assert_int_equal(judge(lease_of(1, LEASE_RUN, "a", 0), lease_of(1, LEASE_RESERVE, "a", 0)), 0);
}

static void an_earlier_request_is_not_overtaken(void **state)
{
    (void)state;
    struct lease first = lease_of(2, LEASE_RUN, "a", 0), late = lease_of(1, LEASE_RUN, "a", 0);
    first.state = LEASE_WAITING;
    first.ticket = 5;
    assert_int_equal(judge(late, first), -EAGAIN);
    late.ticket = 6;
    assert_int_equal(judge(late, first), -EAGAIN);
    late.ticket = 4;
    assert_int_equal(judge(late, first), 0);
}

static int correct(struct lease *l, const struct lease *before)
{
    struct error err = {0};
    const struct lease_broker_peer peer = {.uid = 1000, .user = "alice"};
    return lease_broker_correct(l, before, &peer, now, &err);
}

static void claims_are_replaced_by_what_is_known(void **state)
{
    (void)state;
    struct lease l = lease_of(0, LEASE_RESERVE, "a", 0);
    snprintf(l.user, sizeof l.user, "root");
    l.ticket = LEASE_TICKET_MAX;
    l.pid = 1;
    l.made.ms = 5;
    l.from.ms = 5;
    l.until.ms = now.ms + HOUR_MS;
    assert_int_equal(correct(&l, NULL), 0);
    assert_int_equal(l.uid, 1000);
    assert_string_equal(l.user, "alice");
    assert_int_equal(l.ticket, 0);
    assert_int_equal(l.pid, 0);
    assert_int_equal(l.made.ms, now.ms);
    assert_int_equal(l.from.ms, now.ms);
    struct lease wait = lease_of(0, LEASE_WAIT, "a", 1);
    assert_int_equal(correct(&wait, NULL), 0);
    assert_int_equal(wait.until.ms, now.ms + 2 * MINUTE_MS);
}

static void what_is_another_users_or_senseless_is_refused(void **state)
{
    (void)state;
    struct lease l = lease_of(0, LEASE_RESERVE, "a", 0), before = lease_of(7, LEASE_RESERVE, "a", 0);
    assert_int_equal(correct(&l, &before), -EPERM);
    l.kind = LEASE_SETTING;
    assert_int_equal(correct(&l, NULL), -EINVAL);
    l.kind = LEASE_RESERVE;
    l.until.ms = now.ms - 1;
    assert_int_equal(correct(&l, NULL), -EINVAL);
    l.until.ms = 0;
    l.gpus[1] = l.gpus[0];
    l.gpu_count = 2;
    assert_int_equal(correct(&l, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gpu_is_granted_once),
        TEST(an_earlier_request_is_not_overtaken),
        TEST(claims_are_replaced_by_what_is_known),
        TEST(what_is_another_users_or_senseless_is_refused),
    };
    return RUN_TESTS(tests);
}
