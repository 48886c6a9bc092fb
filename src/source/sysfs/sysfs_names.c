/* SPDX-License-Identifier: Apache-2.0
 * What is known of cards by their IDs: names, chip families, and boards with fewer PCIe lanes than their chip. The system's files
 * know more and newer names; our table is for hosts and containers without them.
 */
#include "source/sysfs/sysfs_card.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/source.h"

/* ---- Card names. The system's files know more and newer ones; our table is for hosts and containers without them. */

enum { ANY = -1 };

struct known_card {
    uint16_t vendor, device;
    int16_t revision;
    const char *name, *architecture;
};

/* In search order: a revision before "any". */
/* clang-format off */
static const struct known_card known_cards[] = {
    {0x1002, 0x6617, ANY, "AMD Radeon R7 240", "GCN 1"},
    {0x1002, 0x6818, ANY, "AMD Radeon HD 7870", "GCN 1"},
    {0x1002, 0x66a1, 0x06, "AMD Radeon Pro VII", "GCN 5"},
    {0x1002, 0x66a1, ANY, "AMD Instinct MI50/MI60", "GCN 5"},
    {0x1002, 0x66af, ANY, "AMD Radeon VII", "GCN 5"},
    {0x1002, 0x67df, 0xe7, "AMD Radeon RX 580", "GCN 4"},
    {0x1002, 0x67df, 0xc7, "AMD Radeon RX 480", "GCN 4"},
    {0x1002, 0x67df, 0xef, "AMD Radeon RX 570", "GCN 4"},
    {0x1002, 0x67df, 0xe1, "AMD Radeon RX 590", "GCN 4"},
    {0x1002, 0x67df, ANY, "AMD Radeon RX 470/480/570/580/590", "GCN 4"},
    {0x1002, 0x67ef, ANY, "AMD Radeon RX 460/560", "GCN 4"},
    {0x1002, 0x699f, ANY, "AMD Radeon RX 550", "GCN 4"},
    {0x1002, 0x687f, 0xc3, "AMD Radeon RX Vega 56", "GCN 5"},
    {0x1002, 0x687f, 0xc1, "AMD Radeon RX Vega 64", "GCN 5"},
    {0x1002, 0x687f, ANY, "AMD Radeon RX Vega 56/64", "GCN 5"},
    {0x1002, 0x7310, ANY, "AMD Radeon Pro W5700X", "RDNA 1"},
    {0x1002, 0x731f, 0xc4, "AMD Radeon RX 5700", "RDNA 1"},
    {0x1002, 0x731f, 0xca, "AMD Radeon RX 5600 XT", "RDNA 1"},
    {0x1002, 0x731f, 0xc1, "AMD Radeon RX 5700 XT", "RDNA 1"},
    {0x1002, 0x731f, ANY, "AMD Radeon RX 5600/5700 series", "RDNA 1"},
    {0x1002, 0x7340, 0xc5, "AMD Radeon RX 5500 XT", "RDNA 1"},
    {0x1002, 0x7340, ANY, "AMD Radeon RX 5300/5500 series", "RDNA 1"},
    {0x1002, 0x738c, ANY, "AMD Instinct MI100", "CDNA 1"},
    {0x1002, 0x73a3, ANY, "AMD Radeon Pro W6800", "RDNA 2"},
    {0x1002, 0x73a5, ANY, "AMD Radeon RX 6950 XT", "RDNA 2"},
    {0x1002, 0x73bf, 0xc0, "AMD Radeon RX 6900 XT", "RDNA 2"},
    {0x1002, 0x73bf, 0xc1, "AMD Radeon RX 6800 XT", "RDNA 2"},
    {0x1002, 0x73bf, 0xc3, "AMD Radeon RX 6800", "RDNA 2"},
    {0x1002, 0x73bf, ANY, "AMD Radeon RX 6800/6900 series", "RDNA 2"},
    {0x1002, 0x73df, 0xc1, "AMD Radeon RX 6700 XT", "RDNA 2"},
    {0x1002, 0x73df, 0xc0, "AMD Radeon RX 6750 XT", "RDNA 2"},
    {0x1002, 0x73df, ANY, "AMD Radeon RX 6700/6750/6800M series", "RDNA 2"},
    {0x1002, 0x73ef, ANY, "AMD Radeon RX 6650 series", "RDNA 2"},
    {0x1002, 0x73ff, 0xc1, "AMD Radeon RX 6600 XT", "RDNA 2"},
    {0x1002, 0x73ff, 0xc7, "AMD Radeon RX 6600", "RDNA 2"},
    {0x1002, 0x73ff, ANY, "AMD Radeon RX 6600 series", "RDNA 2"},
    {0x1002, 0x743f, ANY, "AMD Radeon RX 6400/6500 series", "RDNA 2"},
    {0x1002, 0x7408, ANY, "AMD Instinct MI250X", "CDNA 2"},
    {0x1002, 0x740c, ANY, "AMD Instinct MI250X/MI250", "CDNA 2"},
    {0x1002, 0x740f, ANY, "AMD Instinct MI210", "CDNA 2"},
    {0x1002, 0x7448, ANY, "AMD Radeon Pro W7900", "RDNA 3"},
    {0x1002, 0x744c, 0xc8, "AMD Radeon RX 7900 XTX", "RDNA 3"},
    {0x1002, 0x744c, 0xcc, "AMD Radeon RX 7900 XT", "RDNA 3"},
    {0x1002, 0x744c, 0xce, "AMD Radeon RX 7900 GRE", "RDNA 3"},
    {0x1002, 0x744c, ANY, "AMD Radeon RX 7900 XT/XTX", "RDNA 3"},
    {0x1002, 0x745e, ANY, "AMD Radeon Pro W7800", "RDNA 3"},
    {0x1002, 0x7470, ANY, "AMD Radeon Pro W7700", "RDNA 3"},
    {0x1002, 0x747e, 0xc8, "AMD Radeon RX 7800 XT", "RDNA 3"},
    {0x1002, 0x747e, 0xff, "AMD Radeon RX 7700 XT", "RDNA 3"},
    {0x1002, 0x747e, ANY, "AMD Radeon RX 7700/7800 series", "RDNA 3"},
    {0x1002, 0x7480, ANY, "AMD Radeon RX 7600 series", "RDNA 3"},
    {0x1002, 0x74a0, ANY, "AMD Instinct MI300A", "CDNA 3"},
    {0x1002, 0x74a1, ANY, "AMD Instinct MI300X", "CDNA 3"},
    {0x1002, 0x74a2, ANY, "AMD Instinct MI308X", "CDNA 3"},
    {0x1002, 0x74a5, ANY, "AMD Instinct MI325X", "CDNA 3"},
    {0x1002, 0x74a9, ANY, "AMD Instinct MI300X HF", "CDNA 3"},
    {0x1002, 0x75a0, ANY, "AMD Instinct MI350X", "CDNA 4"},
    {0x1002, 0x75a3, ANY, "AMD Instinct MI355X", "CDNA 4"},
    {0x1002, 0x7550, 0xc0, "AMD Radeon RX 9070 XT", "RDNA 4"},
    {0x1002, 0x7550, 0xc3, "AMD Radeon RX 9070", "RDNA 4"},
    {0x1002, 0x7550, ANY, "AMD Radeon RX 9070 series", "RDNA 4"},
    {0x1002, 0x7590, ANY, "AMD Radeon RX 9060 series", "RDNA 4"},
    {0x1002, 0x1435, ANY, "AMD Custom GPU (Steam Deck OLED)", "RDNA 2"},
    {0x1002, 0x163f, ANY, "AMD Custom GPU (Steam Deck)", "RDNA 2"},
    {0x1002, 0x15bf, ANY, "AMD Radeon 740M/760M/780M", "RDNA 3"},
    {0x1002, 0x1900, ANY, "AMD Radeon 780M", "RDNA 3"},
    {0x1002, 0x150e, ANY, "AMD Radeon 880M/890M", "RDNA 3.5"},
    {0x1002, 0x1114, ANY, "AMD Radeon 860M", "RDNA 3.5"},
    {0x1002, 0x1586, ANY, "AMD Radeon 8050S/8060S", "RDNA 3.5"},
    {0x1002, 0x1681, ANY, "AMD Radeon 660M/680M", "RDNA 2"},
    {0x1002, 0x164e, ANY, "AMD Radeon Graphics (Raphael)", "RDNA 2"},
    {0x1002, 0x1636, ANY, "AMD Radeon Graphics (Renoir)", "GCN 5"},
    {0x1002, 0x1638, ANY, "AMD Radeon Graphics (Cezanne)", "GCN 5"},
    {0x1002, 0x15d8, ANY, "AMD Radeon Vega Graphics (Picasso)", "GCN 5"},
    {0x1002, 0x15dd, ANY, "AMD Radeon Vega Graphics (Raven Ridge)", "GCN 5"},
    {0x8086, 0x0bd5, ANY, "Intel Data Center GPU Max 1550", "Xe-HPC"},
    {0x8086, 0x0bda, ANY, "Intel Data Center GPU Max 1100", "Xe-HPC"},
    {0x8086, 0x3e92, ANY, "Intel UHD Graphics 630", "Gen 9"},
    {0x8086, 0x3e9b, ANY, "Intel UHD Graphics 630", "Gen 9"},
    {0x8086, 0x4680, ANY, "Intel UHD Graphics 770", "Xe-LP"},
    {0x8086, 0x4692, ANY, "Intel UHD Graphics 730", "Xe-LP"},
    {0x8086, 0x46a6, ANY, "Intel Iris Xe Graphics", "Xe-LP"},
    {0x8086, 0x46a8, ANY, "Intel Iris Xe Graphics", "Xe-LP"},
    {0x8086, 0x4905, ANY, "Intel Iris Xe MAX", "Xe-LP"},
    {0x8086, 0x56a0, ANY, "Intel Arc A770", "Xe-HPG"},
    {0x8086, 0x56a1, ANY, "Intel Arc A750", "Xe-HPG"},
    {0x8086, 0x56a2, ANY, "Intel Arc A580", "Xe-HPG"},
    {0x8086, 0x56a5, ANY, "Intel Arc A380", "Xe-HPG"},
    {0x8086, 0x56a6, ANY, "Intel Arc A310", "Xe-HPG"},
    {0x8086, 0x5690, ANY, "Intel Arc A770M", "Xe-HPG"},
    {0x8086, 0x5691, ANY, "Intel Arc A730M", "Xe-HPG"},
    {0x8086, 0x5693, ANY, "Intel Arc A370M", "Xe-HPG"},
    {0x8086, 0x56b1, ANY, "Intel Arc Pro A40/A50", "Xe-HPG"},
    {0x8086, 0x56b3, ANY, "Intel Arc Pro A60", "Xe-HPG"},
    {0x8086, 0x56c0, ANY, "Intel Data Center GPU Flex 170", "Xe-HPG"},
    {0x8086, 0x56c1, ANY, "Intel Data Center GPU Flex 140", "Xe-HPG"},
    {0x8086, 0x5917, ANY, "Intel UHD Graphics 620", "Gen 9"},
    {0x8086, 0x64a0, ANY, "Intel Arc Graphics 130V/140V", "Xe2-LPG"},
    {0x8086, 0x7d55, ANY, "Intel Arc Graphics", "Xe-LPG"},
    {0x8086, 0x9a49, ANY, "Intel Iris Xe Graphics", "Xe-LP"},
    {0x8086, 0x9a60, ANY, "Intel UHD Graphics", "Xe-LP"},
    {0x8086, 0x9b41, ANY, "Intel UHD Graphics", "Gen 9"},
    {0x8086, 0x9bc5, ANY, "Intel UHD Graphics 630", "Gen 9"},
    {0x8086, 0xa780, ANY, "Intel UHD Graphics 770", "Xe-LP"},
    {0x8086, 0xa7a0, ANY, "Intel Iris Xe Graphics", "Xe-LP"},
    {0x8086, 0xe20b, ANY, "Intel Arc B580", "Xe2-HPG"},
    {0x8086, 0xe20c, ANY, "Intel Arc B570", "Xe2-HPG"},
    {0x8086, 0xe211, ANY, "Intel Arc Pro B60", "Xe2-HPG"},
    {0x8086, 0xe212, ANY, "Intel Arc Pro B50", "Xe2-HPG"},
    {0x8086, 0x7d1d, ANY, "Intel NPU (Meteor Lake)", "NPU 3"},
    {0x8086, 0xad1d, ANY, "Intel NPU (Arrow Lake)", "NPU 3"},
    {0x8086, 0x643e, ANY, "Intel NPU (Lunar Lake)", "NPU 4"},
    {0x8086, 0xb03e, ANY, "Intel NPU (Panther Lake)", "NPU 5"},
    {0x1022, 0x1502, ANY, "AMD NPU (Phoenix)", "XDNA"},
    {0x1022, 0x17f0, 0x10, "AMD NPU (Strix)", "XDNA 2"},
    {0x1022, 0x17f0, 0x11, "AMD NPU (Strix Halo)", "XDNA 2"},
    {0x1022, 0x17f0, 0x20, "AMD NPU (Krackan)", "XDNA 2"},
    {0x1022, 0x17f0, ANY, "AMD NPU", "XDNA 2"},
    {0x1da3, 0x1000, ANY, "Intel Gaudi", "Gaudi"},
    {0x1da3, 0x1020, ANY, "Intel Gaudi 2", "Gaudi 2"},
    {0x1e52, 0x401e, ANY, "Tenstorrent Wormhole", "Wormhole"},
    {0x1e52, 0xb140, ANY, "Tenstorrent Blackhole", "Blackhole"},
};
/* clang-format on */

static const struct known_card *find_known(const struct drm_card *card)
{
    for (size_t i = 0; i < ARRAY_LEN(known_cards); i++) {
        const struct known_card *k = &known_cards[i];
        if (k->vendor == card->vendor && k->device == card->device && (k->revision == ANY || k->revision == card->revision))
            return k;
    }
    return NULL;
}

const char *gpu_known_name(const struct drm_card *card)
{
    const struct known_card *known = find_known(card);
    return known ? known->name : NULL;
}

const char *gpu_architecture(const struct drm_card *card)
{
    const struct known_card *known = find_known(card);
    return known ? known->architecture : NULL;
}

static const struct {
    uint32_t vendor;
    const char *name, *shown;
} pci_vendors[] = {
    {0x1002, "amd", "AMD"},
    {0x1022, "amd", "AMD"},
    {0x1da3, "habana", "Habana"},
    {0x1e52, "tenstorrent", "Tenstorrent"},
    {0x8086, "intel", "Intel"},
    {0x10de, "nvidia", "NVIDIA"},
    {0x1af4, "virtio", "Virtio"},
    {0x15ad, "vmware", "VMware"},
    {0x1414, "microsoft", "Microsoft"},
    {0x1ed5, "moore-threads", "Moore Threads"},
    {0x0014, "loongson", "Loongson"},
};

static const struct {
    const char *driver, *vendor, *shown;
} platform_vendors[] = {
    {"msm", "qualcomm", "Qualcomm Adreno"},
    {"msm_dpu", "qualcomm", "Qualcomm Adreno"},
    {"adreno", "qualcomm", "Qualcomm Adreno"},
    {"panfrost", "arm", "Arm Mali"},
    {"panthor", "arm", "Arm Mali"},
    {"lima", "arm", "Arm Mali"},
    {"v3d", "broadcom", "Broadcom VideoCore"},
    {"etnaviv", "vivante", "Vivante"},
    {"asahi", "apple", "Apple"},
    {"tegra", "nvidia", "NVIDIA Tegra"},
    {"powervr", "imagination", "PowerVR"},
};

const char *gpu_vendor(const struct drm_card *card)
{
    for (size_t i = 0; i < ARRAY_LEN(pci_vendors); i++)
        if (pci_vendors[i].vendor == card->vendor)
            return pci_vendors[i].name;
    size_t i = NAME_FIND(platform_vendors, str_from(card->driver));
    return i < ARRAY_LEN(platform_vendors) ? platform_vendors[i].vendor : "other";
}

static bool next_line(struct str *rest, struct str *line)
{
    return str_cut(rest, '\n', line);
}

/* "744C,\tC8,\tAMD Radeon RX 7900 XTX" */
static bool find_in_amdgpu_ids(const struct env *env, const struct drm_card *card, char name[GPU_NAME_SIZE])
{
    AUTO_BUF struct buf file = BUF(1024 * 1024);
    if (card->revision < 0 || file_read_all(env, "/usr/share/libdrm/amdgpu.ids", &file) < 0)
        return false;
    char key[16];
    int len = snprintf(key, sizeof key, "%04X,", card->device);
    struct str rest = buf_view(&file), line, part;
    while (next_line(&rest, &line)) {
        uint64_t revision;
        char text[16];
        if (line.len <= (size_t)len || strncasecmp(line.at, key, (size_t)len) != 0)
            continue;
        line = (struct str){line.at + len, line.len - (size_t)len};
        if (!str_cut(&line, ',', &part))
            continue;
        snprintf(text, sizeof text, "0x" STR_FMT, STR_ARG(str_trim(part)));
        if (!str_to_u64(str_from(text), &revision) || revision != (uint64_t)card->revision)
            continue;
        str_copy_clean(name, GPU_NAME_SIZE, str_trim(line));
        return name[0] != '\0';
    }
    return false;
}

/* The product is the part in brackets: "Navi 31 [Radeon RX 7900 XT]". */
static struct str product_of(struct str text)
{
    const char *open = memchr(text.at, '[', text.len);
    const char *close = open ? memchr(open, ']', text.len - (size_t)(open - text.at)) : NULL;
    return close ? (struct str){open + 1, (size_t)(close - open - 1)} : text;
}

static const char *shown_vendor(const struct drm_card *card)
{
    for (size_t i = 0; i < ARRAY_LEN(pci_vendors); i++)
        if (pci_vendors[i].vendor == card->vendor)
            return pci_vendors[i].shown;
    return "";
}

static bool find_in_pci_ids(const struct env *env, const struct drm_card *card, char name[GPU_NAME_SIZE])
{
    static const char *const paths[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids"};
    AUTO_BUF struct buf file = BUF(8 * 1024 * 1024);
    for (size_t i = 0; i < ARRAY_LEN(paths) && file.len == 0; i++)
        file_read_all(env, paths[i], &file);
    char key[16];
    snprintf(key, sizeof key, "\n%04x  ", card->vendor);
    const char *vendor = file.len ? memmem(file.at, file.len, key, strlen(key)) : NULL;
    if (!vendor)
        return false;
    struct str rest = {vendor + 1, file.len - (size_t)(vendor + 1 - file.at)}, line;
    next_line(&rest, &line);
    snprintf(key, sizeof key, "\t%04x  ", card->device);
    while (next_line(&rest, &line) && line.len && (line.at[0] == '\t' || line.at[0] == '#')) {
        if (!str_starts(line, key))
            continue;
        struct str product = product_of(str_trim((struct str){line.at + 7, line.len - 7}));
        snprintf(name, GPU_NAME_SIZE, "%s%s" STR_FMT, shown_vendor(card), shown_vendor(card)[0] ? " " : "", STR_ARG(product));
        return true;
    }
    return false;
}

static void made_up_name(const struct drm_card *card, char name[GPU_NAME_SIZE])
{
    const char *what = card_is_accelerator(card) ? "accelerator" : "GPU";
    for (size_t i = 0; i < ARRAY_LEN(platform_vendors) && !card->vendor; i++) {
        if (strcmp(platform_vendors[i].driver, card->driver) != 0)
            continue;
        snprintf(name, GPU_NAME_SIZE, "%s%s%s%s", platform_vendors[i].shown, card->compatible[0] ? " (" : "", card->compatible,
                 card->compatible[0] ? ")" : "");
        return;
    }
    if (card->vendor)
        snprintf(name, GPU_NAME_SIZE, "%s %s %04x:%04x", shown_vendor(card)[0] ? shown_vendor(card) : card->driver, what,
                 card->vendor, card->device);
    else
        snprintf(name, GPU_NAME_SIZE, "%s %s%s%s", card->driver, what, card->compatible[0] ? " " : "", card->compatible);
}

void gpu_name_find(const struct env *env, const struct drm_card *card, char name[GPU_NAME_SIZE])
{
    name[0] = '\0';
    if (card->vendor == 0x1002 && find_in_amdgpu_ids(env, card, name))
        return;
    const struct known_card *known = find_known(card);
    if (known)
        str_copy(name, GPU_NAME_SIZE, str_from(known->name));
    else if (!card->vendor || !find_in_pci_ids(env, card, name))
        made_up_name(card, name);
}

/* Boards that have fewer PCIe lanes than their chip: drivers name those of the chip, and a card at its best would look halved. */
static const struct {
    const char *device;
    int lanes;
} boards[] = {
    {"10de:2507", 8}, {"10de:2582", 8}, {"10de:2584", 8},                   /* GeForce RTX 3050: 16 of 8, seen with driver 535 */
    {"10de:25b0", 8}, {"10de:25b2", 8},                                     /* RTX A1000, A400 */
    {"10de:2803", 8}, {"10de:2805", 8}, {"10de:2808", 8}, {"10de:2882", 8}, /* GeForce RTX 4060, 4060 Ti */
    {"10de:2d04", 8}, {"10de:2d05", 8},                                     /* GeForce RTX 5060, 5060 Ti */
    {"10de:1d01", 4},                                                       /* GeForce GT 1030 */
};

void board_limit_lanes(struct gpu *gpu)
{
    const struct property_text *device = &gpu->property[PROPERTY_pci_device_id];
    if (device->state != READING_OK || gpu->pcie_width_max.state != READING_OK)
        return;
    for (size_t i = 0; i < ARRAY_LEN(boards); i++)
        if (strcasecmp(device->value, boards[i].device) == 0 && gpu->pcie_width_max.value > boards[i].lanes)
            gpu->pcie_width_max.value = boards[i].lanes;
}
