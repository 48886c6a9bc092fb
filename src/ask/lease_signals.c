/* SPDX-License-Identifier: Apache-2.0
 * Signals during the wait for a lease: the process ends and removes its file.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask/ask_lease.h"
#include "base/cleanup.h"
#include "base/words.h"

static struct {
    int dir;
    char name[LEASE_ID_SIZE + 8];
    char timed_out[96];
} in_queue;

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

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

/* Keeps signals ignored that the caller ignores (nohup). The timeout's alarm is always ours. */
static void set_handler(int number, void (*how)(int))
{
    struct sigaction old, now = {.sa_handler = how, .sa_flags = SA_NODEFER};
    if (number == SIGALRM || (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN))
        sigaction(number, &now, NULL);
}

void lease_taker_set_timeout(const struct lease_taker *t)
{
    char words[WORDS_SIZE];
    if (t->timeout_ms <= 0)
        return;
    in_queue.dir = t->dir.service ? -1 : t->dir.fd; /* whirr-control sees that we are gone */
    snprintf(in_queue.name, sizeof in_queue.name, "%s.json", t->wish.id);
    snprintf(in_queue.timed_out, sizeof in_queue.timed_out, "whirr: no room within %s\n", words_duration(t->timeout_ms, words));
    sigset_t alarm_alone;
    sigemptyset(&alarm_alone);
    sigaddset(&alarm_alone, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm_alone, NULL);
    set_handler(SIGALRM, leave_queue);
    set_timer(t->timeout_ms);
}

void lease_taker_handle_signals(const struct lease_taker *t, bool on)
{
    in_queue.dir = t->dir.service ? -1 : t->dir.fd; /* whirr-control sees that we are gone */
    snprintf(in_queue.name, sizeof in_queue.name, "%s.json", t->wish.id);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        set_handler(ends[i], on ? leave_queue : SIG_DFL);
    if (!on)
        set_timer(0);
    if (t->timeout_ms > 0)
        set_handler(SIGALRM, on ? leave_queue : SIG_DFL);
}
