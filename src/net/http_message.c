/* SPDX-License-Identifier: Apache-2.0
 * The request parser. It starts over each time more bytes have come: heads are small, and no state has to be kept for a client
 * that sends its request one byte at a time.
 */
#include "net/http_message.h"

#include <strings.h>

#include "base/cleanup.h"

bool str_is_nocase(struct str s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

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

/* Fields may hold tabs and bytes over 127, but no control characters. */
static bool is_field_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent decoding into `out`, terminated. 0; -1: bad or forbidden encoding; -2: does not fit and is cut. */
static int decode(struct str in, char *out, size_t size, bool plus_is_space)
{
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        int c = (unsigned char)in.at[i];
        if (c == '%') {
            if (i + 2 >= in.len)
                return -1;
            int high = hex_value(in.at[i + 1]), low = hex_value(in.at[i + 2]);
            if (high < 0 || low < 0)
                return -1;
            c = high << 4 | low;
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        /* A NUL would end the path early for whoever compares it as a C string. */
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

/* Parameters are read later, by name; a query that cannot be read is refused here, so that nobody takes it for one without them. */
static bool query_is_readable(struct str query)
{
    for (size_t i = 0; i < query.len; i++) {
        if (query.at[i] != '%')
            continue;
        int high = i + 2 < query.len ? hex_value(query.at[i + 1]) : -1, low = high >= 0 ? hex_value(query.at[i + 2]) : -1;
        if (low < 0 || (high << 4 | low) < 0x20 || (high << 4 | low) == 0x7f)
            return false;
        i += 2;
    }
    return true;
}

/* The next line without its CRLF. 1: there is one, 0: not complete, -1: a bare CR or LF. */
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

static enum http_method method_from(struct str name)
{
    static const struct {
        const char *name;
        enum http_method method;
    } methods[] = {{"GET", HTTP_GET},       {"HEAD", HTTP_HEAD},   {"POST", HTTP_POST},      {"PUT", HTTP_PUT},
                   {"DELETE", HTTP_DELETE}, {"PATCH", HTTP_PATCH}, {"OPTIONS", HTTP_OPTIONS}};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(name, methods[i].name))
            return methods[i].method;
    return HTTP_OTHER;
}

static int parse_target(struct http_request *r)
{
    struct str rest = r->target;
    /* A proxy sends "http://host/path"; then that host counts. */
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

static int parse_request_line(struct str line, struct http_request *r)
{
    struct str method, version;
    if (!str_cut(&line, ' ', &method) || !str_cut(&line, ' ', &r->target))
        return -400;
    version = line;
    if (!is_token(method) || r->target.len == 0)
        return -400;
    for (size_t i = 0; i < r->target.len; i++)
        if ((unsigned char)r->target.at[i] <= 0x20 || r->target.at[i] == 0x7f)
            return -400;
    if (version.len != 8 || !str_starts(version, "HTTP/"))
        return -400;
    if (version.at[5] != '1' || version.at[6] != '.')
        return version.at[5] >= '0' && version.at[5] <= '9' && version.at[6] == '.' ? -505 : -400;
    if (version.at[7] < '0' || version.at[7] > '9')
        return -400;
    r->minor = version.at[7] - '0';
    r->method = method_from(method);
    return parse_target(r);
}

static int parse_content_length(struct http_request *r, struct str value)
{
    /* "5, 5" and a second, different field are how requests are smuggled past a proxy: one plain number or nothing. */
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

/* "Name: value". Also refuses a folded line and a blank in front of the colon: neither is part of a token. */
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

static int parse_field(struct str line, struct http_request *r)
{
    struct http_field f;
    if (r->field_count == HTTP_FIELDS_MAX)
        return -431;
    if (!split_field(line, &f))
        return -400;
    r->fields[r->field_count++] = f;

    if (str_is_nocase(f.name, "content-length"))
        return parse_content_length(r, f.value);
    if (str_is_nocase(f.name, "transfer-encoding")) {
        if (r->chunked)
            return -400;
        r->chunked = true;
        return str_is_nocase(f.value, "chunked") ? 0 : -501;
    }
    if (str_is_nocase(f.name, "expect")) {
        r->expect_continue = true;
        return str_is_nocase(f.value, "100-continue") ? 0 : -417;
    }
    return 0;
}

static int check_host(struct http_request *r)
{
    size_t hosts = 0;
    struct str host = {0};
    for (size_t i = 0; i < r->field_count; i++) {
        if (str_is_nocase(r->fields[i].name, "host")) {
            host = r->fields[i].value;
            hosts++;
        }
    }
    if (hosts > 1 || (hosts == 0 && r->minor >= 1))
        return -400;
    if (!r->host.at)
        r->host = host.at ? host : STR("");
    return 0;
}

ssize_t http_parse_head(struct str input, struct http_request *ret)
{
    ret->content_length = -1;
    ret->field_count = 0;
    ret->chunked = ret->expect_continue = ret->keep_alive = false;
    ret->query = ret->host = (struct str){0};
    ret->path[0] = '\0';

    struct str rest = input, line;
    /* An empty line in front is what old clients leave behind a body. */
    for (int i = 0; i < 2 && str_starts(rest, "\r\n"); i++)
        rest = (struct str){rest.at + 2, rest.len - 2};

    int got = next_line(&rest, &line);
    if (got == 0)
        return rest.len > HTTP_LINE_MAX ? -414 : 0;
    if (got < 0)
        return -400;
    if (line.len > HTTP_LINE_MAX)
        return -414;
    int status = parse_request_line(line, ret);
    if (status)
        return status;

    for (;;) {
        got = next_line(&rest, &line);
        size_t used = (size_t)(rest.at - input.at);
        if (got == 0)
            return input.len > HTTP_HEAD_MAX ? -431 : 0;
        if (got < 0)
            return -400;
        if (used > HTTP_HEAD_MAX)
            return -431;
        if (line.len == 0)
            break;
        status = parse_field(line, ret);
        if (status)
            return status;
    }
    status = check_host(ret);
    if (status)
        return status;
    /* Both lengths at once: a smuggling attempt. And HTTP/1.0 knows no chunks. */
    if (ret->chunked && (ret->content_length >= 0 || ret->minor == 0))
        return -400;
    ret->keep_alive =
        ret->minor >= 1 ? !http_field_has_word(ret, "connection", "close") : http_field_has_word(ret, "connection", "keep-alive");
    return rest.at - input.at;
}

bool http_has_body(const struct http_request *request)
{
    return request->chunked || request->content_length > 0;
}

static struct str skip_blanks(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = (struct str){s.at + 1, s.len - 1};
    return s;
}

/* The length of a word, or of a quoted text, at the front; 0: there is none. */
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

/* What may follow a chunk's size: nothing, or ;name or ;name=value, any number of them. */
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

/* One chunk size line: "1a;extension". Returns the size or -1. */
static int64_t chunk_size(struct str line)
{
    int64_t size = 0;
    size_t digits = 0;
    for (; digits < line.len; digits++) {
        int value = hex_value(line.at[digits]);
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

/* Walks over the chunks; with `to` set, also moves their contents together there. */
static ssize_t walk_chunks(struct str input, char *to, size_t *ret_len)
{
    struct str rest = input, line;
    size_t body = 0;
    for (;;) {
        int got = next_line(&rest, &line);
        if (got <= 0)
            return got < 0 || rest.len > 256 ? -400 : 0;
        int64_t size = line.len > 256 ? -1 : chunk_size(line);
        if (size < 0)
            return -400;
        if ((uint64_t)size > HTTP_BODY_MAX - body)
            return -413;
        if (size == 0)
            break;
        if (rest.len < (size_t)size + 2)
            return 0;
        if (rest.at[size] != '\r' || rest.at[size + 1] != '\n')
            return -400;
        if (to)
            memmove(to + body, rest.at, (size_t)size);
        body += (size_t)size;
        rest = (struct str){rest.at + size + 2, rest.len - (size_t)size - 2};
    }
    /* Trailer fields must be fields, and are forgotten. */
    for (const char *start = rest.at;;) {
        int got = next_line(&rest, &line);
        if (got < 0)
            return -400;
        if (got == 0 || rest.at - start > 4096)
            return got == 0 && rest.len <= 4096 ? 0 : -431;
        if (line.len == 0)
            break;
        struct http_field trailer;
        if (!split_field(line, &trailer))
            return -400;
    }
    *ret_len = body;
    return rest.at - input.at;
}

ssize_t http_parse_body(const struct http_request *request, char *at, size_t len, struct str *ret)
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
        walk_chunks((struct str){at, len}, at, &body);
        *ret = (struct str){at, body};
    }
    return used;
}

struct str http_field(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->field_count; i++)
        if (str_is_nocase(request->fields[i].name, name))
            return request->fields[i].value;
    return (struct str){0};
}

bool http_field_has_word(const struct http_request *request, const char *name, const char *word)
{
    for (size_t i = 0; i < request->field_count; i++) {
        if (!str_is_nocase(request->fields[i].name, name))
            continue;
        struct str rest = request->fields[i].value, part;
        while (str_cut(&rest, ',', &part))
            if (str_is_nocase(str_trim(part), word))
                return true;
    }
    return false;
}

bool http_query(const struct http_request *request, const char *key, char *value, size_t size)
{
    struct str rest = request->query, pair;
    while (rest.len && str_cut(&rest, '&', &pair)) {
        const char *equal = pair.len ? memchr(pair.at, '=', pair.len) : NULL;
        struct str name = {pair.at, equal ? (size_t)(equal - pair.at) : pair.len};
        if (!str_is(name, key))
            continue;
        struct str text = equal ? (struct str){equal + 1, pair.len - name.len - 1} : STR("");
        /* Too long for any value that is known: it is shown cut, and matches nothing. */
        int decoded = decode(text, value, size, true);
        return decoded == 0 || decoded == -2;
    }
    return false;
}

struct str http_cookie(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->field_count; i++) {
        if (!str_is_nocase(request->fields[i].name, "cookie"))
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
