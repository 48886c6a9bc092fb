/* SPDX-License-Identifier: Apache-2.0
 * Session cookies for the page: HttpOnly and SameSite=Strict, so that neither scripts nor other sites can use them.
 */
#include "serve/api/core.h"

#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "http/access.h"
#include "http/site.h"
#include "serve/data/page.h"

enum { NEXT_SIZE = 2048 };

/* The page after the form: the requested one, or home. Accepts only a path of this server: nothing that a browser takes
 * for another host ("//host", "/\\host"), and nothing that ends the header field. */
static void next_path(const struct exchange *x, char path[NEXT_SIZE])
{
    bool own = http_query(x->request, "next", path, NEXT_SIZE) && path[0] == '/' && path[1] != '/';
    for (const char *c = path; own && *c; c++)
        own = *c > ' ' && *c <= '~' && *c != '\\';
    if (!own)
        strcpy(path, "/");
}

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

static void redirect(struct exchange *x, const char *path, const char *session, int seconds)
{
    char fields[NEXT_SIZE + 512];
    /* Behind a proxy the browser may use TLS although we don't; a forged header only hides the cookie from its sender. */
    bool is_secure = x->conn->tls || str_is_any_case(http_field(x->request, "x-forwarded-proto"), "https");
    snprintf(fields, sizeof fields,
             "Location: %s\r\nSet-Cookie: " SESSION_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s\r\n", path,
             session, seconds, is_secure ? "; Secure" : "");
    exchange_reply(x, &(struct reply){.status = 303, .fields = fields, .cache = "no-store"});
}

static bool is_signed_in(const struct exchange *x)
{
    return x->who[0] && http_cookie(x->request, SESSION_COOKIE).at;
}

void send_to_login(struct exchange *x)
{
    /* The part after '#' survives: browsers keep it across redirects, and the form posts to its own address. */
    char path[NEXT_SIZE];
    str_copy(path, sizeof path, x->request->target.len < sizeof path ? x->request->target : STR("/"));
    AUTO_BUF struct buf fields = BUF(3 * NEXT_SIZE + 64);
    buf_text(&fields, "Location: /login?next=");
    buf_percent(&fields, path);
    buf_text(&fields, "\r\n");
    exchange_reply(x, &(struct reply){.status = 303, .fields = buf_view(&fields).at, .cache = "no-store"});
}

void get_login(struct exchange *x)
{
    char path[NEXT_SIZE];
    /* A link from another site arrives without the cookie and ends here; a reload sends the cookie and needs no form. */
    if (x->rights && http_query(x->request, "next", path, sizeof path) && is_signed_in(x)) {
        AUTO_BUF struct buf fields = BUF(NEXT_SIZE + 64);
        next_path(x, path);
        buf_printf(&fields, "Location: %s\r\n", path);
        exchange_reply(x, &(struct reply){.status = 303, .fields = buf_view(&fields).at, .cache = "no-store"});
        return;
    }
    reply_form(x, 200, NULL);
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
    char wait[64], session[SESSION_ID_SIZE], path[NEXT_SIZE];
    next_path(x, path);
    if (known && sessions_open(&s->sessions, known->digest, loop_now_ms(), session))
        redirect(x, path, session, SESSION_SECONDS);
    else if (!known && access_note_failure(x, wait))
        reply_form(x, 429, "Too many wrong tokens from this address. Try again in a minute.");
    else if (!known)
        reply_form(x, 401, "That token isn't known here.");
}

void post_logout(struct exchange *x)
{
    if (x->shown.has_session)
        sessions_close(&x->site->sessions, x->shown.session);
    redirect(x, "/", "", 0);
}

struct told_session {
    bool may_act, signed_in;
    char roles[ROLES_SIZE];
};

SHARED_ANSWER_TABLE(session_answer, struct told_session, .name = "Session", .about = "What a client may do")
{
    FIELD(BOOL, "may_act", may_act, "Whether requests that change something are accepted");
    FIELD(BOOL, "signed_in", signed_in, "Whether the cookie of a session is why; /logout ends it");
    FIELD(TEXT, "roles", roles, "Of read, commands, silence, guard, control and admin; several with commas");
}

void get_session(struct exchange *x)
{
    struct told_session told = {.may_act = x->rights > (RIGHT_READ | RIGHT_COMMANDS), .signed_in = is_signed_in(x)};
    AUTO_BUF struct buf out = BUF(512);
    rights_roles(x->rights, told.roles);
    answer_write(JSON_TO(&out), &session_answer, &told, NULL);
    exchange_json(x, 200, &out);
}
