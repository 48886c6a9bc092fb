/* SPDX-License-Identifier: Apache-2.0
 * The doctor's report as data.
 */
#include "doctor/doctor.h"
#include "format/json/json.h"
#include "format/json/told.h"

ANSWER_TABLE(card_answer, struct doctor_card)
{
    FIELD(TEXT, "pci_address", on_bus.pci_address, NULL);
    FIELD(TEXT, "vendor_id", on_bus.vendor_id, NULL);
    FIELD(TEXT, "device_id", on_bus.device_id, NULL);
    FIELD(TEXT, "driver", on_bus.driver, NULL, OR_NULL);
    FIELD(TEXT, "power_state", on_bus.power_state, NULL, OR_NULL);
    FIELD(INT, "gpu_index", gpu_index, "null: no source shows it", NONE(-1));
}

ANSWER_TABLE(node_answer, struct doctor_node)
{
    FIELD(TEXT, "path", path, NULL);
    FIELD(BOOL, "usable", usable, "Readable and writable for us");
    FIELD(TEXT, "group", group, NULL, OR_NULL);
}

ANSWER_TABLE(permission_answer, struct doctor_facts)
{
    FIELD(BOOL, "root", root, NULL);
    FIELD(BOOL, "cap_sys_ptrace", cap_ptrace, NULL);
    FIELD(INT, "hidepid", hidepid, NULL);
    OBJECTS("device_files", nodes, node_count, node_answer, NULL);
}

ANSWER_TABLE(container_answer, struct doctor_facts)
{
    FIELD(TEXT, "runtime", container, NULL, OR_NULL);
    FIELD(BOOL, "own_pid_namespace", own_pid_namespace, NULL);
    FIELD(TEXT, "nvidia_visible_devices", visible_devices, NULL, OR_NULL);
    FIELD(BOOL, "wsl", wsl, NULL);
}

ANSWER_TABLE(facts_answer, struct doctor_facts)
{
    FIELD(TEXT, "kernel", kernel, NULL, OR_NULL);
    FIELD(TEXT, "nvidia_module", nvidia_module, "Of the loaded kernel module", OR_NULL);
    OBJECTS("pci_cards", cards, card_count, card_answer, NULL);
    PART("permissions", permission_answer, NULL);
    PART("container", container_answer, NULL);
}

/* {"unsupported": ["fan_percent", ...], "denied": [...], ...} */
static const void *next_absent(const struct answer_at *at, struct answer_step *step, enum reading_state why)
{
    const struct gpu *gpu = at->record;
    while (step->at < METRIC_COUNT)
        if (gpu->metric[step->at++].state == why) {
            step->item.pair.key = metric_table[step->at - 1].json;
            return &step->item;
        }
    step->item.pair.key = "processes";
    return step->at++ == METRIC_COUNT && gpu->processes_state == why ? &step->item : NULL;
}
#define ABSENT_FOR(id, state)                                                          \
    static const void *next_##id(const struct answer_at *at, struct answer_step *step) \
    {                                                                                  \
        return next_absent(at, step, state);                                           \
    }
ABSENT_FOR(unread, READING_UNREAD)
ABSENT_FOR(unsupported, READING_UNSUPPORTED)
ABSENT_FOR(denied, READING_DENIED)
ABSENT_FOR(asleep, READING_ASLEEP)
ABSENT_FOR(failed, READING_FAILED)
ABSENT_FOR(pending, READING_PENDING)
ABSENT_FOR(implausible, READING_IMPLAUSIBLE)

ANSWER_TABLE(absent_answer, struct gpu)
{
    EACH(WORD, "unread", next_unread, NULL);
    EACH(WORD, "unsupported", next_unsupported, NULL);
    EACH(WORD, "denied", next_denied, NULL);
    EACH(WORD, "asleep", next_asleep, NULL);
    EACH(WORD, "failed", next_failed, NULL);
    EACH(WORD, "pending", next_pending, NULL);
    EACH(WORD, "implausible", next_implausible, NULL);
}

ANSWER_TABLE(gpu_answer, struct gpu)
{
    FIELD(INT, "index", index, NULL);
    FIELD(TEXT, "name", id.name, NULL, OR_NULL);
    FIELD(TEXT, "source", source, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(NAME, "state", state, NULL, NAMES(gpu_states));
    FIELD(TEXT, "error_message", error_message, NULL, OR_NULL);
    PART("absent", absent_answer, "The readings that are missing, by reason");
}

static const char *urgency_name(enum urgency urgency)
{
    return (const char *const[]){[URGENT] = "urgent", [USEFUL] = "useful", [NOTE] = "note"}[urgency];
}
ANSWER_NAMES(urgencies, enum urgency, urgency_name, URGENT, NOTE);

ANSWER_TABLE(finding_answer, struct doctor_finding)
{
    FIELD(NAME, "urgency", urgency, NULL, NAMES(urgencies));
    FIELD(TEXT, "what", what, NULL);
    FIELD(TEXT, "fix", fix, NULL, OR_NULL);
}

struct told_doctor {
    const char *version, *host, *described;
    const struct doctor_facts *facts;
    const struct source_status *sources;
    const struct gpu *gpus;
    const struct doctor_finding *findings;
    size_t source_count, gpu_count, finding_count;
    struct told_driver driver;
    const char *places;
};

static const void *next_part(struct answer_step *step, const char *text, char by)
{
    struct str rest = str_from(text + step->at), part;
    if (!str_cut(&rest, by, &part))
        return NULL;
    step->at = (size_t)(rest.at - text);
    step->item.text = by == ',' ? str_trim(part) : part;
    return &step->item;
}

static const void *next_place(const struct answer_at *at, struct answer_step *step)
{
    return next_part(step, ((const struct told_doctor *)at->record)->places, ',');
}

static const void *next_described(const struct answer_at *at, struct answer_step *step)
{
    return next_part(step, ((const struct told_doctor *)at->record)->described, '\n');
}

SHARED_ANSWER_TABLE(doctor_answer, struct told_doctor, .name = "Doctor")
{
    FIELD(WORD, "version", version, NULL);
    FIELD(WORD, "host", host, NULL, OR_NULL);
    FIELD(OBJECT, "driver", driver, NULL, FIELDS(driver_answer));
    OBJECTS("sources", sources, source_count, source_answer, NULL);
    VIA(KEYS, NULL, facts, facts_answer, NULL);
    EACH(PIECE, "library_places", next_place, "Where the driver's library was looked for besides the loader's own");
    OBJECTS("gpus", gpus, gpu_count, gpu_answer, NULL);
    EACH(PIECE, "described", next_described, "How the sources describe themselves");
    OBJECTS("findings", findings, finding_count, finding_answer, "Urgent ones first");
}

void doctor_json(struct json_writer *j, const struct doctor_facts *f, const struct snapshot *s, const struct findings *findings,
                 const char *described)
{
    answer_write(j, &doctor_answer,
                 &(struct told_doctor){.version = WHIRR_VERSION,
                                       .host = s->host.name,
                                       .described = described,
                                       .places = f->places,
                                       .facts = f,
                                       .sources = s->sources,
                                       .source_count = s->source_count,
                                       .gpus = s->gpus,
                                       .gpu_count = s->gpu_count,
                                       .findings = findings->list,
                                       .finding_count = findings->count,
                                       .driver = told_driver(s)},
                 NULL);
}
