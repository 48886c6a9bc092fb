/* SPDX-License-Identifier: Apache-2.0
 * Expected GPUs, accelerators and ports. A missing GPU can't report itself: if the host remembers one, or the PCI bus shows one,
 * the roster lists it, even if no driver does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/keep.h"
#include "engine/internal.h"
#include "insight/verdict/judge.h"
#include "source/sysfs/bus.h"

enum { EXPECTED_MAX = 64 };

/* The source that would list the GPU: the named one, or its open fallback. -1: none is asked. */
static int slot_for(const struct engine *e, const char *source)
{
    int named = -1;
    for (size_t i = 0; i < e->slot_count; i++) {
        const struct slot *s = &e->slots[i];
        if (strcmp(s->ops->name, source) == 0)
            named = named < 0 || s->open ? (int)i : named;
        else if (s->open && s->ops->instead_of && strcmp(s->ops->instead_of, source) == 0)
            return (int)i;
    }
    return named;
}

/* False in a container or a scheduler's job that sees only some devices: the other GPUs aren't missing. */
static bool sees_all_gpus(const struct env *env)
{
    return !env->in_job && (!env->visible_devices || strcmp(env->visible_devices, "all") == 0);
}

/* Whether another GPU is at its PCI address, or was seen there since: it was removed, not lost. */
static bool is_replaced(const struct engine *e, const struct health_history *known, const struct health_card *card)
{
    const struct gpu_id *id = &card->id;
    for (size_t i = 0; i < known->card_count && id->pci_address[0] && id->uuid[0]; i++)
        if (known->cards[i].id.uuid[0] && !known->cards[i].forgotten.ms && known->cards[i].last_seen.ms > card->last_seen.ms &&
            strcmp(known->cards[i].id.pci_address, id->pci_address) == 0 && strcmp(known->cards[i].id.uuid, id->uuid) != 0)
            return true;
    for (size_t i = 0; i < e->slot_count && id->pci_address[0] && id->uuid[0]; i++)
        for (size_t g = 0; e->slots[i].result && g < e->slots[i].result->gpu_count; g++) {
            const struct gpu_id *now = &e->slots[i].result->gpus[g].id;
            if (now->uuid[0] && strcmp(now->pci_address, id->pci_address) == 0 && strcmp(now->uuid, id->uuid) != 0)
                return true;
        }
    return false;
}

/* Until it is listed again. */
static void leave_out(struct roster *r, const struct gpu_id *id)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->entries[i].present && gpu_same(&r->entries[i].id, id))
            r->entries[i].forgotten = true;
}

static void expect_remembered(struct engine *e)
{
    pthread_mutex_lock(&e->judge_lock);
    const struct health_history *known = judge_health(e->judge);
    size_t count = e->inventory == known->changes ? 0 : known->card_count;
    e->inventory = known->changes;
    for (size_t i = 0; i < count; i++) {
        const struct health_card *card = &known->cards[i];
        bool identified = card->id.uuid[0] || card->id.pci_address[0];
        int slot = identified ? slot_for(e, card->source) : -1;
        struct roster *roster = card->id.kind == DEVICE_GPU ? &e->roster : &e->accelerators;
        if (slot < 0 || e->slots[slot].ops->host)
            continue;
        if (card->forgotten.ms || is_replaced(e, known, card)) {
            leave_out(roster, &card->id);
            continue;
        }
        /* NULL: the roster has it. */
        struct roster_entry *entry = roster_expect(roster, &card->id, (size_t)slot);
        if (!entry || e->slots[slot].ops->simulated)
            continue;
        switch (bus_find(e->env, card->id.pci_address, entry->reason)) {
        case BUS_GONE: entry->unseen = GPU_LOST; break;
        case BUS_GIVEN_AWAY: roster->count--; break;
        case BUS_NO_DRIVER:
        case BUS_DRIVEN:
        case BUS_UNKNOWN: break;
        }
    }
    pthread_mutex_unlock(&e->judge_lock);
}

void expect_ports(struct engine *e)
{
    if (!sees_all_gpus(e->env))
        return;
    pthread_mutex_lock(&e->judge_lock);
    const struct health_history *known = judge_health(e->judge);
    for (size_t i = 0; i < known->card_count; i++) {
        const struct health_card *card = &known->cards[i];
        if (card->id.kind == DEVICE_IB_PORT)
            machine_expect_port(e->machine, card->id.uuid, card->id.name, card->forgotten.ms);
    }
    pthread_mutex_unlock(&e->judge_lock);
}

void learn_ports(struct engine *e)
{
    struct machine_port ports[MACHINE_PORTS_MAX];
    size_t count = machine_ports(e->machine, ports);
    pthread_mutex_lock(&e->judge_lock);
    for (size_t i = 0; i < count; i++)
        health_note_port(judge_health(e->judge), ports[i].name, ports[i].model, ports[i].up, clock_wall(e->env->clock));
    pthread_mutex_unlock(&e->judge_lock);
}

static void read_line(const struct env *env, const char *path, char *text, size_t size)
{
    char line[128];
    if (!text[0] && file_read_head(env, path, line, sizeof line) > 0)
        str_copy_clean(text, size, str_trim(str_from(line)));
}

/* A simulated host is the same one as long as its parameters are, except for its faults and its clock: so drills can take GPUs out
 * of it. */
static void name_simulated_host(const struct engine *e, struct health_history *h)
{
    h->machine[0] = '\0';
    for (size_t i = 0; i < e->slot_count; i++) {
        struct str rest = str_from(e->slots[i].params), one;
        if (!e->slots[i].ops->simulated)
            continue;
        int len = snprintf(h->machine, sizeof h->machine, "%s", e->slots[i].ops->name);
        while (str_cut(&rest, ',', &one) && len < (int)sizeof h->machine)
            if (!str_starts(one, "fault=") && !str_starts(one, "start=") && !str_starts(one, "speed="))
                len += snprintf(h->machine + len, sizeof h->machine - (size_t)len, "," STR_FMT, STR_ARG(one));
    }
}

static int recall_from(struct engine *e, const char *path, const struct health_host *host, struct health_log_mark *seen,
                       struct error *err)
{
    AUTO_BUF struct buf text = BUF(HEALTH_FILE_MAX);
    int rc = keep_read(path, &text, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->judge_lock);
    rc = health_read(judge_health(e->judge), buf_view(&text), host, clock_wall(e->env->clock), seen, err);
    pthread_mutex_unlock(&e->judge_lock);
    return rc;
}

int engine_recall(struct engine *e, const char *state, struct health_place *place, struct health_log_mark *seen, struct error *err)
{
    enum { ID = 12 };
    *place = (struct health_place){0};
    *seen = (struct health_log_mark){0};
    name_simulated_host(e, judge_health(engine_lock_judge(e)));
    engine_unlock_judge(e);
    read_line(e->env, "/proc/sys/kernel/random/boot_id", place->host.boot, sizeof place->host.boot);
    read_line(e->env, "/etc/machine-id", place->host.machine, sizeof place->host.machine);
    read_line(e->env, "/proc/sys/kernel/hostname", place->host.machine, sizeof place->host.machine);
    snprintf(place->path, sizeof place->path, "%s/health.json", state);
    int rc = recall_from(e, place->path, &place->host, seen, err);
    if (rc != -EXDEV)
        return rc;
    /* Another host already uses that file: this host gets its own. */
    snprintf(place->path, sizeof place->path, "%s/health-%.*s.json", state, ID, place->host.machine);
    return recall_from(e, place->path, &place->host, seen, err);
}

static bool any_listed(const struct engine *e)
{
    bool any = e->roster.count > 0;
    for (size_t i = 0; i < e->slot_count; i++)
        any |= e->slots[i].result && e->slots[i].result->gpu_count > 0;
    return any;
}

static void expect_plugged_in(struct engine *e)
{
    struct bus_expected list[EXPECTED_MAX];
    size_t count = bus_expected_gpus(e->env, list, EXPECTED_MAX);
    for (size_t i = 0; i < count; i++) {
        int slot = slot_for(e, list[i].source);
        struct roster_entry *entry = slot < 0 ? NULL : roster_expect(&e->roster, &list[i].id, (size_t)slot);
        if (!entry)
            continue;
        str_copy(entry->reason, sizeof entry->reason, str_from(list[i].reason));
        if (!list[i].reason[0] && e->slots[slot].status.state == SOURCE_OK) {
            snprintf(entry->reason, sizeof entry->reason, "its kernel driver has it, but %s does not list it", list[i].source);
            entry->unseen = GPU_LOST;
        }
    }
}

void expect_gpus(struct engine *e)
{
    if (!sees_all_gpus(e->env))
        return;
    expect_remembered(e);
    if (e->sequence == 0 && !any_listed(e))
        expect_plugged_in(e);
}
