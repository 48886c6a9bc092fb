/* SPDX-License-Identifier: Apache-2.0
 * SHA-1 (only where a protocol demands it: the WebSocket handshake), SHA-256, base64 and hexadecimal text, so that a one-shot
 * command does not have to load a cryptographic library of several megabytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { SHA1_SIZE = 20, SHA256_SIZE = 32 };

void sha1(struct str message, uint8_t digest[SHA1_SIZE]);
void sha256(struct str message, uint8_t digest[SHA256_SIZE]);

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)
#define HEX_SIZE(bytes) ((bytes)*2 + 1)

/* `text` needs BASE64_SIZE(len) or HEX_SIZE(len) bytes; both are NUL-terminated. */
void base64_encode(const uint8_t *bytes, size_t len, char *text);
void hex_encode(const uint8_t *bytes, size_t len, char *text);
int hex_digit(char c); /* 0 to 15, either case; -1: not a digit */
/* Decodes exactly `len` bytes from 2 * len digits of either case. */
bool hex_decode(struct str text, uint8_t *bytes, size_t len);

/* Constant-time comparison: timing doesn't reveal the first difference. */
bool digest_equal(const uint8_t *a, const uint8_t *b, size_t len);
