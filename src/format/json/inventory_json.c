/* SPDX-License-Identifier: Apache-2.0
 * The inventory as JSON: what a host is made of, as far as it was ever seen.
 */
#include "base/cleanup.h"
#include "format/health.h"
#include "format/json/json.h"

static const char *place_name(enum inventory_place place)
{
    static const char *const names[] = {"present", "missing", "replaced", "forgotten"};
    return names[place];
}
ANSWER_NAMES(places, enum inventory_place, place_name, INVENTORY_PRESENT, INVENTORY_FORGOTTEN);

ANSWER_TEST(is_forgotten, struct inventory_gpu, of->card->forgotten.ms > 0);

ANSWER_TABLE(card_answer, struct health_card)
{
    FIELD(INT, "gpu_index", index, "The last one it had");
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL);
    FIELD(TEXT, "gpu_uuid", id.uuid, NULL, OR_NULL);
    FIELD(TEXT, "pci_address", id.pci_address, NULL, OR_NULL);
    FIELD(TEXT, "serial", serial, NULL, OR_NULL);
    FIELD(TEXT, "source", source, "Which driver it was read with");
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(INT, "nvlinks", nvlinks_most, "The most NVLinks that were ever up");
    FIELD(MOMENT, "first_seen_at", first_seen, NULL, OR_NULL);
    FIELD(MOMENT, "last_seen_at", last_seen, NULL, OR_NULL);
}

ANSWER_TABLE(forgotten_answer, struct health_card)
{
    FIELD(MOMENT, "at", forgotten, NULL);
    FIELD(TEXT, "by", forgotten_by, NULL, OR_NULL);
}

ANSWER_TABLE(gpu_answer, struct inventory_gpu, .name = "InventoryGpu")
{
    VIA(KEYS, NULL, card, card_answer, NULL);
    FIELD(NAME, "state", place, "replaced: another GPU is in its slot", NAMES(places));
    FIELD(TEXT, "replaced_by", successor.uuid, "The UUID of that GPU", OR_NULL);
    VIA(OBJECT, "forgotten", card, forgotten_answer, "It need not be there; until it is seen again", WHEN(is_forgotten));
}

ANSWER_NAMES(part_kinds, enum device_kind, device_kind_name, DEVICE_NPU, DEVICE_IB_PORT);

ANSWER_TABLE(part_card_answer, struct health_card)
{
    FIELD(NAME, "kind", id.kind, NULL, NAMES(part_kinds));
    FIELD(TEXT, "model", id.name, NULL, OR_NULL);
    FIELD(MOMENT, "first_seen_at", first_seen, NULL, OR_NULL);
    FIELD(MOMENT, "last_seen_at", last_seen, NULL, OR_NULL);
}

ANSWER_TABLE(part_answer, struct inventory_gpu, .name = "InventoryPart")
{
    FIELD(WORD, "name", name, "What `whirr forget` takes: a port, else a UUID or PCI address");
    VIA(KEYS, NULL, card, part_card_answer, NULL);
    FIELD(NAME, "state", place, NULL, NAMES(places));
    VIA(OBJECT, "forgotten", card, forgotten_answer, "It need not be there; until it is seen again", WHEN(is_forgotten));
}

ANSWER_TEST(is_gpu, struct inventory_gpu, of->card && of->card->id.kind == DEVICE_GPU);
ANSWER_TEST(is_part, struct inventory_gpu, of->card && of->card->id.kind != DEVICE_GPU);

SHARED_ANSWER_TABLE(forgotten_one_answer, struct inventory_gpu, .name = "Forgotten")
{
    PART("gpu", gpu_answer, NULL, WHEN(is_gpu));
    PART("part", part_answer, NULL, WHEN(is_part));
}

static const void *next_card(struct inventory *all, struct answer_step *step, bool gpus)
{
    for (; step->at < all->known->card_count; step->at++) {
        const struct health_card *card = &all->known->cards[step->at];
        if ((card->id.kind == DEVICE_GPU) != gpus || (all->only && !health_is_called(card, all->only)))
            continue;
        step->at++;
        all->found++;
        inventory_gpu(&all->gpu, card, all->now);
        return &all->gpu;
    }
    return NULL;
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    return next_card(at->context, step, true);
}

static const void *next_part(const struct answer_at *at, struct answer_step *step)
{
    return next_card(at->context, step, false);
}

SHARED_ANSWER_TABLE(inventory_answer, struct inventory, .name = "Inventory", .about = "What this host should have")
{
    EACH(OBJECT, "gpus", next_gpu, "All that were ever seen here, or were forgotten within 30 days", FIELDS(gpu_answer));
    EACH(OBJECT, "parts", next_part, "Likewise NPUs, accelerators, and InfiniBand ports that had a link", FIELDS(part_answer));
}

void inventory_gpu(struct inventory_gpu *to, const struct health_card *card, const struct snapshot *now)
{
    const struct gpu *successor = health_successor(card, now);
    *to = (struct inventory_gpu){.card = card,
                                 .name = gpu_id_key(&card->id),
                                 .place = card->forgotten.ms           ? INVENTORY_FORGOTTEN
                                          : health_is_there(card, now) ? INVENTORY_PRESENT
                                          : successor                  ? INVENTORY_REPLACED
                                                                       : INVENTORY_MISSING};
    if (successor)
        to->successor = successor->id;
}

void json_inventory_gpu(struct json_writer *j, const struct health_card *card, const struct snapshot *now)
{
    struct inventory_gpu gpu;
    bool part = card->id.kind != DEVICE_GPU;
    inventory_gpu(&gpu, card, now);
    answer_write(j, part ? &part_answer : &gpu_answer, &gpu, NULL);
}

size_t json_inventory(struct json_writer *j, const struct health_history *known, const struct snapshot *now, const char *only)
{
    struct inventory all = {.known = known, .now = now, .only = only};
    answer_write(j, &inventory_answer, &all, &all);
    return all.found;
}
