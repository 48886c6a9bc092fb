/* SPDX-License-Identifier: Apache-2.0
 * Which cards there are: by NVML's count, or by sysfs when some sleep and must not be opened. Once known, a card is found by PCI
 * address or UUID, because indexes shift when a card is lost.
 */
#include "source/nvml/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void card_init(struct nvml_card *card, int nvml_index)
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
    if (NVML(n, name, card->handle, text, sizeof text) == NVML_OK)
        str_copy_clean(card->id.name, sizeof card->id.name, str_from(text));
    text[0] = '\0';
    if (NVML(n, uuid, card->handle, text, sizeof text) == NVML_OK)
        str_copy_clean(card->id.uuid, sizeof card->id.uuid, str_from(text));
    struct nvml_pci_info pci = {0};
    if (NVML(n, pci, card->handle, &pci) == NVML_OK)
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

static struct nvml_card *add_card(struct nvml *n, int nvml_index)
{
    struct nvml_card *more = realloc(n->cards, (n->card_count + 1) * sizeof *more);
    if (!more)
        return NULL;
    n->cards = more;
    card_init(&more[n->card_count], nvml_index);
    return &more[n->card_count++];
}

static void hide_last_card(struct nvml *n)
{
    card_done(n, &n->cards[--n->card_count]);
    n->hidden++;
}

/* A list of MIG UUIDs shows the cards that contain one of them; hide_ambiguous hides the others. */
static bool shows_card(struct nvml *n, struct nvml_card *card)
{
    if (visible_card(n->env->visible_devices, n->total, card->nvml_index, card->id.uuid, NULL))
        return true;
    if (!card->handle || !strstr(n->env->visible_devices, "MIG-"))
        return false;
    return mig_update(n, card, GROUP_STATIC);
}

static int find_running(struct nvml *n, struct error *err)
{
    unsigned count = 0;
    int code = n->lib.count(&count);
    if (code != NVML_OK)
        return error_set(err, -ENODEV, "%s: NVML does not count its GPUs", nvml_words(&n->lib, code));
    if (count == 0)
        return error_set(err, -ENODEV, "the NVIDIA driver is loaded but finds no GPU");
    n->total = count;
    for (unsigned i = 0; i < count && n->card_count < GPU_MAX; i++) {
        if (!visible_card(n->env->visible_devices, count, (int)i, "", NULL)) {
            n->hidden++;
            continue;
        }
        struct nvml_card *card = add_card(n, (int)i);
        if (!card)
            return error_set(err, -ENOMEM, "out of memory");
        code = card_attach(n, card);
        if (code == NVML_OK && !shows_card(n, card))
            hide_last_card(n);
    }
    return 0;
}

/* A card that doesn't open has no name: it must be the one that only sysfs knows. */
static void name_unopened(struct nvml *n)
{
    size_t next = 0;
    for (size_t i = 0; i < n->card_count; i++) {
        if (n->cards[i].id.pci_address[0])
            continue;
        for (; next < n->seen_count; next++) {
            bool known = false;
            for (size_t k = 0; k < n->card_count && !known; k++)
                known = strcmp(n->cards[k].id.pci_address, n->seen[next].address) == 0;
            if (!known)
                break;
        }
        if (next == n->seen_count)
            return;
        sleep_identify(n->env, n->seen[next++].address, &n->cards[i].id);
    }
}

/* With a card asleep, sysfs provides the list (NVML orders by address), and only the others are opened. */
static int find_mixed(struct nvml *n, struct error *err)
{
    n->total = n->seen_count;
    for (size_t i = 0; i < n->seen_count && n->card_count < GPU_MAX; i++) {
        struct nvml_card *card = add_card(n, (int)i);
        if (!card)
            return error_set(err, -ENOMEM, "out of memory");
        sleep_identify(n->env, n->seen[i].address, &card->id);
        card->asleep = n->seen[i].asleep;
        if (!card->asleep)
            card_attach(n, card);
        if (!shows_card(n, card))
            hide_last_card(n);
    }
    return 0;
}

/* Now that all UUIDs are known: an ambiguous abbreviation shows none. */
static void hide_ambiguous(struct nvml *n)
{
    struct visible_uuids all = {0};
    bool hides[GPU_MAX] = {0};
    if (n->visible != VISIBLE_LISTED)
        return;
    for (size_t i = 0; i < n->card_count; i++)
        all.at[all.count++] = n->cards[i].id.uuid;
    for (size_t i = 0; i < n->card_count; i++) /* a card with instances was shown for them */
        hides[i] = !n->cards[i].instance_count && n->cards[i].id.uuid[0] &&
                   !visible_card(n->env->visible_devices, n->total, n->cards[i].nvml_index, n->cards[i].id.uuid, &all);
    for (size_t i = n->card_count; i-- > 0;) {
        if (!hides[i])
            continue;
        struct nvml_card card = n->cards[i];
        memmove(&n->cards[i], &n->cards[i + 1], (n->card_count - i - 1) * sizeof card);
        n->cards[n->card_count - 1] = card;
        hide_last_card(n);
    }
}

int find_cards(struct nvml *n, struct error *err)
{
    size_t asleep = 0;
    int seen = sleep_scan(n->env, n->seen, ARRAY_LEN(n->seen));
    if (seen < 0) /* without knowing which cards sleep, starting NVML might wake them */
        return error_set(err, seen, "cannot look at the PCI devices: %s", strerror(-seen));
    n->seen_count = (size_t)seen;
    for (size_t i = 0; i < n->seen_count; i++)
        asleep += n->seen[i].asleep;
    if (n->seen_count == 0 || asleep < n->seen_count) {
        int rc = session_start(n, err);
        if (rc < 0)
            return rc;
    } else {
        sleep_driver_version(n->env, n->driver.driver_version, sizeof n->driver.driver_version);
    }
    int rc = asleep ? find_mixed(n, err) : find_running(n, err);
    if (rc == 0 && !asleep)
        name_unopened(n);
    if (rc == 0)
        hide_ambiguous(n);
    return rc;
}

/* Hot-plugged cards: NVML sees them only after a restart. */
void find_plugged(struct nvml *n)
{
    char address[GPU_PCI_SIZE];
    if (n->visible != VISIBLE_ALL || n->card_count == GPU_MAX || !sleep_find_new(n, address))
        return;
    session_stop(n);
    struct nvml_card *card = session_start(n, NULL) == 0 ? add_card(n, (int)n->card_count) : NULL;
    if (!card)
        return;
    sleep_identify(n->env, address, &card->id);
    if (card_attach(n, card) == NVML_OK)
        n->changed = true;
    else
        card_done(n, &n->cards[--n->card_count]); /* hidden from us */
}
