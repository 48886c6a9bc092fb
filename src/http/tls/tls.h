/* SPDX-License-Identifier: Apache-2.0
 * TLS for a listener through OpenSSL, which is loaded only if a certificate is configured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/error.h"

struct tls;         /* certificate and key */
struct tls_session; /* one connection */

/* PEM files. */
struct tls_files {
    const char *certificate; /* with its chain */
    const char *key;
    const char *client_ca; /* authorities for client certificates; NULL: none */
};

enum { TLS_NAME_SIZE = 64 };

int tls_new(const struct tls_files *files, struct tls **ret, struct error *err);
/* Reads these files, changed or new. On failure the old certificate stays in use. */
int tls_reload(struct tls *t, const struct tls_files *files, struct error *err);
void tls_free(struct tls *t);

struct tls_session *tls_session_new(struct tls *t, int fd); /* NULL: out of memory */
void tls_session_free(struct tls_session *s);               /* accepts NULL */

/* Like recv(): 0 at the end, -1 and errno (EAGAIN: later). */
ssize_t tls_read(struct tls_session *s, char *at, size_t len);
/* Bytes taken, 0: later, -1: broken. */
ssize_t tls_write(struct tls_session *s, const struct iovec *parts, size_t count);
/* The common name of the client's verified certificate; "": none. */
const char *tls_client(const struct tls_session *s);
bool tls_pending(struct tls_session *s);     /* decrypted bytes are buffered */
bool tls_wants_write(struct tls_session *s); /* the last read needs the socket to become writable */
