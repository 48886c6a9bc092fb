/* SPDX-License-Identifier: Apache-2.0
 * Cookies for the page: HttpOnly and SameSite=Strict, so that neither scripts nor other sites can use them.
 */
#include "serve/api/login.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_writer.h"
#include "http/access.h"
#include "http/site.h"
#include "serve/data/page.h"

void reply_login(struct exchange *x, int status, const char *fields, const char *message)
{
    AUTO_BUF struct buf page = BUF(16384);
    page_write_login(&page, message);
    AUTO_BLOB struct blob *body = blob_take(&page);
    if (body)
        exchange_reply(x, &(struct reply){.status = status,
                                          .type = "text/html; charset=utf-8",
                                          .body = body,
                                          .fields = fields,
                                          .cache = "no-store",
                                          .policy = page_policy});
}

static void go_home(struct exchange *x, const char *session, int seconds)
{
    char fields[512];
    /* Behind a proxy the browser may be on TLS, though we are not; one who makes it up only hides the cookie from himself. */
    bool is_secure = x->conn->tls || str_is_any_case(http_field(x->request, "x-forwarded-proto"), "https");
    snprintf(fields, sizeof fields,
             "Location: /\r\nSet-Cookie: " SESSION_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s\r\n", session,
             seconds, is_secure ? "; Secure" : "");
    exchange_reply(x, &(struct reply){.status = 303, .fields = fields, .cache = "no-store"});
}

void get_login(struct exchange *x)
{
    reply_login(x, 200, NULL, NULL);
}

void post_login(struct exchange *x)
{
    struct site *s = x->site;
    /* The body of a form has the syntax of a query. */
    struct http_message form = {.query = x->body};
    char token[TOKEN_TEXT_SIZE];
    site_refresh_tokens(s);
    if (!http_query(&form, "token", token, sizeof token))
        token[0] = '\0';
    const struct access_token *known = token_file_check(&s->tokens, str_trim(str_from(token)));
    char wait[64], session[SESSION_ID_SIZE];
    if (known && sessions_open(&s->sessions, known->digest, loop_now_ms(), session))
        go_home(x, session, SESSION_SECONDS);
    else if (!known && access_note_failure(x, wait))
        reply_login(x, 429, NULL, "Too many wrong tokens from this address. Try again in a minute.");
    else if (!known)
        reply_login(x, 401, NULL, "That token isn't known here.");
}

void post_logout(struct exchange *x)
{
    if (x->shown.has_session)
        sessions_close(&x->site->sessions, x->shown.session);
    go_home(x, "", 0);
}

void get_session(struct exchange *x)
{
    bool may_act = x->rights > (RIGHT_READ | RIGHT_COMMANDS);
    char roles[ROLES_SIZE];
    AUTO_BUF struct buf out = BUF(128);
    struct json_writer j = JSON_WRITER(&out);
    jw_object(&j);
    jw_key_bool(&j, "may_act", may_act);
    jw_key_bool(&j, "signed_in", x->who[0] && http_cookie(x->request, SESSION_COOKIE).at);
    jw_key_text(&j, "roles", rights_roles(x->rights, roles));
    jw_end(&j);
    exchange_json(x, 200, &out);
}
