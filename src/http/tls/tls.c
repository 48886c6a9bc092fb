/* SPDX-License-Identifier: Apache-2.0
 * The part of OpenSSL that a server needs, loaded if TLS is configured: from 3, or from 1.1, where these functions are the same.
 */
#include "http/tls/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/env.h"

/* clang-format off */
#define SSL_FUNCTIONS(X) \
    X(TLS_server_method) \
    X(SSL_CTX_new) \
    X(SSL_CTX_free) \
    X(SSL_CTX_ctrl) \
    X(SSL_CTX_set_options) \
    X(SSL_CTX_set_cipher_list) \
    X(SSL_CTX_use_certificate_chain_file) \
    X(SSL_CTX_use_PrivateKey_file) \
    X(SSL_CTX_check_private_key) X(SSL_CTX_up_ref) X(SSL_CTX_set_alpn_select_cb) X(SSL_new) X(SSL_free) X(SSL_set_fd) \
        X(SSL_CTX_load_verify_locations) X(SSL_load_client_CA_file) X(SSL_CTX_set_client_CA_list) X(SSL_CTX_set_verify) \
        X(SSL_set_ex_data) X(SSL_get_ex_data) X(SSL_get_ex_data_X509_STORE_CTX_idx) X(SSL_set_accept_state) X(SSL_read) X(SSL_write) X(SSL_get_error) X(SSL_pending) X(SSL_shutdown) X(SSL_select_next_proto)
#define CRYPTO_FUNCTIONS(X) X(ERR_get_error) X(ERR_clear_error) X(ERR_reason_error_string) X(X509_STORE_CTX_get_ex_data) \
    X(X509_STORE_CTX_get_error_depth) X(X509_STORE_CTX_get_current_cert) X(X509_get_subject_name) X(X509_NAME_get_text_by_NID)
/* clang-format on */

static struct {
    bool loaded;
#define DECLARE(name) typeof(name) *name;
    SSL_FUNCTIONS(DECLARE)
    CRYPTO_FUNCTIONS(DECLARE)
#undef DECLARE
} ssl;

#define SYMBOL(name) {#name, &ssl.name},
static const struct library_symbol ssl_symbols[] = {SSL_FUNCTIONS(SYMBOL)}, crypto_symbols[] = {CRYPTO_FUNCTIONS(SYMBOL)};
#undef SYMBOL

struct tls {
    SSL_CTX *context;
};

struct tls_session {
    SSL *ssl;
    bool wants_write;
    bool broken;
    char client[TLS_NAME_SIZE];
};

static int tls_load(struct error *err)
{
    if (ssl.loaded)
        return 0;
    static const char *const names[][2] = {{"libcrypto.so.3", "libssl.so.3"}, {"libcrypto.so.1.1", "libssl.so.1.1"}};
    struct error why = {0};
    void *crypto = NULL, *library = NULL;
    for (size_t i = 0; !library && i < ARRAY_LEN(names); i++) {
        crypto = library_load(names[i][0], i ? &(struct error){0} : &why); /* report only the error of the version to install */
        library = crypto ? library_load(names[i][1], i ? &(struct error){0} : &why) : NULL;
    }
    if (!library || library_symbols(library, ssl_symbols, ARRAY_LEN(ssl_symbols), &why) < 0 ||
        library_symbols(crypto, crypto_symbols, ARRAY_LEN(crypto_symbols), &why) < 0)
        return error_set(err, -ENOENT, "TLS needs OpenSSL 3: %s", why.text);
    ssl.loaded = true;
    return 0;
}

static int fail(struct error *err, const char *what, const char *path)
{
    const char *reason = ssl.ERR_reason_error_string(ssl.ERR_get_error());
    ssl.ERR_clear_error();
    if (access(path, R_OK) < 0)
        reason = strerror(errno); /* OpenSSL says "system lib" */
    return error_set(err, -EINVAL, "%s '%s': %s", what, path, reason ? reason : "not readable");
}

/* Browsers offer h2 first; announce HTTP/1.1 explicitly. */
static int choose_protocol(SSL *session, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                           unsigned in_len, void *arg)
{
    (void)session, (void)arg;
    static const unsigned char ours[] = "\x08http/1.1";
    if (ssl.SSL_select_next_proto((unsigned char **)out, out_len, ours, sizeof ours - 1, in, in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_TLSEXT_ERR_OK;
}

/* The last certificate checked in a client's chain is its own. A name that doesn't fit or contains a zero counts as none. */
static int note_client(int is_valid, X509_STORE_CTX *chain)
{
    SSL *session = ssl.X509_STORE_CTX_get_ex_data(chain, ssl.SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_session *s = session ? ssl.SSL_get_ex_data(session, 0) : NULL;
    X509 *certificate = ssl.X509_STORE_CTX_get_current_cert(chain);
    if (!is_valid || !s || !certificate || ssl.X509_STORE_CTX_get_error_depth(chain) != 0)
        return is_valid;
    int len = ssl.X509_NAME_get_text_by_NID(ssl.X509_get_subject_name(certificate), NID_commonName, NULL, 0);
    if (len > 0 && len < (int)sizeof s->client)
        ssl.X509_NAME_get_text_by_NID(ssl.X509_get_subject_name(certificate), NID_commonName, s->client, sizeof s->client);
    if (len != (int)strlen(s->client))
        s->client[0] = '\0';
    return is_valid;
}

/* Client certificates are optional: without one, a token is needed. Each connection verifies anew: a resumed one wouldn't reveal
 * its owner. */
static int know_clients(SSL_CTX *context, const char *authorities, struct error *err)
{
    if (ssl.SSL_CTX_load_verify_locations(context, authorities, NULL) != 1)
        return fail(err, "cannot use the authorities of clients in", authorities);
    ssl.SSL_CTX_set_client_CA_list(context, ssl.SSL_load_client_CA_file(authorities));
    ssl.SSL_CTX_set_verify(context, SSL_VERIFY_PEER, note_client);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    ssl.SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    return 0;
}

static int make_context(const struct tls_files *files, SSL_CTX **ret, struct error *err)
{
    SSL_CTX *context = ssl.SSL_CTX_new(ssl.TLS_server_method());
    if (!context)
        return error_set(err, -ENOMEM, "cannot set up TLS");
    int result = 0;
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS, NULL);
    ssl.SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
    ssl.SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    /* TLS 1.2: forward secrecy and authenticated encryption only, no CBC with SHA-1. TLS 1.3 always has both. */
    if (ssl.SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1)
        result = error_set(err, -EINVAL, "OpenSSL has none of the ciphers that are offered");
    else if (ssl.SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        result = fail(err, "cannot use the certificate", files->certificate);
    else if (ssl.SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1)
        result = fail(err, "cannot use the key", files->key);
    else if (ssl.SSL_CTX_check_private_key(context) != 1)
        result = fail(err, "the key does not belong to the certificate", files->key);
    else if (files->client_ca)
        result = know_clients(context, files->client_ca, err);
    if (result)
        ssl.SSL_CTX_free(context);
    else
        *ret = context;
    return result;
}

int tls_new(const struct tls_files *files, struct tls **ret, struct error *err)
{
    int result = tls_load(err);
    if (result)
        return result;
    struct tls *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, -ENOMEM, "out of memory");
    result = make_context(files, &t->context, err);
    if (result)
        tls_free(t);
    else
        *ret = t;
    return result;
}

int tls_reload(struct tls *t, const struct tls_files *files, struct error *err)
{
    SSL_CTX *fresh;
    int result = make_context(files, &fresh, err);
    if (result)
        return result;
    ssl.SSL_CTX_free(t->context); /* sessions hold their own reference */
    t->context = fresh;
    return 0;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    if (t->context)
        ssl.SSL_CTX_free(t->context);
    free(t);
}

struct tls_session *tls_session_new(struct tls *t, int fd)
{
    struct tls_session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->ssl = ssl.SSL_new(t->context);
    if (!s->ssl || ssl.SSL_set_fd(s->ssl, fd) != 1 || ssl.SSL_set_ex_data(s->ssl, 0, s) != 1) {
        tls_session_free(s);
        return NULL;
    }
    ssl.SSL_set_accept_state(s->ssl);
    return s;
}

void tls_session_free(struct tls_session *s)
{
    if (!s)
        return;
    if (s->ssl) {
        if (!s->broken)
            ssl.SSL_shutdown(s->ssl); /* sends close_notify without waiting for the answer */
        ssl.SSL_free(s->ssl);
        ssl.ERR_clear_error();
    }
    free(s);
}

ssize_t tls_read(struct tls_session *s, char *at, size_t len)
{
    ssl.ERR_clear_error();
    s->wants_write = false;
    int n = ssl.SSL_read(s->ssl, at, (int)MIN_OF(len, (size_t)1 << 20));
    if (n > 0)
        return n;
    switch (ssl.SSL_get_error(s->ssl, n)) {
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_WANT_WRITE: s->wants_write = true; __attribute__((fallthrough));
    case SSL_ERROR_WANT_READ: errno = EAGAIN; return -1;
    default:
        s->broken = true;
        errno = ECONNRESET;
        return -1;
    }
}

ssize_t tls_write(struct tls_session *s, const struct iovec *parts, size_t count)
{
    ssize_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        size_t done = 0;
        while (done < parts[i].iov_len) {
            ssl.ERR_clear_error();
            int n = ssl.SSL_write(s->ssl, (const char *)parts[i].iov_base + done,
                                  (int)MIN_OF(parts[i].iov_len - done, (size_t)1 << 20));
            if (n <= 0) {
                int why = ssl.SSL_get_error(s->ssl, n);
                if (why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ)
                    return sent;
                s->broken = true;
                return -1;
            }
            done += (size_t)n;
            sent += n;
        }
    }
    return sent;
}

const char *tls_client(const struct tls_session *s)
{
    return s->client;
}

bool tls_pending(struct tls_session *s)
{
    return ssl.SSL_pending(s->ssl) > 0;
}

bool tls_wants_write(struct tls_session *s)
{
    return s->wants_write;
}
