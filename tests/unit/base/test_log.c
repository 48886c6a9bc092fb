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

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(text_is_one_line_whatever_a_driver_says), TEST(json_has_its_fields),
                                       TEST(the_journal_gets_fields)};
    return RUN_TESTS(tests);
}
