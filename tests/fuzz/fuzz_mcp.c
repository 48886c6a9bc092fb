/* SPDX-License-Identifier: Apache-2.0
 * What an assistant sends, and what is made of an answer: the first line is read as messages, the rest is the answer to every call.
 */
#include "mcp/mcp.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool good)
{
    if (!good)
        __builtin_trap();
}

static void answer(struct mcp_request *r, struct str body)
{
    AUTO_BUF struct buf texts = BUF(1 << 20), target = BUF(8192);
    const char *words[MCP_WORDS_MAX + 1];
    expect(mcp_command(r, &texts, words) && strchr("swphrf", words[0][0]));
    for (size_t i = 0, options = true; words[i]; i++) { /* no argument becomes an option of its own */
        options &= strcmp(words[i], "--") != 0;
        expect(i == 0 || !options || words[i][0] == '-');
    }
    if (!mcp_target(r, &target))
        return;
    expect(target.at[0] == '/' && strcspn(target.at, " \r\n#") == target.len);
    mcp_answer(r, true, body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = {(const char *)data, size}, line;
    struct mcp_messages m;
    enum mcp_version spoken = size ? data[size - 1] % MCP_VERSION_COUNT : MCP_UNSAID;
    if (!str_cut(&body, '\n', &line))
        return 0;
    mcp_read(&m, line, &spoken);
    expect(m.count >= 1 && spoken < MCP_VERSION_COUNT);
    for (size_t i = 0; i < m.count; i++)
        if (mcp_waits(&m.list[i]))
            answer(&m.list[i], body);
    AUTO_BUF struct buf out = BUF(MCP_REPLY_MAX);
    if (mcp_write(&m, &out)) {
        json_t *said = json_loadb(out.at, out.len, 0, NULL);
        expect(json_is_object(said) || json_is_array(said));
        json_decref(said);
    }
    mcp_done(&m);
    return 0;
}
