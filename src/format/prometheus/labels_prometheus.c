/* SPDX-License-Identifier: Apache-2.0
 * Adds the common labels to the complete text: code that writes series need not know them.
 */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/file.h"
#include "format/prometheus/prometheus.h"
#include "source/sysfs/bus.h"

enum prometheus_set prometheus_set_from_name(const char *name)
{
    return strcmp(name, "dcgm") == 0         ? PROMETHEUS_DCGM
           : strcmp(name, "dcgm-4.8") == 0   ? PROMETHEUS_DCGM_OLD
           : strcmp(name, "nvidia_smi") == 0 ? PROMETHEUS_NVIDIA_SMI
                                             : 0;
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

/* An ID of its own: /etc/machine-id itself is confidential. A container's is often that of its image, the same everywhere. */
void prometheus_machine(const struct env *env, char text[HEX_SIZE(8)])
{
    char id[64];
    uint8_t digest[SHA256_SIZE];
    AUTO_BUF struct buf message = BUF(128);
    ssize_t len = bus_container(env)[0] ? 0 : file_read_head(env, "/etc/machine-id", id, sizeof id);
    if (len < 32)
        return;
    buf_printf(&message, "whirr:%.32s", id);
    sha256(buf_view(&message), digest);
    hex_encode(digest, 8, text);
}

void prometheus_options_init(struct prometheus_options *o, const struct config_metrics *settings, const struct env *env)
{
    const char *node = env->node_name;
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
    prometheus_machine(env, o->machine);
}

/* A series with its own value of the label keeps that: a duplicate label would spoil the whole scrape. */
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

/* Whether one of these labels precedes a "=": rare, and only then worth parsing. */
static bool may_clash(struct str labels, const struct prometheus_options *all, const size_t *lens)
{
    const char *end = labels.at + labels.len, *equals = labels.at;
    while ((equals = memchr(equals, '=', (size_t)(end - equals)))) {
        for (size_t i = 0; i < all->label_count; i++)
            if (lens[i] <= (size_t)(equals - labels.at) && memcmp(equals - lens[i], all->labels[i].name, lens[i]) == 0)
                return true;
        equals++;
    }
    return false;
}

/* A line with at least one of the labels gets the others. */
static void add_missing(struct buf *out, struct prometheus_range labels, const struct prometheus_options *all)
{
    for (size_t i = 0; i < all->label_count; i++)
        if (all->labels[i].value[0] && !names(prometheus_text_of(out, labels), all->labels[i].name))
            prometheus_label(out, false, all->labels[i].name, all->labels[i].value);
}

/* The bytes may be further back in the same buffer. */
static void move(struct buf *out, const char *from, size_t len)
{
    memmove(out->at + out->len, from, len);
    out->len += len;
}

/* `text`: the labels, ready for the usual case that the line has none of them. */
static void add_to_series(struct buf *out, struct str line, const struct prometheus_options *all, const size_t *lens,
                          struct str text)
{
    const char *close = line.at ? memrchr(line.at, '}', line.len) : NULL, *open = close ? memchr(line.at, '{', line.len) : NULL;
    const char *space = close ? NULL : memchr(line.at, ' ', line.len), *end = line.at + line.len;
    const char *here = close ? close : space ? space : end;
    struct str labels = {open ? open + 1 : here, open ? (size_t)(here - open - 1) : 0};
    bool clash = may_clash(labels, all, lens);
    move(out, line.at, (size_t)(here - line.at));
    if (clash)
        add_missing(out, (struct prometheus_range){out->len - labels.len, out->len}, all);
    else {
        if (!open || labels.len)
            buf_char(out, open ? ',' : '{');
        buf_str(out, text);
        if (!open)
            buf_char(out, '}');
    }
    move(out, here, (size_t)(end - here));
}

/* Works in place: moves the text to the end of a large enough buffer, and from there line by line to the front. Never overtakes
 * the reading position, as each line grows only by its labels. */
void prometheus_add_labels(struct buf *text, const char *host, const struct prometheus_options *o)
{
    struct prometheus_options all = o ? *o : (struct prometheus_options){0};
    if (host && host[0] && !has_label(&all, "host"))
        add_label(&all, "host", host);
    AUTO_BUF struct buf labels = BUF(PROMETHEUS_LABELS_MAX * 1024);
    size_t lens[PROMETHEUS_LABELS_MAX], lines = 1;
    for (size_t i = 0; i < all.label_count; i++) {
        lens[i] = strlen(all.labels[i].name);
        if (all.labels[i].value[0])
            prometheus_label(&labels, labels.len == 0, all.labels[i].name, all.labels[i].value);
    }
    if (labels.failed) {
        text->failed = text->no_memory = true;
        return;
    }
    for (struct str rest = buf_view(text), line; str_cut(&rest, '\n', &line);)
        lines++;
    size_t more = lines * (labels.len + strlen("{}\n"));
    if (labels.len == 0 || !buf_reserve(text, more))
        return;
    struct str rest = {text->at + more, text->len}, line;
    memmove(text->at + more, text->at, text->len);
    text->len = 0;
    while (str_cut(&rest, '\n', &line)) {
        if (!line.len)
            continue;
        if (line.at[0] != '#')
            add_to_series(text, line, &all, lens, buf_view(&labels));
        else
            move(text, line.at, line.len);
        buf_char(text, '\n');
    }
}
