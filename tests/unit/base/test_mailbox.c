/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mailbox.h"

#include <poll.h>
#include <pthread.h>

#include "test.h"

static int dropped;

static void count_drop(void *item)
{
    (void)item;
    dropped++;
}

static bool readable(struct mailbox *m)
{
    struct pollfd p = {mailbox_fd(m), POLLIN, 0};
    return poll(&p, 1, 0) == 1;
}

static void a_full_mailbox_drops_its_oldest(void **state)
{
    (void)state;
    int items[4];
    dropped = 0;
    struct mailbox *m = mailbox_new(3, count_drop);
    assert_false(readable(m));
    for (int i = 0; i < 4; i++)
        mailbox_put(m, &items[i]);
    assert_true(readable(m));
    assert_int_equal(dropped, 1);
    assert_int_equal(mailbox_dropped(m), 1);
    assert_ptr_equal(mailbox_take(m, 0), &items[1]);
    assert_ptr_equal(mailbox_take(m, 0), &items[2]);
    assert_ptr_equal(mailbox_take(m, 0), &items[3]);
    assert_false(readable(m));
    assert_null(mailbox_take(m, 1));
    mailbox_put(m, &items[0]);
    mailbox_free(m);
    assert_int_equal(dropped, 2);
}

static char letter[] = "letter";

static void *put_later(void *m)
{
    mailbox_put(m, letter);
    return NULL;
}

static void a_waiting_reader_is_woken(void **state)
{
    (void)state;
    struct mailbox *m = mailbox_new(1, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, put_later, m);
    assert_string_equal((char *)mailbox_take(m, -1), "letter");
    pthread_join(thread, NULL);
    mailbox_close(m);
    assert_null(mailbox_take(m, -1));
    mailbox_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_full_mailbox_drops_its_oldest), TEST(a_waiting_reader_is_woken)};
    return RUN_TESTS(tests);
}
