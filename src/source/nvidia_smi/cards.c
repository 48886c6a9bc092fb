/* SPDX-License-Identifier: Apache-2.0
 * Cards between runs, identified by UUID and PCI address: a lost card may renumber the others.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/nvidia_smi/internal.h"
#include "source/nvml/outside.h"

struct smi_known_card *smi_card_find(struct smi *s, const struct gpu_id *id)
{
    for (size_t i = 0; i < s->count; i++) {
        struct gpu_id *mine = &s->cards[i].id;
        if ((id->uuid[0] && strcmp(mine->uuid, id->uuid) == 0) ||
            (id->pci_address[0] && strcmp(mine->pci_address, id->pci_address) == 0))
            return &s->cards[i];
    }
    return NULL;
}

static struct smi_known_card *cards_add(struct smi *s, const struct gpu_id *id, int index)
{
    if (s->count == GPU_MAX)
        return NULL;
    struct smi_known_card *more = realloc(s->cards, (s->count + 1) * sizeof *more);
    if (!more) {
        s->no_memory = true;
        return NULL;
    }
    s->cards = more;
    struct smi_known_card *card = &more[s->count++];
    *card = (struct smi_known_card){.id = *id, .index = index};
    s->changed = true;
    return card;
}

void smi_cards_done(struct smi *s)
{
    for (size_t i = 0; i < s->count; i++) {
        gpu_done(&s->cards[i].now);
        gpu_done(&s->cards[i].slow);
    }
    free(s->cards);
    s->cards = NULL;
    s->count = 0;
}

void smi_cards_look_asleep(struct smi *s)
{
    struct nvml_seen seen[GPU_MAX];
    int found = sleep_scan(s->env, seen, ARRAY_LEN(seen));
    if (found < 0)
        return; /* keep the last state */
    size_t count = (size_t)found;
    for (size_t i = 0; i < s->count; i++)
        s->cards[i].asleep = false;
    s->awake = 0;
    for (size_t i = 0; i < count; i++) {
        s->awake += !seen[i].asleep;
        struct gpu_id id = {0};
        str_copy(id.pci_address, sizeof id.pci_address, str_from(seen[i].address));
        struct smi_known_card *card = smi_card_find(s, &id);
        if (!card && seen[i].asleep) {
            /* nvidia-smi would wake it; files have what can be known. */
            sleep_identify(s->env, seen[i].address, &id);
            if (visible_card(s->env->visible_devices, count, (int)i, id.uuid, NULL))
                card = cards_add(s, &id, -1);
        }
        if (card)
            card->asleep = seen[i].asleep;
    }
}

bool smi_cards_all_asleep(const struct smi *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->cards[i].asleep)
            return false;
    return s->count > 0 && s->awake == 0;
}

static bool may_ask(const struct smi *s, const struct smi_known_card *card)
{
    return !card->asleep && clock_mono(s->env->clock).ns >= card->skip_until.ns;
}

void smi_cards_to_ask(struct smi *s, struct buf *out)
{
    struct nvml_seen seen[GPU_MAX];
    bool all = true;
    for (size_t i = 0; i < s->count; i++)
        all = all && may_ask(s, &s->cards[i]);
    if (all)
        return;
    /* GPUs not listed yet may exist, too. */
    int count = sleep_scan(s->env, seen, ARRAY_LEN(seen));
    for (int i = 0; i < count; i++) {
        struct gpu_id id = {0};
        str_copy(id.pci_address, sizeof id.pci_address, str_from(seen[i].address));
        struct smi_known_card *card = smi_card_find(s, &id);
        if (seen[i].asleep || (card && !may_ask(s, card)))
            continue;
        buf_printf(out, "%s%s", out->len ? "," : "", seen[i].address);
    }
    for (size_t i = 0; i < s->count && count <= 0; i++)
        if (may_ask(s, &s->cards[i]) && s->cards[i].id.pci_address[0])
            buf_printf(out, "%s%s", out->len ? "," : "", s->cards[i].id.pci_address);
}

/* Sets state and message; a lost card keeps its message while it is skipped. */
static void set_state(struct smi_known_card *card, enum gpu_state gpu_state, const char *message)
{
    if (card->now.state == GPU_LOST)
        return;
    gpu_done(&card->now);
    card->now = (struct gpu){0};
    gpu_mark_state(&card->now, gpu_state, message);
}

static bool in_report(const struct smi_report *r, const struct smi_known_card *card)
{
    for (size_t i = 0; i < r->count; i++)
        if ((card->id.uuid[0] && strcmp(card->id.uuid, r->cards[i].gpu.id.uuid) == 0) ||
            (card->id.pci_address[0] && strcmp(card->id.pci_address, r->cards[i].gpu.id.pci_address) == 0))
            return true;
    return false;
}

static struct smi_known_card *find_or_add(struct smi *s, const struct smi_card *said, const struct visible_uuids *all)
{
    const struct gpu_id *id = &said->gpu.id;
    struct smi_known_card *card = smi_card_find(s, id);
    if (card)
        return card;
    if (!visible_card(s->env->visible_devices, all->count, said->index, id->uuid, all)) {
        s->hidden++;
        return NULL;
    }
    return cards_add(s, id, said->index);
}

static void learn_identity(struct smi_known_card *card, const struct gpu_id *id)
{
    if (!card->id.uuid[0])
        str_copy(card->id.uuid, sizeof card->id.uuid, str_from(id->uuid));
    if (!card->id.pci_address[0])
        str_copy(card->id.pci_address, sizeof card->id.pci_address, str_from(id->pci_address));
    if (id->name[0])
        str_copy(card->id.name, sizeof card->id.name, str_from(id->name));
}

void smi_cards_update(struct smi *s, struct smi_report *r)
{
    struct visible_uuids all = {.count = MIN_OF(r->count, (size_t)GPU_MAX)};
    for (size_t i = 0; i < all.count; i++)
        all.at[i] = r->cards[i].gpu.id.uuid;
    s->hidden = 0;
    s->no_memory = false;
    for (size_t i = 0; i < r->count; i++) {
        struct smi_known_card *card = find_or_add(s, &r->cards[i], &all);
        if (!card)
            continue;
        learn_identity(card, &r->cards[i].gpu.id);
        card->index = r->cards[i].index >= 0 ? r->cards[i].index : card->index;
        card->listed = true;
        if (r->cards[i].gpu.state == GPU_LOST) {
            set_state(card, GPU_LOST, r->cards[i].gpu.error_message);
            continue;
        }
        gpu_done(&card->now);
        card->now = r->cards[i].gpu;
        /* Its lists were moved. */
        struct gpu *left = &r->cards[i].gpu;
        left->processes = NULL;
        left->instances = NULL;
        left->process_count = left->process_capacity = left->instance_count = 0;
    }
    for (size_t i = 0; i < s->count; i++) {
        struct smi_known_card *card = &s->cards[i];
        if (card->listed && may_ask(s, card) && !in_report(r, card))
            set_state(card, r->nameless ? GPU_ERROR : GPU_LOST, r->nameless ? NAMELESS : "nvidia-smi no longer lists this GPU");
    }
}

void smi_cards_update_apps(struct smi *s, struct smi_report *r)
{
    for (size_t i = 0; i < s->count; i++) {
        struct gpu *now = &s->cards[i].now;
        free(now->processes);
        now->processes = NULL;
        now->process_count = now->process_capacity = now->processes_left_out = 0;
        struct smi_card *said = smi_report_card(r, s->cards[i].id.uuid, s->cards[i].id.pci_address);
        if (!said)
            continue;
        now->processes = TAKE(said->gpu.processes);
        now->process_count = now->process_capacity = said->gpu.process_count;
        now->processes_left_out = said->gpu.processes_left_out;
        said->gpu.process_count = said->gpu.process_capacity = 0;
    }
}

void smi_cards_update_slow(struct smi *s, struct smi_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct smi_known_card *card = smi_card_find(s, &r->cards[i].gpu.id);
        if (!card)
            continue;
        gpu_done(&card->slow);
        card->slow = r->cards[i].gpu;
        r->cards[i].gpu = (struct gpu){.id = card->slow.id};
    }
}
