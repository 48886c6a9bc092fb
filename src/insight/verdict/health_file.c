/* SPDX-License-Identifier: Apache-2.0
 * The memory of the cards as JSON, both ways. States and checks go by name: numbers change between versions.
 */
#include "insight/verdict/health_file.h"
#include "insight/verdict/health.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "model/finding_code.h"

enum { FILE_VERSION = 1 };

static void put_reading(struct json_writer *j, const char *key, struct reading r)
{
    jw_key(j, key);
    if (r.state == READING_OK)
        jw_int(j, r.value);
    else
        jw_null(j);
}

static void put_fault(struct json_writer *j, const struct health_fault *f)
{
    jw_object(j);
    jw_key_text(j, "check", health_check_name(health_check_of(f->code)));
    jw_key_text(j, "finding", finding_code_name(f->code));
    jw_key_int(j, "code", f->number);
    jw_key_int(j, "first_ms", f->first_at.ms);
    jw_key_int(j, "last_ms", f->last_at.ms);
    jw_key_int(j, "held_ms", f->held.ms);
    jw_key_int(j, "times", f->times);
    jw_key_int(j, "total", (int64_t)f->total);
    jw_key_int(j, "resets", f->resets);
    jw_key_bool(j, "returned", f->returned);
    jw_key_bool(j, "active", f->active);
    jw_key_text(j, "state", health_state_name(HEALTH_HEALTHY + f->health));
    jw_key_text(j, "reason", f->reason);
    jw_end(j);
}

static void put_card(struct json_writer *j, const struct health_card *c)
{
    jw_object(j);
    jw_key_text(j, "uuid", c->id.uuid);
    jw_key_text(j, "pci_address", c->id.pci_address);
    jw_key_text(j, "name", c->id.name);
    jw_key_text(j, "vendor", c->id.vendor);
    if (c->id.kind)
        jw_key_text(j, "kind", device_kind_name(c->id.kind));
    jw_key_int(j, "index", c->index);
    jw_key_text(j, "source", c->source);
    if (c->simulated)
        jw_key_text(j, "machine", c->machine);
    jw_key_text(j, "serial", c->serial);
    jw_key_int(j, "first_seen_ms", c->first_seen.ms);
    jw_key_int(j, "last_seen_ms", c->last_seen.ms);
    if (c->forgotten.ms) {
        jw_key_int(j, "forgotten_ms", c->forgotten.ms);
        jw_key_text(j, "forgotten_by", c->forgotten_by);
    }
    jw_key_bool(j, "was_lost", !c->simulated && (c->last_state == GPU_LOST || c->last_state == GPU_ERROR));
    jw_key_int(j, "resets", c->resets);
    put_reading(j, "energy_mj", c->simulated ? (struct reading){0} : c->energy_mj);
    put_reading(j, "ecc_corrected", c->simulated ? (struct reading){0} : c->ecc_corrected);
    put_reading(j, "ecc_uncorrected", c->simulated ? (struct reading){0} : c->ecc_uncorrected);
    jw_key_int(j, "nvlinks_most", c->nvlinks_most);
    jw_key_text(j, "state", health_state_name(c->simulated ? HEALTH_UNKNOWN : c->state));
    jw_key_int(j, "state_since_ms", c->simulated ? 0 : c->state_since.ms);
    jw_key_array(j, "faults");
    for (size_t i = 0; i < c->fault_count && !c->simulated; i++) /* a simulation begins anew */
        put_fault(j, &c->faults[i]);
    jw_end(j);
    jw_end(j);
}

static bool belongs_here(const struct health_history *h, const struct health_card *c, struct wall now)
{
    bool named = c->id.uuid[0] || c->id.pci_address[0];
    bool ours = c->simulated ? h->machine[0] && strcmp(c->machine, h->machine) == 0 : !c->machine[0];
    return ours && (named || now.ms - c->last_seen.ms < HEALTH_UNNAMED_MAX_MS) &&
           (!c->forgotten.ms || now.ms - c->forgotten.ms < HEALTH_FORGOTTEN_MAX_MS);
}

void health_write(const struct health_history *h, const struct health_host *host, struct health_log_mark until, struct wall now,
                  struct buf *out)
{
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_int(&j, "version", FILE_VERSION);
    jw_key_text(&j, "machine", host->machine);
    jw_key_text(&j, "boot", host->boot);
    jw_key_int(&j, "kernel_log_until_us", until.us);
    jw_key_int(&j, "kernel_log_until_ms", until.at.ms);
    for (int others = 0; others < 2; others++) { /* apart: versions before 0.3 took every card for a GPU */
        jw_key_array(&j, others ? "parts" : "cards");
        for (size_t i = 0; i < h->card_count; i++)
            if ((h->cards[i].id.kind != DEVICE_GPU) == others && belongs_here(h, &h->cards[i], now))
                put_card(&j, &h->cards[i]);
        jw_end(&j);
    }
    jw_end(&j);
    buf_char(out, '\n');
}

/* ---- back ---- */

static int64_t health_file_number(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static struct reading take_reading(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    return json_is_integer(value) ? reading_ok(json_integer_value(value)) : (struct reading){0};
}

static bool take_state(const json_t *o, enum health_state *ret)
{
    const char *name = json_string_value(json_object_get(o, "state"));
    return name && health_state_from_name(name, ret);
}

/* Older versions wrote the check alone, and a sentence without the GPU before it. */
static void take_words(const json_t *o, struct health_fault *f)
{
    char reason[sizeof f->reason - 2];
    const char *finding = json_string_value(json_object_get(o, "finding"));
    if (finding)
        finding_code_from_name(finding, &f->code);
    else if (f->code == FINDING_FAN_FAILING && f->health >= EFFECT_FAILING)
        f->code = FINDING_FAN_STOPPED;
    json_copy_text(o, "reason", reason, sizeof reason);
    snprintf(f->reason, sizeof f->reason, "%s%s", finding ? "" : ": ", reason);
}

/* A check that this version does not have is left out. */
static bool take_fault(const json_t *o, struct health_fault *f)
{
    const char *name = json_string_value(json_object_get(o, "check"));
    enum health_check check;
    enum health_state state;
    if (!name || !health_check_from_name(name, &check) || !take_state(o, &state))
        return false;
    *f = (struct health_fault){.code = health_check_finding(check),
                               .number = (int32_t)health_file_number(o, "code"),
                               .first_at = {health_file_number(o, "first_ms")},
                               .last_at = {health_file_number(o, "last_ms")},
                               .held = {health_file_number(o, "held_ms")},
                               .times = (uint32_t)health_file_number(o, "times"),
                               .total = (uint64_t)MAX_OF(health_file_number(o, "total"), health_file_number(o, "times")),
                               .resets = (uint32_t)health_file_number(o, "resets"),
                               .returned = json_is_true(json_object_get(o, "returned")),
                               .active = json_is_true(json_object_get(o, "active")),
                               .health = (enum health_effect)(MAX_OF(state, HEALTH_HEALTHY) - HEALTH_HEALTHY)};
    f->severity = f->health >= EFFECT_FAILING ? SEVERITY_CRITICAL : f->health ? SEVERITY_WARNING : SEVERITY_NOTICE;
    take_words(o, f);
    return true;
}

static bool take_card(const json_t *o, struct health_card *c)
{
    *c = (struct health_card){.index = (int)health_file_number(o, "index"),
                              .first_seen = {health_file_number(o, "first_seen_ms")},
                              .last_seen = {health_file_number(o, "last_seen_ms")},
                              .forgotten = {health_file_number(o, "forgotten_ms")},
                              .simulated = json_is_string(json_object_get(o, "machine")),
                              .last_state = json_is_true(json_object_get(o, "was_lost")) ? GPU_LOST : GPU_OK,
                              .resets = (uint32_t)health_file_number(o, "resets"),
                              .energy_mj = take_reading(o, "energy_mj"),
                              .ecc_corrected = take_reading(o, "ecc_corrected"),
                              .ecc_uncorrected = take_reading(o, "ecc_uncorrected"),
                              .nvlinks_most = health_file_number(o, "nvlinks_most"),
                              .state_since = {health_file_number(o, "state_since_ms")}};
    const char *kind = json_string_value(json_object_get(o, "kind"));
    for (int i = DEVICE_NPU; kind && i <= DEVICE_IB_PORT; i++)
        if (strcmp(kind, device_kind_name((enum device_kind)i)) == 0)
            c->id.kind = (enum device_kind)i;
    json_copy_text(o, "uuid", c->id.uuid, sizeof c->id.uuid);
    json_copy_text(o, "pci_address", c->id.pci_address, sizeof c->id.pci_address);
    json_copy_text(o, "name", c->id.name, sizeof c->id.name);
    json_copy_text(o, "vendor", c->id.vendor, sizeof c->id.vendor);
    json_copy_text(o, "source", c->source, sizeof c->source);
    json_copy_text(o, "machine", c->machine, sizeof c->machine);
    json_copy_text(o, "serial", c->serial, sizeof c->serial);
    json_copy_text(o, "forgotten_by", c->forgotten_by, sizeof c->forgotten_by);
    size_t i;
    json_t *fault;
    json_array_foreach(json_object_get(o, "faults"), i, fault)
    {
        if (c->fault_count < HEALTH_FAULTS_MAX && take_fault(fault, &c->faults[c->fault_count]))
            c->fault_count++;
    }
    return take_state(o, &c->state) && c->index >= 0 && c->index < GPU_MAX;
}

/* How long something was held is not known over a time without samples; a boot ends what the readings showed. */
static void wake_up(struct health_history *h)
{
    for (size_t i = 0; i < h->card_count; i++)
        for (size_t k = 0; k < h->cards[i].fault_count; k++)
            if (!h->cards[i].faults[k].active)
                h->cards[i].faults[k].held.ms = 0;
}

static bool take_cards(struct health_history *h, const json_t *list, struct wall now)
{
    size_t i;
    json_t *card;
    bool good = true;
    json_array_foreach(list, i, card)
    {
        if (h->card_count == GPU_MAX)
            break;
        struct health_card *c = &h->cards[h->card_count];
        good &= take_card(card, c);
        h->card_count += belongs_here(h, c, now);
    }
    return good;
}

int health_read(struct health_history *h, struct str text, const struct health_host *host, struct wall now,
                struct health_log_mark *until, struct error *err)
{
    json_error_t said;
    json_t *root = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, &said);
    const json_t *cards = json_object_get(root, "cards");
    const char *written = json_string_value(json_object_get(root, "boot"));
    const char *machine = json_string_value(json_object_get(root, "machine"));
    if (machine && machine[0] && host->machine[0] && strcmp(machine, host->machine) != 0) {
        json_decref(root);
        return error_set(err, -EXDEV, "it is of another host");
    }
    bool good = root && health_file_number(root, "version") == FILE_VERSION && json_is_array(cards) && written;
    good = good && take_cards(h, cards, now) && take_cards(h, json_object_get(root, "parts"), now);
    bool same_boot = good && host->boot[0] && strcmp(written, host->boot) == 0;
    *until = (struct health_log_mark){0};
    if (same_boot)
        *until = (struct health_log_mark){health_file_number(root, "kernel_log_until_us"),
                                          {health_file_number(root, "kernel_log_until_ms")}};
    json_decref(root);
    if (!good) {
        h->card_count = 0;
        return error_set(err, -EINVAL, "it is not a file of health records");
    }
    h->changes++;
    wake_up(h);
    if (!same_boot)
        health_note_boot(h);
    return 0;
}

void health_keep_names(struct health_history *h)
{
    for (size_t i = 0; i < h->card_count; i++) {
        struct health_card *c = &h->cards[i];
        c->fault_count = 0;
        c->resets = 0;
        c->state = HEALTH_UNKNOWN;
        c->last_state = GPU_OK;
        c->nvlinks_most = 0;
        c->energy_mj = c->ecc_corrected = c->ecc_uncorrected = (struct reading){0};
    }
}
