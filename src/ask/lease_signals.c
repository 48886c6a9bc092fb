/* SPDX-License-Identifier: Apache-2.0
 * Ending while a lease is waited for: the process goes, and its file with it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask/lease.h"
#include "base/cleanup.h"
#include "base/words.h"

static struct {
    int dir;
    char name[LEASE_ID_SIZE + 8];
    char timed_out[96];
} in_queue;

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};

static void leave_queue(int number)
{
    unlinkat(in_queue.dir, in_queue.name, 0);
    if (number == SIGALRM) {
        (void)!write(STDERR_FILENO, in_queue.timed_out, strlen(in_queue.timed_out));
        _exit(EXIT_FAILED);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void set_timer(int64_t ms)
{
    const struct itimerval timer = {.it_value = {.tv_sec = ms / MS_PER_S, .tv_usec = (ms % MS_PER_S) * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void lease_taker_handle_signals(const struct lease_taker *t, bool on)
{
    struct sigaction old, leaving = {.sa_handler = leave_queue, .sa_flags = SA_NODEFER}, usual = {.sa_handler = SIG_DFL};
    char words[WORDS_SIZE];
    in_queue.dir = t->dir.fd;
    snprintf(in_queue.name, sizeof in_queue.name, "%s.json", t->wish.id);
    if (on && t->timeout_ms > 0)
        snprintf(in_queue.timed_out, sizeof in_queue.timed_out, "whirr: no room within %s\n", words_duration(t->timeout_ms, words));
    set_timer(on && t->timeout_ms > 0 ? t->timeout_ms : 0);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) /* what the caller has ignored stays so (nohup) */
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ends[i], on ? &leaving : &usual, NULL);
}
