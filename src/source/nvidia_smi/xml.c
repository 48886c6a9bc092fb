/* SPDX-License-Identifier: Apache-2.0
 * The XML reader. Handles elements, attributes, text, CDATA and comments; skips a document type.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"

void xml_init(struct xml *x, struct str text)
{
    *x = (struct xml){.rest = text};
    if (str_starts(x->rest, "\xef\xbb\xbf"))
        x->rest = (struct str){text.at + 3, text.len - 3};
}

static enum xml_event xml_fail(struct xml *x, const char *why)
{
    x->why = why;
    return XML_ERROR;
}

static void skip(struct xml *x, size_t len)
{
    x->rest = (struct str){x->rest.at + len, x->rest.len - len};
}

/* Skips everything up to and including `end`. */
static bool skip_past(struct xml *x, const char *end)
{
    const char *found = memmem(x->rest.at, x->rest.len, end, strlen(end));
    if (!found)
        return false;
    skip(x, (size_t)(found - x->rest.at) + strlen(end));
    return true;
}

/* <!DOCTYPE a SYSTEM "b" [ ... ]> */
static bool skip_doctype(struct xml *x)
{
    int brackets = 0;
    for (size_t i = 0; i < x->rest.len; i++) {
        char c = x->rest.at[i];
        brackets += (c == '[') - (c == ']');
        if (c == '>' && brackets <= 0) {
            skip(x, i + 1);
            return true;
        }
    }
    return false;
}

static bool push(struct xml *x, struct str name)
{
    size_t need = name.len + (x->path_len ? 1 : 0);
    if (x->depth >= XML_DEPTH_MAX || x->path_len + need >= XML_PATH_SIZE)
        return false;
    if (x->path_len)
        x->path[x->path_len++] = '/';
    memcpy(x->path + x->path_len, name.at, name.len);
    x->path_len += name.len;
    x->path[x->path_len] = '\0';
    x->depth++;
    return true;
}

static void pop(struct xml *x)
{
    const char *slash = memrchr(x->path, '/', x->path_len);
    x->path_len = slash ? (size_t)(slash - x->path) : 0;
    x->path[x->path_len] = '\0';
    x->depth--;
}

static struct str last_part(const struct xml *x)
{
    const char *slash = memrchr(x->path, '/', x->path_len);
    size_t at = slash ? (size_t)(slash + 1 - x->path) : 0;
    return (struct str){x->path + at, x->path_len - at};
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

/* "name attributes>" or "name attributes/>", after the "<" */
static enum xml_event open_element(struct xml *x)
{
    size_t name = 0, end = 0;
    while (name < x->rest.len && is_name_char(x->rest.at[name]))
        name++;
    if (name == 0)
        return xml_fail(x, "a name is missing behind '<'");
    char quote = 0;
    for (end = name; end < x->rest.len && (quote || x->rest.at[end] != '>'); end++) {
        char c = x->rest.at[end];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
    }
    if (end >= x->rest.len)
        return xml_fail(x, "it ends inside an element");
    if (!push(x, (struct str){x->rest.at, name}))
        return xml_fail(x, "elements are nested too deeply");
    x->self_closed = end > name && x->rest.at[end - 1] == '/';
    x->attributes = str_trim((struct str){x->rest.at + name, end - name - x->self_closed});
    skip(x, end + 1);
    x->text_start = x->rest.at;
    x->leaf = true;
    x->seen_root = true;
    return XML_OPEN;
}

/* "/name>", after the "<" */
static enum xml_event close_element(struct xml *x, const char *text_end)
{
    const char *end = memchr(x->rest.at, '>', x->rest.len);
    if (!end)
        return xml_fail(x, "it ends inside an element");
    struct str name = str_trim((struct str){x->rest.at + 1, (size_t)(end - x->rest.at) - 1});
    if (x->depth == 0 || !str_equal(name, last_part(x)))
        return xml_fail(x, "an element is closed that was not opened");
    x->text = x->leaf ? str_trim((struct str){x->text_start, (size_t)(text_end - x->text_start)}) : (struct str){"", 0};
    x->leaf = false;
    x->pop = true;
    skip(x, (size_t)(end + 1 - x->rest.at));
    return XML_CLOSE;
}

enum xml_event xml_next(struct xml *x)
{
    if (x->pop) {
        pop(x);
        x->pop = false;
    }
    if (x->self_closed) {
        x->self_closed = false;
        x->text = (struct str){"", 0};
        x->leaf = false;
        x->pop = true;
        return XML_CLOSE;
    }
    for (;;) {
        const char *mark = x->rest.len ? memchr(x->rest.at, '<', x->rest.len) : NULL;
        if (!mark) {
            if (x->depth > 0 || !x->seen_root)
                return xml_fail(x, x->seen_root ? "it ends before all elements are closed" : "there is no element in it");
            return XML_END;
        }
        skip(x, (size_t)(mark - x->rest.at));
        if (str_starts(x->rest, "<?")) {
            if (!skip_past(x, "?>"))
                return xml_fail(x, "it ends inside a declaration");
        } else if (str_starts(x->rest, "<!--")) {
            if (!skip_past(x, "-->"))
                return xml_fail(x, "it ends inside a comment");
        } else if (str_starts(x->rest, "<![CDATA[")) {
            if (!skip_past(x, "]]>"))
                return xml_fail(x, "it ends inside CDATA");
        } else if (str_starts(x->rest, "<!")) {
            if (!skip_doctype(x))
                return xml_fail(x, "it ends inside the document type");
        } else if (str_starts(x->rest, "</")) {
            skip(x, 1);
            return close_element(x, mark);
        } else {
            skip(x, 1);
            return open_element(x);
        }
    }
}

bool xml_attribute(const struct xml *x, const char *name, struct str *value)
{
    struct str rest = x->attributes;
    while (rest.len) {
        const char *equals = memchr(rest.at, '=', rest.len);
        if (!equals)
            return false;
        struct str key = str_trim((struct str){rest.at, (size_t)(equals - rest.at)});
        rest = str_trim((struct str){equals + 1, rest.len - (size_t)(equals + 1 - rest.at)});
        if (rest.len < 2 || (rest.at[0] != '"' && rest.at[0] != '\''))
            return false;
        const char *end = memchr(rest.at + 1, rest.at[0], rest.len - 1);
        if (!end)
            return false;
        *value = (struct str){rest.at + 1, (size_t)(end - rest.at) - 1};
        if (str_is(key, name))
            return true;
        rest = (struct str){end + 1, rest.len - (size_t)(end + 1 - rest.at)};
    }
    return false;
}

/* "&name;" at the front: its replacement and length; 0: unknown. */
static size_t entity(struct str s, char out[4], size_t *len)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (str_starts(s, named[i].name)) {
            *len = strlen(named[i].name);
            return out[0] = named[i].c, 1;
        }
    const char *end = str_starts(s, "&#") ? memchr(s.at, ';', MIN_OF(s.len, (size_t)12)) : NULL;
    if (!end)
        return 0;
    bool hex = s.len > 2 && s.at[2] == 'x';
    uint32_t value = 0;
    for (const char *c = s.at + 2 + hex; c < end; c++) {
        if (hex ? !isxdigit((unsigned char)*c) : !isdigit((unsigned char)*c))
            return 0;
        value = value * (hex ? 16 : 10) + (uint32_t)hex_digit(*c);
        if (value > 0x10ffff)
            return 0;
    }
    if (value == 0 || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *len = (size_t)(end + 1 - s.at);
    return str_put_utf8(value, out);
}

void xml_decode(struct str text, char *to, size_t size)
{
    static const struct str cdata = {"<![CDATA[", 9};
    if (str_starts(text, cdata.at) && str_ends(text, "]]>"))
        text = (struct str){text.at + cdata.len, text.len - cdata.len - 3};
    size_t used = 0;
    while (text.len) {
        char out[4] = {text.at[0]};
        size_t len = 1, count = text.at[0] == '&' ? entity(text, out, &len) : 0;
        if (count == 0) {
            count = 1;
            len = 1;
            out[0] = text.at[0];
        }
        if (used + count >= size)
            break;
        memcpy(to + used, out, count);
        used += count;
        text = (struct str){text.at + len, text.len - len};
    }
    to[used] = '\0';
}
