/* SPDX-License-Identifier: Apache-2.0
 * The client against a server of the test's own, which answers with given bytes; and which daemon is looked for.
 */
#include "ask/client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "test.h"

static char folder[64], system_socket[128], own_socket[128];

struct server {
    int fd;
    pthread_t thread;
    const char *answer; /* NULL: hangs up */
    int times;          /* connections that it takes */
    char asked[4096];
};

static void *serve(void *argument)
{
    struct server *s = argument;
    for (int i = 0; i < s->times; i++) {
        AUTO_CLOSE int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        ssize_t n = recv(fd, s->asked, sizeof s->asked - 1, 0);
        s->asked[n > 0 ? n : 0] = '\0';
        if (n > 0 && s->answer && send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL) < 0)
            return NULL;
    }
    return NULL;
}

static void server_start(struct server *s, const char *path, const char *answer, int times)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *s = (struct server){.fd = socket(AF_UNIX, SOCK_STREAM, 0), .answer = answer, .times = times};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    unlink(path);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_end(struct server *s, const char *path)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    unlink(path);
}

/* The status of one request to a server that answers so. */
static int ask(const char *answer, struct buf *body, struct error *err)
{
    struct server s;
    struct client *c = NULL;
    server_start(&s, own_socket, answer, answer ? 1 : 2);
    assert_int_equal(client_open(own_socket, &c, err), 0);
    int status = client_request(c, "GET", "/x", NULL, body, 2000, err);
    client_close(c);
    server_end(&s, own_socket);
    return status;
}

static void an_answer_is_its_status_and_body(void **state)
{
    (void)state;
    AUTO_BUF struct buf body = BUF(1024);
    struct error err = {0};
    assert_int_equal(ask("HTTP/1.1 404 Not Found\r\ncontent-LENGTH: 5\r\n\r\nhello", &body, &err), 404);
    assert_int_equal(body.len, 5);
    assert_memory_equal(body.at, "hello", 5);
}

static void a_long_answer_is_whole(void **state)
{
    (void)state;
    enum { LENGTH = 300000 };
    AUTO_BUF struct buf answer = BUF(LENGTH + 100), body = BUF(LENGTH);
    struct error err = {0};
    buf_printf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LENGTH);
    size_t head = answer.len;
    for (int i = 0; i < LENGTH; i++)
        buf_char(&answer, (char)('a' + i % 23));
    assert_int_equal(ask(answer.at, &body, &err), 200);
    assert_int_equal(body.len, LENGTH);
    assert_memory_equal(body.at, answer.at + head, LENGTH);
}

static void what_is_no_answer_is_an_error_that_names_the_daemon(void **state)
{
    (void)state;
    static const char *const wrong[] = {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", NULL};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_BUF struct buf body = BUF(1024);
        struct error err = {0};
        assert_true(ask(wrong[i], &body, &err) < 0);
        assert_non_null(strstr(err.text, own_socket));
        assert_int_equal(body.len, 0);
    }
}

static int collect(void *user, struct str piece)
{
    buf_str(user, piece);
    return 0;
}

static int download(const char *answer, struct buf *all, struct buf *refusal, struct error *err)
{
    struct server s;
    struct client *c = NULL;
    server_start(&s, own_socket, answer, 1);
    assert_int_equal(client_open(own_socket, &c, err), 0);
    int status = client_download(c, "/x", collect, all, refusal, err);
    client_close(c);
    server_end(&s, own_socket);
    return status;
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static void chunks_are_put_together_and_a_broken_end_is_noticed(void **state)
{
    (void)state;
    AUTO_BUF struct buf all = BUF(1024), cut = BUF(1024), refusal = BUF(1024), none = BUF(1024);
    struct error err = {0};
    assert_int_equal(download(CHUNKED "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", &all, &refusal, &err), 200);
    assert_int_equal(all.len, 11);
    assert_memory_equal(all.at, "hello world", 11);
    assert_true(download(CHUNKED "5\r\nhel", &cut, &refusal, &err) < 0);
    assert_true(download(CHUNKED "zz\r\nhel", &cut, &refusal, &err) < 0);
    assert_int_equal(refusal.len, 0);
    assert_int_equal(download("HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno", &none, &refusal, &err), 400);
    assert_int_equal(none.len, 0);
    assert_memory_equal(refusal.at, "no", 2);
}

static void the_message_of_a_refusal_is_found(void **state)
{
    (void)state;
    char text[64];
    client_error_text(STR("{\"error\": {\"message\": \"Not you.\"}}"), text, sizeof text);
    assert_string_equal(text, "Not you.");
    client_error_text(STR(" plain words \n"), text, sizeof text);
    assert_string_equal(text, "plain words");
}

/* ---- which daemon ---- */

static void who_looks_goes_on_to_the_systems_daemon_and_who_acts_does_not(void **state)
{
    (void)state;
    struct server s;
    struct client *c = NULL;
    struct error err = {0};
    server_start(&s, system_socket, NULL, 8);
    assert_int_equal(client_open("auto", &c, &err), 0);
    assert_string_equal(client_place(c), system_socket);
    client_close(c);
    c = NULL;
    assert_int_equal(client_open_to_act("auto", &c, &err), -EPERM);
    assert_null(c);
    assert_non_null(strstr(err.text, own_socket));
    assert_non_null(strstr(err.text, "left alone"));
    assert_non_null(strstr(err.text, system_socket)); /* how to name it */
    assert_int_equal(client_open_to_act(system_socket, &c, &err), 0);
    client_close(c);
    server_end(&s, system_socket);
}

static void who_acts_finds_the_own_daemon_or_says_where_there_is_none(void **state)
{
    (void)state;
    struct server s;
    struct client *c = NULL;
    struct error err = {0};
    assert_int_equal(client_open_to_act("auto", &c, &err), -ENOENT);
    assert_non_null(strstr(err.text, own_socket));
    assert_int_equal(client_open_to_act("none", &c, &err), -ENOENT);
    assert_int_equal(client_open_to_act("/nope/x.sock", &c, &err), -ENOENT);
    server_start(&s, own_socket, NULL, 8);
    assert_int_equal(client_open_to_act("auto", &c, &err), 0);
    assert_string_equal(client_place(c), own_socket);
    client_close(c);
    server_end(&s, own_socket);
}

int main(void)
{
    char path[128];
    make_folder_here(folder);
    snprintf(path, sizeof path, "%s/run", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/run/whirr", folder);
    mkdir(path, 0700);
    snprintf(system_socket, sizeof system_socket, "%s/run/whirr/whirr.sock", folder);
    snprintf(own_socket, sizeof own_socket, "%s/whirr.sock", folder);
    unsetenv("RUNTIME_DIRECTORY");
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("WHIRR_SYSTEM_ROOT", folder, 1);
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_its_status_and_body),
        TEST(a_long_answer_is_whole),
        TEST(what_is_no_answer_is_an_error_that_names_the_daemon),
        TEST(chunks_are_put_together_and_a_broken_end_is_noticed),
        TEST(the_message_of_a_refusal_is_found),
        TEST(who_looks_goes_on_to_the_systems_daemon_and_who_acts_does_not),
        TEST(who_acts_finds_the_own_daemon_or_says_where_there_is_none),
    };
    return RUN_TESTS(tests);
}
