/* SPDX-License-Identifier: Apache-2.0
 * The doctor's report as data.
 */
#include "doctor/doctor.h"
#include "format/json/json.h"

static void cards(struct json_writer *j, const struct doctor_facts *f)
{
    jw_key_array(j, "pci_cards");
    for (size_t i = 0; i < f->card_count; i++) {
        const struct doctor_card *card = &f->cards[i];
        jw_object(j);
        jw_key_text(j, "pci_address", card->on_bus.pci_address);
        jw_key_text(j, "vendor_id", card->on_bus.vendor_id);
        jw_key_text(j, "device_id", card->on_bus.device_id);
        json_words(j, "driver", card->on_bus.driver);
        json_words(j, "power_state", card->on_bus.power_state);
        jw_key(j, "gpu_index");
        if (card->gpu_index >= 0)
            jw_int(j, card->gpu_index);
        else
            jw_null(j);
        jw_end(j);
    }
    jw_end(j);
}

static void permissions(struct json_writer *j, const struct doctor_facts *f)
{
    jw_key_object(j, "permissions");
    jw_key_bool(j, "root", f->root);
    jw_key_bool(j, "cap_sys_ptrace", f->cap_ptrace);
    jw_key_int(j, "hidepid", f->hidepid);
    jw_key_array(j, "device_files");
    for (size_t i = 0; i < f->node_count; i++) {
        jw_object(j);
        jw_key_text(j, "path", f->nodes[i].path);
        jw_key_bool(j, "usable", f->nodes[i].usable);
        json_words(j, "group", f->nodes[i].group);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
    jw_key_object(j, "container");
    json_words(j, "runtime", f->container);
    jw_key_bool(j, "own_pid_namespace", f->own_pid_namespace);
    json_words(j, "nvidia_visible_devices", f->visible_devices);
    jw_key_bool(j, "wsl", f->wsl);
    jw_end(j);
    jw_key_array(j, "library_places");
    struct str rest = str_from(f->places), place;
    while (str_cut(&rest, ',', &place))
        jw_str(j, str_trim(place));
    jw_end(j);
}

/* {"unsupported": ["fan_percent", ...], "denied": [...], ...} */
static void absent(struct json_writer *j, const struct gpu *gpu)
{
    jw_key_object(j, "absent");
    for (int why = READING_UNREAD; why <= READING_LAST; why++) {
        if (why == READING_OK)
            continue;
        jw_key_array(j, reading_state_name((enum reading_state)why));
        for (size_t i = 0; i < METRIC_COUNT; i++)
            if (gpu->metric[i].state == (enum reading_state)why)
                jw_text(j, metric_table[i].json);
        if (gpu->processes_state == (enum reading_state)why)
            jw_text(j, "processes");
        jw_end(j);
    }
    jw_end(j);
}

static void gpus(struct json_writer *j, const struct snapshot *s)
{
    jw_key_array(j, "gpus");
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        jw_object(j);
        jw_key_int(j, "index", gpu->index);
        json_words(j, "name", gpu->id.name);
        json_words(j, "source", gpu->source);
        jw_key_bool(j, "simulated", gpu->simulated);
        jw_key_text(j, "state", gpu_state_name(gpu->state));
        json_words(j, "error_message", gpu->error_message);
        absent(j, gpu);
        jw_end(j);
    }
    jw_end(j);
}

void doctor_json(struct json_writer *j, const struct doctor_facts *f, const struct snapshot *s, const struct findings *findings,
                 const char *described)
{
    static const char *const urgencies[] = {[URGENT] = "urgent", [USEFUL] = "useful", [NOTE] = "note"};
    jw_object(j);
    jw_key_text(j, "version", WHIRR_VERSION);
    json_words(j, "host", s->host.name);
    json_words(j, "kernel", f->kernel);
    json_words(j, "nvidia_module", f->nvidia_module);
    jw_key(j, "driver");
    json_driver(j, s);
    jw_key(j, "sources");
    json_sources(j, s);
    cards(j, f);
    permissions(j, f);
    gpus(j, s);
    jw_key_array(j, "described");
    struct str rest = str_from(described), line;
    while (str_cut(&rest, '\n', &line))
        jw_str(j, line);
    jw_end(j);
    jw_key_array(j, "findings");
    for (size_t i = 0; i < findings->count; i++) {
        jw_object(j);
        jw_key_text(j, "urgency", urgencies[findings->list[i].urgency]);
        jw_key_text(j, "what", findings->list[i].what);
        json_words(j, "fix", findings->list[i].fix);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}
