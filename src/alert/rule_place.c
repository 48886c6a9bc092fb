/* SPDX-License-Identifier: Apache-2.0
 * Reads a line of a configuration file again and counts the characters of a quoted text in it.
 */
#include "alert/rule.h"

#include "base/file.h"
#include "base/toml.h"

static struct str skip(struct str s, size_t n)
{
    return (struct str){s.at + n, s.len - n};
}

/* Length in bytes of the first character or escape. */
static size_t one_character(struct str s, bool escapes)
{
    size_t n = str_utf8(s);
    if (!escapes || s.at[0] != '\\')
        return n ? n : 1;
    size_t len = s.len < 2 ? 1 : s.at[1] == 'u' ? 6 : s.at[1] == 'U' ? 10 : 2;
    return len < s.len ? len : s.len;
}

static bool find_line(struct str text, int line, struct str *ret)
{
    for (int i = 1; str_cut(&text, '\n', ret); i++)
        if (i == line)
            return true;
    return false;
}

void place_inside_text(const struct env *env, struct config_origin *origin, int column)
{
    AUTO_BUF struct buf text = BUF(TOML_SIZE_MAX);
    struct str rest;
    /* Only the system file belongs to a recorded host. */
    struct env here = *env;
    if (origin->kind == CONFIG_FROM_FILE && strcmp(origin->where, CONFIG_SYSTEM_FILE) != 0)
        here.sysroot = "";
    if (origin->kind != CONFIG_FROM_FILE || !origin->line || file_read_all(&here, origin->where, &text) < 0 ||
        !find_line(buf_view(&text), origin->line, &rest))
        return;
    int at = 1;
    for (; at < origin->column && rest.len; at++)
        rest = skip(rest, one_character(rest, false));
    if (rest.len < 2 || (rest.at[0] != '"' && rest.at[0] != '\''))
        return;
    char quote = rest.at[0];
    if (rest.len >= 3 && rest.at[1] == quote && rest.at[2] == quote)
        return; /* spans several lines: its beginning is close enough */
    rest = skip(rest, 1);
    at++;
    for (int i = 1; i < column && rest.len && rest.at[0] != quote; i++) {
        size_t n = one_character(rest, quote == '"');
        for (struct str inside = {rest.at, n}; inside.len; at++)
            inside = skip(inside, one_character(inside, false));
        rest = skip(rest, n);
    }
    origin->column = at;
}
