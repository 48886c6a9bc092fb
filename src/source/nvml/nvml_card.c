/* SPDX-License-Identifier: Apache-2.0
 * A card's handle and identity: found by PCI address or UUID once known, because indexes shift when a card is lost.
 */
#include "source/nvml/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void card_init(struct nvml_card *card, int nvml_index)
{
    *card = (struct nvml_card){.nvml_index = nvml_index, .fan_count = -1, .gpm.newest = -1};
    str_copy(card->id.vendor, sizeof card->id.vendor, STR("nvidia"));
}

void card_forget_refusals(struct nvml_card *card)
{
    memset(card->refused_query, 0, sizeof card->refused_query);
    memset(card->refused_field, 0, sizeof card->refused_field);
    memset(card->refused_list, 0, sizeof card->refused_list);
    card->refused_utilization = NVML_OK;
    card->power_way = 0;
    card->memory_v1 = false;
    card->pcie_tx = card->pcie_rx = card->nvlink_tx = card->nvlink_rx = (struct nvml_counter){0};
    card->fan_count = -1;
}

void card_detach(struct nvml *n, struct nvml_card *card)
{
    gpm_done(n, &card->gpm);
    mig_done(n, card);
    card_forget_refusals(card);
    card->handle = NULL;
    card->sampled = false;
    card->events_registered = false;
    card->load_count = 0;
    card->present.known = false;
    if (card->trouble == NVML_UNINITIALIZED)
        card->trouble = NVML_OK; /* the library's trouble, not the card's */
}

void card_done(struct nvml *n, struct nvml_card *card)
{
    card_detach(n, card);
    free(card->loads);
    card->loads = NULL;
    free(card->present.rows);
    card->present = (struct nvml_present){0};
}

static int find_handle(struct nvml *n, const struct nvml_card *card, nvml_device *handle)
{
    int code = NVML_NOT_FOUND;
    /* By address first: NVML then wakes and opens only that card, while a search by UUID opens all. */
    if (card->id.pci_address[0] && n->lib.by_pci)
        code = n->lib.by_pci(card->id.pci_address, handle);
    else if (card->id.uuid[0] && n->lib.by_uuid)
        code = n->lib.by_uuid(card->id.uuid, handle);
    else if (card->nvml_index >= 0)
        code = n->lib.by_index((unsigned)card->nvml_index, handle);
    return code;
}

/* Integrated GPUs: their "memory" is the host's. */
static bool is_integrated(const char *name)
{
    static const char *const chips[] = {"GB10", "Orin", "Thor", "Xavier", "Tegra"};
    for (size_t i = 0; i < ARRAY_LEN(chips); i++)
        if (strstr(name, chips[i]))
            return true;
    return false;
}

static void identify(struct nvml *n, struct nvml_card *card)
{
    char text[NVML_NAME_SIZE] = "";
    struct gpu_id before = card->id;
    if (n->lib.name && n->lib.name(card->handle, text, sizeof text) == NVML_OK)
        str_copy_clean(card->id.name, sizeof card->id.name, str_from(text));
    text[0] = '\0';
    if (n->lib.uuid && n->lib.uuid(card->handle, text, sizeof text) == NVML_OK)
        str_copy_clean(card->id.uuid, sizeof card->id.uuid, str_from(text));
    struct nvml_pci_info pci = {0};
    if (n->lib.pci && n->lib.pci(card->handle, &pci) == NVML_OK)
        snprintf(card->id.pci_address, sizeof card->id.pci_address, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff,
                 pci.device & 0x1f);
    card->shared_memory = is_integrated(card->id.name);
    if (memcmp(&before, &card->id, sizeof before) != 0)
        n->changed = true;
}

int card_attach(struct nvml *n, struct nvml_card *card)
{
    nvml_device handle = NULL;
    int code = find_handle(n, card, &handle);
    if (code != NVML_OK) {
        card_fail(n, card, code);
        return code;
    }
    card->handle = handle;
    card->trouble = NVML_OK;
    identify(n, card);
    return NVML_OK;
}

void card_count_traffic(struct nvml_card *card, enum metric rate, int64_t bytes)
{
    struct nvml_traffic *t = rate == METRIC_pcie_tx_bytes_per_s   ? &card->sent
                             : rate == METRIC_pcie_rx_bytes_per_s ? &card->received
                                                                  : NULL;
    if (!t)
        return;
    t->counts = true;
    t->bytes += bytes;
}

void card_fail(struct nvml *n, struct nvml_card *card, int code)
{
    if (code == NVML_UNINITIALIZED)
        n->restart = true;
    card->trouble = code;
    card->retried = clock_mono(n->env->clock);
}
