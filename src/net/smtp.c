/* SPDX-License-Identifier: Apache-2.0
 * SMTP through libcurl's easy interface.
 */
#include "net/smtp.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/curl.h"

enum { SMTP_ANSWER_SIZE = 200 };

static size_t give_text(char *to, size_t size, size_t count, void *from)
{
    struct str *left = from;
    size_t len = MIN_OF(size * count, left->len);
    memcpy(to, left->at, len);
    *left = (struct str){left->at + len, left->len - len};
    return len;
}

/* Keeps the server's last line, "550 5.1.1 no such user": libcurl's own message is vague. */
static size_t keep_answer(char *bytes, size_t size, size_t count, void *to)
{
    str_copy_clean(to, SMTP_ANSWER_SIZE, str_trim((struct str){bytes, size * count}));
    return size * count;
}

static void set_options(CURL *c, const struct smtp_mail *m, struct curl_slist *to, struct str *left, char *answer, char *said)
{
    curl.easy_setopt(c, CURLOPT_URL, m->url);
    curl_set_protocols(c, "smtp,smtps", CURLPROTO_SMTP | CURLPROTO_SMTPS);
    curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)MIN_OF(m->timeout_ms, (int64_t)5000));
    curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)m->timeout_ms);
    curl.easy_setopt(c, CURLOPT_ERRORBUFFER, said);
    curl.easy_setopt(c, CURLOPT_USE_SSL, m->clear ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    curl.easy_setopt(c, CURLOPT_MAIL_FROM, m->from);
    curl.easy_setopt(c, CURLOPT_MAIL_RCPT, to);
    curl.easy_setopt(c, CURLOPT_UPLOAD, 1L);
    curl.easy_setopt(c, CURLOPT_READFUNCTION, give_text);
    curl.easy_setopt(c, CURLOPT_READDATA, left);
    curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, keep_answer);
    curl.easy_setopt(c, CURLOPT_HEADERDATA, answer);
    if (m->user[0]) {
        curl.easy_setopt(c, CURLOPT_USERNAME, m->user);
        curl.easy_setopt(c, CURLOPT_PASSWORD, m->password);
    }
    if (m->tls_ca)
        curl.easy_setopt(c, CURLOPT_CAINFO, m->tls_ca);
    curl.easy_setopt(c, CURLOPT_CONNECT_ONLY, (long)m->only_connect);
    curl_set_cancel(c, m->cancel);
}

int smtp_send(const struct env *env, const struct smtp_mail *mail, int *status, struct error *err)
{
    *status = 0;
    CURL *c = NULL;
    int rc = curl_open(env, &c, err);
    if (rc < 0)
        return rc;
    char said[CURL_ERROR_SIZE] = "", answer[SMTP_ANSWER_SIZE] = "";
    struct str left = mail->text;
    struct curl_slist *to = NULL;
    for (size_t i = 0; mail->to[i]; i++)
        to = curl.slist_append(to, mail->to[i]);
    set_options(c, mail, to, &left, answer, said);
    CURLcode code = curl.easy_perform(c);
    long answered = 0;
    curl.easy_getinfo(c, CURLINFO_RESPONSE_CODE, &answered);
    char why[CURL_WHY_SIZE];
    curl_why(c, code, said, why);
    curl.easy_cleanup(c);
    curl.slist_free_all(to);
    *status = (int)answered;
    if (code == CURLE_OK)
        return (int)answered;
    if (code == CURLE_USE_SSL_FAILED)
        return error_set(err, -EPROTO, "the mail server does not offer TLS; with tls = \"none\" mail is sent in the clear");
    if (answered >= 400)
        return error_set(err, curl_errno(code), "the mail server answered %s", answer);
    return error_set(err, curl_errno(code), "%s", why);
}
