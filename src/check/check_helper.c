/* SPDX-License-Identifier: Apache-2.0
 * The helper of a check: the one process that opens the compute driver. It runs the tests and writes what it sees to its output,
 * a record a line (check/check_record.c); the process that started it samples the GPU meanwhile, and judges. It ends when a test is
 * over, on SIGTERM, or when its output is closed.
 *
 *   link, arithmetic, integers, tensor cores: heat      memory, all written before any is read      bandwidth, latency
 *
 * Launches are short and grouped: a display stays fluid and a wish to stop is seen at once. Only times of the GPU's own events
 * count.
 */
#include "check/check_helper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "check/check_record.h"
#include "check/compute.h"

enum {
    LANES = 256,
    CHUNKS_MAX = 2048,
    CHUNK_BYTES = 1 << 30,
    LINK_BYTES = 64 << 20,
    SPARE_BYTES = 1 << 18,
    CHAIN_LINES_MAX = 1 << 21, /* 256 MiB */
    CHAIN_STEPS = 20000,
    LAUNCHES_MAX = 4096,
    NAP_NS = 50000,
    REPORT_MS = 100,
    SMALLEST_MEMORY = 1 << 20,
};
/* A group of launches takes about this long; one kernel that does not end in that time never will. */
#define TARGET_MS 10.0
#define LAUNCH_LONGEST_MS 50.0
#define HANGS_AFTER_MS 5000

struct chunk {
    uint64_t buffer;
    int64_t bytes, first; /* number of its first byte among all */
};

struct exam {
    const struct env *env;
    const struct compute_ops *ops;
    struct compute *c;
    const struct check_order *order;
    FILE *out;
    struct check_run *run;
    struct mono began, reported;
    double gpu_ms; /* of all work, by the GPU's own events */
    double fill;   /* part of its time that a test was given already */
    uint64_t found, answers[3], spare;
    struct chunk chunks[CHUNKS_MAX];
    size_t chunk_count;
    struct error err;
};

static volatile sig_atomic_t stop_requested;

static void on_stop(int signal)
{
    (void)signal;
    stop_requested = 1;
}

static double spent_s(const struct exam *h)
{
    double wall = (double)(clock_mono(h->env->clock).ns - h->began.ns) / NS_PER_S;
    return MAX_OF(wall, h->gpu_ms / MS_PER_S);
}

/* 0, or why the run ends here. */
static int interrupted(struct exam *h)
{
    if (stop_requested)
        return -EINTR;
    return spent_s(h) > h->order->deadline_s ? -ETIME : 0;
}

static int64_t bytes_of(const struct chunk *chunks, size_t count)
{
    return count ? chunks[count - 1].first + chunks[count - 1].bytes : 0;
}

static void report(struct exam *h, bool now)
{
    struct mono at = clock_mono(h->env->clock);
    if (!now && mono_since_ms(at, h->reported) < REPORT_MS)
        return;
    h->reported = at;
    record_write_progress(h->out, h->run);
}

/* Waits until the work since begin() is over. 0 and the GPU's time for it. */
static int await(struct exam *h, double *ms)
{
    struct mono from = clock_mono(h->env->clock);
    for (;;) {
        int rc = h->ops->poll(h->c, ms, &h->err);
        if (rc < 0)
            return rc;
        if (rc > 0)
            break;
        if (mono_since_ms(clock_mono(h->env->clock), from) > HANGS_AFTER_MS)
            return error_set(&h->err, -ETIMEDOUT, "a kernel did not end within %d s", HANGS_AFTER_MS / MS_PER_S);
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        report(h, false);
    }
    h->gpu_ms += *ms;
    h->run->longest_ms = MAX_OF(h->run->longest_ms, *ms);
    report(h, false);
    return 0;
}

static int clear_found(struct exam *h)
{
    static const uint32_t none[FOUND_WORDS];
    return h->ops->write(h->c, h->found, none, sizeof none, &h->err);
}

/* What a test found wrong is added to the run. */
static int take_found(struct exam *h, enum check_test test)
{
    uint32_t whole[FOUND_WORDS];
    int rc = h->ops->read(h->c, whole, h->found, 4 * sizeof *whole, &h->err);
    if (rc < 0 || whole[0] == 0)
        return rc;
    rc = h->ops->read(h->c, whole, h->found, sizeof whole, &h->err);
    if (rc < 0)
        return rc;
    struct check_test_run *w = &h->run->test[test];
    size_t known = MIN_OF((size_t)whole[0], (size_t)GOLDEN_RECORDS);
    if (w->wrong == 0) {
        w->place = (int64_t)(whole[4] | (uint64_t)whole[5] << 32);
        w->expected = whole[6];
        w->got = whole[7];
        w->one_processor = true;
    }
    for (size_t i = 0; i < known; i++)
        w->one_processor = w->one_processor && whole[5 + i * 4] == (uint32_t)((uint64_t)w->place >> 32);
    w->wrong += whole[0];
    w->lost |= whole[1];
    w->set |= whole[2];
    report(h, true);
    return clear_found(h);
}

/* ---- rates: medians of launches ---- */

struct rates {
    size_t count;
    double at[LAUNCHES_MAX];
};

static void rates_add(struct rates *r, double rate)
{
    if (r->count < LAUNCHES_MAX)
        r->at[r->count++] = rate;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { WARM_UP = 2, LAUNCHES_LEAST = 10 };

/* The median, and the slowest quarter's beside the fastest one's. Nothing of fewer than ten launches. */
static void rates_take(struct rates *r, struct check_measure *to)
{
    size_t count = r->count > WARM_UP ? r->count - WARM_UP : 0;
    double *at = r->at + WARM_UP;
    if (count < LAUNCHES_LEAST)
        return;
    qsort(at, count, sizeof *at, by_size);
    to->measured = at[count / 2];
    to->spread = at[count * 7 / 8] > 0 ? at[count / 8] / at[count * 7 / 8] : 0;
}

static struct rates rates_buffer[2];

/* ---- known answers ---- */

static int run_answers(struct exam *h, enum check_test test, double seconds)
{
    static const struct {
        enum compute_kernel kernel;
        enum check_value value;
        double operations; /* of one answer */
    } tests[] = {
        [CHECK_FLOATS] = {KERNEL_ANSWER_FLOATS, CHECK_VALUE_FLOATS, 4.0 * GOLDEN_STEPS},
        [CHECK_WHOLE] = {KERNEL_ANSWER_WHOLE, CHECK_VALUE_WHOLE, 4.0 * GOLDEN_STEPS},
        [CHECK_TENSOR] = {KERNEL_ANSWER_TENSOR, CHECK_VALUE_TENSOR, 2.0 * 16 * 8 * 16 / 128},
    };
    struct rates *rates = &rates_buffer[0];
    rates->count = 0;
    bool tensor = test == CHECK_TENSOR;
    uint32_t processors = MAX_OF(h->run->device.processors, 1u), groups = processors * 8, rounds = 1, round = 0, many = 1;
    const uint32_t rounds_most = tensor ? 60 : 4096; /* sums of more products would not be exact */
    double until = spent_s(h) + seconds, ms;
    int rc = 0;
    /* Until the time is over, and once in any case: a launch too short to be measured is made longer. */
    for (bool first = true; rc == 0 && (first || spent_s(h) < until); first = false) {
        uint32_t turns = tensor ? rounds * 64 : rounds;
        struct compute_work w = {.kernel = tests[test].kernel, .groups = groups, .lanes = LANES};
        if (tensor) {
            w.count = 4;
            w.arguments[0] = ARG_BUFFER(h->answers[2]);
            w.arguments[1] = ARG_U32(turns);
            w.arguments[2] = ARG_U32(h->order->seed);
            w.arguments[3] = ARG_BUFFER(h->found);
        } else {
            w.count = 7;
            w.arguments[0] = ARG_BUFFER(h->answers[test == CHECK_WHOLE]);
            w.arguments[1] = ARG_U32(LANES);
            w.arguments[2] = ARG_U32(round);
            w.arguments[3] = ARG_U32(rounds);
            w.arguments[4] = ARG_U32(h->order->seed);
            w.arguments[5] = ARG_U32(test == CHECK_FLOATS && h->order->fold);
            w.arguments[6] = ARG_BUFFER(h->found);
        }
        if ((rc = interrupted(h)) < 0 || (rc = h->ops->begin(h->c, &h->err)) < 0)
            return rc;
        for (uint32_t i = 0; i < many; i++)
            if ((rc = h->ops->launch(h->c, &w, &h->err)) < 0)
                return rc;
        if ((rc = h->ops->end(h->c, &h->err)) < 0 || (rc = await(h, &ms)) < 0)
            return rc;
        round = (round + rounds) % GOLDEN_ROUNDS;
        double answers = (double)many * groups * LANES * (tensor ? (double)turns * GOLDEN_PRODUCTS * 4 : (double)rounds);
        h->run->test[test].answers += (int64_t)((double)many * groups * LANES * (tensor ? GOLDEN_PRODUCTS * 4 : rounds));
        if (ms > 0 && ms >= TARGET_MS / 4)
            rates_add(rates, answers * tests[test].operations / ms / 1e9);
        /* The same number of turns for all launches that count, unless clocks change by far. */
        if (ms < TARGET_MS / 2 && many < 64) {
            rates->count = 0;
            if (rounds < rounds_most)
                rounds = MIN_OF(rounds * 2, rounds_most);
            else
                many *= 2;
        } else if (ms > TARGET_MS * 2 && many > 1) {
            many /= 2;
        } else if (ms > TARGET_MS * 2 && rounds > 1) {
            rounds /= 2;
        } else if (ms > LAUNCH_LONGEST_MS && groups > processors) {
            groups = MAX_OF(groups / 2, processors);
        }
        rc = take_found(h, test);
    }
    rates_take(rates, &h->run->value[tests[test].value]);
    if (test == CHECK_FLOATS)
        h->run->value[CHECK_VALUE_STEADY].measured = h->run->value[CHECK_VALUE_FLOATS].spread;
    return rc;
}

/* ---- memory ---- */

static int64_t margin_of(const struct exam *h)
{
    const struct check_device *d = &h->run->device;
    int64_t margin = MAX_OF(d->total_bytes / (h->order->display ? 10 : 20), MIN_OF(512 * MIB_BYTES, d->total_bytes / 8));
    return margin;
}

static int64_t bytes_wanted(const struct exam *h)
{
    const struct check_device *d = &h->run->device;
    int64_t room = d->free_bytes - margin_of(h);
    if (d->integrated)
        room = MIN_OF(room, h->order->host_bytes / 4);
    if (h->order->most_bytes)
        room = MIN_OF(room, h->order->most_bytes);
    return MAX_OF(room, (int64_t)0) & ~INT64_C(4095);
}

/* In pieces: a driver may refuse large ones, or have less than it says. */
static int take_memory(struct exam *h)
{
    int64_t wanted = h->run->wanted_bytes = bytes_wanted(h), first = 0;
    int64_t piece = MIN_OF((int64_t)CHUNK_BYTES, h->run->device.largest_bytes ? h->run->device.largest_bytes : CHUNK_BYTES);
    while (h->chunk_count < CHUNKS_MAX && first < wanted && piece >= SMALLEST_MEMORY / 4) {
        struct chunk *chunk = &h->chunks[h->chunk_count];
        int64_t bytes = MIN_OF(piece, wanted - first) & ~INT64_C(4095);
        if (bytes == 0)
            break;
        int rc = h->ops->allocate(h->c, bytes, &chunk->buffer, &h->err);
        if (rc == -ENOMEM) {
            piece /= 2;
            continue;
        }
        if (rc < 0)
            return rc;
        *chunk = (struct chunk){chunk->buffer, bytes, first};
        first += bytes;
        h->chunk_count++;
        report(h, false);
    }
    h->err = (struct error){0};
    return 0;
}

/* Others need memory: give back. What was tested of it counts as long as it was seen whole. */
static int watch_room(struct exam *h)
{
    int64_t room;
    int rc = h->ops->room(h->c, &room, &h->err);
    if (rc == -ENOTSUP || rc < 0)
        return rc == -ENOTSUP ? 0 : rc;
    while (room < margin_of(h) / 2 && h->chunk_count > 1) {
        struct chunk *last = &h->chunks[--h->chunk_count];
        h->ops->release(h->c, last->buffer);
        room += last->bytes;
        h->run->disturbed = true;
    }
    return 0;
}

struct sweep {
    bool write, again, down;
    uint32_t pattern, seed, invert;
};

/* One piece of a sweep over all memory. */
static int sweep_piece(struct exam *h, const struct sweep *s, const struct chunk *chunk, int64_t from, int64_t bytes)
{
    struct compute_work w = {.kernel = s->write ? KERNEL_MEMORY_WRITE : KERNEL_MEMORY_VERIFY,
                             .groups = MAX_OF(h->run->device.processors, 1u) * 8,
                             .lanes = LANES};
    struct compute_argument *a = w.arguments;
    w.groups = (uint32_t)MIN_OF((int64_t)w.groups, (bytes / 16 + LANES - 1) / LANES);
    a[w.count++] = ARG_BUFFER(chunk->buffer);
    a[w.count++] = ARG_U64((uint64_t)from / 16);
    a[w.count++] = ARG_U64((uint64_t)bytes / 16);
    a[w.count++] = ARG_U64((uint64_t)chunk->first / 4);
    a[w.count++] = ARG_U32(s->pattern);
    a[w.count++] = ARG_U32(s->seed);
    a[w.count++] = ARG_U32(s->invert);
    if (!s->write) {
        a[w.count++] = ARG_U32(s->again);
        a[w.count++] = ARG_U32(s->down);
        a[w.count++] = ARG_BUFFER(h->found);
    }
    return h->ops->launch(h->c, &w, &h->err);
}

/* Bytes of one launch: grows until launches take long enough, and shrinks when clocks drop or others come. */
static int64_t sweep_bytes = SMALLEST_MEMORY;

/* All memory from `skip` chunks on, in groups of launches. `limit_s`: when to stop in the middle, which is no error. */
static int run_sweep(struct exam *h, const struct sweep *s, double limit_s)
{
    size_t at = 0;
    int64_t from = 0;
    int rc = 0;
    while (at < h->chunk_count && spent_s(h) < limit_s) {
        double ms;
        int64_t todo = sweep_bytes, done = 0;
        if ((rc = interrupted(h)) < 0 || (rc = h->ops->begin(h->c, &h->err)) < 0)
            return rc;
        while (todo > 0 && at < h->chunk_count) {
            const struct chunk *chunk = &h->chunks[s->down ? h->chunk_count - 1 - at : at];
            int64_t bytes = MIN_OF(todo, chunk->bytes - from);
            if ((rc = sweep_piece(h, s, chunk, s->down ? chunk->bytes - from - bytes : from, bytes)) < 0)
                return rc;
            from += bytes;
            done += bytes;
            todo -= bytes;
            if (from == chunk->bytes) {
                at++;
                from = 0;
            }
        }
        if ((rc = h->ops->end(h->c, &h->err)) < 0 || (rc = await(h, &ms)) < 0)
            return rc;
        if (ms < TARGET_MS / 2 && todo == 0)
            sweep_bytes *= 2;
        else if (ms > TARGET_MS * 2 && sweep_bytes > SMALLEST_MEMORY)
            sweep_bytes /= 2;
        if (!s->write) {
            h->run->verified_bytes += done;
            h->run->test[CHECK_MEMORY].answers += done / 4;
            h->run->covered_bytes =
                MAX_OF(h->run->covered_bytes, MIN_OF(h->run->verified_bytes, bytes_of(h->chunks, h->chunk_count)));
            if ((rc = take_found(h, CHECK_MEMORY)) < 0)
                return rc;
        }
    }
    return rc;
}

/* Every pattern as a moving inversion: write, compare and write the complement, upwards; compare that and write back, downwards;
 * compare. All memory is written before any of it is read, or the caches would answer. The first comparison of all is never cut
 * short; the rest ends with its time. */
static int run_memory(struct exam *h, double seconds)
{
    double until = spent_s(h) + seconds;
    if (bytes_of(h->chunks, h->chunk_count) < SMALLEST_MEMORY)
        return 0;
    for (uint32_t n = 0; n == 0 || spent_s(h) < until; n++) {
        static const uint32_t solid[] = {0, ~0u, 0x55555555, 0xaaaaaaaa};
        static const uint32_t patterns[] = {
            0 /* random */, 1 /* own address */, 2 /* walking one */, 4, 0, 3 /* walking zero */, 4, 1};
        struct sweep s = {.pattern = patterns[n % ARRAY_LEN(patterns)], .seed = golden_mix(h->order->seed + n)};
        if (s.pattern == 4)
            s.seed = solid[n / 3 % ARRAY_LEN(solid)];
        else if (s.pattern == 1)
            s.seed &= 0xffff0000; /* above every address */
        double limit = n == 0 ? h->order->deadline_s : until;
        const struct sweep sweeps[] = {
            {.write = true, .pattern = s.pattern, .seed = s.seed},
            {.again = true, .pattern = s.pattern, .seed = s.seed},
            {.again = true, .down = true, .pattern = s.pattern, .seed = s.seed, .invert = ~0u},
            {.pattern = s.pattern, .seed = s.seed},
        };
        for (size_t i = 0; i < ARRAY_LEN(sweeps); i++) {
            int rc = run_sweep(h, &sweeps[i], i < 2 ? limit : until);
            if (rc < 0 || spent_s(h) >= (i < 2 ? limit : until))
                return rc;
        }
        int rc = watch_room(h);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- bandwidth, link, latency ---- */

/* Rotates over all chunks: a cache of 128 MB holds none of it. */
static int run_stream(struct exam *h, double seconds)
{
    static const struct {
        enum compute_kernel kernel;
        enum check_value value;
        int times; /* each byte is moved */
    } kinds[] = {{KERNEL_STREAM_WRITE, CHECK_VALUE_WRITE, 1},
                 {KERNEL_STREAM_READ, CHECK_VALUE_READ, 1},
                 {KERNEL_STREAM_COPY, CHECK_VALUE_COPY, 2}};
    struct rates *rates = &rates_buffer[0];
    int rc = 0;
    for (size_t k = 0; k < ARRAY_LEN(kinds) && h->chunk_count; k++) {
        double until = spent_s(h) + seconds / ARRAY_LEN(kinds), ms;
        size_t at = 0, many = 1;
        rates->count = 0;
        double last = until + MAX_OF(seconds, 1.5); /* a slow GPU needs longer for launches that count */
        while (spent_s(h) < until || (rates->count < WARM_UP + LAUNCHES_LEAST && spent_s(h) < last)) {
            double bytes = 0;
            if ((rc = interrupted(h)) < 0 || (rc = h->ops->begin(h->c, &h->err)) < 0)
                return rc;
            for (size_t i = 0; i < many; i++, at = (at + 1) % h->chunk_count) {
                const struct chunk *chunk = &h->chunks[at];
                const struct chunk *other = &h->chunks[(at + h->chunk_count / 2) % h->chunk_count];
                bool copies = kinds[k].kernel == KERNEL_STREAM_COPY;
                uint64_t pieces = (uint64_t)MIN_OF(sweep_bytes, chunk->bytes) / 16;
                /* Within one chunk where there is but one: its halves */
                if (copies)
                    pieces = other == chunk ? pieces / 2 : MIN_OF(pieces, (uint64_t)other->bytes / 16);
                struct compute_work w = {
                    .kernel = kinds[k].kernel, .groups = MAX_OF(h->run->device.processors, 1u) * 8, .lanes = LANES};
                struct compute_argument *a = w.arguments;
                a[w.count++] = ARG_BUFFER(chunk->buffer);
                if (copies)
                    a[w.count++] = ARG_BUFFER(other == chunk ? h->spare : other->buffer);
                if (copies && other == chunk)
                    pieces = MIN_OF(pieces, (uint64_t)SPARE_BYTES / 16);
                a[w.count++] = ARG_U64(pieces);
                if (kinds[k].kernel == KERNEL_STREAM_WRITE)
                    a[w.count++] = ARG_U32(h->order->seed + (uint32_t)i);
                else if (!copies)
                    a[w.count++] = ARG_BUFFER(h->found);
                bytes += (double)pieces * 16 * kinds[k].times;
                if ((rc = h->ops->launch(h->c, &w, &h->err)) < 0)
                    return rc;
            }
            if ((rc = h->ops->end(h->c, &h->err)) < 0 || (rc = await(h, &ms)) < 0)
                return rc;
            if (ms > 0)
                rates_add(rates, bytes / ms / 1e6);
            if (ms < TARGET_MS / 2 && many < 64) {
                many *= 2;
                rates->count = 0;
            }
        }
        rates_take(rates, &h->run->value[kinds[k].value]);
    }
    return 0;
}

static int one_copy(struct exam *h, uint64_t buffer, void *host, size_t bytes, bool to_gpu, struct rates *rates)
{
    double ms;
    int rc = interrupted(h);
    if (rc < 0 || (rc = h->ops->begin(h->c, &h->err)) < 0 || (rc = h->ops->copy(h->c, buffer, host, bytes, to_gpu, &h->err)) < 0 ||
        (rc = h->ops->end(h->c, &h->err)) < 0 || (rc = await(h, &ms)) < 0)
        return rc;
    if (ms > 0)
        rates_add(rates, (double)bytes / ms / 1e6);
    return 0;
}

/* Random data there and back, compared each time. */
static int run_link(struct exam *h, double seconds)
{
    int64_t room = bytes_of(h->chunks, h->chunk_count);
    size_t bytes = (size_t)MIN_OF((int64_t)LINK_BYTES, room ? h->chunks[0].bytes : 0) & ~(size_t)4095;
    if (bytes == 0)
        return 0;
    uint32_t *host = h->ops->pinned(h->c, 2 * bytes), *back;
    if (!host) {
        snprintf(h->run->reason, sizeof h->run->reason, "the host has no memory to pin for the link test");
        return 0;
    }
    back = host + bytes / 4;
    rates_buffer[0].count = rates_buffer[1].count = 0;
    double until = spent_s(h) + seconds;
    int rc = 0;
    for (uint32_t n = 0; rc == 0 && (n < WARM_UP + LAUNCHES_LEAST || spent_s(h) < until); n++) {
        for (size_t i = 0; n % 8 == 0 && i < bytes / 4; i++)
            host[i] = golden_mix(h->order->seed ^ (uint32_t)i ^ n << 24);
        if (n % 8 == 0)
            memset(back, 0, bytes);
        if ((rc = one_copy(h, h->chunks[0].buffer, host, bytes, true, &rates_buffer[0])) < 0 ||
            (rc = one_copy(h, h->chunks[0].buffer, back, bytes, false, &rates_buffer[1])) < 0)
            break;
        h->run->test[CHECK_LINK].answers += (int64_t)bytes / 4;
        struct check_test_run *w = &h->run->test[CHECK_LINK];
        for (size_t i = 0; memcmp(host, back, bytes) != 0 && i < bytes / 4; i++) {
            if (host[i] == back[i])
                continue;
            if (w->wrong++ == 0) {
                w->place = (int64_t)i;
                w->expected = host[i];
                w->got = back[i];
            }
            w->lost |= host[i] & ~back[i];
            w->set |= back[i] & ~host[i];
        }
    }
    rates_take(&rates_buffer[0], &h->run->value[CHECK_VALUE_LINK_TO]);
    rates_take(&rates_buffer[1], &h->run->value[CHECK_VALUE_LINK_FROM]);
    return rc;
}

static int run_latency(struct exam *h, double seconds)
{
    uint32_t lines = 1;
    (void)seconds;
    while (h->chunk_count && lines < CHAIN_LINES_MAX && (int64_t)lines * 256 <= h->chunks[0].bytes)
        lines *= 2;
    if (lines < 1024)
        return 0;
    struct compute_work fill = {.kernel = KERNEL_CHAIN_WRITE,
                                .groups = 64,
                                .lanes = LANES,
                                .count = 2,
                                .arguments = {ARG_BUFFER(h->chunks[0].buffer), ARG_U32(lines)}};
    struct compute_work follow = {.kernel = KERNEL_CHAIN_FOLLOW,
                                  .groups = 1,
                                  .lanes = 1,
                                  .count = 3,
                                  .arguments = {ARG_BUFFER(h->chunks[0].buffer), ARG_U32(CHAIN_STEPS), ARG_BUFFER(h->spare)}};
    rates_buffer[0].count = 0;
    for (int i = 0; i < 1 + WARM_UP + LAUNCHES_LEAST; i++) {
        double ms;
        int rc = interrupted(h);
        if (rc < 0 || (rc = h->ops->begin(h->c, &h->err)) < 0 || (rc = h->ops->launch(h->c, i ? &follow : &fill, &h->err)) < 0 ||
            (rc = h->ops->end(h->c, &h->err)) < 0 || (rc = await(h, &ms)) < 0)
            return rc;
        if (i)
            rates_add(&rates_buffer[0], ms * 1e6 / CHAIN_STEPS);
    }
    rates_take(&rates_buffer[0], &h->run->value[CHECK_VALUE_LATENCY]);
    return 0;
}

/* ---- the whole ---- */

void check_order_write(const struct check_order *o, char text[ORDER_TEXT])
{
    snprintf(text, ORDER_TEXT, "%s|%s|%s|%d|%u|%.3f|%.3f|%u|%d|%d|%lld|%lld", o->uuid, o->pci, o->api, (int)o->level, o->tests,
             o->seconds, o->deadline_s, o->seed, o->fold, o->display, (long long)o->host_bytes, (long long)o->most_bytes);
}

bool check_order_read(const char *text, struct check_order *o)
{
    enum { TEXTS = 3, NUMBERS = 9 };
    struct str rest = str_from(text), part;
    char *const texts[TEXTS] = {o->uuid, o->pci, o->api};
    const size_t sizes[TEXTS] = {sizeof o->uuid, sizeof o->pci, sizeof o->api};
    double number[NUMBERS] = {0};
    for (size_t i = 0; i < TEXTS; i++) {
        if (!str_cut(&rest, '|', &part) || part.len >= sizes[i])
            return false;
        str_copy(texts[i], sizes[i], part);
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (!str_cut(&rest, '|', &part) || !str_to_double(part, &number[i]) || number[i] < 0)
            return false;
    o->level = number[0] < CHECK_LEVEL_COUNT ? (enum check_level)number[0] : CHECK_LEVEL_STANDARD;
    o->tests = (unsigned)number[1];
    o->seconds = number[2];
    o->deadline_s = number[3];
    o->seed = (uint32_t)number[4];
    o->fold = number[5] != 0;
    o->display = number[6] != 0;
    o->host_bytes = (int64_t)number[7];
    o->most_bytes = (int64_t)number[8];
    return true;
}

static int prepare(struct exam *h)
{
    static uint32_t floats[GOLDEN_ROUNDS * LANES], whole[GOLDEN_ROUNDS * LANES];
    static float tensor[GOLDEN_TENSOR];
    golden_floats(floats, LANES, h->order->seed, h->order->fold);
    golden_whole(whole, LANES, h->order->seed);
    golden_tensor(tensor, h->order->seed);
    const struct {
        uint64_t *buffer;
        const void *from;
        size_t bytes;
    } small[] = {{&h->answers[0], floats, sizeof floats},
                 {&h->answers[1], whole, sizeof whole},
                 {&h->answers[2], tensor, sizeof tensor},
                 {&h->found, NULL, FOUND_WORDS * 4},
                 {&h->spare, NULL, SPARE_BYTES}};
    /* Small buffers first: else "out of memory" comes late and costs a test that is done. */
    for (size_t i = 0; i < ARRAY_LEN(small); i++) {
        int rc = h->ops->allocate(h->c, (int64_t)small[i].bytes, small[i].buffer, &h->err);
        if (rc == 0 && small[i].from)
            rc = h->ops->write(h->c, *small[i].buffer, small[i].from, small[i].bytes, &h->err);
        if (rc < 0)
            return rc;
    }
    int rc = clear_found(h);
    if (rc == 0 && h->ops->room(h->c, &h->run->device.free_bytes, &h->err) < 0)
        h->err = (struct error){0}; /* as it was at first */
    return rc < 0 ? rc : take_memory(h);
}

static const struct {
    int (*run)(struct exam *h, double seconds);
    double share; /* of the time */
} tests[CHECK_TEST_COUNT] = {
    [CHECK_LINK] = {run_link, 0.06},       [CHECK_FLOATS] = {NULL, 0.2},       [CHECK_WHOLE] = {NULL, 0.1},
    [CHECK_TENSOR] = {NULL, 0.1},          [CHECK_MEMORY] = {run_memory, 0.4}, [CHECK_STREAM] = {run_stream, 0.11},
    [CHECK_LATENCY] = {run_latency, 0.01},
};

static double share_of_all(unsigned wanted)
{
    double sum = 0;
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++)
        sum += wanted >> i & 1 ? tests[i].share : 0;
    return sum;
}

static int run_tests(struct exam *h)
{
    double from = spent_s(h), all = share_of_all(h->order->tests), before = 0;
    unsigned wanted = h->order->tests & ~(h->run->device.tensor ? 0u : 1u << CHECK_TENSOR);
    for (enum check_test i = 0; i < CHECK_TEST_COUNT; i++) {
        if (!(wanted >> i & 1))
            continue;
        h->run->test[i].begun = true;
        before += tests[i].share / all;
        report(h, true);
        /* A test that took longer than its share is paid by those after it, down to a third of theirs. */
        double share = h->order->seconds * tests[i].share / all, left = from + h->order->seconds * before - spent_s(h);
        double seconds = MAX_OF(left, share / 3);
        int rc = tests[i].run ? tests[i].run(h, seconds) : run_answers(h, i, seconds);
        if (rc < 0)
            return rc;
        h->run->test[i].finished = true;
    }
    return 0;
}

static enum check_end end_of(int rc)
{
    switch (rc) {
    case 0: return CHECK_DONE;
    case -EINTR: return CHECK_STOPPED;
    case -ETIME: return CHECK_LATE;
    case -ENOSYS:
    case -ENODEV: return CHECK_NO_DRIVER;
    case -ENOMEM: return CHECK_NO_MEMORY;
    case -EBUSY: return CHECK_IN_USE;
    case -ETIMEDOUT: return CHECK_SILENT;
    default: return CHECK_LOST;
    }
}

int check_helper(const struct env *env, const struct check_order *order, FILE *out)
{
    AUTO_FREE struct exam *h = calloc(1, sizeof *h);
    AUTO_FREE struct check_run *run = calloc(1, sizeof *run);
    if (!h || !run)
        return EXIT_FAILED;
    struct sigaction act = {.sa_handler = on_stop};
    sigaction(SIGTERM, &act, NULL);
    stop_requested = 0;
    sweep_bytes = SMALLEST_MEMORY;
    *h = (struct exam){.env = env, .order = order, .out = out, .run = run, .began = clock_mono(env->clock)};
    check_run_init(run, order->level, order->tests);
    int rc = -ENOSYS;
    struct error first = {0};
    for (size_t i = 0; compute_apis[i] && (rc == -ENOSYS || rc == -ENODEV); i++) {
        h->ops = compute_apis[i];
        if (order->api[0] && strcmp(order->api, h->ops->name) != 0)
            continue;
        rc = h->ops->open(env, order->uuid, order->pci, &h->c, &run->device, &h->err);
        snprintf(run->device.api, sizeof run->device.api, "%s", rc == 0 ? h->ops->name : "");
        if (!first.text[0])
            first = h->err;
    }
    if (rc == -ENOSYS || rc == -ENODEV)
        h->err = first;
    bool opened = rc == 0;
    if (opened) {
        record_write_device(out, &run->device);
        h->began = clock_mono(env->clock); /* compiling is not testing */
        rc = prepare(h);
    }
    if (rc == 0)
        rc = run_tests(h);
    run->end = end_of(rc);
    run->took_s = spent_s(h);
    if (rc < 0 && !run->reason[0])
        snprintf(run->reason, sizeof run->reason, "%.180s", h->err.text);
    record_write_run(out, run);
    fflush(out);
    /* A driver whose GPU hangs may never return from closing it: what was seen is written already, and the end of the process
     * closes everything. */
    if (opened && run->end != CHECK_SILENT && run->end != CHECK_LOST)
        h->ops->close(h->c);
    return EXIT_FINE;
}
