/* SPDX-License-Identifier: Apache-2.0
 * Opens, lists and closes sources of cards.
 */
#include "source/drm/card_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int update(struct card_source *s)
{
    int count = card_list_update(&s->cards, s->env, s->wanted);
    return count < 0 || !s->kind->complete ? count : s->kind->complete(s);
}

int card_source_open(const struct card_kind *kind, const struct env *env, bool (*wanted)(const struct drm_card *),
                     struct source **ret, struct error *err)
{
    struct card_source *s = calloc(1, kind->size);
    if (!s)
        return error_set(err, -ENOMEM, "out of memory");
    s->source.ops = kind->ops;
    s->kind = kind;
    s->env = env;
    s->wanted = wanted;
    s->scan = drm_scan_ref(env);
    int count = s->scan ? update(s) : -ENOMEM;
    if (count <= 0) {
        kind->ops->close(&s->source);
        return count < 0 ? error_set(err, count, "cannot read %s: %s", kind->folder, strerror(-count))
                         : error_set(err, -ENODEV, "%s", kind->none);
    }
    *ret = &s->source;
    return 0;
}

void card_source_close(struct source *source)
{
    struct card_source *s = (struct card_source *)source;
    if (!s)
        return;
    drm_scan_unref(s->scan);
    card_list_done(&s->cards);
    free(s);
}

int card_source_list(struct source *source, struct gpu_id *ids, size_t max)
{
    struct card_source *s = (struct card_source *)source;
    int count = update(s);
    for (int i = 0; i < count && (size_t)i < max; i++) {
        const struct drm_card *card = &s->cards.slots[i].card;
        ids[i] = (struct gpu_id){0};
        str_copy(ids[i].pci_address, sizeof ids[i].pci_address, str_from(card->pci_address));
        str_copy(ids[i].vendor, sizeof ids[i].vendor, str_from(s->kind->vendor ? s->kind->vendor : gpu_vendor(card)));
        gpu_name_find(s->env, card, ids[i].name);
        if (s->kind->identify)
            s->kind->identify(s, (size_t)i, &ids[i]);
    }
    return count < 0 ? count : (int)MIN_OF((size_t)count, max);
}

int card_source_refresh(struct source *source, unsigned groups, struct error *err)
{
    (void)err;
    if (groups & (GROUP_FAST | GROUP_PROCESS))
        drm_scan_refresh(((struct card_source *)source)->scan);
    return 0;
}

bool card_source_changed(struct source *source)
{
    struct card_source *s = (struct card_source *)source;
    return card_list_changed(&s->cards, s->env);
}

enum card_power card_source_power(const struct card_source *s, size_t at)
{
    const struct card_slot *slot = &s->cards.slots[at];
    return slot->present ? drm_card_power(&slot->card, s->env) : CARD_GONE;
}

const char *card_power_name(enum card_power power)
{
    return power == CARD_AWAKE ? "awake" : power == CARD_ASLEEP ? "asleep" : "gone";
}

bool card_source_rests(const struct card_source *s, enum card_power power, struct gpu *out)
{
    char why[64];
    if (power == CARD_AWAKE)
        return false;
    gpu_done(out);
    snprintf(why, sizeof why, "%s was removed or its driver unbound", s->kind->subject);
    gpu_mark_state(out, power == CARD_GONE ? GPU_LOST : GPU_ASLEEP, power == CARD_GONE ? why : NULL);
    return power == CARD_ASLEEP;
}

void card_take_pids(struct str text, struct gpu *out)
{
    struct str line;
    int64_t pid;
    while (str_cut(&text, '\n', &line)) {
        if (!str_to_i64(str_trim(line), &pid) || pid <= 0 || pid > INT32_MAX || gpu_find_process(out, (int32_t)pid))
            continue;
        struct process *p = gpu_add_process(out, (int32_t)pid);
        if (!p)
            break;
        p->type = PROCESS_COMPUTE;
    }
    out->processes_state = READING_OK;
}

const struct drm_card *card_source_card(struct source *source, size_t gpu, const struct env **ret_env)
{
    const struct card_source *s = (const struct card_source *)source;
    *ret_env = s->env;
    return gpu < s->cards.count && s->cards.slots[gpu].present ? &s->cards.slots[gpu].card : NULL;
}
