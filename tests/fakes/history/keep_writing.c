/* SPDX-License-Identifier: Apache-2.0
 * Stores samples as fast as the store takes them until it is killed, and says on stdout what is safe. For tests that kill it.
 *
 *   keep_writing URL QUEUE|- FIRST [COUNT]
 *
 *   sent N   sample N was given to the store (its time is 2026-03-01 plus N times 5 s)
 *   done N   it and everything sent before it is committed
 *   kept N   it waits in the queue on disk, because the server is away
 *
 * With COUNT it ends in order after that many.
 */
#include <unistd.h>

#include "box.h"
#include "store/service/service.h"

#define BEGIN_MS 1772323200000LL

/* As patient as the tests: once the fate of a sample is not known, nothing is said to be done any more. */
enum { STEP_MS = 5000, WAIT_MS = 60000, PACE_US = 5000 };

static void tell(const char *what, long long number)
{
    char line[48];
    int len = snprintf(line, sizeof line, "%s %lld\n", what, number);
    if (write(STDOUT_FILENO, line, (size_t)len) != len)
        _exit(1);
}

static void say(void *user, enum log_level level, const char *message)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", message);
}

static struct store_service *begin(struct box *box, const char *url, const char *queue)
{
    struct error err;
    const struct store_service_options options = {
        .clock = box->env.clock,
        .store = {.env = &box->env, .url = url, .host = "box", .limits = store_default_limits},
        .queue_path = queue[0] == '-' ? NULL : queue,
        .queue_bytes = 64 << 20,
        .say = say,
    };
    struct store_service *v = store_service_new(&options, &err);
    if (!v)
        die(err.text);
    return v;
}

/* What was left in the queue by an earlier run is written first, while nothing new comes: then the counts are of this run. */
static uint64_t wait_open(struct store_service *v)
{
    struct store_status now;
    for (store_service_status(v, &now); now.state == STORE_OPENING || (now.state == STORE_OK && now.queued > 0);
         store_service_status(v, &now))
        usleep(200);
    return now.written;
}

/* Until that many are written, or the last sample waits behind others because the server is away. 0: committed, 1: waits,
 * -1: nothing is known. */
static int wait_for(struct store_service *v, uint64_t written, int64_t queued_before)
{
    struct mono start = clock_mono(&clock_system);
    struct store_status now;
    do {
        store_service_status(v, &now);
        if (now.written >= written)
            return 0;
        if (now.state != STORE_OK && now.state != STORE_OPENING && now.queued > queued_before)
            return 1;
        usleep(200);
    } while (mono_since_ms(clock_mono(&clock_system), start) < WAIT_MS);
    return -1;
}

int main(int argc, char **argv)
{
    static struct box box;
    if (argc < 4)
        die("keep_writing URL QUEUE|- FIRST [COUNT]");
    long long first = strtoll(argv[3], NULL, 10), count = argc > 4 ? strtoll(argv[4], NULL, 10) : 1000000000;
    box_open(&box, "gpus=2,scenario=multi-user", (struct wall){BEGIN_MS + first * STEP_MS}, STEP_MS / 1000.0);
    struct store_service *v = begin(&box, argv[1], argv[2]);
    long long kept = -1;
    uint64_t written = wait_open(v);
    /* A sample whose fate is not known may be counted later: from then on the counts say nothing for certain. */
    bool certain = true;
    for (long long n = first; n < first + count; n++) {
        struct store_status before;
        store_service_status(v, &before);
        tell("sent", n);
        mailbox_put(store_service_inbox(v), box_sample(&box));
        clock_manual_advance_ms(&box.clock, STEP_MS);
        int fate = wait_for(v, certain ? ++written : before.written + 1, before.queued);
        certain &= fate == 0;
        if (certain)
            tell("done", n);
        /* A count may be told before the queue has it: one more must have come after it. */
        if (fate == 1 && kept >= 0)
            tell("kept", kept);
        kept = fate == 1 ? n : -1;
        if (!certain)
            usleep(PACE_US); /* nothing holds it back any more */
    }
    store_service_free(v, 5000);
    sim_source.close(box.source);
    return 0;
}
