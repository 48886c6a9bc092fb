/* SPDX-License-Identifier: Apache-2.0
 * What push costs: CPU time to turn the text of /metrics into remote write (reading, labels, protobuf, snappy) per 10,000 samples,
 * the size of the requests, and the memory that an hour without the other side takes: 240 scrapes of 8 GPUs in a queue on disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "figure.h"
#include "push/push.h"

enum { GPUS = 8, SERIES = 160, SCRAPES_AN_HOUR = 240, ROUNDS = 40, QUEUE_MAX = 256 << 20 };
#define LIMIT_MS 26.7         /* per 10,000 samples; what 0.1.0 took */
#define LIMIT_MEMORY_KIB 4096 /* of an hour in the queue */

static void write_text(struct buf *out, int round)
{
    for (int s = 0; s < SERIES; s++) {
        buf_printf(out, "# TYPE gpu_metric_%d gauge\n", s);
        for (int g = 0; g < GPUS; g++)
            buf_printf(out,
                       "gpu_metric_%d{gpu=\"%d\",uuid=\"GPU-05411eb7-075c-4e4d-9a84-be9dbf09ff%02x\",name=\"NVIDIA H100 80GB "
                       "HBM3\",host=\"gpu-host-17\"} %d.%d\n",
                       s, g, g, s * 37 + round, round % 10);
    }
}

static double cpu_ms(void)
{
    return (double)clock() * 1e3 / CLOCKS_PER_SEC;
}

/* The bytes of a scrape as it is sent. */
static size_t one(struct push_queue *q, struct push_scrape *before, int round)
{
    const struct push_identity who = {"whirr", "gpu-host-17", "gpu-host-17"};
    AUTO_BUF struct buf text = BUF(PUSH_TEXT_MAX);
    AUTO_BUF struct buf plain = BUF(PUSH_BODY_MAX);
    AUTO_BUF struct buf body = BUF(PUSH_BODY_MAX);
    struct push_scrape now;
    struct error err = {0};
    write_text(&text, round);
    if (push_scrape_init(&now, buf_view(&text), (struct wall){1700000000000LL + 15000LL * round}) < 0)
        return 0;
    push_mark_stale(&now, before);
    push_remote_write(&plain, now.lines, now.count, now.at, &who);
    push_snappy(&body, buf_view(&plain));
    if (q)
        push_queue_put(q, buf_view(&body), (uint32_t)now.count, &err);
    push_scrape_done(before);
    *before = now;
    return body.len;
}

static long resident_kib(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

int main(void)
{
    struct push_scrape before = {0};
    size_t bytes = 0, samples = (size_t)GPUS * SERIES * ROUNDS;
    double text_ms = cpu_ms();
    for (int i = 0; i < ROUNDS; i++) {
        AUTO_BUF struct buf text = BUF(PUSH_TEXT_MAX);
        write_text(&text, i);
    }
    text_ms = cpu_ms() - text_ms; /* not ours to count */
    double start = cpu_ms();
    for (int i = 0; i < ROUNDS; i++)
        bytes += one(NULL, &before, i);
    double ms = (cpu_ms() - start - text_ms) * 10000 / (double)samples;
    printf("push: %.2f ms of CPU per 10,000 samples (limit %.1f), %.1f bytes a sample%s\n", ms, LIMIT_MS,
           (double)bytes / (double)samples, ms <= LIMIT_MS ? "" : "   OVER THE LIMIT");

    char folder[] = "/tmp/whirr-bench-push-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    long resident = resident_kib();
    struct push_queue *q = push_queue_new(folder, QUEUE_MAX);
    struct push_queue_state state;
    for (int i = 0; q && i < SCRAPES_AN_HOUR; i++)
        one(q, &before, i);
    long grown = resident_kib() - resident;
    push_queue_get(q, &state);
    printf("an hour away: %zu requests, %.1f MiB on disk, %ld KiB of memory more (limit %d), %llu samples lost%s\n", state.requests,
           (double)state.bytes / (1 << 20), grown, LIMIT_MEMORY_KIB, (unsigned long long)state.lost_samples,
           grown <= LIMIT_MEMORY_KIB && !state.lost_samples ? "" : "   OVER THE LIMIT");
    while (state.requests) {
        push_queue_drop_first(q);
        push_queue_get(q, &state);
    }
    push_queue_free(q);
    push_scrape_done(&before);
    rmdir(folder);
    bool cheap = figure("push: CPU of 10,000 samples", ms, "ms", false, LIMIT_MS, "");
    bool small = figure("push: memory for an hour without the database", (double)grown, "KiB", false, LIMIT_MEMORY_KIB, "");
    bool whole = figure("push: samples lost in that hour", (double)state.lost_samples, "", false, 0, "");
    return cheap && small && whole ? 0 : 1;
}
