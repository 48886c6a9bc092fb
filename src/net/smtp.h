/* SPDX-License-Identifier: Apache-2.0
 * Sends one mail through libcurl. Blocking, like net/http.h.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/str.h"

struct smtp_mail {
    const char *url;             /* smtp:// or smtps:// */
    bool clear;                  /* smtp:// without STARTTLS: only on explicit request */
    const char *user, *password; /* "" none */
    const char *tls_ca;          /* NULL: the system's */
    const char *from;
    const char *const *to; /* NULL-terminated */
    bool only_connect;     /* logs in and sends nothing */
    struct str text;       /* headers and body, lines end with CR LF */
    int64_t timeout_ms;
    const _Atomic bool *cancel; /* may be NULL */
};

/* The server's last status (250, ...), or -errno with a sentence and *status as the server's answer, 0: none. */
int smtp_send(const struct env *env, const struct smtp_mail *mail, int *status, struct error *err);
