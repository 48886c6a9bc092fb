/* SPDX-License-Identifier: Apache-2.0
 * Many hosts in one process: pushes the text of one host under the names of many, every INTERVAL seconds, with the program's own
 * encoders. Prints for each round how long it took. With an INTERVAL below 0 the rounds end now and are pushed one behind the
 * other.
 *
 * usage: fleet_push URL TEXT_FILE HOSTS ROUNDS INTERVAL
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/keep.h"
#include "net/http_client.h"
#include "push/push.h"

static const char *const headers[] = {"Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0", NULL};

/* The text with the name of another host, and values that move. */
static void rename_host(struct str text, int host, struct buf *out)
{
    static const char mark[] = "host=\"";
    const char *at;
    while ((at = memmem(text.at, text.len, mark, sizeof mark - 1))) {
        const char *end = memchr(at + sizeof mark - 1, '"', text.len - (size_t)(at - text.at) - (sizeof mark - 1));
        if (!end)
            break;
        buf_add(out, text.at, (size_t)(at - text.at));
        buf_printf(out, "%sgpu%d", mark, host);
        text = (struct str){end, text.len - (size_t)(end - text.at)};
    }
    buf_str(out, text);
}

static int push_host(const struct env *env, const char *url, struct str text, int host, struct wall at, size_t *samples)
{
    char name[32];
    AUTO_BUF struct buf own = BUF(PUSH_TEXT_MAX);
    AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
    AUTO_BUF struct buf body = BUF(PUSH_BODY_MAX);
    struct push_scrape s;
    struct error err = {0};
    snprintf(name, sizeof name, "gpu%d", host);
    rename_host(text, host, &own);
    if (push_scrape_init(&s, buf_view(&own), at) < 0)
        return -1;
    for (size_t i = 0; i < s.count; i++)
        s.lines[i].value *= 1 - 0.001 * (double)((at.ms / 15000 + host + (int64_t)i) % 7);
    push_remote_write(&plain, s.lines, s.count, at, &(struct push_identity){"whirr", name, name});
    push_snappy(&body, buf_view(&plain));
    *samples += s.count;
    push_scrape_done(&s);
    int status = http_call(env,
                           &(struct http_request){.method = "POST",
                                                  .url = url,
                                                  .body = body.at,
                                                  .body_len = body.len,
                                                  .content_type = "application/x-protobuf",
                                                  .headers = headers,
                                                  .timeout_ms = 120000},
                           NULL, &err);
    if (status < 200 || status > 299)
        fprintf(stderr, "fleet_push: %d %s\n", status, err.text);
    return status >= 200 && status < 300 ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct env env;
    struct error err = {0};
    AUTO_BUF struct buf text = BUF(PUSH_TEXT_MAX);
    if (argc != 6 || keep_read(argv[2], &text, &err) < 0) {
        fprintf(stderr, "usage: fleet_push URL TEXT_FILE HOSTS ROUNDS INTERVAL %s\n", err.text);
        return 2;
    }
    env_init_system(&env);
    int hosts = (int)strtol(argv[3], NULL, 10), rounds = (int)strtol(argv[4], NULL, 10);
    double interval = strtod(argv[5], NULL);
    for (int round = 0; round < rounds; round++) {
        struct mono start = clock_mono(&clock_system);
        struct wall at = clock_wall(&clock_system);
        if (interval < 0)
            at.ms -= (int64_t)((rounds - 1 - round) * -interval * 1000);
        size_t samples = 0;
        for (int host = 0; host < hosts; host++)
            if (push_host(&env, argv[1], buf_view(&text), host, at, &samples) < 0)
                return 1;
        double took = (double)(clock_mono(&clock_system).ns - start.ns) / 1e9;
        printf("%d %zu %.3f\n", round, samples, took);
        fflush(stdout);
        if (round + 1 < rounds && took < interval)
            usleep((useconds_t)((interval - took) * 1e6));
    }
    return 0;
}
