/* SPDX-License-Identifier: Apache-2.0
 * The health of the GPUs: JSON, written and parsed; the inventory; tables for people and lines for check plugins; series.
 */
#include "format/health_forms.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/prometheus/prometheus.h"
#include "format/table/page_table.h"
#include "model/finding.h"
#include "model/finding_code.h"

ANSWER_NAMES(states, enum health_state, health_state_name, HEALTH_UNKNOWN, HEALTH_LOST);
ANSWER_NAMES(checks, enum health_check, health_check_name, 0, HEALTH_CHECK_COUNT - 1);

ANSWER_TEST(is_xid, struct health_finding, of->check == HEALTH_CHECK_XID);

ANSWER_TABLE(finding_answer, struct health_finding)
{
    FIELD(NAME, "check", check, NULL, NAMES(checks), OPEN);
    FIELD(NAME, "code", code, "Of the finding (docs/findings.md)", NAMES(finding_codes), OPEN);
    FIELD(NAME, "state", state, NULL, NAMES(states));
    FIELD(INT, "xid", fault, NULL, WHEN(is_xid));
    FIELD(TEXT, "reason", reason, NULL);
    FIELD(TEXT, "action", action, NULL);
    FIELD(MOMENT, "since", since, NULL, OR_NULL);
}

/* ---- a GPU ---- */

ANSWER_TABLE(head_answer, struct health_verdict)
{
    FIELD(INT, "gpu_index", gpu_index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "gpu_uuid", id.uuid, NULL, OR_NULL);
    FIELD(TEXT, "pci_address", id.pci_address, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL, COUNTS);
    FIELD(OBJECT, "activity", activity, NULL, FIELDS(activity_answer));
    FIELD(NAME, "state", state, NULL, NAMES(states), COUNTS);
    FIELD(TEXT, "reason", reason, NULL, COUNTS);
    FIELD(TEXT, "action", action, "What to do", COUNTS);
    FIELD(MOMENT, "since", since, NULL, OR_NULL, COUNTS);
}

ANSWER_TABLE(whole_answer, struct health_verdict)
{
    KEYS(head_answer);
    FIELD(OBJECT, "usual", usual, NULL, FIELDS(usual_answer), PRESENT(usual.days));
    OBJECTS("findings", findings, finding_count, finding_answer,
            "Those of the verdict that count for health, in its order: a cause before what it brings about", COUNTS);
}

struct health_told_gpu {
    const struct health_verdict *v;
    const struct gpu_looked *looked;
};
ANSWER_TABLE(gpu_answer, struct health_told_gpu, .name = "HealthVerdict")
{
    VIA(KEYS, NULL, v, whole_answer, NULL);
    VIA(KEYS, NULL, looked, looked_answer, NULL);
}

/* ---- all GPUs ---- */

/* The answer: the record and its own context. */
struct told_health {
    struct health_basis basis;
    enum health_state worst;
    struct findings_told found;
    const struct health *health;
    int only;
    struct health_told_gpu gpu; /* the one being written */
};

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    struct told_health *told = at->context;
    while (step->at < told->health->count) {
        const struct health_verdict *v = &told->health->verdicts[step->at++];
        if (told->only != HEALTH_ALL && v->gpu_index != told->only)
            continue;
        told->gpu = (struct health_told_gpu){v, told_looked(told->found.v, v->gpu_index)};
        return &told->gpu;
    }
    return NULL;
}

static const char *log_state_name(int state)
{
    return (const char *const[]){"read", "denied", "absent", "skipped"}[state];
}
ANSWER_NAMES(log_states, int, log_state_name, 0, 3);

ANSWER_TABLE(log_answer, struct told_health)
{
    FIELD(WORD, "state", basis.log_state, "skipped: all GPUs are simulated or replayed", NAMES(log_states));
    FIELD(WORD, "message", basis.log_message, "What to do so that it can be read", OR_NULL);
}

SHARED_ANSWER_TABLE(health_answer, struct told_health, .name = "GpuHealth")
{
    FIELD(MOMENT, "timestamp", basis.at, NULL, OR_NULL, COUNTS);
    FIELD(NAME, "state", worst, NULL, NAMES(states), COUNTS);
    FIELD(BOOL, "remembered", basis.remembered, "false: from one look, without the past");
    FIELD(MOMENT, "watched_since", basis.watched_since, NULL, OR_NULL);
    PART("kernel_log", log_answer, NULL);
    FIELD(KEYS, NULL, found, NULL, FIELDS(verdict_answer));
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(gpu_answer));
}

void json_health(struct json_writer *j, const struct health *health, const struct health_basis *basis,
                 const struct verdict *verdict, int only)
{
    struct told_health told = {.basis = *basis,
                               .worst = HEALTH_UNKNOWN,
                               .found = told_findings(verdict, only == HEALTH_ALL ? EVERY_GPU : only),
                               .health = health,
                               .only = only};
    for (size_t i = 0; i < health->count; i++)
        if (only == HEALTH_ALL || health->verdicts[i].gpu_index == only)
            told.worst = MAX_OF(told.worst, health->verdicts[i].state);
    answer_write(j, &health_answer, &told, &told);
}

/* ---- a change ---- */

ANSWER_TABLE(before_answer, struct health_verdict)
{
    FIELD(NAME, "before", before, NULL, NAMES(states));
}

struct told_change {
    struct wall at;
    const struct health_verdict *v;
};
SHARED_ANSWER_TABLE(health_change_answer, struct told_change, .name = "HealthChange")
{
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL);
    VIA(KEYS, NULL, v, head_answer, NULL);
    VIA(KEYS, NULL, v, before_answer, NULL);
}

void json_health_change(struct json_writer *j, const struct health_verdict *v, struct wall at)
{
    answer_write(j, &health_change_answer, &(struct told_change){at, v}, NULL);
}

/* ---- parsing ---- */

/* A check of another version is left out. */
static void read_verdict(const json_t *json, struct health_verdict *v)
{
    const json_t *findings = json_object_get(json, "findings");
    answer_read(&whole_answer, json, v, NULL);
    v->finding_count = 0;
    for (size_t i = 0; i < json_array_size(findings) && v->finding_count < HEALTH_FINDINGS_MAX; i++) {
        struct health_finding f = {.check = HEALTH_CHECK_COUNT, .code = FINDING_CODE_COUNT};
        answer_read(&finding_answer, json_array_get(findings, i), &f, NULL);
        if (f.check == HEALTH_CHECK_COUNT)
            continue;
        if (f.code == FINDING_CODE_COUNT) /* of an older version */
            f.code = health_check_finding(f.check);
        v->findings[v->finding_count++] = f;
    }
}

struct health *health_from_json(struct str text, struct health_basis *basis, struct buf *texts)
{
    AUTO_JSON json_t *root = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(root, "gpus");
    size_t count = MIN_OF(json_array_size(gpus), (size_t)(2 * GPU_MAX));
    struct health *health = json_is_array(gpus) ? calloc(1, sizeof *health + count * sizeof health->verdicts[0]) : NULL;
    struct told_health told = {.basis.log_state = "absent"};
    for (size_t i = 0; health && i < count; i++)
        read_verdict(json_array_get(gpus, i), &health->verdicts[health->count++]);
    if (health) {
        answer_read(&health_answer, root, &told, NULL);
        buf_text(texts, json_text(json_object_get(root, "kernel_log"), "message"));
        health->worst = told.worst;
        *basis = told.basis;
        basis->log_message = texts->failed ? "" : buf_view(texts).at;
    }
    return health;
}

/* ---- the inventory: what a host is made of, as far as it was ever seen ---- */

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

ANSWER_TABLE(known_gpu_answer, struct inventory_gpu, .name = "InventoryGpu")
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

ANSWER_TABLE(known_part_answer, struct inventory_gpu, .name = "InventoryPart")
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
    PART("gpu", known_gpu_answer, NULL, WHEN(is_gpu));
    PART("part", known_part_answer, NULL, WHEN(is_part));
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

static const void *next_known_gpu(const struct answer_at *at, struct answer_step *step)
{
    return next_card(at->context, step, true);
}

static const void *next_known_part(const struct answer_at *at, struct answer_step *step)
{
    return next_card(at->context, step, false);
}

SHARED_ANSWER_TABLE(inventory_answer, struct inventory, .name = "Inventory", .about = "What this host should have")
{
    EACH(OBJECT, "gpus", next_known_gpu, "All that were ever seen here, or were forgotten within 30 days",
         FIELDS(known_gpu_answer));
    EACH(OBJECT, "parts", next_known_part, "Likewise NPUs, accelerators, and InfiniBand ports that had a link",
         FIELDS(known_part_answer));
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
    answer_write(j, part ? &known_part_answer : &known_gpu_answer, &gpu, NULL);
}

size_t json_inventory(struct json_writer *j, const struct health_history *known, const struct snapshot *now, const char *only)
{
    struct inventory all = {.known = known, .now = now, .only = only};
    answer_write(j, &inventory_answer, &all, &all);
    return all.found;
}

/* ---- for people ---- */

static enum ink health_ink_of(enum health_state state)
{
    switch (state) {
    case HEALTH_HEALTHY: return INK_GOOD;
    case HEALTH_DEGRADED: return INK_WARN;
    case HEALTH_FAILING:
    case HEALTH_LOST: return INK_BAD;
    case HEALTH_ASLEEP:
    case HEALTH_UNKNOWN: break;
    }
    return INK_FAINT;
}

static bool shown(const struct health_verdict *v, int only)
{
    return only == HEALTH_ALL || v->gpu_index == only;
}

static void paragraph(struct buf *out, const struct page *page, enum ink ink, const char *title, const char *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, title, 11);
    page_wrap(out, page, ink, text, 13, 13);
}

/* Present trouble that would affect the GPU's health if it lasted, or NULL. */
static const struct finding *seen_now(const struct verdict *verdict, const struct health_verdict *v)
{
    for (size_t i = 0; verdict && v->state == HEALTH_HEALTHY && i < verdict->count; i++) {
        const struct finding *f = &verdict->findings[i];
        if (f->gpu_index == v->gpu_index && !f->muted && f->severity >= SEVERITY_WARNING &&
            finding_kind(f->code)->effect != EFFECT_HEALTHY)
            return f;
    }
    return NULL;
}

/* The verdict, then other findings. The worst finding is the verdict itself and is not repeated. */
static void one(struct buf *out, const struct page *page, const struct health_verdict *v, int last, const struct finding *seen)
{
    char head[64], age[NUMBER_SIZE];
    if (last > v->gpu_index)
        snprintf(head, sizeof head, "GPUs %d-%d", v->gpu_index, last);
    else
        snprintf(head, sizeof head, "GPU %d", v->gpu_index);
    page_ink(out, page, INK_STRONG, str_from(head));
    if (v->id.name[0])
        buf_printf(out, " %s", v->id.name);
    if (v->simulated) {
        buf_char(out, ' ');
        page_simulated(out, page);
    }
    buf_text(out, "  ");
    page_ink(out, page, seen ? INK_WARN : health_ink_of(v->state), str_from(health_state_name(v->state)));
    buf_text(out, seen ? " so far" : "");
    if (v->since.ms && page->now.ms - v->since.ms >= 60000) {
        show_age(age, page, page->now.ms - v->since.ms);
        buf_text(out, " for ");
        buf_text(out, age);
    }
    buf_char(out, '\n');
    if (seen)
        paragraph(out, page, INK_WARN, "seen now", seen->headline);
    else
        paragraph(out, page, INK_PLAIN, "reason", v->reason);
    bool nothing = strcmp(v->action, HEALTH_NOTHING_TO_DO) == 0;
    if (!nothing)
        paragraph(out, page, INK_STRONG, "what to do", v->action);
    for (size_t i = 1; i < v->finding_count; i++)
        paragraph(out, page, health_ink_of(v->findings[i].state), "also", v->findings[i].reason);
}

/* What the verdict is based on. */
static void looked(struct buf *out, const struct page *page, const struct gpu_looked *l)
{
    char text[AREAS_WORDS];
    if (!page->verbose || !l)
        return;
    if (l->looked)
        paragraph(out, page, INK_FAINT, "looked at", areas_words(l->looked, text));
    if (l->missing[0])
        paragraph(out, page, INK_FAINT, "not at", l->missing);
}

static void limits(struct buf *out, const struct page *page, const struct health_basis *basis, size_t count)
{
    if (!basis->remembered && !basis->watched_since.ms && count)
        page_wrap(
            out, page, INK_FAINT,
            "This was a single look. Only a running `whirr serve` notices what has to last (throttling, heat, a narrow link, a "
            "stopped fan), PCIe errors, and faults that come back after a reset.",
            0, 0);
    if (basis->log_message[0])
        page_wrap(out, page, INK_FAINT, basis->log_message, 0, 0);
}

/* Whether the next GPU has the same health, so that they share an entry. GPUs with findings don't. */
static bool is_alike(const struct health_verdict *a, const struct health_verdict *b)
{
    return b->gpu_index == a->gpu_index + 1 && a->state == b->state && !a->finding_count && !b->finding_count &&
           a->simulated == b->simulated && a->since.ms == b->since.ms && strcmp(a->id.name, b->id.name) == 0 &&
           strcmp(a->reason, b->reason) == 0 && strcmp(a->action, b->action) == 0;
}

void table_health(struct buf *out, const struct page *page, const struct health *health, const struct health_basis *basis,
                  const struct verdict *verdict, int only)
{
    size_t count = 0;
    for (size_t i = 0; i < health->count; i++) {
        if (!shown(&health->verdicts[i], only))
            continue;
        const struct health_verdict *first = &health->verdicts[i];
        const struct finding *seen = seen_now(verdict, first);
        while (only == HEALTH_ALL && !page->verbose && !seen && i + 1 < health->count &&
               is_alike(&health->verdicts[i], &health->verdicts[i + 1]) && !seen_now(verdict, &health->verdicts[i + 1]))
            i++;
        one(out, page, first, health->verdicts[i].gpu_index, seen);
        looked(out, page, verdict_looked(verdict, first->gpu_index));
        count++;
    }
    if (count == 0)
        buf_text(out, "No GPU was found. `whirr doctor` says why.\n");
    else
        buf_char(out, '\n');
    limits(out, page, basis, count);
}

/* ---- check plugins ---- */

/* '|' would end the text, a newline the first line. */
static void plugin_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_char(out, *text == '|' ? '/' : *text == '\n' ? ' ' : *text);
}

int health_status(const struct health *health, int only)
{
    int status = -1, unknown = health_exit_code(HEALTH_UNKNOWN);
    for (size_t i = 0; i < health->count; i++) {
        int its = health_exit_code(health->verdicts[i].state);
        if (shown(&health->verdicts[i], only) && its != unknown)
            status = MAX_OF(status, its);
    }
    return status < 0 ? unknown : status;
}

void nagios_health(struct buf *out, const struct health *health, const struct health_basis *basis, int only)
{
    static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    size_t counts[HEALTH_LOST + 1] = {0}, total = 0, told = 0;
    int code = health_status(health, only);
    for (size_t i = 0; i < health->count; i++)
        if (shown(&health->verdicts[i], only)) {
            counts[health->verdicts[i].state]++;
            total++;
        }
    buf_printf(out, "GPU HEALTH %s - %s", words[code], health->count && health->verdicts[0].simulated ? "SIMULATED, " : "");
    for (size_t i = 0; i < health->count; i++) {
        const struct health_verdict *v = &health->verdicts[i];
        if (!shown(v, only) || health_exit_code(v->state) == 0)
            continue;
        buf_printf(out, "%sGPU %d %s: ", told++ ? " " : "", v->gpu_index, health_state_name(v->state));
        plugin_text(out, v->reason);
    }
    if (total == 0)
        buf_text(out, "no GPU was found");
    else if (told == 0)
        buf_printf(out, "%zu GPU%s, no fault was found", total, total == 1 ? "" : "s");
    if (!basis->remembered)
        buf_text(out, " (one look, no daemon)");
    buf_text(out, " |");
    for (size_t i = HEALTH_HEALTHY; i <= HEALTH_LOST; i++)
        buf_printf(out, " %s=%zu%s", health_state_name((enum health_state)i), counts[i],
                   i == HEALTH_DEGRADED  ? ";0"
                   : i > HEALTH_DEGRADED ? ";;0"
                                         : "");
    buf_printf(out, " asleep=%zu unknown=%zu\n", counts[HEALTH_ASLEEP], counts[HEALTH_UNKNOWN]);
}

/* ---- series ---- */

void prometheus_health(struct buf *out, const struct health *health)
{
    if (health->count == 0)
        return;
    prometheus_head(out, "whirr_gpu_health", "gauge", "Health of the GPU: 1 for the state that holds, 0 for the others");
    for (size_t i = 0; i < health->count; i++)
        for (enum health_state state = HEALTH_UNKNOWN; state <= HEALTH_LOST; state++) {
            const struct health_verdict *v = &health->verdicts[i];
            buf_text(out, "whirr_gpu_health{");
            prometheus_id_labels(out, v->gpu_index, &v->id, v->simulated);
            prometheus_label(out, false, "state", health_state_name(state));
            buf_printf(out, "} %d\n", v->state == state);
        }
}
