/* SPDX-License-Identifier: Apache-2.0
 * Parses and writes frames. A library would hold kilobytes of state per connection; this simply parses an incomplete frame again
 * when more has arrived. The tests compare every verdict with wslay's.
 */
#include "serve/live/ws_frame.h"

#include <string.h>

static void unmask(char *at, size_t len, const uint8_t key[4])
{
    for (size_t i = 0; i < len; i++)
        at[i] ^= (char)key[i % 4];
}

static bool opcode_is_known(unsigned opcode)
{
    return opcode <= WS_BINARY || (opcode >= WS_CLOSE && opcode <= WS_PONG);
}

ssize_t ws_frame_parse(char *at, size_t len, struct ws_frame *ret)
{
    const uint8_t *b = (const uint8_t *)at;
    if (len < 2)
        return 0;
    unsigned opcode = b[0] & 0x0f;
    bool final = b[0] & 0x80, control = opcode >= WS_CLOSE;
    uint64_t payload = b[1] & 0x7f;
    /* No extension was negotiated, clients must mask, control frames are short and not fragmented. */
    if ((b[0] & 0x70) || !(b[1] & 0x80) || !opcode_is_known(opcode) || (control && (!final || payload > WS_CONTROL_MAX)))
        return -WS_PROTOCOL_ERROR;
    size_t head = 2;
    if (payload >= 126) {
        size_t bytes = payload == 126 ? 2 : 8;
        if (len < head + bytes)
            return 0;
        payload = 0;
        for (size_t i = 0; i < bytes; i++)
            payload = payload << 8 | b[head + i];
        head += bytes;
        if (payload < (bytes == 2 ? 126u : 65536u) || payload >> 63) /* only the shortest encoding is valid */
            return -WS_PROTOCOL_ERROR;
    }
    if (payload > WS_MESSAGE_MAX)
        return -WS_TOO_BIG;
    if (len < head + 4 + payload)
        return 0;
    uint8_t key[4];
    memcpy(key, b + head, sizeof key);
    head += sizeof key;
    unmask(at + head, payload, key);
    *ret = (struct ws_frame){.final = final, .opcode = opcode, .payload = {at + head, payload}};
    return (ssize_t)(head + payload);
}

size_t ws_frame_head(uint8_t head[WS_HEAD_MAX], unsigned opcode, size_t payload_len)
{
    head[0] = (uint8_t)(0x80 | opcode);
    if (payload_len < 126) {
        head[1] = (uint8_t)payload_len;
        return 2;
    }
    size_t bytes = payload_len < 65536 ? 2 : 8;
    head[1] = bytes == 2 ? 126 : 127;
    for (size_t i = 0; i < bytes; i++)
        head[2 + i] = (uint8_t)((uint64_t)payload_len >> (8 * (bytes - 1 - i)));
    return 2 + bytes;
}

void ws_frame_text(struct buf *out, struct str payload)
{
    uint8_t head[WS_HEAD_MAX];
    buf_add(out, (const char *)head, ws_frame_head(head, WS_TEXT, payload.len));
    buf_str(out, payload);
}

bool ws_close_code_is_valid(unsigned code)
{
    if (code >= 3000 && code <= 4999)
        return true;
    /* 1004 is reserved; 1005, 1006 and 1015 are only for local use. */
    return (code >= 1000 && code <= 1014) && code != 1004 && code != 1005 && code != 1006;
}

bool ws_text_is_valid(struct str text)
{
    while (text.len) {
        size_t n = (unsigned char)text.at[0] < 0x80 ? 1 : str_utf8(text);
        if (n == 0)
            return false;
        text.at += n;
        text.len -= n;
    }
    return true;
}
