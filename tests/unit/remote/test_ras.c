/* SPDX-License-Identifier: Apache-2.0
 * NCCL's RAS, with a stand-in that answers, refuses, hangs, and sends nonsense.
 */
#include "remote/ras.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

static const char answer[] =
    "{\"nccl_version\": \"2.28.7\", \"communicators\": [{\"hash\": \"0x1\", \"size\": 8, \"missing_ranks_count\": 1, \"ranks\": "
    "[{\"rank\": 0, \"host\": \"n1\", \"pid\": 7}], \"missing_ranks\": [{\"rank\": 3, \"host\": \"n2\", \"status\": "
    "{\"unresponsive\": true, \"considered_dead\": false}}]}, {\"hash\": \"0x2\", \"size\": 8, \"missing_ranks_count\": 2, "
    "\"missing_ranks\": [{\"rank\": 3, \"status\": {\"considered_dead\": true}}, {\"rank\": -4}, {\"rank\": \"x\"}]}]}";

enum mood { ANSWERS, REFUSES_JSON, HANGS, NONSENSE, HUGE, CLOSES };

struct stand_in {
    int listener;
    uint16_t port;
    enum mood mood;
    pthread_t thread;
    char heard[256];
};

static void say(int fd, const char *text)
{
    assert_true(send(fd, text, strlen(text), MSG_NOSIGNAL) >= 0 || errno == EPIPE || errno == ECONNRESET);
}

/* One line; false: the other side has closed. */
static bool hear(struct stand_in *s, int fd)
{
    size_t len = strlen(s->heard);
    for (char c; recv(fd, &c, 1, 0) == 1;) {
        if (len + 2 < sizeof s->heard) {
            s->heard[len++] = c;
            s->heard[len] = '\0';
        }
        if (c == '\n')
            return true;
    }
    return false;
}

static void *stand_in_main(void *user)
{
    struct stand_in *s = user;
    int fd = accept(s->listener, NULL, NULL);
    if (fd < 0 || s->mood == CLOSES || !hear(s, fd))
        goto out;
    if (s->mood == NONSENSE) {
        say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
        goto out;
    }
    if (s->mood == HANGS) {
        hear(s, fd); /* until the other side gives up */
        goto out;
    }
    say(fd, "SERVER PROTOCOL 2\n");
    hear(s, fd);
    say(fd, "OK\n");
    hear(s, fd);
    say(fd, s->mood == REFUSES_JSON ? "ERROR: unknown command\n" : "OK\n");
    if (s->mood == REFUSES_JSON || !hear(s, fd))
        goto out;
    if (s->mood == HUGE) {
        char blanks[65536];
        memset(blanks, ' ', sizeof blanks);
        while (send(fd, blanks, sizeof blanks, MSG_NOSIGNAL) > 0)
            continue;
    } else {
        say(fd, answer);
    }
out:
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void stand_in_start(struct stand_in *s, enum mood mood)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *s = (struct stand_in){.mood = mood, .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, stand_in_main, s), 0);
}

static void stand_in_stop(struct stand_in *s)
{
    pthread_join(s->thread, NULL);
    close(s->listener);
}

static int ask(enum mood mood, int64_t timeout_ms, struct ras_report *report, struct stand_in *s)
{
    struct error err = {0};
    stand_in_start(s, mood);
    int rc = ras_ask("127.0.0.1", s->port, timeout_ms, NULL, report, &err);
    stand_in_stop(s);
    return rc;
}

static void ranks_that_do_not_answer_are_named(void **state)
{
    (void)state;
    struct ras_report report;
    struct stand_in s;
    assert_int_equal(ask(ANSWERS, 5000, &report, &s), 0);
    assert_string_equal(s.heard, "CLIENT PROTOCOL 2\nTIMEOUT 3\nSET FORMAT json\nSTATUS\n");
    assert_int_equal(report.communicators, 2);
    assert_int_equal(report.missing_total, 2);
    assert_int_equal(report.missing_count, 1); /* the same one, of two communicators */
    assert_int_equal(report.missing[0].rank, 3);
    assert_string_equal(report.missing[0].host, "n2");
    assert_true(report.missing[0].dead);
}

static void what_is_no_answer_is_an_error_in_time(void **state)
{
    (void)state;
    struct ras_report report;
    struct stand_in s;
    assert_int_equal(ask(REFUSES_JSON, 5000, &report, &s), -ENOTSUP);
    assert_int_equal(ask(HANGS, 200, &report, &s), -ETIMEDOUT);
    assert_int_equal(ask(NONSENSE, 5000, &report, &s), -EPROTO);
    assert_int_equal(ask(HUGE, 5000, &report, &s), -EFBIG);
    int rc = ask(CLOSES, 5000, &report, &s);
    assert_true(rc == -ECONNRESET || rc == -EPIPE);
    struct error err = {0};
    assert_true(ras_ask("127.0.0.1", s.port, 1000, NULL, &report, &err) < 0); /* nothing listens there */
    assert_non_null(strstr(err.text, "127.0.0.1"));
    const _Atomic bool cancel = true;
    stand_in_start(&s, CLOSES);
    assert_int_equal(ras_ask("127.0.0.1", s.port, 60000, &cancel, &report, &err) < 0, 1);
    stand_in_stop(&s);
}

static void answers_of_any_shape_are_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "{", "[]", "{\"communicators\": 7}", "null", "{\"communicators\": null}"};
    struct ras_report report;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(ras_parse(str_from(wrong[i]), &report), -EINVAL);
    assert_int_equal(ras_parse(STR("{\"communicators\": []}"), &report), 0);
    assert_int_equal(report.missing_count, 0);
    assert_int_equal(ras_parse(STR("{\"communicators\": [7, {\"missing_ranks\": 3}, {\"missing_ranks\": [null]}]}"), &report), 0);
    uint16_t port = 0;
    assert_true(ras_port(STR("localhost:4000"), &port));
    assert_int_equal(port, 4000);
    assert_true(ras_port(STR("[::1]:4001"), &port));
    assert_false(ras_port(STR("localhost"), &port));
    assert_false(ras_port(STR("localhost:99999"), &port));
    assert_int_equal(port, 4001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(ranks_that_do_not_answer_are_named), TEST(what_is_no_answer_is_an_error_in_time),
                                       TEST(answers_of_any_shape_are_read)};
    return RUN_TESTS(tests);
}
