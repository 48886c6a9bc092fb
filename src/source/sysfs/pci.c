/* SPDX-License-Identifier: Apache-2.0
 * Link speed and width, and the walk to the upstream port of a card's own switch.
 */
#include "source/sysfs/sysfs_card.h"

#include <stdlib.h>

#include "base/cleanup.h"

int pcie_generation(struct str speed)
{
    static const struct {
        const char *text;
        int generation;
    } speeds[] = {{"2.5", 1}, {"5.0", 2}, {"5 ", 2}, {"5G", 2}, {"8.0", 3}, {"8 ", 3}, {"8G", 3}, {"16", 4}, {"32", 5}, {"64", 6}};
    speed = str_trim(speed);
    for (size_t i = 0; i < ARRAY_LEN(speeds); i++)
        if (str_starts(speed, speeds[i].text) && str_contains(speed, "GT/s"))
            return speeds[i].generation;
    return 0;
}

static struct reading generation_of(struct attrs *port, const char *name)
{
    char text[ATTR_NUMBER_SIZE];
    ssize_t len = attrs_text(port, name, text, sizeof text);
    if (len < 0)
        return reading_absent(attrs_state((int)len));
    int generation = pcie_generation((struct str){text, (size_t)len});
    return generation ? reading_ok(generation) : reading_absent(READING_UNSUPPORTED);
}

/* "0" and, on some bridges, 255 mean no link. */
static struct reading width_of(struct attrs *port, const char *name)
{
    struct reading width = attrs_reading(port, name, 1, 1);
    return width.state == READING_OK && (width.value < 1 || width.value > 32) ? reading_absent(READING_UNSUPPORTED) : width;
}

/* A switch port of the card's vendor: AMD's since Navi and Vega 20, Intel's in every Arc. */
static bool is_own_bridge(struct attrs *port, uint32_t vendor)
{
    char text[32], class[32];
    uint64_t id;
    ssize_t len = attrs_text(port, "vendor", text, sizeof text);
    if (len <= 0 || !str_to_u64((struct str){text, (size_t)len}, &id) || id != vendor)
        return false;
    /* 0x0604: a PCI bridge. Root ports have the same class and, on an all-Intel or all-AMD host, the same vendor, but their
     * parent is the host bridge, not a PCI device: the caller stops below them. */
    return attrs_text(port, "class", class, sizeof class) > 0 && strncmp(class, "0x0604", 6) == 0;
}

static bool parent_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

static bool is_pci_device(const char *path)
{
    const char *last = strrchr(path, '/');
    return last && strlen(last + 1) == 12 && last[5] == ':' && last[8] == ':' && last[11] == '.';
}

/* Upstream port of the card's switch: card -> downstream port -> upstream port -> (slot's) root port. */
static bool find_upstream(const struct drm_card *card, const struct env *env, struct attrs *ret)
{
    char link[PATH_SIZE], real[4096];
    if (env_path(env, link, "/sys/class/drm/%s/device", card->name) < 0 || !realpath(link, real))
        return false;
    size_t root = strlen(env->sysroot);
    char real_root[4096] = "";
    if (root && (!realpath(env->sysroot, real_root) || strncmp(real, real_root, strlen(real_root)) != 0))
        return false;
    char *path = real + strlen(real_root);
    for (int level = 0; level < 2; level++) {
        if (!is_pci_device(path) || !parent_of(path) || !is_pci_device(path))
            return false;
        if (attrs_init(ret, env, "%s", path) < 0 || !is_own_bridge(ret, card->vendor))
            return false;
    }
    /* A root port of the same vendor has no PCI device above it: the two weren't a switch then. */
    char above[PATH_SIZE];
    str_copy(above, sizeof above, str_from(path));
    return parent_of(above) && is_pci_device(above);
}

void pcie_link(const struct drm_card *card, const struct env *env, bool internal_only, unsigned groups, struct gpu *out)
{
    struct attrs port;
    if (!find_upstream(card, env, &port)) {
        if (internal_only)
            return;
        drm_device_attrs(card, env, &port);
    }
    if (groups & GROUP_FAST) {
        out->pcie_generation = generation_of(&port, "current_link_speed");
        out->pcie_width = width_of(&port, "current_link_width");
    }
    if (groups & GROUP_STATIC) {
        out->pcie_generation_max = generation_of(&port, "max_link_speed");
        out->pcie_width_max = width_of(&port, "max_link_width");
    }
}

/* "NAME COUNT" lines, the last one their sum. Ignore "UnsupReq": devices probe others for missing features during setup. */
static struct reading error_count(const struct env *env, const char *address, const char *severity)
{
    char path[PATH_SIZE], text[2048];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/aer_dev_%s", address, severity);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    if (len < 0)
        return reading_absent(is_gone(len) ? READING_UNSUPPORTED : reading_state_from_errno((int)len));
    struct str rest = {text, (size_t)len}, line, name, number;
    int64_t sum = 0, count;
    while (str_cut(&rest, '\n', &line))
        if (str_word(&line, &name) && str_word(&line, &number) && str_to_i64(number, &count) && count > 0 && count < INT32_MAX &&
            !str_starts(name, "TOTAL_") && !str_is(name, "UnsupReq"))
            sum += count;
    return reading_ok(sum);
}

void pcie_errors(const struct env *env, const char *address, struct gpu *out)
{
    struct reading fatal = error_count(env, address, "fatal");
    out->pcie_corrected_errors = error_count(env, address, "correctable");
    out->pcie_uncorrected_errors = error_count(env, address, "nonfatal");
    if (out->pcie_uncorrected_errors.state == READING_OK)
        out->pcie_uncorrected_errors.value += reading_or(fatal, 0);
}
