/* SPDX-License-Identifier: Apache-2.0
 * The smallest pieces of HTTP/1.1, common to heads and body framing: tokens, lines, fields.
 */
#pragma once

#include "net/http_message.h"

bool http_is_token_char(unsigned char c);
bool http_is_token(struct str s);
/* Field values may contain tabs and bytes over 127, but no control characters. */
bool http_is_field_text(struct str s);
/* The next line without its CRLF. 1: found, 0: incomplete, -1: a bare CR or LF. */
int http_next_line(struct str *rest, struct str *line);
/* "Name: value". Also rejects folded lines and a blank before the colon: neither is part of a token. */
bool http_split_field(struct str line, struct http_field *ret);
