/* SPDX-License-Identifier: Apache-2.0
 * Messages for Telegram, Gotify, Pushover and Matrix, within their documented limits:
 *   https://core.telegram.org/bots/api#sendmessage, https://gotify.net/docs/pushmsg, https://pushover.net/api,
 *   https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid
 */
#include <stdio.h>
#include <string.h>

#include "alert/notify/chat.h"
#include "base/digest.h"
#include "base/json_writer.h"

enum {
    TELEGRAM_TEXT = 4096,
    GOTIFY_TEXT = 16000,
    PUSHOVER_TITLE = 250,
    PUSHOVER_TEXT = 1024,
    PUSHOVER_URL = 512,
    MATRIX_TEXT = 16000, /* an event is limited to 65,536 bytes and contains the text twice, escaped */
    TEXT_MAX = 256 * 1024,
};

/* The server's address followed by a path. */
static void set_url(struct notify_message *m, const char *base, const char *fallback, const char *path)
{
    struct str at = str_from(base[0] ? base : fallback);
    while (at.len && at.at[at.len - 1] == '/')
        at.len--;
    snprintf(m->url, sizeof m->url, STR_FMT "%s", STR_ARG(at), path);
}

void notice_group_id(const struct notice_group *group, char id[17])
{
    AUTO_BUF struct buf all = BUF(TEXT_MAX);
    uint8_t digest[SHA256_SIZE];
    for (size_t i = 0; i < group->count; i++)
        buf_printf(&all, "%s %d %lld %lld\n", group->list[i]->fingerprint, (int)group->list[i]->status,
                   (long long)group->list[i]->started_at.ms, (long long)group->list[i]->ended_at.ms);
    sha256(buf_view(&all), digest);
    hex_encode(digest, 8, id);
}

/* The title and the text in one. */
static void whole_text(const struct notice_group *group, const char *own, bool title, bool link, struct buf *out)
{
    if (own) {
        buf_text(out, own);
        return;
    }
    if (title) {
        notice_title(group->list[0], group->count, out);
        buf_text(out, group->count > 1 ? "\n\n" : "\n");
    }
    notice_texts(group, link, out);
}

void telegram_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct notify_message *ret)
{
    struct json_writer j = JSON_WRITER(&ret->body);
    AUTO_BUF struct buf text = BUF(TEXT_MAX);
    char path[NOTIFY_URL_SIZE];
    snprintf(path, sizeof path, "/bot%s/sendMessage", a->token);
    set_url(ret, a->url, "https://api.telegram.org", path);
    whole_text(group, own, true, true, &text);
    jw_object(&j);
    jw_key_text(&j, "chat_id", a->to[0] ? a->to[0] : "");
    put_cut(&j, "text", buf_view(&text), TELEGRAM_TEXT);
    jw_key_bool(&j, "disable_notification",
                group->list[0]->status == NOTICE_RESOLVED || notice_severity(group->list[0]) < SEVERITY_WARNING);
    jw_key_object(&j, "link_preview_options");
    jw_key_bool(&j, "is_disabled", true);
    jw_end(&j);
    jw_end(&j);
}

void gotify_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct notify_message *ret)
{
    struct json_writer j = JSON_WRITER(&ret->body);
    AUTO_BUF struct buf title = BUF(4096), text = BUF(TEXT_MAX);
    const struct alert_notice *n = group->list[0];
    bool over = n->status == NOTICE_RESOLVED;
    set_url(ret, a->url, "", "/message");
    snprintf(ret->authorization, sizeof ret->authorization, "X-Gotify-Key: %s", a->token);
    notice_title(n, group->count, &title);
    whole_text(group, own, false, true, &text);
    jw_object(&j);
    jw_key(&j, "title");
    jw_str(&j, buf_view(&title));
    put_cut(&j, "message", buf_view(&text), GOTIFY_TEXT);
    jw_key_int(&j, "priority",
               over                                      ? 2
               : notice_severity(n) == SEVERITY_CRITICAL ? 8
               : notice_severity(n) < SEVERITY_WARNING   ? 2
                                                         : 5);
    jw_key_object(&j, "extras");
    jw_key_object(&j, "client::display");
    jw_key_text(&j, "contentType", "text/plain");
    jw_end(&j);
    if (n->link[0]) {
        jw_key_object(&j, "client::notification");
        jw_key_object(&j, "click");
        jw_key_text(&j, "url", n->link);
        jw_end(&j);
        jw_end(&j);
    }
    jw_end(&j);
    jw_end(&j);
}

void pushover_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct notify_message *ret)
{
    struct json_writer j = JSON_WRITER(&ret->body);
    AUTO_BUF struct buf title = BUF(4096), text = BUF(TEXT_MAX);
    const struct alert_notice *n = group->list[0];
    bool over = n->status == NOTICE_RESOLVED;
    set_url(ret, a->url, "https://api.pushover.net", "/1/messages.json");
    notice_title(n, group->count, &title);
    whole_text(group, own, false, false, &text);
    jw_object(&j);
    jw_key_text(&j, "token", a->token);
    jw_key_text(&j, "user", a->to[0] ? a->to[0] : "");
    put_cut(&j, "title", buf_view(&title), PUSHOVER_TITLE);
    put_cut(&j, "message", buf_view(&text), PUSHOVER_TEXT);
    jw_key_int(&j, "priority",
               !over && notice_severity(n) == SEVERITY_CRITICAL ? 1
               : over || notice_severity(n) < SEVERITY_WARNING  ? -1
                                                                : 0);
    jw_key_int(&j, "timestamp", (n->ended_at.ms ? n->ended_at.ms : n->started_at.ms) / MS_PER_S);
    if (n->link[0] && strlen(n->link) < PUSHOVER_URL) {
        jw_key_text(&j, "url", n->link);
        jw_key_text(&j, "url_title", "Dashboard at that moment");
    }
    jw_end(&j);
}

static void put_html(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        switch (text.at[i]) {
        case '&': buf_text(out, "&amp;"); break;
        case '<': buf_text(out, "&lt;"); break;
        case '>': buf_text(out, "&gt;"); break;
        case '"': buf_text(out, "&quot;"); break;
        case '\n': buf_text(out, "<br>"); break;
        default: buf_char(out, text.at[i]);
        }
}

/* The same as HTML, with a bold title and a link. */
static void matrix_html(const struct notice_group *group, struct buf *html)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct alert_notice *n = group->list[i];
        AUTO_BUF struct buf title = BUF(4096), text = BUF(TEXT_MAX);
        notice_title(n, 1, &title);
        notice_text(n, false, &text);
        buf_text(html, i ? "<br><br><b>" : "<b>");
        put_html(html, buf_view(&title));
        buf_text(html, "</b><br>");
        put_html(html, buf_view(&text));
        if (n->link[0]) {
            buf_text(html, "<br><a href=\"");
            put_html(html, str_from(n->link));
            buf_text(html, "\">Dashboard at that moment</a>");
        }
    }
}

void matrix_message(const struct notify_address *a, const struct notice_group *group, const char *own, struct notify_message *ret)
{
    struct json_writer j = JSON_WRITER(&ret->body);
    AUTO_BUF struct buf text = BUF(TEXT_MAX), html = BUF(TEXT_MAX), path = BUF(1024);
    char id[17];
    notice_group_id(group, id);
    buf_text(&path, "/_matrix/client/v3/rooms/");
    buf_percent(&path, a->to[0] ? a->to[0] : ""); /* "!abc:example.org" */
    buf_printf(&path, "/send/m.room.message/whirr-%s", id);
    set_url(ret, a->url, "", path.at);
    ret->method = "PUT";
    snprintf(ret->authorization, sizeof ret->authorization, "Authorization: Bearer %s", a->token);
    whole_text(group, own, true, true, &text);
    jw_object(&j);
    jw_key_text(&j, "msgtype", "m.text");
    put_cut(&j, "body", buf_view(&text), MATRIX_TEXT);
    matrix_html(group, &html);
    if (!own && html.len < MATRIX_TEXT && !html.failed) {
        jw_key_text(&j, "format", "org.matrix.custom.html");
        jw_key(&j, "formatted_body");
        jw_str(&j, buf_view(&html));
    }
    jw_end(&j);
}
