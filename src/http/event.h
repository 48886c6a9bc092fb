/* SPDX-License-Identifier: Apache-2.0
 * What the event loop watches: a descriptor, a timer, a signal. The only file that knows libevent (whose struct event would also
 * clash with ours).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct watch;

enum { WATCH_NO_TIMEOUT = -1 };

struct event_base *watch_base_new(void); /* NULL: out of memory or descriptors */
void watch_base_free(struct event_base *base);
void watch_base_run(struct event_base *base); /* until watch_base_stop() */
void watch_base_stop(struct event_base *base);

/* Watches start with watch_on(). NULL: out of memory. */
struct watch *watch_readable(struct event_base *base, int fd, void (*function)(void *arg), void *arg); /* stays on */
struct watch *watch_writable(struct event_base *base, int fd, void (*function)(void *arg), void *arg); /* once */
struct watch *watch_timer(struct event_base *base, void (*function)(void *arg), void *arg);            /* once */
struct watch *watch_ticker(struct event_base *base, void (*function)(void *arg), void *arg);           /* repeats */
struct watch *watch_signal(struct event_base *base, int signal, void (*function)(void *arg), void *arg);
void watch_free(struct watch *w); /* accepts NULL */

bool watch_on(struct watch *w, int64_t timeout_ms);
void watch_off(struct watch *w);
bool watch_is_on(const struct watch *w);
/* Calls the function in the next loop iteration. */
void watch_call_soon(struct watch *w);
