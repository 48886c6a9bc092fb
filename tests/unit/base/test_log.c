/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "test.h"

static char *text;
static size_t text_len;

static FILE *capture(enum log_level least, enum log_format format)
{
    FILE *f = open_memstream(&text, &text_len);
    assert_non_null(f);
    log_setup(least, format, f);
    return f;
}

static void done(FILE *f)
{
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, stderr);
    fclose(f);
    free(text);
    text = NULL;
}

static void text_is_one_line_whatever_a_driver_says(void **state)
{
    (void)state;
    FILE *f = capture(LOG_INFO, LOG_FORMAT_TEXT);
    log_debug("not this");
    log_warn("no source", LOG_TEXT("reason", "two\nlines"), LOG_INT("count", 0), LOG_TEXT("source", "nvml"),
             LOG_TEXT("path", "a \"b\""));
    assert_non_null(strstr(text, "warning no source reason=\"two lines\" count=0 source=nvml path=\"a \\\"b\\\"\"\n"));
    assert_null(strstr(text, "not this"));
    assert_ptr_equal(strchr(text, '\n'), text + text_len - 1);
    done(f);
}

static void json_has_its_fields(void **state)
{
    (void)state;
    FILE *f = capture(LOG_DEBUG, LOG_FORMAT_JSON);
    log_error("failed", LOG_TEXT("error", "a \"b\""), LOG_INT("gpu", 3));
    assert_non_null(strstr(text, "\"level\":\"error\",\"message\":\"failed\",\"error\":\"a \\\"b\\\"\",\"gpu\":3}\n"));
    done(f);
}

static void the_journal_gets_fields(void **state)
{
    (void)state;
    char folder[] = "/tmp/whirr-log-XXXXXX", path[64], entry[1024] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    log_journal_socket(path);
    FILE *f = capture(LOG_INFO, LOG_FORMAT_JOURNAL);
    log_warn("GPU is lost", LOG_INT("gpu", 3), LOG_TEXT("error-text", "fell off\nPRIORITY=0"));
    assert_true(recv(fd, entry, sizeof entry - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(entry, "PRIORITY=4\nSYSLOG_IDENTIFIER=whirr\nMESSAGE=GPU is lost gpu=3 error-text=\"fell off PRIORITY=0\"\n"
                               "WHIRR_MESSAGE=GPU is lost\nWHIRR_GPU=3\nWHIRR_ERROR_TEXT=fell off PRIORITY=0\n");
    fflush(f);
    assert_int_equal(text_len, 0);
    /* Without a journal, the line goes to stderr with its priority. */
    close(fd);
    unlink(path);
    rmdir(folder);
    log_info("still heard");
    assert_string_equal(text, "<6>still heard\n");
    done(f);
    log_journal_socket(NULL);
}

static size_t lines(void)
{
    size_t count = 0;
    for (const char *c = text; c && *c; c++)
        count += *c == '\n';
    return count;
}

static void a_line_that_repeats_is_left_out_and_counted(void **state)
{
    (void)state;
    FILE *f = capture(LOG_INFO, LOG_FORMAT_TEXT);
    for (int i = 0; i < 5000; i++)
        log_error("the disk is full", LOG_TEXT("path", "/var/lib"));
    fflush(f);
    assert_true(lines() >= 1 && lines() <= 20);
    /* Another one is not held back, and neither is the same about something else. */
    size_t before = lines();
    log_error("the disk is full", LOG_TEXT("path", "/home"));
    log_info("something else");
    fflush(f);
    assert_int_equal(lines(), before + 2);
    done(f);
}

static void lines_that_differ_in_their_fields_alone_have_a_limit_too(void **state)
{
    (void)state;
    FILE *f = capture(LOG_INFO, LOG_FORMAT_JSON);
    for (int i = 0; i < 5000; i++)
        log_warn("a client was refused", LOG_INT("port", i));
    fflush(f);
    assert_true(lines() >= 50 && lines() <= 300);
    assert_true(EVENTUALLY((log_warn("a client was refused", LOG_INT("port", 1)), fflush(f), strstr(text, "\"left_out\":"))));
    done(f);
}

static void what_is_for_finding_faults_is_whole(void **state)
{
    (void)state;
    FILE *f = capture(LOG_DEBUG, LOG_FORMAT_TEXT);
    for (int i = 0; i < 500; i++)
        log_debug("an empty list");
    fflush(f);
    assert_int_equal(lines(), 500);
    done(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(text_is_one_line_whatever_a_driver_says),
                                       TEST(json_has_its_fields),
                                       TEST(the_journal_gets_fields),
                                       TEST(a_line_that_repeats_is_left_out_and_counted),
                                       TEST(lines_that_differ_in_their_fields_alone_have_a_limit_too),
                                       TEST(what_is_for_finding_faults_is_whole)};
    return RUN_TESTS(tests);
}
