/* SPDX-License-Identifier: Apache-2.0
 * Message bodies for webhooks, programs, Slack, Discord, ntfy, Telegram, Gotify, Pushover and Matrix, within their documented
 * limits, and the texts that all messages share:
 *   https://core.telegram.org/bots/api#sendmessage, https://gotify.net/docs/pushmsg, https://pushover.net/api,
 *   https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid
 */
#include "alert/notify/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/words.h"

/* Documented limits of the services. We count bytes where they count characters, so no message is too long. */
enum {
    SLACK_ATTACHMENTS = 20,
    SLACK_TEXT = 2900,
    DISCORD_EMBEDS = 10,
    DISCORD_CONTENT = 1900,
    DISCORD_TITLE = 256,
    DISCORD_DESCRIPTION = 4096,
    DISCORD_TOTAL = 6000,
    NTFY_MESSAGE = 4096,
    NTFY_TITLE = 250,
    MANY = 100,
    TELEGRAM_TEXT = 4096,
    GOTIFY_TEXT = 16000,
    PUSHOVER_TITLE = 250,
    PUSHOVER_TEXT = 1024,
    PUSHOVER_URL = 512,
    MATRIX_TEXT = 16000, /* an event is limited to 65,536 bytes and contains the text twice, escaped */
    TEXT_MAX = 256 * 1024,
};

void notify_message_done(struct notify_message *m)
{
    buf_done(&m->body);
}

size_t notify_group_max(enum config_notify_type type)
{
    switch (type) {
    case CONFIG_NOTIFY_SLACK: return SLACK_ATTACHMENTS;
    case CONFIG_NOTIFY_DISCORD: return DISCORD_EMBEDS;
    case CONFIG_NOTIFY_PUSHOVER: return 3; /* only 1024 characters per message */
    case CONFIG_NOTIFY_TELEGRAM: return 10;
    default: return MANY;
    }
}

void notice_title(const struct alert_notice *n, size_t count, struct buf *out)
{
    buf_printf(out, "%s: %s", n->status == NOTICE_RESOLVED ? "RESOLVED" : "FIRING", n->alert);
    if (n->gpu_index >= 0)
        buf_printf(out, " on %sGPU %d", n->simulated ? "simulated " : "", n->gpu_index);
    if (n->host[0])
        buf_printf(out, "%s%s", n->gpu_index >= 0 ? " of " : " on ", n->host);
    if (n->status == NOTICE_FIRING && n->severity[0])
        buf_printf(out, " (%s)", n->severity);
    if (count > 1)
        buf_printf(out, " and %zu more", count - 1);
}

/* Truncates text at a character boundary and marks the cut. */
static void put_cut(struct json_writer *j, const char *key, struct str text, size_t max)
{
    AUTO_BUF struct buf cut = BUF(max + 8);
    if (text.len > max) {
        size_t len = max - 3;
        while (len && ((unsigned char)text.at[len] & 0xc0) == 0x80)
            len--;
        buf_add(&cut, text.at, len);
        buf_text(&cut, "...");
        text = buf_view(&cut);
    }
    jw_key(j, key);
    jw_str(j, text);
}

static void put_title(struct json_writer *j, const char *key, const struct notice_group *group, size_t max)
{
    AUTO_BUF struct buf title = BUF(4096);
    notice_title(group->list[0], group->count, &title);
    put_cut(j, key, buf_view(&title), max);
}

/* "12m 5s", if the duration is known. */
static void put_lasted(const struct alert_notice *n, struct buf *out)
{
    int64_t lasted = n->ended_at.ms - n->started_at.ms;
    char text[WORDS_SIZE];
    if (n->status == NOTICE_RESOLVED && n->ended_at.ms && n->started_at.ms && lasted >= 0)
        buf_printf(out, ", after %s", words_duration(lasted / MS_PER_S * MS_PER_S, text));
}

/* The second line: GPU, start and duration. */
static void put_details(const struct alert_notice *n, struct buf *out)
{
    char since[WALL_TEXT_SIZE];
    wall_format(n->started_at, since);
    since[19] = '\0'; /* cut after the seconds */
    since[10] = ' ';
    if (n->gpu_index >= 0)
        buf_printf(out, "GPU %d%s%s, ", n->gpu_index, n->gpu_name[0] ? " " : "", n->gpu_name);
    buf_printf(out, "since %s UTC", since);
    put_lasted(n, out);
    for (size_t i = 0; i < n->label_count; i++)
        buf_printf(out, ", %s=%s", n->labels[i].key, n->labels[i].value);
}

/* The text about one alert: summary, cause, details. `link` appends its link as the last line. */
static void notice_text(const struct alert_notice *n, bool link, struct buf *out)
{
    buf_printf(out, "%s\n", n->summary);
    if (n->why[0])
        buf_printf(out, "Why: %s\n", n->why);
    put_details(n, out);
    if (link && n->link[0])
        buf_printf(out, "\n%s", n->link);
}

void notice_texts(const struct notice_group *group, bool link, struct buf *out)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->count > 1) {
            notice_title(group->list[i], 1, out);
            buf_char(out, '\n');
        }
        notice_text(group->list[i], link, out);
        buf_text(out, i + 1 < group->count ? "\n\n" : "");
    }
}

/* ---- webhook and command ---- */

static void webhook_body(const struct notice_group *group, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    AUTO_BUF struct buf title = BUF(4096);
    notice_title(group->list[0], group->count, &title);
    jw_object(&j);
    notice_json_members(&j, group->list[0]);
    jw_key(&j, "title");
    jw_str(&j, buf_view(&title));
    jw_key_int(&j, "count", (int64_t)group->count);
    jw_key_array(&j, "alerts");
    for (size_t i = 0; i < group->count; i++)
        notice_json(&j, group->list[i]);
    jw_end(&j);
    jw_end(&j);
}

/* ---- Slack ---- */

static const char *slack_color(const struct alert_notice *n)
{
    if (n->status == NOTICE_RESOLVED)
        return "good";
    return notice_severity(n) == SEVERITY_CRITICAL ? "danger" : notice_severity(n) < SEVERITY_WARNING ? "#439fe0" : "warning";
}

static void slack_attachment(struct json_writer *j, const struct alert_notice *n)
{
    AUTO_BUF struct buf title = BUF(4096), plain = BUF(16384), text = BUF(65536);
    notice_title(n, 1, &title);
    notice_text(n, false, &plain);
    buf_markup(&text, buf_view(&plain));
    jw_object(j);
    jw_key_text(j, "color", slack_color(n));
    jw_key(j, "fallback");
    jw_str(j, buf_view(&title));
    jw_key(j, "title");
    jw_str(j, buf_view(&title));
    if (n->link[0])
        jw_key_text(j, "title_link", n->link);
    put_cut(j, "text", buf_view(&text), SLACK_TEXT);
    jw_key_int(j, "ts", (n->ended_at.ms ? n->ended_at.ms : n->started_at.ms) / MS_PER_S);
    jw_end(j);
}

static void slack_body(const struct notice_group *group, const char *own, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    AUTO_BUF struct buf title = BUF(4096), text = BUF(65536);
    notice_title(group->list[0], group->count, &title);
    buf_markup(&text, own ? str_from(own) : buf_view(&title));
    jw_object(&j);
    put_cut(&j, "text", buf_view(&text), SLACK_TEXT);
    if (!own) {
        jw_key_array(&j, "attachments");
        for (size_t i = 0; i < MIN_OF(group->count, (size_t)SLACK_ATTACHMENTS); i++)
            slack_attachment(&j, group->list[i]);
        jw_end(&j);
    }
    jw_end(&j);
}

/* ---- Discord ---- */

static int64_t discord_color(const struct alert_notice *n)
{
    if (n->status == NOTICE_RESOLVED)
        return 0x2eb67d;
    return notice_severity(n) == SEVERITY_CRITICAL ? 0xe01e5a : notice_severity(n) < SEVERITY_WARNING ? 0x439fe0 : 0xecb22e;
}

static void discord_embed(struct json_writer *j, const struct alert_notice *n, size_t budget)
{
    AUTO_BUF struct buf title = BUF(4096), text = BUF(16384);
    char at[WALL_TEXT_SIZE];
    notice_title(n, 1, &title);
    notice_text(n, false, &text);
    wall_format(n->ended_at.ms ? n->ended_at : n->started_at, at);
    size_t head = MIN_OF(MIN_OF(title.len, (size_t)DISCORD_TITLE), budget / 2);
    jw_object(j);
    put_cut(j, "title", buf_view(&title), head);
    put_cut(j, "description", buf_view(&text), MIN_OF(budget - head, (size_t)DISCORD_DESCRIPTION));
    if (n->link[0])
        jw_key_text(j, "url", n->link);
    jw_key_int(j, "color", discord_color(n));
    jw_key_text(j, "timestamp", at);
    jw_end(j);
}

static void discord_body(const struct notice_group *group, const char *own, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    size_t count = MIN_OF(group->count, (size_t)DISCORD_EMBEDS);
    jw_object(&j);
    jw_key_text(&j, "username", "whirr");
    if (own)
        put_cut(&j, "content", str_from(own), DISCORD_CONTENT);
    else
        put_title(&j, "content", group, DISCORD_CONTENT);
    jw_key_array(&j, "embeds");
    for (size_t i = 0; i < count && !own; i++)
        discord_embed(&j, group->list[i], DISCORD_TOTAL / count);
    jw_end(&j);
    /* Process and host names must not mention users: "@everyone" stays plain text. */
    jw_key_object(&j, "allowed_mentions");
    jw_key_array(&j, "parse");
    jw_end(&j);
    jw_end(&j);
    jw_end(&j);
}

/* ---- ntfy ---- */

/* Splits https://ntfy.sh/topic?auth=... into the server's root and the topic. */
static int split_topic(const char *url, char root[NOTIFY_URL_SIZE], char topic[128], struct error *err)
{
    const char *host = strstr(url, "://"), *query = strchr(url, '?');
    size_t len = query ? (size_t)(query - url) : strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    size_t at = len;
    while (at && url[at - 1] != '/')
        at--;
    if (!host || url + at <= host + 3 || at == len || len - at >= 128)
        return error_set(err, -EINVAL, "the URL of an ntfy server must end with a topic, like https://ntfy.sh/my-topic");
    str_copy(topic, 128, (struct str){url + at, len - at});
    snprintf(root, NOTIFY_URL_SIZE, "%.*s%s", (int)at, url, query ? query : "");
    return 0;
}

static void ntfy_style(struct json_writer *j, const struct alert_notice *n)
{
    bool over = n->status == NOTICE_RESOLVED;
    bool critical = notice_severity(n) == SEVERITY_CRITICAL, info = notice_severity(n) < SEVERITY_WARNING;
    jw_key_int(j, "priority", over ? 3 : critical ? 5 : info ? 3 : 4);
    jw_key_array(j, "tags");
    jw_text(j, over ? "white_check_mark" : critical ? "rotating_light" : info ? "information_source" : "warning");
    jw_end(j);
}

static void ntfy_body(const char *topic, const struct notice_group *group, const char *own, struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    AUTO_BUF struct buf text = BUF(MANY * 8192);
    notice_texts(group, false, &text);
    jw_object(&j);
    jw_key_text(&j, "topic", topic);
    put_title(&j, "title", group, NTFY_TITLE);
    put_cut(&j, "message", own ? str_from(own) : buf_view(&text), NTFY_MESSAGE);
    ntfy_style(&j, group->list[0]);
    if (group->list[0]->link[0])
        jw_key_text(&j, "click", group->list[0]->link);
    jw_end(&j);
}

/* ---- Telegram, Gotify, Pushover and Matrix ---- */

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

static void telegram_message(const struct notify_address *a, const struct notice_group *group, const char *own,
                             struct notify_message *ret)
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

static void gotify_message(const struct notify_address *a, const struct notice_group *group, const char *own,
                           struct notify_message *ret)
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

static void pushover_message(const struct notify_address *a, const struct notice_group *group, const char *own,
                             struct notify_message *ret)
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

static void matrix_message(const struct notify_address *a, const struct notice_group *group, const char *own,
                           struct notify_message *ret)
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

int notify_message(const struct notify_address *a, const struct notice_group *group, struct wall now, struct notify_message *ret,
                   struct error *err)
{
    *ret = (struct notify_message){.body = BUF(NOTIFY_BODY_MAX), .method = "POST", .content_type = "application/json"};
    if (strlen(a->url) + strlen(a->token) + 256 >= sizeof ret->url)
        return error_set(err, -EINVAL, "its URL is too long");
    snprintf(ret->url, sizeof ret->url, "%s", a->url);
    AUTO_BUF struct buf own = BUF(NOTIFY_BODY_MAX);
    bool templated = a->template_text[0] && a->type != CONFIG_NOTIFY_ALERTMANAGER;
    int rc = templated ? template_render(a->template_text, group, &own, err) : 0;
    if (rc < 0)
        return rc;
    const char *text = templated ? (own.at ? own.at : "") : NULL;
    char topic[128];
    switch (a->type) {
    case CONFIG_NOTIFY_WEBHOOK:
    case CONFIG_NOTIFY_COMMAND:
        if (text) {
            buf_text(&ret->body, text);
            ret->content_type = template_is_json(a->template_text) ? "application/json" : "text/plain; charset=utf-8";
        } else {
            webhook_body(group, &ret->body);
        }
        break;
    case CONFIG_NOTIFY_SLACK: slack_body(group, text, &ret->body); break;
    case CONFIG_NOTIFY_DISCORD: discord_body(group, text, &ret->body); break;
    case CONFIG_NOTIFY_NTFY:
        rc = split_topic(a->url, ret->url, topic, err);
        if (rc == 0)
            ntfy_body(topic, group, text, &ret->body);
        break;
    case CONFIG_NOTIFY_ALERTMANAGER:
        alertmanager_url(a->url, ret->url);
        alertmanager_body(group, now, &ret->body);
        break;
    case CONFIG_NOTIFY_EMAIL: email_message(a, group, text, now, ret); break;
    case CONFIG_NOTIFY_TELEGRAM: telegram_message(a, group, text, ret); break;
    case CONFIG_NOTIFY_GOTIFY: gotify_message(a, group, text, ret); break;
    case CONFIG_NOTIFY_PUSHOVER: pushover_message(a, group, text, ret); break;
    case CONFIG_NOTIFY_MATRIX: matrix_message(a, group, text, ret); break;
    case CONFIG_NOTIFY_DESKTOP:
    case CONFIG_NOTIFY_MQTT: break; /* no body: see send.c */
    }
    return rc < 0 ? rc : buf_check(&ret->body, err, "the message is longer than %d bytes", NOTIFY_BODY_MAX);
}
