/* SPDX-License-Identifier: Apache-2.0
 * Desktop notifications (https://specifications.freedesktop.org/notification-spec) over the session bus, with the action "Why?"
 * that shows the current answer of `whirr why`. Loads libsystemd on first use.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"

struct desktop;

struct desktop_note {
    const char *title, *body, *link; /* link "": none */
    int gpu_index;                   /* -1: about the host */
    int urgency;                     /* 0 low, 1 normal, 2 critical */
};

/* -ENOMEDIUM if there is no session. */
int desktop_open(const struct env *env, struct desktop **ret, struct error *err);
void desktop_close(struct desktop *d); /* NULL is fine */
/* -EPIPE if the session has ended. */
int desktop_show(struct desktop *d, const struct desktop_note *note, struct error *err);
/* Becomes readable on a click; then call desktop_listen(). */
int desktop_fd(struct desktop *d);
void desktop_listen(struct desktop *d);
