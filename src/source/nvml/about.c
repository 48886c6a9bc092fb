/* SPDX-License-Identifier: Apache-2.0
 * Texts about a card: names, versions, numbers written as text.
 */
#include "source/nvml/internal.h"

#include <stdio.h>

#include "base/cleanup.h"

static const char *const architectures[] = {NULL,     NULL,     "Kepler",       "Maxwell", "Pascal",   "Volta",
                                            "Turing", "Ampere", "Ada Lovelace", "Hopper",  "Blackwell"};
static const char *const brands[] = {
    NULL,  "Quadro", "Tesla",   "NVS",        "GRID",       "GeForce", "Titan",       "vApps",     "vPC",
    "vCS", "vWS",    "vGaming", "Quadro RTX", "NVIDIA RTX", "NVIDIA",  "GeForce RTX", "Titan RTX",
};
static const char *const virtualizations[] = {"none", "pass-through", "vgpu", "host-vgpu", "host-vsga"};
static const char *const addressing[] = {"none", "hmm", "ats"};

static void word(struct gpu *out, enum property property, int code, unsigned value, const char *const *words, size_t count)
{
    if (code == NVML_OK && value < count && words[value])
        gpu_set_property(out, property, words[value]);
    else
        out->property[property].state = code == NVML_OK ? READING_UNSUPPORTED : nvml_reading_state(code);
}

static void text(struct nvml_card *card, struct gpu *out, enum property property, int (*call)(nvml_device, char *, unsigned))
{
    char answer[NVML_NAME_SIZE] = "";
    int code = call ? call(card->handle, answer, sizeof answer) : NVML_FUNCTION_NOT_FOUND;
    answer[sizeof answer - 1] = '\0';
    if (code == NVML_OK)
        gpu_set_property(out, property, answer);
    else
        out->property[property].state = nvml_reading_state(code);
}

static void one_number(struct nvml_card *card, struct gpu *out, enum property property, int (*call)(nvml_device, unsigned *),
                       const char *const *words, size_t count)
{
    unsigned value = 0;
    int code = call ? call(card->handle, &value) : NVML_FUNCTION_NOT_FOUND;
    word(out, property, code, value, words, count);
}

static void numbers(struct nvml *n, struct nvml_card *card, struct gpu *out)
{
    char answer[GPU_TEXT_SIZE];
    struct nvml_pci_info pci = {0};
    if (n->lib.pci && n->lib.pci(card->handle, &pci) == NVML_OK) {
        snprintf(answer, sizeof answer, "%04x:%04x", pci.device_id & 0xffff, pci.device_id >> 16);
        gpu_set_property(out, PROPERTY_pci_device_id, answer);
        snprintf(answer, sizeof answer, "%04x:%04x", pci.subsystem_id & 0xffff, pci.subsystem_id >> 16);
        gpu_set_property(out, PROPERTY_pci_subsystem_id, answer);
    }
    int major = 0, minor = 0;
    if (n->lib.compute_capability && n->lib.compute_capability(card->handle, &major, &minor) == NVML_OK) {
        snprintf(answer, sizeof answer, "%d.%d", major, minor);
        gpu_set_property(out, PROPERTY_compute_capability, answer);
    }
    unsigned board = 0;
    if (n->lib.board_id && n->lib.board_id(card->handle, &board) == NVML_OK) {
        snprintf(answer, sizeof answer, "0x%x", board);
        gpu_set_property(out, PROPERTY_board_id, answer);
    }
}

void about_run(struct nvml *n, struct nvml_card *card, struct gpu *out)
{
    gpu_set_property(out, PROPERTY_driver, "nvidia");
    gpu_set_property(out, PROPERTY_driver_version, n->driver.driver_version);
    gpu_set_property(out, PROPERTY_memory_kind, card->shared_memory ? "shared" : "dedicated");
    text(card, out, PROPERTY_serial, n->lib.serial);
    text(card, out, PROPERTY_vbios_version, n->lib.vbios);
    text(card, out, PROPERTY_part_number, n->lib.part_number);
    text(card, out, PROPERTY_inforom_version, n->lib.inforom_image);
    one_number(card, out, PROPERTY_architecture, n->lib.architecture, architectures, ARRAY_LEN(architectures));
    one_number(card, out, PROPERTY_brand, n->lib.brand, brands, ARRAY_LEN(brands));
    one_number(card, out, PROPERTY_virtualization, n->lib.virtualization, virtualizations, ARRAY_LEN(virtualizations));
    numbers(n, card, out);

    char gsp[NVML_NAME_SIZE] = ""; /* this call takes no length; NVML documents 0x40 */
    if (n->lib.gsp_version && n->lib.gsp_version(card->handle, gsp) == NVML_OK)
        gpu_set_property(out, PROPERTY_gsp_firmware, gsp);

    struct nvml_flag mode = {.version = NVML_VERSION(struct nvml_flag, 1)};
    int code = n->lib.addressing_mode ? n->lib.addressing_mode(card->handle, &mode) : NVML_FUNCTION_NOT_FOUND;
    word(out, PROPERTY_addressing_mode, code, mode.value, addressing, ARRAY_LEN(addressing));
}
