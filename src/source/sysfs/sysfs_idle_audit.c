/* SPDX-License-Identifier: Apache-2.0
 * What keeps GPUs from idling, from kernel files, and the current mode of each display from the kernel's mode setting interface.
 * Judges nothing.
 */
#include "source/sysfs/sysfs_idle_audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"
#include "host/linux/process_files.h"
#include "source/sysfs/sysfs_card.h"

/* ---- The current mode of each display: four queries of the kernel's mode setting interface, with our own declarations because its
 * headers aren't everywhere. They need no privilege beyond opening /dev/dri/cardN; none probes a display or changes anything. */

enum { CONNECTORS_MAX = 64, FLAG_INTERLACED = 1 << 4, FLAG_DOUBLED = 1 << 5 };

struct drm_resources {
    uint64_t framebuffers, crtcs, connectors, encoders; /* addresses of their ids */
    uint32_t framebuffer_count, crtc_count, connector_count, encoder_count;
    uint32_t least_width, most_width, least_height, most_height;
};

struct drm_mode {
    uint32_t clock_khz;
    uint16_t width, hsync_start, hsync_end, across, hskew;
    uint16_t height, vsync_start, vsync_end, down, vscan;
    uint32_t refresh, flags, type;
    char name[32];
};

struct drm_connector {
    uint64_t encoders, modes, properties, values;
    uint32_t mode_count, property_count, encoder_count;
    uint32_t encoder_id, connector_id, type, type_id;
    uint32_t connection, width_mm, height_mm, subpixel, pad;
};

struct drm_encoder {
    uint32_t encoder_id, type, crtc_id, possible_crtcs, possible_clones;
};

struct drm_crtc {
    uint64_t connectors;
    uint32_t connector_count, crtc_id, framebuffer_id, x, y, gamma_size, has_mode;
    struct drm_mode mode;
};

#define IOCTL_DROP_MASTER _IO('d', 0x1f)
#define IOCTL_GET_RESOURCES _IOWR('d', 0xa0, struct drm_resources)
#define IOCTL_GET_CRTC _IOWR('d', 0xa1, struct drm_crtc)
#define IOCTL_GET_ENCODER _IOWR('d', 0xa6, struct drm_encoder)
#define IOCTL_GET_CONNECTOR _IOWR('d', 0xa7, struct drm_connector)

/* By type number, as in the names of /sys/class/drm. */
static const char *const connector_types[] = {"Unknown", "VGA",       "DVI-I", "DVI-D", "DVI-A",     "Composite", "SVIDEO",
                                              "LVDS",    "Component", "DIN",   "DP",    "HDMI-A",    "HDMI-B",    "TV",
                                              "eDP",     "Virtual",   "DSI",   "DPI",   "Writeback", "SPI",       "USB"};

static int ask_kernel(const struct env *env, int fd, unsigned long request, void *argument)
{
    int rc;
    do
        rc = env->device_ask(env, fd, request, argument);
    while (rc == -EINTR || rc == -EAGAIN);
    return rc;
}

/* From the pixel clock, including double-scanned and interlaced modes: the kernel leaves its own field empty. */
static int refresh_of(const struct drm_mode *mode)
{
    int64_t frame = (int64_t)mode->across * mode->down * MAX_OF(mode->vscan, 1) * (mode->flags & FLAG_DOUBLED ? 2 : 1);
    int64_t clock_hz = (int64_t)mode->clock_khz * 1000 * (mode->flags & FLAG_INTERLACED ? 2 : 1);
    return frame > 0 ? (int)((clock_hz + frame / 2) / frame) : (int)mode->refresh;
}

static struct idle_display *display_of(const struct drm_connector *c, struct idle_display *displays, size_t count)
{
    char name[IDLE_CONNECTOR_SIZE];
    if (c->type >= ARRAY_LEN(connector_types))
        return NULL;
    snprintf(name, sizeof name, "%s-%u", connector_types[c->type], (unsigned)c->type_id);
    for (size_t i = 0; i < count; i++)
        if (displays[i].on && strcmp(displays[i].connector, name) == 0)
            return &displays[i];
    return NULL;
}

static void read_connector(const struct env *env, int fd, uint32_t id, struct idle_display *displays, size_t count)
{
    struct drm_mode unused;
    /* Offer space for one mode: with none, the kernel would probe the display, which takes a second and may flicker. */
    struct drm_connector c = {.connector_id = id, .modes = (uintptr_t)&unused, .mode_count = 1};
    if (ask_kernel(env, fd, IOCTL_GET_CONNECTOR, &c) < 0 || !c.encoder_id)
        return;
    struct idle_display *display = display_of(&c, displays, count);
    struct drm_encoder encoder = {.encoder_id = c.encoder_id};
    if (!display || ask_kernel(env, fd, IOCTL_GET_ENCODER, &encoder) < 0 || !encoder.crtc_id)
        return;
    struct drm_crtc crtc = {.crtc_id = encoder.crtc_id};
    if (ask_kernel(env, fd, IOCTL_GET_CRTC, &crtc) < 0 || !crtc.has_mode || !crtc.mode.width)
        return;
    display->in_use = true;
    display->width = crtc.mode.width;
    display->height = crtc.mode.height;
    display->refresh_hz = refresh_of(&crtc.mode);
}

/* Current modes of active displays, from a card's device file ("/dev/dri/card1"); unreadable ones stay unchanged. */
static void display_modes_read(const struct env *env, const char *path, struct idle_display *displays, size_t count)
{
    uint32_t ids[CONNECTORS_MAX] = {0};
    struct drm_resources all = {.connectors = (uintptr_t)ids, .connector_count = CONNECTORS_MAX};
    if (!env->device_open || !env->device_ask)
        return;
    AUTO_CLOSE int fd = env->device_open(env, path);
    if (fd < 0)
        return;
    ask_kernel(env, fd, IOCTL_DROP_MASTER, NULL); /* if no process drives the displays, opening the device would make us master */
    if (ask_kernel(env, fd, IOCTL_GET_RESOURCES, &all) < 0)
        return;
    for (uint32_t i = 0; i < MIN_OF(all.connector_count, (uint32_t)CONNECTORS_MAX); i++)
        read_connector(env, fd, ids[i], displays, count);
}

enum { PROCESSES_MAX = 65536, FILES_MAX = 4096, EDID_MAX = 512 };

/* ---- displays ---- */

/* The preferred mode and maximum refresh rate of a display, from its EDID. False: not an EDID. */
static bool edid_parse(const unsigned char *edid, size_t len, struct idle_display *ret)
{
    static const unsigned char magic[8] = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0};
    if (len < 128 || memcmp(edid, magic, sizeof magic) != 0)
        return false;
    for (const unsigned char *d = edid + 54; d < edid + 54 + 4 * 18; d += 18) {
        int64_t clock_hz = (int64_t)(d[0] | d[1] << 8) * 10000;
        if (clock_hz && !ret->width) {
            int64_t across = (d[2] | (d[4] & 0xf0) << 4) + (d[3] | (d[4] & 0x0f) << 8);
            int64_t down = (d[5] | (d[7] & 0xf0) << 4) + (d[6] | (d[7] & 0x0f) << 8);
            ret->width = d[2] | (d[4] & 0xf0) << 4;
            ret->height = d[5] | (d[7] & 0xf0) << 4;
            if (across > 0 && down > 0)
                ret->refresh_hz = (int)((clock_hz + across * down / 2) / (across * down));
        } else if (!clock_hz && d[3] == 0xfd) { /* range limits; the flags add 255 to rates beyond a byte */
            ret->refresh_most_hz = d[6] + (d[4] & 2 ? 255 : 0);
        }
    }
    return true;
}

static bool text_is(const struct env *env, const char *folder, const char *name, const char *wanted)
{
    char path[PATH_SIZE], text[32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    return len > 0 && str_is(str_trim((struct str){text, (size_t)len}), wanted);
}

static void read_display(const struct env *env, const char *folder, struct idle_display *ret)
{
    char path[PATH_SIZE], text[EDID_MAX + 1];
    struct str rest, line;
    int width, height;
    ret->on = text_is(env, folder, "enabled", "enabled") && !text_is(env, folder, "dpms", "Off");
    snprintf(path, sizeof path, "%s/edid", folder);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    if (len > 0)
        edid_parse((const unsigned char *)text, (size_t)len, ret);
    snprintf(path, sizeof path, "%s/modes", folder);
    len = file_read_head(env, path, text, sizeof text);
    rest = (struct str){text, len > 0 ? (size_t)len : 0};
    if (!ret->width && str_cut(&rest, '\n', &line) && line.len < 24 && sscanf(line.at, "%dx%d", &width, &height) == 2) {
        ret->width = width;
        ret->height = height;
    }
}

/* NVIDIA's driver creates no connectors without modesetting, and several branches leave `enabled` at "disabled" while a display
 * is on: trust it only about a display that is off (DPMS), or if none is connected. */
static bool fills_connectors(const struct drm_card *card)
{
    return strncmp(card->driver, "nvidia", 6) != 0;
}

static void read_displays(const struct env *env, const struct drm_card *of, struct idle_facts *ret)
{
    AUTO_DIR DIR *dir = dir_open(env, "/sys/class/drm");
    const char *card = of->name;
    size_t prefix = strlen(card), connectors = 0;
    bool doubted = false;
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && ret->display_count < IDLE_DISPLAYS_MAX) {
        char folder[PATH_SIZE];
        if (strncmp(entry->d_name, card, prefix) != 0 || entry->d_name[prefix] != '-')
            continue;
        snprintf(folder, sizeof folder, "/sys/class/drm/%s", entry->d_name);
        connectors++;
        doubted |= !text_is(env, folder, "status", "connected") && !text_is(env, folder, "status", "disconnected");
        if (!text_is(env, folder, "status", "connected"))
            continue;
        struct idle_display *d = &ret->displays[ret->display_count++];
        str_copy(d->connector, sizeof d->connector, str_from(entry->d_name + prefix + 1));
        read_display(env, folder, d);
        doubted |= !d->on && !fills_connectors(of) && !text_is(env, folder, "dpms", "Off");
    }
    ret->displays_seen = dir && !doubted && (connectors || fills_connectors(of));
}

/* ---- power saving ---- */

static void read_power(const struct env *env, const char *folder, struct idle_facts *ret)
{
    char text[128];
    ssize_t len = file_read_head(env, "/sys/module/pcie_aspm/parameters/policy", text, sizeof text);
    ret->aspm_by_policy = len > 0 && strstr(text, "[performance]");
    if (text_is(env, folder, "link/l1_aspm", "1"))
        ret->aspm = SWITCH_ON;
    else if (text_is(env, folder, "link/l1_aspm", "0"))
        ret->aspm = SWITCH_OFF;
    if (ret->aspm_by_policy)
        ret->aspm = SWITCH_OFF;
    if (text_is(env, folder, "power/control", "auto"))
        ret->runtime_pm = SWITCH_ON;
    else if (text_is(env, folder, "power/control", "on"))
        ret->runtime_pm = SWITCH_OFF;
}

/* ---- open device files ---- */

/* The device files of one GPU: "/dev/nvidia0", "/dev/dri/card1", "/dev/dri/renderD128"; "" none. */
struct device_files {
    char path[3][32];
    bool is_open[3]; /* by some visible program */
};

enum { FILE_OWN, FILE_CARD, FILE_RENDER };

static bool is_one_of(struct device_files *files, const char *target)
{
    for (size_t i = 0; i < ARRAY_LEN(files->path); i++)
        if (files->path[i][0] && strcmp(files->path[i], target) == 0)
            return files->is_open[i] = true;
    return false;
}

static void add_holder(struct idle_facts *ret, const struct process *p)
{
    if (ret->holder_count == IDLE_HOLDERS_MAX) {
        ret->holders_left_out++;
        return;
    }
    struct idle_holder *h = &ret->holders[ret->holder_count++];
    h->pid = p->pid;
    str_copy(h->name, sizeof h->name, str_from(p->name));
    str_copy(h->title, sizeof h->title, str_from(p->title));
    str_copy(h->user, sizeof h->user, str_from(p->user));
    str_copy(h->command, sizeof h->command, str_from(p->command));
}

/* Kernel threads have no files; their command line is empty. */
static bool is_program(const struct env *env, int32_t pid)
{
    char byte[2];
    return proc_read(env, pid, "cmdline", byte, sizeof byte) > 0;
}

static void look_at(const struct env *env, int32_t pid, struct identity *who, struct device_files *files, size_t count,
                    struct idle_facts *ret)
{
    char target[PATH_SIZE];
    bool holds[GPU_MAX] = {false}, any = false;
    AUTO_DIR DIR *dir = proc_dir(env, pid, "fd");
    if (!dir) {
        int error = errno;
        for (size_t i = 0; i < count && !is_gone(-error) && is_program(env, pid); i++)
            ret[i].hidden++;
        return;
    }
    struct dirent *entry;
    for (int n = 0; n < FILES_MAX && (entry = readdir(dir)); n++) {
        if (entry->d_name[0] == '.' || proc_fd(env, pid, entry->d_name, target, sizeof target) <= 0 || !is_gpu_file(target))
            continue;
        for (size_t i = 0; i < count; i++)
            any |= holds[i] |= is_one_of(&files[i], target);
    }
    if (!any)
        return;
    struct process p = {.pid = pid, .instance = -1};
    identity_fill(who, &p);
    for (size_t i = 0; i < count; i++)
        if (holds[i])
            add_holder(&ret[i], &p);
}

static void read_holders(const struct env *env, struct device_files *files, size_t count, struct idle_facts *ret)
{
    AUTO_DIR DIR *dir = dir_open(env, "/proc");
    struct identity *who = identity_new(env, false);
    struct dirent *entry;
    int32_t self = env_is_recorded(env) ? 0 : getpid();
    for (int n = 0; dir && who && n < PROCESSES_MAX && (entry = readdir(dir)); n++) {
        int64_t pid;
        if (str_to_i64(str_from(entry->d_name), &pid) && pid > 0 && pid <= INT32_MAX && (int32_t)pid != self)
            look_at(env, (int32_t)pid, who, files, count, ret);
    }
    identity_free(who);
}

/* ---- all of it ---- */

static const struct drm_card *card_of(const struct drm_card *cards, int count, const struct gpu *gpu)
{
    for (int i = 0; i < count; i++)
        if (cards[i].pci_address[0] && strcmp(cards[i].pci_address, gpu->id.pci_address) == 0)
            return &cards[i];
    return NULL;
}

static void read_one(const struct env *env, const struct gpu *gpu, const struct drm_card *card, struct device_files *files,
                     struct idle_facts *ret)
{
    char folder[PATH_SIZE];
    int64_t minor;
    ret->looked = true;
    str_copy(ret->pci_address, sizeof ret->pci_address, str_from(gpu->id.pci_address));
    if (reading_get(gpu->device_minor, &minor))
        snprintf(files->path[FILE_OWN], sizeof files->path[FILE_OWN], "/dev/nvidia%d", (int)minor);
    snprintf(folder, sizeof folder, "/sys/bus/pci/devices/%s", gpu->id.pci_address);
    if (card) {
        snprintf(folder, sizeof folder, "/sys/class/drm/%s/device", card->name);
        snprintf(files->path[FILE_CARD], sizeof files->path[FILE_CARD], "/dev/dri/%s", card->name);
        if (card->render_minor >= 0)
            snprintf(files->path[FILE_RENDER], sizeof files->path[FILE_RENDER], "/dev/dri/renderD%d", card->render_minor);
        read_displays(env, card, ret);
    }
    if (card || gpu->id.pci_address[0])
        read_power(env, folder, ret);
}

/* The current mode. The query must have no side effects: a GPU without a picture may be asleep, and the first program to open a
 * device drives its displays, the last to close it resets them. So another program, the one that draws, must have it open
 * already. */
static void read_modes(const struct env *env, const struct gpu *gpu, const struct device_files *files, struct idle_facts *ret)
{
    for (size_t i = 0; i < ret->display_count && gpu->state == GPU_OK && files->is_open[FILE_CARD]; i++)
        if (ret->displays[i].on) {
            display_modes_read(env, files->path[FILE_CARD], ret->displays, ret->display_count);
            return;
        }
}

void idle_facts_read(const struct env *env, const struct snapshot *s, struct idle_facts *ret)
{
    AUTO_FREE struct drm_card *cards = calloc(GPU_MAX, sizeof *cards);
    AUTO_FREE struct device_files *files = calloc(GPU_MAX, sizeof *files);
    size_t count = MIN_OF(s->gpu_count, (size_t)GPU_MAX);
    bool any = false;
    memset(ret, 0, s->gpu_count * sizeof *ret);
    if (!cards || !files)
        return;
    int card_count = drm_cards_list(env, cards, GPU_MAX);
    for (size_t i = 0; i < count; i++) {
        if (s->gpus[i].simulated)
            continue;
        read_one(env, &s->gpus[i], card_of(cards, card_count, &s->gpus[i]), &files[i], &ret[i]);
        any = true;
    }
    if (any)
        read_holders(env, files, count, ret);
    for (size_t i = 0; i < count; i++)
        read_modes(env, &s->gpus[i], &files[i], &ret[i]);
}
