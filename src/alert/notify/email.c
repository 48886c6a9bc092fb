/* SPDX-License-Identifier: Apache-2.0
 * Notices as mail (RFC 5322): plain text in base64, so that long lines and non-ASCII text survive any relay. Sent through libcurl.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alert/notify/send.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "net/curl.h"

enum { LINE_BYTES = 57 /* 76 characters */, WORD_BYTES = 42 /* an encoded word has at most 75 characters */, TEXT_MAX = 1 << 20 };

/* Rejects characters that could end a header: the text may come from outside. */
static bool is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < ' ' || text.at[i] > '~')
            return false;
    return true;
}

/* RFC 2047: encoded words never split a character. */
static void put_header_text(struct buf *out, struct str text)
{
    if (is_plain(text) && text.len < 900) {
        buf_str(out, text);
        return;
    }
    for (bool first = true; text.len; first = false) {
        size_t len = MIN_OF(text.len, (size_t)WORD_BYTES);
        while (len > 1 && len < text.len && ((unsigned char)text.at[len] & 0xc0) == 0x80)
            len--;
        char word[BASE64_SIZE(WORD_BYTES)];
        base64_encode((const uint8_t *)text.at, len, word);
        buf_printf(out, "%s=?UTF-8?B?%s?=", first ? "" : "\r\n ", word);
        text = (struct str){text.at + len, text.len - len};
    }
}

static void put_date(struct buf *out, struct wall now)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t at = (time_t)(now.ms / MS_PER_S);
    struct tm t;
    gmtime_r(&at, &t);
    buf_printf(out, "Date: %s, %02d %s %d %02d:%02d:%02d +0000\r\n", days[t.tm_wday], t.tm_mday, months[t.tm_mon], t.tm_year + 1900,
               t.tm_hour, t.tm_min, t.tm_sec);
}

/* Accepts "GPU host <whirr@example.org>", too: the server gets the part between < and >. */
static void set_sender(const struct notify_address *a, const char *host, struct notify_message *ret, char shown[256])
{
    if (a->from[0])
        snprintf(shown, 256, "%s", a->from);
    else
        snprintf(shown, 256, "whirr@%.200s", host[0] ? host : "localhost");
    const char *open = strrchr(shown, '<'), *close = open ? strchr(open, '>') : NULL;
    if (open && close)
        str_copy(ret->sender, sizeof ret->sender, (struct str){open + 1, (size_t)(close - open - 1)});
    else
        str_copy(ret->sender, sizeof ret->sender, str_from(shown));
}

static void put_headers(const struct notify_address *a, const struct notice_group *group, struct wall now,
                        struct notify_message *ret)
{
    const struct alert_notice *n = group->list[0];
    AUTO_BUF struct buf title = BUF(4096);
    struct buf *out = &ret->body;
    char shown[256], id[17];
    set_sender(a, n->host, ret, shown);
    notice_title(n, group->count, &title);
    notice_group_id(group, id);
    buf_printf(out, "From: %s\r\nTo: ", shown);
    for (size_t i = 0; a->to[i]; i++)
        buf_printf(out, "%s%s", i ? ",\r\n " : "", a->to[i]);
    buf_text(out, "\r\nSubject: ");
    put_header_text(out, buf_view(&title));
    buf_text(out, "\r\n");
    put_date(out, now);
    buf_printf(out, "Message-ID: <%s.%lld@%s>\r\n", id, (long long)n->started_at.ms,
               n->host[0] && is_plain(str_from(n->host)) ? n->host : "localhost");
    if (n->status == NOTICE_FIRING && notice_severity(n) == SEVERITY_CRITICAL)
        buf_text(out, "Importance: high\r\nX-Priority: 1\r\n");
    buf_text(out, "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                  "Content-Transfer-Encoding: base64\r\n\r\n");
}

void email_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct wall now,
                   struct notify_message *ret)
{
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    put_headers(a, group, now, ret);
    if (own)
        buf_text(&text, own);
    else
        notice_texts(group, true, &text);
    buf_char(&text, '\n');
    for (size_t at = 0; at < text.len; at += LINE_BYTES) {
        char line[BASE64_SIZE(LINE_BYTES)];
        base64_encode((const uint8_t *)text.at + at, MIN_OF(text.len - at, (size_t)LINE_BYTES), line);
        buf_printf(&ret->body, "%s\r\n", line);
    }
}

/* ---- sending ---- */

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

static void set_options(CURL *c, const struct notify_target *t, const struct notify_message *m, struct curl_slist *to,
                        struct str *left, char *answer, char *said)
{
    curl.easy_setopt(c, CURLOPT_URL, m->url);
    curl_set_protocols(c, "smtp,smtps", CURLPROTO_SMTP | CURLPROTO_SMTPS);
    curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)MIN_OF(t->timeout_ms, (int64_t)5000));
    curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)t->timeout_ms);
    curl.easy_setopt(c, CURLOPT_ERRORBUFFER, said);
    curl.easy_setopt(c, CURLOPT_USE_SSL, t->clear ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    curl.easy_setopt(c, CURLOPT_MAIL_FROM, m->sender);
    curl.easy_setopt(c, CURLOPT_MAIL_RCPT, to);
    curl.easy_setopt(c, CURLOPT_UPLOAD, 1L);
    curl.easy_setopt(c, CURLOPT_READFUNCTION, give_text);
    curl.easy_setopt(c, CURLOPT_READDATA, left);
    curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, keep_answer);
    curl.easy_setopt(c, CURLOPT_HEADERDATA, answer);
    if (t->user[0]) {
        curl.easy_setopt(c, CURLOPT_USERNAME, t->user);
        curl.easy_setopt(c, CURLOPT_PASSWORD, t->password);
    }
    if (t->tls_ca[0])
        curl.easy_setopt(c, CURLOPT_CAINFO, t->tls_ca);
    curl.easy_setopt(c, CURLOPT_CONNECT_ONLY, (long)t->only_connect);
}

int email_send(const struct env *env, const struct notify_target *t, const struct notify_message *m, const _Atomic bool *cancel,
               int *status, struct error *err)
{
    *status = 0;
    CURL *c = NULL;
    int rc = curl_open(env, &c, err);
    if (rc < 0)
        return rc;
    char said[CURL_ERROR_SIZE] = "", answer[SMTP_ANSWER_SIZE] = "";
    struct str left = buf_view(&m->body);
    struct curl_slist *to = NULL;
    for (size_t i = 0; t->to[i]; i++)
        to = curl.slist_append(to, t->to[i]);
    set_options(c, t, m, to, &left, answer, said);
    curl_set_cancel(c, cancel);
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
