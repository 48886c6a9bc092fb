/* SPDX-License-Identifier: Apache-2.0
 * The current mode of each display: four queries of the kernel's mode setting interface, with our own declarations because its
 * headers aren't everywhere. They need no privilege beyond opening /dev/dri/cardN; none probes a display or changes anything.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "source/sysfs/sysfs_idle_audit.h"

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

static int display_mode_ask(const struct env *env, int fd, unsigned long request, void *argument)
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
    if (display_mode_ask(env, fd, IOCTL_GET_CONNECTOR, &c) < 0 || !c.encoder_id)
        return;
    struct idle_display *display = display_of(&c, displays, count);
    struct drm_encoder encoder = {.encoder_id = c.encoder_id};
    if (!display || display_mode_ask(env, fd, IOCTL_GET_ENCODER, &encoder) < 0 || !encoder.crtc_id)
        return;
    struct drm_crtc crtc = {.crtc_id = encoder.crtc_id};
    if (display_mode_ask(env, fd, IOCTL_GET_CRTC, &crtc) < 0 || !crtc.has_mode || !crtc.mode.width)
        return;
    display->in_use = true;
    display->width = crtc.mode.width;
    display->height = crtc.mode.height;
    display->refresh_hz = refresh_of(&crtc.mode);
}

void display_modes_read(const struct env *env, const char *path, struct idle_display *displays, size_t count)
{
    uint32_t ids[CONNECTORS_MAX] = {0};
    struct drm_resources all = {.connectors = (uintptr_t)ids, .connector_count = CONNECTORS_MAX};
    if (!env->device_open || !env->device_ask)
        return;
    AUTO_CLOSE int fd = env->device_open(env, path);
    if (fd < 0)
        return;
    display_mode_ask(env, fd, IOCTL_DROP_MASTER,
                     NULL); /* if no process drives the displays, opening the device would make us master */
    if (display_mode_ask(env, fd, IOCTL_GET_RESOURCES, &all) < 0)
        return;
    for (uint32_t i = 0; i < MIN_OF(all.connector_count, (uint32_t)CONNECTORS_MAX); i++)
        read_connector(env, fd, ids[i], displays, count);
}
