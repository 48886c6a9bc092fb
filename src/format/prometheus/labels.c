/* SPDX-License-Identifier: Apache-2.0
 * Labels that every series has, put in when the text is complete: code that adds series need not know them.
 */
#include "base/cleanup.h"
#include "format/prometheus/prometheus.h"

enum prometheus_set prometheus_set_from_name(const char *name)
{
    return strcmp(name, "dcgm") == 0 ? PROMETHEUS_DCGM : strcmp(name, "nvidia_smi") == 0 ? PROMETHEUS_NVIDIA_SMI : 0;
}

static void add_label(struct prometheus_options *o, const char *name, const char *value)
{
    if (o->label_count == PROMETHEUS_LABELS_MAX)
        return;
    struct prometheus_common *l = &o->labels[o->label_count++];
    str_copy(l->name, sizeof l->name, str_from(name));
    str_copy(l->value, sizeof l->value, str_from(value));
}

static bool has_label(const struct prometheus_options *o, const char *name)
{
    for (size_t i = 0; i < o->label_count; i++)
        if (strcmp(o->labels[i].name, name) == 0)
            return true;
    return false;
}

void prometheus_options_init(struct prometheus_options *o, const struct config_metrics *settings, const char *node)
{
    *o = (struct prometheus_options){.process_groups = (size_t)settings->process_groups,
                                     .no_process_groups = settings->process_groups == 0,
                                     .pids = settings->pids,
                                     .sets = settings->old_names ? PROMETHEUS_OLD_NAMES : 0,
                                     .old_hostname = settings->dcgm_hostname == 1};
    for (size_t i = 0; i < settings->sets.count; i++)
        o->sets |= prometheus_set_from_name(settings->sets.items[i]);
    for (size_t i = 0; i < settings->labels.count; i++)
        add_label(o, settings->labels.pairs[i].key, settings->labels.pairs[i].value);
    if (node && node[0] && !has_label(o, "node"))
        add_label(o, "node", node);
}

/* A series that has the label itself keeps its own: a repeated one would spoil the whole scrape. */
static bool names(struct str labels, const char *name)
{
    size_t len = strlen(name);
    bool quoted = false;
    if (!memmem(labels.at, labels.len, name, len))
        return false;
    for (size_t i = 0; i < labels.len; i++) {
        bool starts = !quoted && (i == 0 || labels.at[i - 1] == ',');
        if (starts && labels.len - i > len && memcmp(labels.at + i, name, len) == 0 && labels.at[i + len] == '=')
            return true;
        if (quoted && labels.at[i] == '\\')
            i++;
        else if (labels.at[i] == '"')
            quoted = !quoted;
    }
    return false;
}

/* `text`: the labels, ready to be put in. They are where none is there already, which is usual. */
static void add_to_series(struct str line, const struct prometheus_options *all, struct str text, struct buf *out)
{
    const char *close = memrchr(line.at, '}', line.len);
    if (!close) {
        const char *space = memchr(line.at, ' ', line.len);
        size_t len = space ? (size_t)(space - line.at) : line.len;
        buf_add(out, line.at, len);
        buf_char(out, '{');
        buf_str(out, text);
        buf_char(out, '}');
        buf_add(out, line.at + len, line.len - len);
        return;
    }
    const char *open = memchr(line.at, '{', line.len);
    struct str labels = {open + 1, (size_t)(close - open - 1)};
    bool clash = false;
    for (size_t i = 0; i < all->label_count; i++)
        clash |= names(labels, all->labels[i].name);
    buf_add(out, line.at, (size_t)(close - line.at));
    if (!clash && labels.len)
        buf_char(out, ',');
    if (!clash)
        buf_str(out, text);
    for (size_t i = 0; clash && i < all->label_count; i++)
        if (all->labels[i].value[0] && !names(labels, all->labels[i].name))
            prometheus_label(out, false, all->labels[i].name, all->labels[i].value);
    buf_add(out, close, line.len - (size_t)(close - line.at));
}

void prometheus_add_labels(struct str text, const char *host, const struct prometheus_options *o, struct buf *out)
{
    struct prometheus_options all = o ? *o : (struct prometheus_options){0};
    if (host && host[0] && !has_label(&all, "host"))
        add_label(&all, "host", host);
    AUTO_BUF struct buf labels = BUF(PROMETHEUS_LABELS_MAX * 1024);
    for (size_t i = 0; i < all.label_count; i++)
        if (all.labels[i].value[0])
            prometheus_label(&labels, labels.len == 0, all.labels[i].name, all.labels[i].value);
    if (labels.len == 0) {
        buf_str(out, text);
        return;
    }
    struct str line;
    while (text.len && str_cut(&text, '\n', &line)) {
        if (!line.at || !line.len)
            continue;
        if (line.at[0] != '#')
            add_to_series(line, &all, buf_view(&labels), out);
        else
            buf_str(out, line);
        buf_char(out, '\n');
    }
}
