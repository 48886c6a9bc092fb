/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_grammar.h"

#include <string.h>

bool http_is_token_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool http_is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!http_is_token_char((unsigned char)s.at[i]))
            return false;
    return s.len > 0;
}

bool http_is_field_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

int http_next_line(struct str *rest, struct str *line)
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

bool http_split_field(struct str line, struct http_field *ret)
{
    const char *colon = memchr(line.at, ':', line.len);
    if (!colon)
        return false;
    ret->name = (struct str){line.at, (size_t)(colon - line.at)};
    struct str value = {colon + 1, line.len - ret->name.len - 1};
    ret->value = str_trim(value);
    return http_is_token(ret->name) && http_is_field_text(value);
}
