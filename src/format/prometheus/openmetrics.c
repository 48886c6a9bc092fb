/* SPDX-License-Identifier: Apache-2.0
 * Converts Prometheus text to OpenMetrics: one writer knows the series, this one knows the differences between the formats.
 */
#include "format/prometheus/prometheus.h"

#include "base/cleanup.h"

/* A family's name ends in its unit, which is repeated in its own line. */
static struct str unit_of(struct str family)
{
    static const char *const units[] = {"seconds", "bytes", "celsius", "watts", "joules", "volts", "hertz", "percent", "ratio"};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t len = strlen(units[i]);
        if (str_ends(family, units[i]) && family.len > len + 1 && family.at[family.len - len - 1] == '_' &&
            !str_ends(family, "_per_second"))
            return str_from(units[i]);
    }
    return (struct str){0};
}

/* In the input, backslashes and line ends are already escaped; quotes aren't. */
static void write_help(struct buf *out, struct str help)
{
    const char *quote;
    while ((quote = memchr(help.at, '"', help.len))) {
        size_t plain = (size_t)(quote - help.at);
        buf_add(out, help.at, plain);
        buf_text(out, "\\\"");
        help = (struct str){quote + 1, help.len - plain - 1};
    }
    buf_str(out, help);
}

static void write_head(struct buf *out, struct str name, struct str type, struct str help)
{
    struct str family = name;
    if (str_is(type, "counter") && str_ends(family, "_total"))
        family.len -= strlen("_total"); /* only samples keep the suffix */
    else if (str_is(type, "counter"))
        type = STR("unknown"); /* other exporters' counters without the suffix are not counters here */
    buf_printf(out, "# TYPE " STR_FMT " " STR_FMT "\n", STR_ARG(family), STR_ARG(type));
    struct str unit = unit_of(family);
    if (unit.len)
        buf_printf(out, "# UNIT " STR_FMT " " STR_FMT "\n", STR_ARG(family), STR_ARG(unit));
    buf_printf(out, "# HELP " STR_FMT " ", STR_ARG(family));
    write_help(out, help);
    buf_char(out, '\n');
}

/* The next line about a family; only series precede it, which both formats write alike. */
static struct str next_head(struct str text)
{
    const char *end = text.at + text.len, *at = text.at;
    while ((at = memchr(at, '#', (size_t)(end - at))) && at != text.at && at[-1] != '\n')
        at++;
    return at ? (struct str){at, (size_t)(end - at)} : (struct str){end, 0};
}

void openmetrics_from_prometheus(struct str text, struct buf *out)
{
    struct str line, help = {0}, word, name;
    buf_reserve(out, MIN_OF(text.len + text.len / 8, out->max - out->len)); /* for units, which Prometheus lacks */
    while (text.len) {
        struct str head = next_head(text);
        buf_add(out, text.at, text.len - head.len);
        text = head;
        if (!str_cut(&text, '\n', &line))
            break;
        struct str rest = {line.at + 7, line.len - 7};
        if (str_starts(line, "# HELP "))
            help = str_cut(&rest, ' ', &word) ? rest : (struct str){0};
        else if (str_starts(line, "# TYPE ") && str_cut(&rest, ' ', &name))
            write_head(out, name, rest, help);
    }
    buf_text(out, "# EOF\n");
}
