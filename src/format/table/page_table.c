/* SPDX-License-Identifier: Apache-2.0
 * Text on a terminal: inks, cells, bars, wrapping.
 */
#include "format/table/page_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

/* Only the 16 colors that every terminal theme defines, so that light backgrounds stay readable. */
static const char *const inks[] = {
    [INK_PLAIN] = "",  [INK_STRONG] = "1", [INK_FAINT] = "2",  [INK_LOAD] = "32", [INK_MEMORY] = "36",
    [INK_GOOD] = "32", [INK_WARN] = "33",  [INK_BAD] = "1;31", [INK_LABEL] = "7",
};

const char *page_dash(const struct page *page)
{
    return page->utf8 ? "–" : "-";
}

const char *page_dot(const struct page *page)
{
    return page->utf8 ? " · " : " | ";
}

const char *page_sign(const struct page *page, enum sign sign)
{
    static const char *const signs[][2] = {[SIGN_LOOK] = {"!", "▲"}, [SIGN_FINE] = {"*", "●"}, [SIGN_REST] = {"-", "○"}};
    return signs[sign][page->utf8];
}

enum sign severity_sign(enum severity severity, bool rests)
{
    return severity > SEVERITY_INFO ? SIGN_LOOK : rests ? SIGN_REST : SIGN_FINE;
}

/* Replaces the few signs in our texts that have an ASCII form; others (foreign names) become '?'. Returns the width. */
static int add_ascii(struct buf *out, struct str sign)
{
    static const struct {
        const char *utf8, *ascii;
    } forms[] = {{"–", "-"}, {"…", "~"}, {"·", "|"}, {"°", ""}, {"→", "->"}, {"≥", ">="}, {"×", "x"}};
    if (sign.len == 1) {
        buf_str(out, sign);
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (str_is(sign, forms[i].utf8)) {
            buf_text(out, forms[i].ascii);
            return (int)strlen(forms[i].ascii);
        }
    }
    buf_char(out, '?');
    return 1;
}

static struct str first_sign(struct str s)
{
    size_t len = str_utf8(s);
    return (struct str){s.at, len ? len : 1};
}

int page_fit(struct buf *out, const struct page *page, struct str text, int width)
{
    int needed = text_width(text), used = 0;
    bool cut = width > 0 && needed > width && !page->whole;
    while (text.len) {
        struct str sign = first_sign(text);
        int columns = text_width(sign);
        if (cut && used + columns > width - 1)
            break;
        /* A process name must not move our cursor. */
        if (sign.len == 1 && ((unsigned char)sign.at[0] < 0x20 || (unsigned char)sign.at[0] >= 0x7f))
            buf_char(out, '?');
        else if (page->utf8)
            buf_str(out, sign);
        else
            columns = add_ascii(out, sign);
        used += columns;
        text = (struct str){text.at + sign.len, text.len - sign.len};
    }
    if (cut && used < width) {
        buf_text(out, page->utf8 ? "…" : "~");
        used++;
    }
    return used;
}

static void begin_ink(struct buf *out, const struct page *page, enum ink ink)
{
    if (page->color && ink != INK_PLAIN)
        buf_printf(out, "\033[%sm", inks[ink]);
}

static void end_ink(struct buf *out, const struct page *page, enum ink ink)
{
    if (page->color && ink != INK_PLAIN)
        buf_text(out, "\033[0m");
}

enum ink severity_ink(enum severity severity)
{
    return severity == SEVERITY_CRITICAL ? INK_BAD : severity == SEVERITY_WARNING ? INK_WARN : INK_PLAIN;
}

void page_ink(struct buf *out, const struct page *page, enum ink ink, struct str text)
{
    begin_ink(out, page, ink);
    page_fit(out, page, text, 0);
    end_ink(out, page, ink);
}

void page_simulated(struct buf *out, const struct page *page)
{
    page_ink(out, page, INK_LABEL, page->color ? STR(" SIMULATED ") : STR("SIMULATED"));
}

void page_simulated_line(struct buf *out, const struct page *page, bool simulated)
{
    if (simulated) {
        page_simulated(out, page);
        buf_char(out, '\n');
    }
}

void page_cell(struct buf *out, const struct page *page, enum ink ink, enum align align, const char *text, int width)
{
    AUTO_BUF struct buf fitted = BUF(4096);
    int used = page_fit(&fitted, page, str_from(text), width);
    int blanks = MAX_OF(width - used, 0);
    if (fitted.no_memory) /* a blank cell would look like an unknown value */
        out->failed = out->no_memory = true;
    if (align == RIGHT)
        buf_printf(out, "%*s", blanks, "");
    begin_ink(out, page, ink);
    buf_str(out, buf_view(&fitted));
    end_ink(out, page, ink);
    if (align == LEFT)
        buf_printf(out, "%*s", blanks, "");
}

void page_bar(struct buf *out, const struct page *page, enum ink ink, struct reading permille, int width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (width <= 0)
        return;
    if (permille.state != READING_OK) {
        buf_printf(out, "%*s", width, ""); /* an empty track would look like a measured zero */
        return;
    }
    int64_t value = MIN_OF(MAX_OF(reading_or(permille, 0), (int64_t)0), (int64_t)1000);
    int64_t parts = (value * width * 8 + 500) / 1000;
    /* Never round a small value down to nothing. */
    if (value > 0 && parts == 0)
        parts = 1;
    int full = page->utf8 ? (int)(parts / 8) : (int)((parts + 4) / 8), used = full;
    begin_ink(out, page, ink);
    for (int i = 0; i < full; i++)
        buf_text(out, page->utf8 ? "█" : "#");
    if (page->utf8 && parts % 8) {
        buf_text(out, eighths[parts % 8]);
        used++;
    }
    end_ink(out, page, ink);
    begin_ink(out, page, INK_FAINT);
    for (; used < width; used++)
        buf_text(out, page->utf8 ? "░" : ".");
    end_ink(out, page, INK_FAINT);
}

/* Keeps a unit with its number. */
static bool is_unit(struct str word)
{
    static const char *const units[] = {"W",   "°C",  "Hz",  "MHz", "KiB", "MiB",  "GiB",
                                        "TiB", "rpm", "kWh", "kJ",  "C",   "MB/s", "GB/s"};
    while (word.len && strchr(".,;:)", word.at[word.len - 1]))
        word.len--;
    return NAME_IN(units, word);
}

static int width_with_unit(struct str word, struct str rest)
{
    struct str next;
    bool number = word.len && word.at[word.len - 1] >= '0' && word.at[word.len - 1] <= '9';
    return text_width(word) + (number && str_word(&rest, &next) && is_unit(next) ? 1 + text_width(next) : 0);
}

int page_look_sign(struct buf *out, const struct page *page, enum severity severity)
{
    if (severity_sign(severity, false) != SIGN_LOOK)
        return 0;
    page_ink(out, page, severity_ink(severity), str_from(page_sign(page, SIGN_LOOK)));
    buf_char(out, ' ');
    return 2;
}

void page_wrap(struct buf *out, const struct page *page, enum ink ink, const char *text, int indent, int used)
{
    struct str rest = str_from(text), word;
    bool first = true;
    begin_ink(out, page, ink);
    while (str_word(&rest, &word)) {
        int columns = text_width(word);
        if (!first && page->width > 0 && used + 1 + width_with_unit(word, rest) > page->width) {
            end_ink(out, page, ink);
            buf_printf(out, "\n%*s", indent, "");
            begin_ink(out, page, ink);
            used = indent;
        } else if (!first) {
            buf_char(out, ' ');
            used++;
        }
        page_fit(out, page, word, 0);
        used += columns;
        first = false;
    }
    end_ink(out, page, ink);
    buf_char(out, '\n');
}

static void page_add(char *text, const char *format, ...) __attribute__((format(gnu_printf, 2, 3)));

/* Appends, after a comma if there is text before. */
static void page_add(char *text, const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;
    if (len)
        len += (size_t)snprintf(text + len, SERVING_WORDS - len, ", ");
    va_start(args, format);
    if (len < SERVING_WORDS)
        vsnprintf(text + len, SERVING_WORDS - len, format, args);
    va_end(args);
}

const char *show_requests(char text[SERVING_WORDS], const struct process *p)
{
    int64_t value;
    text[0] = '\0';
    if (reading_get(p->requests_running, &value))
        page_add(text, "%lld request%s running", (long long)value, value == 1 ? "" : "s");
    if (reading_get(p->requests_waiting, &value))
        page_add(text, text[0] ? "%lld waiting" : "%lld requests waiting", (long long)value);
    if (reading_get(p->kv_cache_permille, &value))
        page_add(text, "KV cache %lld%%", words_whole(value, 10));
    if (reading_get(p->image_jobs, &value))
        page_add(text, "%lld image job%s", (long long)value, value == 1 ? "" : "s");
    return text;
}

static void page_add_time(char *text, const char *before, struct reading us, const char *behind)
{
    int64_t value;
    if (!reading_get(us, &value))
        return;
    double seconds = (double)value / 1e6;
    bool short_one = seconds < 1;
    page_add(text, "%s%.*f %s%s", before, !short_one, short_one ? seconds * 1000 : seconds, short_one ? "ms" : "s", behind);
}

const char *show_answering(char text[SERVING_WORDS], const struct process *p)
{
    int64_t value;
    text[0] = '\0';
    page_add_time(text, "first token ", p->first_token_us, "");
    page_add_time(text, "", p->token_time_us, " per token");
    if (reading_get(p->prompt_milli, &value))
        page_add(text, "%lld prompt tokens/s", words_whole(value, 1000));
    if (reading_get(p->prefix_permille, &value))
        page_add(text, "%lld%% of prompts cached", words_whole(value, 10));
    if (reading_get(p->preempted_milli, &value) && value > 0)
        page_add(text, "%.0f requests a minute interrupted", (double)value * 0.06);
    return text;
}
