/* SPDX-License-Identifier: Apache-2.0
 * Notices as mail (RFC 5322): plain text in base64, so that long lines and non-ASCII text survive any relay.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alert/notify/chat.h"
#include "base/cleanup.h"
#include "base/digest.h"

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
