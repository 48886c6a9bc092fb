/* SPDX-License-Identifier: Apache-2.0
 * The head parser starts over whenever more bytes arrive: heads are small, and a client that sends byte by byte costs no state. The
 * body parser keeps its state between calls: bodies can be long.
 */
#include "net/http_message.h"

#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/digest.h"

/* ---- tokens, lines, fields: common to heads and the framing of bodies ---- */

static bool is_token_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_token_char((unsigned char)s.at[i]))
            return false;
    return s.len > 0;
}

/* Field values may contain tabs and bytes over 127, but no control characters. */
static bool is_field_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* The next line without its CRLF. 1: found, 0: incomplete, -1: a bare CR or LF. */
static int next_line(struct str *rest, struct str *line)
{
    const char *end = memchr(rest->at, '\n', rest->len);
    if (!end)
        return 0;
    size_t len = (size_t)(end - rest->at);
    if (len == 0 || rest->at[len - 1] != '\r' || memchr(rest->at, '\r', len - 1))
        return -1;
    *line = (struct str){rest->at, len - 1};
    rest->at += len + 1;
    rest->len -= len + 1;
    return 1;
}

/* "Name: value". Also rejects folded lines and a blank before the colon: neither is part of a token. */
static bool split_field(struct str line, struct http_field *ret)
{
    const char *colon = memchr(line.at, ':', line.len);
    if (!colon)
        return false;
    ret->name = (struct str){line.at, (size_t)(colon - line.at)};
    struct str value = {colon + 1, line.len - ret->name.len - 1};
    ret->value = str_trim(value);
    return is_token(ret->name) && is_field_text(value);
}

/* ---- heads ---- */

/* Percent-decodes into `out`, NUL-terminated. 0; -1: invalid or forbidden encoding; -2: truncated. */
static int decode(struct str in, char *out, size_t size, bool plus_is_space)
{
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        int c = (unsigned char)in.at[i];
        if (c == '%') {
            if (i + 2 >= in.len)
                return -1;
            int high = hex_digit(in.at[i + 1]), low = hex_digit(in.at[i + 2]);
            if (high < 0 || low < 0)
                return -1;
            c = high << 4 | low;
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        /* A NUL would end the path early in C string comparisons. */
        if (c < 0x20 || c == 0x7f)
            return -1;
        if (n + 1 >= size) {
            out[n] = '\0';
            return -2;
        }
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return 0;
}

/* Parameters are read later, by name; reject an unreadable query here, so that it doesn't pass for one without parameters. */
static bool query_is_readable(struct str query)
{
    for (size_t i = 0; i < query.len; i++) {
        if (query.at[i] != '%')
            continue;
        int high = i + 2 < query.len ? hex_digit(query.at[i + 1]) : -1, low = high >= 0 ? hex_digit(query.at[i + 2]) : -1;
        if (low < 0 || (high << 4 | low) < 0x20 || (high << 4 | low) == 0x7f)
            return false;
        i += 2;
    }
    return true;
}

static enum http_method method_from(struct str name)
{
    static const struct {
        const char *name;
        enum http_method method;
    } methods[] = {{"GET", HTTP_GET},       {"HEAD", HTTP_HEAD},   {"POST", HTTP_POST},      {"PUT", HTTP_PUT},
                   {"DELETE", HTTP_DELETE}, {"PATCH", HTTP_PATCH}, {"OPTIONS", HTTP_OPTIONS}};
    size_t i = NAME_FIND(methods, name);
    return i < ARRAY_LEN(methods) ? methods[i].method : HTTP_OTHER;
}

static int parse_target(struct http_message *r)
{
    struct str rest = r->target;
    /* A proxy sends "http://host/path": that host counts. */
    if (str_starts(rest, "http://") || str_starts(rest, "https://")) {
        size_t skip = str_starts(rest, "http://") ? 7 : 8;
        struct str authority = {rest.at + skip, rest.len - skip};
        size_t host_len = 0;
        while (host_len < authority.len && authority.at[host_len] != '/' && authority.at[host_len] != '?')
            host_len++;
        r->host = (struct str){authority.at, host_len};
        if (host_len == 0)
            return -400;
        rest = (struct str){authority.at + host_len, authority.len - host_len};
        if (rest.len == 0)
            rest = STR("/");
    }
    if (rest.at[0] == '*' && rest.len == 1 && r->method == HTTP_OPTIONS) {
        memcpy(r->path, "*", 2);
        return 0;
    }
    if (rest.at[0] != '/')
        return -400;
    struct str path = rest;
    const char *question = memchr(rest.at, '?', rest.len);
    if (question) {
        path.len = (size_t)(question - rest.at);
        r->query = (struct str){question + 1, rest.len - path.len - 1};
        if (!query_is_readable(r->query))
            return -400;
    }
    int decoded = decode(path, r->path, sizeof r->path, false);
    if (decoded == -2)
        r->path[0] = '\0';
    return decoded == -1 ? -400 : 0;
}

/* "HTTP/1.1" -> 0. */
static int parse_version(struct str version, struct http_message *m)
{
    if (version.len != 8 || !str_starts(version, "HTTP/"))
        return -400;
    if (version.at[5] != '1' || version.at[6] != '.')
        return version.at[5] >= '0' && version.at[5] <= '9' && version.at[6] == '.' ? -505 : -400;
    if (version.at[7] < '0' || version.at[7] > '9')
        return -400;
    m->minor = version.at[7] - '0';
    return 0;
}

static int parse_request_line(struct str line, struct http_message *m)
{
    struct str method;
    if (!str_cut(&line, ' ', &method) || !str_cut(&line, ' ', &m->target))
        return -400;
    if (!is_token(method) || m->target.len == 0)
        return -400;
    for (size_t i = 0; i < m->target.len; i++)
        if ((unsigned char)m->target.at[i] <= 0x20 || m->target.at[i] == 0x7f)
            return -400;
    m->method = method_from(method);
    return parse_version(line, m);
}

/* "HTTP/1.1 200 OK"; the reason is optional. */
static int parse_status_line(struct str line, struct http_message *m)
{
    struct str version = {line.at, MIN_OF(line.len, (size_t)8)};
    int bad = parse_version(version, m);
    if (bad)
        return bad;
    if (line.len < 12 || line.at[8] != ' ' || (line.len > 12 && line.at[12] != ' ') || !is_field_text(line))
        return -400;
    for (size_t i = 9; i < 12; i++) {
        if (line.at[i] < '0' || line.at[i] > '9')
            return -400;
        m->status = m->status * 10 + (line.at[i] - '0');
    }
    return m->status >= 100 ? 0 : -400;
}

static int parse_content_length(struct http_message *r, struct str value)
{
    /* "5, 5" or a second, different field smuggles requests past a proxy: accept one plain number or nothing. */
    if (value.len == 0 || value.len > 18 || r->content_length >= 0)
        return -400;
    int64_t length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return -400;
        length = length * 10 + (value.at[i] - '0');
    }
    r->content_length = length;
    return 0;
}

/* "gzip, chunked": for a forwarded message, inner codings don't matter. */
static bool ends_in_chunks(struct str codings)
{
    struct str one = {0};
    while (str_cut(&codings, ',', &one))
        ;
    return str_is_any_case(str_trim(one), "chunked");
}

static int parse_field(struct str line, bool ours, struct http_message *r)
{
    struct http_field f;
    if (r->field_count == HTTP_FIELDS_MAX)
        return -431;
    if (!split_field(line, &f))
        return -400;
    r->fields[r->field_count++] = f;

    if (str_is_any_case(f.name, "content-length"))
        return parse_content_length(r, f.value);
    if (str_is_any_case(f.name, "transfer-encoding")) {
        if (r->chunked)
            return -400;
        r->chunked = true;
        return str_is_any_case(f.value, "chunked") || (!ours && ends_in_chunks(f.value)) ? 0 : -501;
    }
    if (ours && str_is_any_case(f.name, "expect")) {
        r->expect_continue = true;
        return str_is_any_case(f.value, "100-continue") ? 0 : -417;
    }
    return 0;
}

/* Reject an empty or ambiguous Host in requests to us. */
static int check_host(struct http_message *r, bool ours)
{
    size_t hosts = 0;
    struct str host = {0};
    struct str_place place;
    for (size_t i = 0; i < r->field_count; i++) {
        if (str_is_any_case(r->fields[i].name, "host")) {
            host = r->fields[i].value;
            hosts++;
        }
    }
    if (hosts > 1 || (hosts == 0 && r->minor >= 1))
        return -400;
    if (ours && ((hosts && !str_to_place(host, &place)) || (r->host.at && !str_to_place(r->host, &place))))
        return -400;
    if (!r->host.at)
        r->host = host.at ? host : STR("");
    return 0;
}

enum http_start {
    KIND_REQUEST,   /* for us: its target is parsed, too */
    KIND_PASSED_ON, /* a request to be forwarded */
    KIND_RESPONSE,
};

/* Parses lines up to the empty one. Returns the length of the head. */
static ssize_t parse_lines(struct str input, enum http_start kind, struct http_message *m)
{
    size_t head_max = kind == KIND_REQUEST ? HTTP_HEAD_MAX : HTTP_PASSED_HEAD_MAX;
    size_t line_max = kind == KIND_REQUEST ? HTTP_LINE_MAX : HTTP_PASSED_HEAD_MAX;
    struct str rest = input, line;
    /* Old clients send an empty line after a body. */
    for (int i = 0; i < 2 && kind != KIND_RESPONSE && str_starts(rest, "\r\n"); i++)
        rest = (struct str){rest.at + 2, rest.len - 2};

    int got = next_line(&rest, &line);
    if (got == 0)
        return rest.len > line_max || input.len >= head_max ? -414 : 0;
    if (got < 0)
        return -400;
    if (line.len > line_max)
        return -414;
    int status = kind == KIND_RESPONSE ? parse_status_line(line, m) : parse_request_line(line, m);
    if (status == 0 && kind == KIND_REQUEST)
        status = parse_target(m);
    if (status)
        return status;
    for (;;) {
        got = next_line(&rest, &line);
        size_t used = (size_t)(rest.at - input.at);
        if (got == 0)
            return input.len >= head_max ? -431 : 0;
        if (got < 0)
            return -400;
        if (used > head_max)
            return -431;
        if (line.len == 0)
            return (ssize_t)used;
        status = parse_field(line, kind == KIND_REQUEST, m);
        if (status)
            return status;
    }
}

static ssize_t parse_head(struct str input, enum http_start kind, struct http_message *m)
{
    m->content_length = -1;
    m->field_count = 0;
    m->status = 0;
    m->chunked = m->expect_continue = m->keep_alive = false;
    m->query = m->host = (struct str){0};
    m->path[0] = '\0';
    ssize_t used = parse_lines(input, kind, m);
    if (used <= 0)
        return used;
    int status = kind == KIND_RESPONSE ? 0 : check_host(m, kind == KIND_REQUEST);
    if (status)
        return status;
    /* Both lengths at once is a smuggling attempt, and HTTP/1.0 has no chunks. */
    if (m->chunked && (m->content_length >= 0 || m->minor == 0))
        return -400;
    m->keep_alive =
        m->minor >= 1 ? !http_field_has_word(m, "connection", "close") : http_field_has_word(m, "connection", "keep-alive");
    return used;
}

ssize_t http_parse_request(struct str input, struct http_message *ret)
{
    return parse_head(input, KIND_REQUEST, ret);
}

ssize_t http_parse_passed_on(struct str input, struct http_message *ret)
{
    return parse_head(input, KIND_PASSED_ON, ret);
}

ssize_t http_parse_response(struct str input, struct http_message *ret)
{
    return parse_head(input, KIND_RESPONSE, ret);
}

bool http_has_body(const struct http_message *request)
{
    return request->chunked || request->content_length > 0;
}

/* ---- contents of a head ---- */

struct str http_field(const struct http_message *request, const char *name)
{
    for (size_t i = 0; i < request->field_count; i++)
        if (str_is_any_case(request->fields[i].name, name))
            return request->fields[i].value;
    return (struct str){0};
}

bool http_field_has_word(const struct http_message *request, const char *name, const char *word)
{
    for (size_t i = 0; i < request->field_count; i++) {
        if (!str_is_any_case(request->fields[i].name, name))
            continue;
        struct str rest = request->fields[i].value, part;
        while (str_cut(&rest, ',', &part))
            if (str_is_any_case(str_trim(part), word))
                return true;
    }
    return false;
}

/* The next name=value pair; false after the last. */
static bool next_pair(struct str *rest, struct str *name, struct str *text)
{
    struct str pair;
    if (!rest->len || !str_cut(rest, '&', &pair))
        return false;
    const char *equal = pair.len ? memchr(pair.at, '=', pair.len) : NULL;
    *name = (struct str){pair.at, equal ? (size_t)(equal - pair.at) : pair.len};
    *text = equal ? (struct str){equal + 1, pair.len - name->len - 1} : STR("");
    return true;
}

bool http_query_next(struct str *rest, struct str *key)
{
    struct str text;
    return next_pair(rest, key, &text);
}

bool http_query(const struct http_message *request, const char *key, char *value, size_t size)
{
    struct str rest = request->query, name, text;
    while (next_pair(&rest, &name, &text)) {
        if (!str_is(name, key))
            continue;
        /* Longer than any known value: truncate it; it matches nothing. */
        int decoded = decode(text, value, size, true);
        return decoded == 0 || decoded == -2;
    }
    return false;
}

struct str http_cookie(const struct http_message *request, const char *name)
{
    for (size_t i = 0; i < request->field_count; i++) {
        if (!str_is_any_case(request->fields[i].name, "cookie"))
            continue;
        struct str rest = request->fields[i].value, part, key;
        while (str_cut(&rest, ';', &part)) {
            part = str_trim(part);
            if (str_cut(&part, '=', &key) && str_is(key, name))
                return part;
        }
    }
    return (struct str){0};
}

/* ---- bodies ---- */

static struct str skip_blanks(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = (struct str){s.at + 1, s.len - 1};
    return s;
}

/* Length of the token or quoted string at the front; 0: none. */
static size_t word_length(struct str s)
{
    size_t len = 0;
    if (s.len && s.at[0] == '"') {
        for (len = 1; len < s.len && s.at[len] != '"'; len++)
            if (s.at[len] == '\\')
                len++;
        return len < s.len ? len + 1 : 0;
    }
    while (len < s.len && is_token_char((unsigned char)s.at[len]))
        len++;
    return len;
}

/* Chunk extensions: any number of ;name or ;name=value. */
static bool extensions_are_valid(struct str rest)
{
    if (!is_field_text(rest))
        return false;
    while (rest.len) {
        rest = skip_blanks(rest);
        if (rest.len == 0 || rest.at[0] != ';')
            return false;
        rest = skip_blanks((struct str){rest.at + 1, rest.len - 1});
        size_t name = rest.len && rest.at[0] != '"' ? word_length(rest) : 0;
        if (!name)
            return false;
        rest = (struct str){rest.at + name, rest.len - name};
        struct str behind = skip_blanks(rest);
        if (behind.len == 0 || behind.at[0] != '=')
            continue;
        behind = skip_blanks((struct str){behind.at + 1, behind.len - 1});
        size_t value = word_length(behind);
        if (!value)
            return false;
        rest = (struct str){behind.at + value, behind.len - value};
    }
    return true;
}

/* A chunk size line: "1a;extension". Returns the size or -1. */
static int64_t chunk_size(struct str line)
{
    int64_t size = 0;
    size_t digits = 0;
    for (; digits < line.len; digits++) {
        int value = hex_digit(line.at[digits]);
        if (value < 0)
            break;
        if (digits == 8)
            return -1;
        size = size << 4 | value;
    }
    if (digits == 0 || !extensions_are_valid((struct str){line.at + digits, line.len - digits}))
        return -1;
    return size;
}

enum { AT_SIZE, AT_DATA, AT_DATA_END, AT_TRAILER };

void http_body_begin(struct http_body *b, enum http_framing framing, int64_t length)
{
    *b = (struct http_body){.framing = framing, .state = framing == HTTP_CHUNKED ? AT_SIZE : AT_DATA};
    b->left = framing == HTTP_LENGTH ? length : framing == HTTP_UNTIL_CLOSE ? INT64_MAX : 0;
    b->done = framing == HTTP_NO_BODY || (framing == HTTP_LENGTH && length == 0);
}

/* A line of the framing, assembled from pieces if needed. 1: complete, 0: not yet, or the negative status. */
static int take_line(struct http_body *b, struct str *input, struct str *line)
{
    const char *end = input->len ? memchr(input->at, '\n', input->len) : NULL;
    size_t len = end ? (size_t)(end - input->at) + 1 : input->len;
    if (b->line_len + len > sizeof b->line)
        return -400;
    struct str whole = {input->at, len};
    if (b->line_len || !end) {
        memcpy(b->line + b->line_len, input->at, len);
        b->line_len += len;
        whole = (struct str){b->line, b->line_len};
    }
    *input = (struct str){input->at + len, input->len - len};
    if (!end)
        return 0;
    b->line_len = 0;
    return next_line(&whole, line) > 0 ? 1 : -400;
}

static int take_frame(struct http_body *b, struct str *input)
{
    struct str line;
    struct http_field trailer;
    int got = take_line(b, input, &line);
    if (got <= 0)
        return got;
    if (b->state == AT_DATA_END) {
        b->state = AT_SIZE;
        return line.len ? -400 : 1;
    }
    if (b->state == AT_SIZE) {
        b->left = chunk_size(line);
        b->state = b->left ? AT_DATA : AT_TRAILER;
        return b->left < 0 ? -400 : 1;
    }
    /* Trailer fields must be valid, and are discarded. */
    b->trailer_len += line.len + 2;
    b->done = line.len == 0;
    if (b->trailer_len > HTTP_TRAILER_MAX)
        return -431;
    return b->done || split_field(line, &trailer) ? 1 : -400;
}

int http_body_next(struct http_body *b, struct str *input, struct str *piece)
{
    *piece = (struct str){0};
    while (!b->done && input->len) {
        if (b->state != AT_DATA) {
            int got = take_frame(b, input);
            if (got < 0)
                return got;
            continue;
        }
        size_t len = (uint64_t)b->left < input->len ? (size_t)b->left : input->len;
        *piece = (struct str){input->at, len};
        *input = (struct str){input->at + len, input->len - len};
        if (b->framing != HTTP_UNTIL_CLOSE)
            b->left -= (int64_t)len;
        if (b->left == 0 && b->framing == HTTP_CHUNKED)
            b->state = AT_DATA_END;
        else
            b->done = b->left == 0;
        return 1;
    }
    return 0;
}

/* Walks the chunks; with `to` set, also joins their contents there. */
static ssize_t walk_chunks(struct str input, char *to, size_t *ret_len)
{
    struct http_body b;
    struct str rest = input, piece;
    size_t body = 0;
    http_body_begin(&b, HTTP_CHUNKED, 0);
    for (;;) {
        int got = http_body_next(&b, &rest, &piece);
        if (got < 0)
            return got;
        if (got && to)
            memmove(to + body, piece.at, piece.len);
        body += piece.len;
        if (body + (uint64_t)b.left > HTTP_BODY_MAX)
            return -413;
        if (got == 0)
            break;
    }
    *ret_len = body;
    return b.done ? rest.at - input.at : 0;
}

ssize_t http_parse_body(const struct http_message *request, char *at, size_t len, struct str *ret)
{
    if (!request->chunked) {
        if (request->content_length > HTTP_BODY_MAX)
            return -413;
        size_t want = (size_t)request->content_length;
        if (len < want)
            return 0;
        *ret = (struct str){at, want};
        return (ssize_t)want;
    }
    size_t body;
    ssize_t used = walk_chunks((struct str){at, len}, NULL, &body);
    if (used > 0) {
        walk_chunks((struct str){at, (size_t)used}, at, &body);
        *ret = (struct str){at, body};
    }
    return used;
}

void http_body_of_response(struct http_body *b, const struct http_message *m, bool to_head)
{
    if (to_head || m->status < 200 || m->status == 204 || m->status == 304)
        http_body_begin(b, HTTP_NO_BODY, 0);
    else if (m->chunked)
        http_body_begin(b, HTTP_CHUNKED, 0);
    else if (m->content_length >= 0)
        http_body_begin(b, HTTP_LENGTH, m->content_length);
    else
        http_body_begin(b, HTTP_UNTIL_CLOSE, 0);
}

/* ---- answers ---- */

const char *http_status_text(int status)
{
    switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: break;
    }
    /* For others, the class suffices. */
    return status < 200   ? "Continue"
           : status < 300 ? "OK"
           : status < 400 ? "Redirect"
           : status < 500 ? "Client Error"
                          : "Server Error";
}

SHARED_ANSWER_TABLE(problem_answer, struct http_problem)
{
    FIELD(WORD, "code", code, "A word for programs");
    FIELD(WORD, "message", message, "A sentence for people");
}

SHARED_ANSWER_TABLE(error_answer, struct http_problem, .name = "Error", .about = "Every answer from 400 on")
{
    PART("error", problem_answer, NULL);
}

void http_error_body(struct buf *out, const char *code, const char *message)
{
    answer_write(JSON_LINE(out), &error_answer, &(struct http_problem){code, message}, NULL);
}
