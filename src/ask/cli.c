/* SPDX-License-Identifier: Apache-2.0
 * Answers to stdout, messages to stderr.
 */
#include "ask/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os/console.h"
#include "base/words.h"

int cli_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("whirr: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_FAILED;
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("whirr: ", stderr);
    vfprintf(stderr, format, args);
    if (cli)
        fprintf(stderr, "\nTry `whirr %s --help`.\n", cli->name);
    else
        fputs("\nTry `whirr --help`.\n", stderr);
    va_end(args);
    return cli && cli->failure_status ? cli->failure_status : EXIT_USAGE;
}

int cli_error(const struct cli *cli, const struct error *err)
{
    return err->code == -EINVAL ? cli_usage(cli, "%s", err->text) : cli_fail("%s", err->text);
}

int cli_unknown(const struct cli *cli, const char *kind, const char *word, const char *const *names, size_t count)
{
    enum { A_FEW = 8 };
    char expected[512] = "";
    const char *near = nearest_name(word, names, count);
    if (near)
        return cli_usage(cli, "unknown %s '%s'; did you mean '%s'?", kind, word, near);
    for (size_t i = 0; count <= A_FEW && i < count; i++) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s%s", !i ? "; expected " : i + 1 == count ? " or " : ", ", names[i]);
    }
    return cli_usage(cli, "unknown %s '%s'%s", kind, word, expected);
}

/* "24" and "70b" hardly mean bytes; a large number does, as programs print it. */
static bool is_too_small(struct str text, bool read, int64_t bytes, bool *billions)
{
    double number;
    bool bare = str_to_double(text, &number) && number != 0;
    *billions = !bare && read && bytes && (text.at[text.len - 1] | 0x20) == 'b' && strchr("0123456789. ", text.at[text.len - 2]);
    return (bare || *billions) && bytes < 1 << 20;
}

int cli_size(const struct cli *cli, const char *option, const char *text, int64_t *ret)
{
    struct str s = str_trim(str_from(text));
    bool billions;
    int64_t bytes = 0;
    bool read = bytes_parse(s, &bytes);
    if (is_too_small(s, read, bytes, &billions)) {
        int digits = (int)(s.len - billions);
        if (billions)
            return cli_usage(
                cli, "'%s' is a number of parameters, not of bytes; to see how much memory such a model needs: whirr fit %s", text,
                text);
        return cli_usage(cli, "the size '%s' has no unit; write %.*sGiB or %.*sMiB", text, digits, s.at, digits, s.at);
    }
    if (!read && option)
        return cli_usage(cli, "invalid value '%s' for --%s; expected " BYTES_SYNTAX, text, option);
    if (!read)
        return cli_usage(cli, "'%s' is neither a file nor " BYTES_SYNTAX " nor the size of a model like 70B", text);
    if (bytes == 0)
        return cli_usage(cli, "a size must be above 0, not '%s'", text);
    *ret = bytes;
    return EXIT_FINE;
}

void pause_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / MS_PER_S, .tv_nsec = (ms % MS_PER_S) * NS_PER_MS};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

int write_stdout(const char *at, size_t len)
{
    while (len) {
        ssize_t put = console_out(at, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -errno;
        at += put;
        len -= (size_t)put;
    }
    return 0;
}

int show_text(const struct buf *text)
{
    if (text->failed)
        return cli_fail("cannot show the answer: it is too large, or out of memory");
    int rc = write_stdout(text->at ? text->at : "", text->len);
    if (rc == -EPIPE)
        return EXIT_FINE;
    return rc < 0 ? cli_fail("cannot write to stdout: %s", strerror(-rc)) : EXIT_FINE;
}
