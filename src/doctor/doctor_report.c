/* SPDX-License-Identifier: Apache-2.0
 * The doctor's report, as text and as data.
 */
#include "doctor/doctor.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/os/words.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/table/grid.h"
#include "source/source.h"

/* ---- as text ---- */

static void title(struct buf *out, const struct page *page, const char *text)
{
    buf_char(out, '\n');
    page_wrap(out, page, INK_STRONG, text, 0, 0);
}

static void pair(struct buf *out, const struct page *page, enum ink ink, const char *key, const char *value)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_PLAIN, LEFT, key, 20);
    buf_text(out, " ");
    page_wrap(out, page, ink, value, 23, 23);
}

static const char *vendor_word(const char *id)
{
    return strcmp(id, "10de") == 0 ? "NVIDIA" : strcmp(id, "1002") == 0 ? "AMD" : strcmp(id, "8086") == 0 ? "Intel" : id;
}

/* ---- sources ---- */

static void source_words(char *text, size_t size, const struct snapshot *s, const struct source_status *source)
{
    int others = 0;
    for (size_t i = 0; i < s->accelerator_count; i++)
        others += strcmp(s->accelerators[i].source, source->name) == 0;
    switch (source->state) {
    case SOURCE_OK:
        if (others && !source->gpu_count)
            snprintf(text, size, "in use, %d %s", others, others == 1 ? "NPU or accelerator" : "NPUs or accelerators");
        else
            snprintf(text, size, "in use, %d GPU%s", source->gpu_count, source->gpu_count == 1 ? "" : "s");
        break;
    case SOURCE_OFF: snprintf(text, size, "not in use: %s", source->message[0] ? source->message : "not on this host"); break;
    default:
        snprintf(text, size, "%s, %d GPUs%s%s", source_state_name(source->state), source->gpu_count, source->message[0] ? ": " : "",
                 source->message);
    }
}

static void text_sources(struct buf *out, const struct page *page, const struct doctor_facts *f, const struct snapshot *s)
{
    title(out, page, "Sources");
    bool searched = false;
    for (size_t i = 0; i < s->source_count; i++) {
        char text[SOURCE_MESSAGE_SIZE + 64];
        source_words(text, sizeof text, s, &s->sources[i]);
        enum ink ink = s->sources[i].state == SOURCE_OK ? INK_GOOD : s->sources[i].state == SOURCE_OFF ? INK_FAINT : INK_BAD;
        pair(out, page, ink, s->sources[i].name, text);
        searched |= s->sources[i].names_driver && s->sources[i].state == SOURCE_OFF;
    }
    for (size_t i = 0; i < source_registry_count; i++) {
        bool tried = false;
        for (size_t k = 0; k < s->source_count; k++)
            tried |= strcmp(s->sources[k].name, source_registry[i]->name) == 0;
        if (!tried)
            pair(out, page, INK_FAINT, source_registry[i]->name, "not asked for");
    }
    if (searched)
        pair(out, page, INK_FAINT, "library looked for in", f->places);
}

/* ---- machine ---- */

static void text_versions(struct buf *out, const struct page *page, const struct doctor_facts *f, const struct snapshot *s)
{
    const char *unknown = page_dash(page);
    title(out, page, "Versions");
    pair(out, page, INK_PLAIN, "Linux", f->kernel[0] ? f->kernel : unknown);
    pair(out, page, INK_PLAIN, "nvidia module", f->nvidia_module[0] ? f->nvidia_module : "not loaded");
    pair(out, page, INK_PLAIN, "NVIDIA driver", s->driver.driver_version[0] ? s->driver.driver_version : unknown);
    pair(out, page, INK_PLAIN, "NVML", s->driver.nvml_version[0] ? s->driver.nvml_version : unknown);
    pair(out, page, INK_PLAIN, "CUDA up to", s->driver.cuda_version[0] ? s->driver.cuda_version : unknown);
}

static void text_cards(struct buf *out, const struct page *page, const struct doctor_facts *f)
{
    static const struct grid_column columns[] = {
        {"  PCI", LEFT, 0}, {"CARD", LEFT, 0}, {"DRIVER", LEFT, 0}, {"POWER", LEFT, 2}, {"SHOWN AS", LEFT, 0},
    };
    title(out, page, "GPUs on the PCI bus");
    if (!f->card_count) {
        buf_text(out, "  ");
        page_wrap(out, page, INK_FAINT, f->bus_error ? "unknown" : "none", 2, 2);
        return;
    }
    AUTO_GRID struct grid g;
    grid_init(&g, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < f->card_count; i++) {
        const struct doctor_card *card = &f->cards[i];
        char text[64];
        snprintf(text, sizeof text, "  %s", card->on_bus.pci_address);
        grid_add(&g, INK_PLAIN, text);
        snprintf(text, sizeof text, "%s %s:%s", vendor_word(card->on_bus.vendor_id), card->on_bus.vendor_id,
                 card->on_bus.device_id);
        grid_add(&g, INK_PLAIN, text);
        grid_add(&g, card->on_bus.driver[0] ? INK_PLAIN : INK_WARN, card->on_bus.driver[0] ? card->on_bus.driver : "none");
        grid_add(&g, INK_PLAIN, card->on_bus.power_state[0] ? card->on_bus.power_state : page_dash(page));
        snprintf(text, sizeof text, card->gpu_index >= 0 ? "GPU %d" : "not shown", card->gpu_index);
        grid_add(&g, card->gpu_index >= 0 ? INK_GOOD : INK_WARN, text);
    }
    grid_write(out, page, &g);
}

static void text_rights(struct buf *out, const struct page *page, const struct doctor_facts *f)
{
    char text[160];
    title(out, page, "Permissions");
    pair(out, page, INK_PLAIN, "user", f->root ? WORD_ADMINISTRATOR : "not " WORD_ADMINISTRATOR);
    pair(out, page, INK_PLAIN, "CAP_SYS_PTRACE", f->cap_ptrace ? "yes" : "no");
    pair(out, page, f->hidepid ? INK_WARN : INK_PLAIN, "/proc", f->hidepid ? "hides processes of others" : "shows all processes");
    for (size_t i = 0; i < f->node_count; i++) {
        const struct doctor_node *node = &f->nodes[i];
        snprintf(text, sizeof text, node->usable ? "may be used" : "cannot be opened (mode %04o%s%s)", node->mode,
                 node->group[0] ? ", group " : "", node->group);
        pair(out, page, node->usable ? INK_GOOD : INK_WARN, node->path, text);
    }
    title(out, page, "Container");
    pair(out, page, INK_PLAIN, "runtime", f->container[0] ? f->container : "none recognized");
    pair(out, page, INK_PLAIN, "PID namespace", f->own_pid_namespace ? "its own: processes outside have no names" : "the host's");
    if (f->visible_devices[0])
        pair(out, page, INK_PLAIN, "visible devices", f->visible_devices);
}

/* ---- GPUs ---- */

/* "ecc_volatile_corrected": "ecc". */
static size_t first_word(const char *name)
{
    return strcspn(name, "_");
}

static bool same_word(const char *a, const char *b)
{
    return first_word(a) == first_word(b) && strncmp(a, b, first_word(a)) == 0;
}

/* Groups metrics with a common first word, "ecc_* (12)". Returns how many it left out: those that share it with no other. */
static size_t name_absent(struct buf *names, const struct gpu *gpu, enum reading_state why)
{
    size_t unnamed = 0;
    for (size_t at = 0; at < METRIC_COUNT; at++) {
        const char *name = metric_table[at].json;
        size_t count = 0;
        bool first = true;
        for (size_t i = 0; i < METRIC_COUNT; i++)
            if (gpu->metric[i].state == why && same_word(metric_table[i].json, name)) {
                first = first && i >= at;
                count++;
            }
        if (gpu->metric[at].state != why || !first)
            continue;
        if (count > 1)
            buf_printf(names, "%.*s_* (%zu) ", (int)first_word(name), name, count);
        else
            unnamed++;
    }
    return unnamed;
}

enum { ABSENT_NAMED = 6 };

/* Lists a few metrics by name and many by their first word. -v lists all names. */
static void text_absent(struct buf *out, const struct page *page, const struct gpu *gpu, enum reading_state why)
{
    AUTO_BUF struct buf names = BUF(16384);
    size_t count = 0, unnamed = 0;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        count += gpu->metric[i].state == why;
    bool all = page->verbose || count <= ABSENT_NAMED;
    for (size_t i = 0; all && i < METRIC_COUNT; i++)
        if (gpu->metric[i].state == why)
            buf_printf(&names, "%s ", metric_table[i].json);
    if (gpu->processes_state == why)
        buf_text(&names, "processes ");
    if (!all)
        unnamed = name_absent(&names, gpu, why);
    if (unnamed)
        buf_printf(&names, "and %zu more; all names: whirr doctor -v", unnamed);
    if (names.len && !names.failed)
        pair(out, page, INK_FAINT, reading_state_name(why), names.at);
}

/* Whether the text about one GPU applies to the other, too. */
static bool alike(const struct gpu *a, const struct gpu *b)
{
    if (a->state != b->state || a->error_message[0] || b->error_message[0] || a->processes_state != b->processes_state ||
        a->simulated != b->simulated || strcmp(a->id.name, b->id.name) != 0 || strcmp(a->source, b->source) != 0)
        return false;
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (a->metric[i].state != b->metric[i].state)
            return false;
    return true;
}

static void text_gpus(struct buf *out, const struct page *page, const struct snapshot *s)
{
    for (size_t i = 0, next; i < s->gpu_count; i = next) {
        const struct gpu *gpu = &s->gpus[i];
        char text[GPU_NAME_SIZE + 64], last[16] = "";
        for (next = i + 1; next < s->gpu_count && alike(gpu, &s->gpus[next]);)
            next++;
        if (next > i + 1)
            snprintf(last, sizeof last, "-%d", s->gpus[next - 1].index);
        snprintf(text, sizeof text, "GPU%s %d%s %s (%s)%s", last[0] ? "s" : "", gpu->index, last, gpu->id.name, gpu->source,
                 gpu->simulated ? ", SIMULATED" : "");
        title(out, page, text);
        snprintf(text, sizeof text, "%s%s", gpu_state_name(gpu->state), gpu->state == GPU_ASLEEP ? ": left alone" : "");
        pair(out, page, gpu->state == GPU_OK ? INK_GOOD : gpu->state == GPU_ASLEEP ? INK_FAINT : INK_BAD, "state", text);
        if (gpu->error_message[0])
            pair(out, page, INK_BAD, "driver reports", gpu->error_message);
        for (int why = READING_UNREAD; why <= READING_LAST; why++)
            if (why != READING_OK && gpu->state == GPU_OK)
                text_absent(out, page, gpu, (enum reading_state)why);
    }
}

static void text_described(struct buf *out, const struct page *page, const char *described)
{
    struct str rest = str_from(described), line;
    if (!rest.len)
        return;
    title(out, page, "What the sources report");
    while (str_cut(&rest, '\n', &line)) {
        char text[2048];
        int indent = 2;
        while (line.len && line.at[0] == ' ') {
            line = (struct str){line.at + 1, line.len - 1};
            indent++;
        }
        if (!line.len)
            continue;
        str_copy(text, sizeof text, line);
        buf_printf(out, "%*s", indent, "");
        page_wrap(out, page, INK_FAINT, text, indent + 2, indent);
    }
}

static void text_findings(struct buf *out, const struct page *page, const struct findings *findings)
{
    size_t number = 0;
    title(out, page, "What to fix");
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *f = &findings->list[i];
        if (f->urgency == NOTE)
            continue;
        buf_printf(out, "  %zu. ", ++number);
        page_wrap(out, page, f->urgency == URGENT ? INK_BAD : INK_WARN, f->what, 5, 5);
        if (f->fix[0]) {
            buf_text(out, "     ");
            page_wrap(out, page, INK_PLAIN, f->fix, 5, 5);
        }
    }
    if (!number) {
        buf_text(out, "  ");
        page_wrap(out, page, INK_GOOD, "Nothing.", 2, 2);
    }
    bool first = true;
    for (size_t i = 0; i < findings->count; i++) {
        const struct doctor_finding *f = &findings->list[i];
        if (f->urgency != NOTE)
            continue;
        if (first)
            title(out, page, "Good to know");
        first = false;
        buf_text(out, page->utf8 ? "  • " : "  - ");
        char text[sizeof f->what + sizeof f->fix + 2];
        snprintf(text, sizeof text, "%s %s", f->what, f->fix);
        page_wrap(out, page, INK_PLAIN, text, 4, 4);
    }
}

void doctor_text(struct buf *out, const struct page *page, const struct doctor_facts *facts, const struct snapshot *s,
                 const struct findings *findings, const char *described)
{
    char text[128];
    snprintf(text, sizeof text, "whirr %s on %s%s%s", WHIRR_VERSION, s->host.name[0] ? s->host.name : "this host",
             facts->machine[0] ? ", " : "", facts->machine);
    page_wrap(out, page, INK_STRONG, text, 0, 0);
    text_sources(out, page, facts, s);
    text_versions(out, page, facts, s);
    text_cards(out, page, facts);
    text_rights(out, page, facts);
    text_gpus(out, page, s);
    text_described(out, page, described);
    text_findings(out, page, findings);
}

/* ---- as data ---- */

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
