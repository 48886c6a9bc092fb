/* SPDX-License-Identifier: Apache-2.0
 * The plain page. Bars are <meter> elements: the content policy forbids inline styles, and screen readers can read them.
 */
#include "serve/data/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/words.h"
#include "format/process_rows.h"
#include "format/table/page_table.h"
#include "format/table/table.h"
#include "insight/area/part.h"
#include "insight/view/why.h"

const char page_policy[] =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const char dashboard_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const char page_icon[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\"><circle cx=\"16\" cy=\"16\" r=\"15\" fill=\"#1f6feb\"/>"
    "<g fill=\"#fff\"><path id=\"b\" d=\"M16 16C12 12 12 6 17 4c3 3 3 8-1 12z\"/>"
    "<use href=\"#b\" transform=\"rotate(120 16 16)\"/><use href=\"#b\" transform=\"rotate(240 16 16)\"/></g></svg>\n";

const char page_style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#16191d;--line:#8884;--dim:#5b636d;--card:#8881;--bad:#b3231a}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0f1216;--fg:#e8ebef;--dim:#a5adb7;--bad:#ff8177}}\n"
    "*{box-sizing:border-box}\n"
    "html{background:var(--bg);color:var(--fg)}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:1rem}\n"
    "header{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:baseline;border-bottom:1px solid "
    "var(--line);padding-bottom:.5rem}\n"
    "h1{font-size:1.3rem;margin:0}h2{font-size:1.1rem;margin:0}\n"
    ".sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\n"
    ".dim,footer{color:var(--dim)}.bad{color:var(--bad)}\n"
    ".answer{font-size:1.25rem;margin:1rem 0}\n"
    ".label{border:1px solid currentColor;border-radius:.3rem;padding:0 "
    ".4rem;font-size:.8rem;font-weight:400;color:var(--dim)}.label.bad{color:var(--bad)}\n"
    "section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1rem 0;overflow-x:auto}\n"
    "dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.5rem 1rem;margin:.7rem 0}\n"
    "dt{color:var(--dim);font-size:.85rem}dd{margin:0;font-variant-numeric:tabular-nums}\n"
    "meter{width:100%;height:.7rem;display:block}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem}\n"
    "th,td{text-align:left;padding:.2rem .6rem .2rem 0;border-top:1px solid var(--line);white-space:nowrap}\n"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.c{white-space:normal;overflow-wrap:anywhere;min-width:11rem;"
    "font-family:"
    "monospace}\n"
    ".tile{padding:0}.tile section{margin:0 0 .5rem;padding:.6rem .8rem}.tile p,.tile dl{margin:.4rem 0}\n"
    "ul{margin:.3rem "
    "0;padding-left:1.2rem}input{font:inherit;padding:.3rem;width:min(40rem,100%)}button{font:inherit;padding:.3rem 1rem}\n"
    "@media(max-width:40rem){th:nth-child(3),td:nth-child(3),th:nth-child(6),td:nth-child(6){display:none}td.c{min-width:8rem}}";

/* Escapes text for HTML. */
static void html_text(struct buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '<': buf_text(out, "&lt;"); break;
        case '>': buf_text(out, "&gt;"); break;
        case '&': buf_text(out, "&amp;"); break;
        case '"': buf_text(out, "&quot;"); break;
        case '\'': buf_text(out, "&#39;"); break;
        default: buf_char(out, *c); break;
        }
    }
}

static void paragraph(struct buf *out, const char *class, const char *text)
{
    buf_text(out, class[0] ? "<p class=\"" : "<p");
    buf_text(out, class);
    buf_text(out, class[0] ? "\">" : ">");
    html_text(out, text);
    buf_text(out, "</p>\n");
}

static void start_head(struct buf *out, const char *title)
{
    buf_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    html_text(out, title);
    buf_text(out, "</title><link rel=\"icon\" href=\"/icon.svg\">");
}

static void plain_style(struct buf *out, int refresh_s)
{
    if (refresh_s > 0)
        buf_printf(out, "<meta http-equiv=\"refresh\" content=\"%d\">", refresh_s);
    buf_text(out, "<link rel=\"stylesheet\" href=\"/style.css\">");
}

static void start_page(struct buf *out, const char *title, int refresh_s)
{
    start_head(out, title);
    plain_style(out, refresh_s);
    buf_text(out, "</head>\n<body>\n");
}

/* Formats numbers as for a terminal with all characters. */
static const struct page as_text = {.utf8 = true};

typedef void show(char text[NUMBER_SIZE], const struct page *page, struct reading reading);

static void page_number(struct buf *out, show *format, struct reading r)
{
    char text[NUMBER_SIZE];
    format(text, &as_text, r);
    buf_text(out, text);
}

static void whole_number(struct buf *out, struct reading r, int64_t unit, const char *after)
{
    if (r.state == READING_OK)
        buf_printf(out, "%lld%s", words_whole(r.value, unit), after);
    else
        buf_text(out, page_dash(&as_text));
}

static void bar(struct buf *out, struct reading value, struct reading limit, double high)
{
    int64_t v, max;
    if (!reading_get(value, &v) || !reading_get(limit, &max) || max <= 0)
        return;
    double percent = fmin(100, fmax(0, 100.0 * (double)v / (double)max));
    buf_printf(out, "<meter min=\"0\" max=\"100\" high=\"%.0f\" optimum=\"0\" value=\"%.1f\">%.0f%%</meter>", high, percent,
               percent);
}

static void term(struct buf *out, const char *name)
{
    buf_printf(out, "<div><dt>%s</dt><dd>", name);
}

static void figures(struct buf *out, const struct gpu *g)
{
    enum { NEVER = 101 }; /* percentage at which a bar is highlighted */
    static const char end[] = "</dd></div>";
    char text[NUMBER_SIZE];
    buf_text(out, "<dl>");
    term(out, "Utilization");
    page_number(out, show_percent, g->util_permille);
    bar(out, g->util_permille, reading_ok(1000), NEVER);
    buf_text(out, end);
    term(out, "VRAM");
    show_bytes_of(text, &as_text, g->mem_used_bytes, g->mem_total_bytes);
    buf_text(out, text);
    bar(out, g->mem_used_bytes, g->mem_total_bytes, 95);
    buf_text(out, end);
    term(out, "Temperature");
    page_number(out, show_temperature, g->temp_mdegc);
    bar(out, g->temp_mdegc, g->temp_limit_mdegc, 95);
    buf_text(out, end);
    term(out, "Power");
    whole_number(out, g->power_mw, 1000, g->power_limit_mw.state == READING_OK ? "" : " W");
    if (g->power_limit_mw.state == READING_OK) {
        buf_char(out, '/');
        whole_number(out, g->power_limit_mw, 1000, " W");
    }
    bar(out, g->power_mw, g->power_limit_mw, NEVER); /* reaching it is normal */
    buf_text(out, end);
    term(out, "Fan");
    page_number(out, show_percent, g->fan_permille);
    bar(out, g->fan_permille, reading_ok(1000), NEVER);
    buf_text(out, end);
    term(out, "Clock");
    whole_number(out, g->clock_graphics_khz, 1000, " MHz");
    buf_text(out, end);
    buf_text(out, "</dl>\n");
}

enum { PAGE_PROCESSES_MAX = 50 };

static void processes(struct buf *out, const struct snapshot *s, const struct gpu *g)
{
    if (g->processes_state != READING_OK || g->process_count == 0) {
        char answer[PROCESS_ROWS_ANSWER];
        process_rows_answer(&(struct process_rows){.only = (int)(g - s->gpus), .whole = true}, s, answer);
        paragraph(out, "dim", answer);
        return;
    }
    AUTO_FREE const struct process **sorted = calloc(g->process_count, sizeof *sorted);
    size_t count = sorted ? process_biggest_first(g, sorted) : 0;
    buf_text(out, "<table><thead><tr><th class=\"n\">PID</th><th>User</th><th>Type</th><th class=\"n\">VRAM</th>"
                  "<th class=\"n\">Util</th><th class=\"n\">Power</th><th>Process</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count && i < PAGE_PROCESSES_MAX; i++) {
        const struct process *p = sorted[i];
        buf_printf(out, "<tr><td class=\"n\">%d</td><td>", (int)p->pid);
        html_text(out, p->user[0] ? p->user : "–");
        buf_printf(out, "</td><td>%s</td><td class=\"n\">", process_type_name(p->type));
        page_number(out, show_bytes, p->mem_bytes);
        buf_text(out, "</td><td class=\"n\">");
        page_number(out, show_percent, p->util_permille);
        buf_text(out, "</td><td class=\"n\">");
        page_number(out, show_watts, p->power_mw);
        buf_text(out, "</td><td class=\"c\">");
        html_text(out, p->command[0] ? p->command : p->name[0] ? p->name : "–");
        buf_text(out, "</td></tr>\n");
    }
    buf_text(out, "</tbody></table>\n");
    if (g->process_count > PAGE_PROCESSES_MAX)
        buf_printf(out, "<p class=\"dim\">and %zu more: <a href=\"/api/processes\">/api/processes</a></p>\n",
                   g->process_count - PAGE_PROCESSES_MAX);
}

static void gpu_head(struct buf *out, const struct gpu *g, const struct why_part *why)
{
    buf_printf(out, "<section><h2>GPU %d: ", g->index);
    html_text(out, g->id.name[0] ? g->id.name : "unknown");
    if (g->simulated)
        buf_text(out, " <span class=\"label\">simulated</span>");
    if (g->state != GPU_OK)
        buf_printf(out, " <span class=\"label%s\">%s</span>", g->state == GPU_ASLEEP ? "" : " bad", gpu_state_name(g->state));
    buf_text(out, "</h2>\n");
    if (g->error_message[0])
        paragraph(out, "bad", g->error_message);
    if (why && why->answer[0])
        paragraph(out, "", why->answer);
}

static void gpu_section(struct buf *out, const struct snapshot *s, const struct gpu *g, const struct why_part *why)
{
    gpu_head(out, g, why);
    figures(out, g);
    processes(out, s, g);
    if (why && why->suggestion_count) {
        buf_text(out, "<ul>");
        for (size_t i = 0; i < why->suggestion_count; i++) {
            buf_text(out, "<li>");
            html_text(out, why->suggestions[i]);
            buf_text(out, "</li>");
        }
        buf_text(out, "</ul>\n");
    }
    buf_text(out, "</section>\n");
}

static void troubled_sources(struct buf *out, const struct snapshot *s)
{
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_status *source = &s->sources[i];
        if (source->state == SOURCE_OK || source->state == SOURCE_ASLEEP || (source->state == SOURCE_OFF && s->gpu_count))
            continue;
        buf_printf(out, "<p class=\"%s\">%s: %s", source->state == SOURCE_OFF ? "dim" : "bad", source->name,
                   source_state_name(source->state));
        if (source->message[0]) {
            buf_text(out, ", ");
            html_text(out, source->message);
        }
        buf_text(out, "</p>\n");
    }
}

static int refresh_seconds(const struct snapshot *s)
{
    return s->interval_s > 0 ? (int)fmin(3600, fmax(1, ceil(s->interval_s))) : 5;
}

static void plain_body(struct buf *out, const struct snapshot *s, const struct why *why)
{
    char time[WALL_TEXT_SIZE];
    wall_format(s->taken_at, time);
    buf_text(out, "<header><h1>whirr</h1><span>");
    html_text(out, s->host.name);
    buf_printf(out, "</span><span class=\"dim\"><time datetime=\"%s\">%.10s %.8s UTC</time></span></header>\n<main>\n", time, time,
               time + strlen("YYYY-MM-DDT"));
    if (why && why->answer[0])
        paragraph(out, "answer", why->answer);
    if (s->gpu_count == 0 && s->sequence) /* 0: no sample was taken yet */
        buf_text(out, "<p>No GPU is visible to whirr on this host.</p>\n");
    for (size_t i = 0; i < s->gpu_count; i++)
        gpu_section(out, s, &s->gpus[i], why && i < why->gpu_count ? &why->gpus[i] : NULL);
    troubled_sources(out, s);
    buf_text(out, "</main>\n<footer><p><a href=\"/docs\">API</a> · <a href=\"/api/gpu/metrics\">JSON</a> · <a "
                  "href=\"/metrics\">Prometheus</a> · "
                  "<a href=\"/api/health\">Health</a> · whirr " WHIRR_VERSION "</p></footer>\n");
}

void page_write(struct buf *out, const struct snapshot *s, const struct why *why, bool dashboard)
{
    start_page(out, "whirr", refresh_seconds(s));
    plain_body(out, s, why);
    if (!dashboard)
        buf_text(
            out,
            "<p class=\"dim\">This build has the plain page only. For the dashboard, fetch its packages with <code>make web</code> "
            "(needs npm) and build again without <code>-Dweb=disabled</code>.</p>\n");
    buf_text(out, "</body></html>\n");
}

/* A data block: browsers don't run it, and it must not contain the end tag. */
static void data_block(struct buf *out, const char *id, struct str json)
{
    buf_printf(out, "<script type=\"application/json\" id=\"%s\">", id);
    for (size_t i = 0; i < json.len; i++) {
        if (json.at[i] == '<')
            buf_text(out, "\\u003c");
        else
            buf_char(out, json.at[i]);
    }
    buf_text(out, "</script>\n");
}

void page_write_dashboard(struct buf *out, const struct snapshot *s, const struct why *why, const struct page_data *data,
                          size_t count, bool history, const char *version)
{
    start_head(out, "whirr");
    /* The first paint needs only style and scripts, which load in parallel. */
    buf_printf(out,
               "<link rel=\"stylesheet\" href=\"/web/%s/app.css\"><link rel=\"modulepreload\" href=\"/web/%s/chunk.js\">"
               "<script type=\"module\" src=\"/web/%s/app.js\"></script>",
               version, version, version);
    buf_text(out, "<noscript>");
    plain_style(out, refresh_seconds(s));
    buf_text(out, "</noscript></head>\n<body>\n<div id=\"app\"></div>\n");
    for (size_t i = 0; i < count; i++)
        data_block(out, data[i].id, data[i].json);
    data_block(out, "first-history", history ? STR("true") : STR("false"));
    buf_text(out, "<noscript>\n");
    plain_body(out, s, why);
    buf_text(out, "</noscript>\n</body></html>\n");
}

void page_write_fleet(struct buf *out, const char *version)
{
    start_head(out, "whirr: all hosts");
    buf_printf(
        out,
        "<link rel=\"stylesheet\" href=\"/web/%s/app.css\"><script type=\"module\" src=\"/web/%s/fleet.js\"></script>"
        "<link rel=\"preload\" href=\"/api/fleet\" as=\"fetch\" crossorigin=\"anonymous\"></head>\n<body>\n<div id=\"app\"></div>\n"
        "<noscript><p>This page needs JavaScript. On a terminal: <code>whirr status --fleet "
        "URL</code>.</p></noscript>\n</body></html>\n",
        version, version);
}

void page_write_tile(struct buf *out, const struct snapshot *s, const struct why *why, int only)
{
    start_head(out, "whirr");
    plain_style(out, refresh_seconds(s));
    buf_text(out, "</head>\n<body class=\"tile\">\n<main><h1 class=\"sr\">whirr</h1>\n");
    for (size_t i = 0; i < s->gpu_count; i++) {
        if (only >= 0 && (size_t)only != i)
            continue;
        gpu_head(out, &s->gpus[i], why && i < why->gpu_count ? &why->gpus[i] : NULL);
        figures(out, &s->gpus[i]);
        buf_text(out, "</section>\n");
    }
    if (s->gpu_count == 0)
        buf_text(out, "<p>No GPU is visible to whirr on this host.</p>\n");
    buf_text(out, "</main>\n</body></html>\n");
}

void page_write_login(struct buf *out, const char *message)
{
    start_page(out, "whirr: token", 0);
    buf_text(
        out,
        "<header><h1>whirr</h1></header>\n<main><section><form method=\"post\">"
        "<p><label for=\"token\">Sign in with a token. <code>whirr token new NAME</code> creates one on the host.</label></p>\n");
    if (message)
        paragraph(out, "bad", message);
    buf_text(out,
             "<p><input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus></p>"
             "<p><button>Sign in</button></p></form></section></main>\n</body></html>\n");
}
