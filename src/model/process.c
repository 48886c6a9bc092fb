/* SPDX-License-Identifier: Apache-2.0
 * A process: its name, the same for commands, the API, alerts and the page, and the table of evidence about it.
 */
#include "model/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

const struct evidence_meta evidence_table[EVIDENCE_COUNT] = {
#define EVIDENCE(field, ...) {#field, __VA_ARGS__},
#include "model/host_evidence.def"
#undef EVIDENCE
};

void process_done(struct process *p)
{
    free(p->host);
    p->host = NULL;
}

void process_copy(struct process *to, const struct process *from)
{
    *to = *from;
    to->host = NULL;
    if (from->host && process_evidence(to))
        *to->host = *from->host;
}

struct host_evidence *process_evidence(struct process *p)
{
    if (!p->host)
        p->host = calloc(1, sizeof *p->host);
    return p->host;
}

void process_pod(const struct process *p, char *to, size_t size)
{
    const char *slash = strchr(p->container_name, '/');
    to[0] = '\0';
    if (slash)
        str_copy(to, size, (struct str){p->container_name, (size_t)(strchrnul(slash + 1, '/') - p->container_name)});
}

bool process_draws_desktop(const char *name)
{
    /* Linux first, then Windows and macOS. */
    static const char *const desktops[] = {
        "Xorg",
        "X",
        "Xwayland",
        "gnome-shell",
        "mutter",
        "kwin_wayland",
        "kwin_x11",
        "plasmashell",
        "sway",
        "Hyprland",
        "weston",
        "river",
        "labwc",
        "wayfire",
        "niri",
        "cinnamon",
        "xfwm4",
        "gamescope",
        "cosmic-comp",
        "marco",
        "sddm-greeter",
        "dwm",
        "csrss",
        "explorer",
        "ShellExperienceHost",
        "StartMenuExperienceHost",
        "WindowServer",
    };
    for (size_t i = 0; i < ARRAY_LEN(desktops); i++)
        if (strcasecmp(name, desktops[i]) == 0)
            return true;
    return false;
}

const char *process_type_name(enum process_type type)
{
    switch (type) {
    case PROCESS_COMPUTE: return "compute";
    case PROCESS_GRAPHICS: return "graphics";
    case PROCESS_BOTH: return "both";
    }
    return NULL;
}

const char *power_basis_name(enum power_basis basis)
{
    switch (basis) {
    case POWER_BASIS_NONE: return NULL;
    case POWER_BASIS_UTILIZATION: return "utilization";
    case POWER_BASIS_MEMORY: return "memory";
    case POWER_BASIS_ONLY_PROCESS: return "only process";
    }
    return NULL;
}

/* Names can be long; a line has room for the start. */
static void add_name(struct buf *out, const char *text, size_t most)
{
    static const char ellipsis[] = "…";
    char name[PROCESS_CONTAINER_NAME_SIZE];
    str_copy_clean(name, sizeof name, str_from(text));
    if (strlen(name) <= most) {
        buf_text(out, name);
        return;
    }
    char cut[PROCESS_CONTAINER_NAME_SIZE];
    str_copy(cut, most - strlen(ellipsis) + 2, str_from(name));
    buf_str(out, str_trim(str_from(cut)));
    buf_text(out, ellipsis);
}

static void add_part(struct buf *out, const char **lead, const char *before, const char *text, size_t most)
{
    if (!text[0])
        return;
    buf_text(out, *lead);
    buf_text(out, before);
    add_name(out, text, most);
    *lead = ", ";
}

/* The pod, the container's name or ID, and the job. */
static void add_place(struct buf *out, const char **lead, const struct process *p)
{
    char pod[PROCESS_CONTAINER_NAME_SIZE];
    process_pod(p, pod, sizeof pod);
    if (p->job[0])
        add_part(out, lead, "job ", p->job, 32);
    else
        add_part(out, lead, "", pod[0] ? pod : process_container(p), 32);
    if (!p->visible)
        add_part(out, lead, "", "outside this container or PID namespace", 64);
}

const char *process_rank_words(const struct process *p, char out[RANK_WORDS])
{
    out[0] = '\0';
    if (p->rank.state == READING_OK)
        snprintf(out, RANK_WORDS, "%lld/%lld", (long long)p->rank.value, (long long)reading_or(p->world_size, 0));
    return out;
}

const char *process_late_words(const struct process *p, int waiting, const char *place, char *out, size_t size)
{
    int64_t rank;
    out[0] = '\0';
    if (waiting && reading_get(p->rank, &rank))
        snprintf(out, size, "rank %lld is in %s, while %d wait%s for it", (long long)rank, place, waiting, waiting == 1 ? "s" : "");
    return out;
}

const char *process_model(const struct process *p)
{
    const char *slash = strrchr(p->model, '/');
    return slash && slash[1] ? slash + 1 : p->model;
}

const char *process_words(const struct process *p, unsigned with, char out[PROCESS_WORDS])
{
    AUTO_BUF struct buf b = BUF(PROCESS_WORDS - 1);
    const char *lead = " (", *title = process_title(p);
    if (title[0])
        add_name(&b, title, 40);
    else
        buf_printf(&b, "process %d", (int)p->pid);
    if (with & WITH_MODEL && title[0] && p->model[0] && strcasecmp(process_model(p), title) != 0) {
        buf_text(&b, " · ");
        add_name(&b, process_model(p), 48);
    }
    if (with & WITH_PID && title[0]) {
        buf_printf(&b, "%spid %d", lead, (int)p->pid);
        lead = ", ";
    }
    if (with & WITH_USER)
        add_part(&b, &lead, "", p->user, 24);
    if (with & WITH_PLACE)
        add_place(&b, &lead, p);
    if (lead[0] == ',')
        buf_char(&b, ')');
    str_copy(out, PROCESS_WORDS, buf_view(&b));
    return out;
}
