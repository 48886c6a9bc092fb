/* SPDX-License-Identifier: Apache-2.0
 * Where whirr serves without TLS: in the place of tls.c.
 */
#include <errno.h>

#include "http/tls/tls.h"

static int no_tls(struct error *err)
{
    return error_set(
        err, -ENOSYS,
        "whirr has no TLS of its own on this system yet; listen on 127.0.0.1 and put a proxy with a certificate in front");
}

int tls_new(const struct tls_files *files, struct tls **ret, struct error *err)
{
    (void)files, (void)ret;
    return no_tls(err);
}

int tls_reload(struct tls *t, const struct tls_files *files, struct error *err)
{
    (void)t, (void)files;
    return no_tls(err);
}

void tls_free(struct tls *t)
{
    (void)t;
}

struct tls_session *tls_session_new(struct tls *t, int fd)
{
    (void)t, (void)fd;
    return NULL;
}

void tls_session_free(struct tls_session *s)
{
    (void)s;
}

ssize_t tls_read(struct tls_session *s, char *at, size_t len)
{
    (void)s, (void)at, (void)len;
    errno = ENOSYS;
    return -1;
}

ssize_t tls_write(struct tls_session *s, const struct iovec *parts, size_t count)
{
    (void)s, (void)parts, (void)count;
    return -1;
}

const char *tls_client(const struct tls_session *s)
{
    (void)s;
    return "";
}

bool tls_pending(struct tls_session *s)
{
    (void)s;
    return false;
}

bool tls_wants_write(struct tls_session *s)
{
    (void)s;
    return false;
}
