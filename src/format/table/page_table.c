/* SPDX-License-Identifier: Apache-2.0
 * Text on a terminal: widths, inks, cells, bars, wrapping; readings for people.
 */
#include "format/table/page_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

/* ---- widths: a table of our own, because wcwidth() depends on the locale ---- */

struct range {
    uint32_t first, last;
};

/* Combining marks, joiners and variation selectors of the scripts that names use. */
static const struct range none_wide[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05c7}, {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670},
    {0x06d6, 0x06dc}, {0x06df, 0x06e4}, {0x0900, 0x0902}, {0x093a, 0x093a}, {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
    {0x2060, 0x2064}, {0x20d0, 0x20f0}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static const struct range two_wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},
    {0x26a1, 0x26a1},   {0x26c4, 0x26c5},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x2753, 0x2757},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},   {0x3041, 0x3247},
    {0x3250, 0x4dbf},   {0x4e00, 0xa4c6},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6b},
    {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
    {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
    {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d},
    {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
    {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
    {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

static bool within(const struct range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

static uint32_t decode(const char *at, size_t len)
{
    const unsigned char *b = (const unsigned char *)at;
    switch (len) {
    case 2: return (uint32_t)(b[0] & 0x1f) << 6 | (b[1] & 0x3f);
    case 3: return (uint32_t)(b[0] & 0x0f) << 12 | (uint32_t)(b[1] & 0x3f) << 6 | (b[2] & 0x3f);
    case 4: return (uint32_t)(b[0] & 0x07) << 18 | (uint32_t)(b[1] & 0x3f) << 12 | (uint32_t)(b[2] & 0x3f) << 6 | (b[3] & 0x3f);
    default: return b[0];
    }
}

int text_width(struct str s)
{
    int width = 0;
    while (s.len) {
        size_t len = str_utf8(s);
        if (len <= 1) {
            width++; /* ASCII, or an invalid byte that is shown as '?' */
            len = 1;
        } else {
            uint32_t c = decode(s.at, len);
            if (within(two_wide, ARRAY_LEN(two_wide), c))
                width += 2;
            else if (!within(none_wide, ARRAY_LEN(none_wide), c))
                width++;
        }
        s = (struct str){s.at + len, s.len - len};
    }
    return width;
}

/* ---- inks, cells, lines ---- */

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

/* ---- readings: the words of base/words.h, and a dash for unknown values ---- */

typedef const char *words(int64_t value, char out[WORDS_SIZE]);

static void show(char text[NUMBER_SIZE], const struct page *page, struct reading reading, words *in_words)
{
    int64_t value;
    if (reading_get(reading, &value))
        in_words(value, text);
    else
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
}

void show_bytes(char text[NUMBER_SIZE], const struct page *page, struct reading bytes)
{
    show(text, page, bytes, words_bytes);
}

void show_rate(char text[NUMBER_SIZE], const struct page *page, struct reading bytes_per_s)
{
    show(text, page, bytes_per_s, words_rate);
}

/* Both in the unit of the total. */
void show_bytes_of(char text[NUMBER_SIZE], const struct page *page, struct reading used, struct reading total)
{
    char whole_text[WORDS_SIZE];
    int64_t part, whole;
    if (!reading_get(total, &whole)) {
        show_bytes(text, page, used);
        return;
    }
    char unit = words_bytes(whole, whole_text)[strcspn(whole_text, "KMGT")];
    int power = unit == 'K' ? 1 : unit == 'M' ? 2 : unit == 'G' ? 3 : 4;
    if (reading_get(used, &part))
        snprintf(text, NUMBER_SIZE, "%.*f/%s", power > 2 ? 1 : 0, (double)part / (double)(1LL << 10 * power), whole_text);
    else
        snprintf(text, NUMBER_SIZE, "%s/%s", page_dash(page), whole_text);
}

void show_percent(char text[NUMBER_SIZE], const struct page *page, struct reading permille)
{
    show(text, page, permille, words_percent);
}

void show_temperature(char text[NUMBER_SIZE], const struct page *page, struct reading mdegc)
{
    if (mdegc.state == READING_OK && !page->utf8)
        snprintf(text, NUMBER_SIZE, "%lld C", words_whole(mdegc.value, 1000));
    else
        show(text, page, mdegc, words_temperature);
}

void show_watts(char text[NUMBER_SIZE], const struct page *page, struct reading mw)
{
    show(text, page, mw, words_power);
}

void show_energy(char text[NUMBER_SIZE], const struct page *page, struct reading mj)
{
    show(text, page, mj, words_energy);
}

void show_age(char text[NUMBER_SIZE], const struct page *page, int64_t ms)
{
    show(text, page, ms < 0 ? reading_absent(READING_UNREAD) : reading_ok(ms / MS_PER_S * MS_PER_S), words_duration);
}
