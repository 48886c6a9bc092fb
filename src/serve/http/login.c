/* SPDX-License-Identifier: Apache-2.0
 * Cookies for the page: HttpOnly and SameSite=Strict, so that neither scripts nor other sites can use them.
 */
#include "serve/http/login.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/api/page.h"
#include "serve/http/access.h"
#include "serve/http/core.h"
#include "serve/http/exchange.h"

enum { COOKIE_SECONDS = 30 * 86400 };

static void reply_form(struct exchange *x, int status, const char *message)
{
    AUTO_BUF struct buf page = BUF(16384);
    page_write_login(&page, message);
    AUTO_BLOB struct blob *body = blob_take(&page);
    if (body)
        exchange_reply(
            x, &(struct reply){
                   .status = status, .type = "text/html; charset=utf-8", .body = body, .cache = "no-store", .policy = page_policy});
}

static void go_home(struct exchange *x, const char *token, int seconds)
{
    char fields[512];
    snprintf(fields, sizeof fields,
             "Location: /\r\nSet-Cookie: " TOKEN_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s\r\n", token, seconds,
             x->conn->tls ? "; Secure" : "");
    exchange_reply(x, &(struct reply){.status = 303, .fields = fields, .cache = "no-store"});
}

void get_login(struct exchange *x)
{
    reply_form(x, 200, NULL);
}

void post_login(struct exchange *x)
{
    struct server *s = x->server;
    /* The body of a form has the syntax of a query. */
    struct http_request form = {.query = x->body};
    char token[TOKEN_TEXT_SIZE];
    int64_t now = loop_now_ms();
    if (limiter_wait_ms(&s->limiter, &x->conn->peer, now) > 0) {
        reply_form(x, 429, "Too many wrong tokens from this address. Try again in a minute.");
        return;
    }
    token_file_refresh(&s->tokens);
    if (!http_query(&form, "token", token, sizeof token))
        token[0] = '\0';
    struct str text = str_trim(str_from(token));
    if (!token_file_check(&s->tokens, text)) {
        limiter_failed(&s->limiter, &x->conn->peer, now);
        reply_form(x, 401, "That token is not known here.");
        return;
    }
    token[(size_t)(text.at - token) + text.len] = '\0';
    go_home(x, text.at, COOKIE_SECONDS);
}

void post_logout(struct exchange *x)
{
    go_home(x, "", 0);
}
