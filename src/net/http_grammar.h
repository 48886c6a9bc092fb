/* SPDX-License-Identifier: Apache-2.0
 * The smallest pieces of HTTP/1.1, which heads and the frames of bodies have in common: tokens, lines, fields.
 */
#pragma once

#include "net/http_message.h"

bool http_is_token_char(unsigned char c);
bool http_is_token(struct str s);
/* Fields may hold tabs and bytes over 127, but no control characters. */
bool http_is_field_text(struct str s);
/* The next line without its CRLF. 1: there is one, 0: not complete, -1: a bare CR or LF. */
int http_next_line(struct str *rest, struct str *line);
/* "Name: value". Also refuses a folded line and a blank in front of the colon: neither is part of a token. */
bool http_split_field(struct str line, struct http_field *ret);
