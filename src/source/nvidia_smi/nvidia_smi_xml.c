/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -q -x: cards, their MIG instances and all processes, including graphics ones, with a small XML reader: a stream of
 * elements, attributes, text, CDATA and comments, without a tree. Bounded depth; skips a document type, follows no entities.
 */
#include "source/nvidia_smi/nvidia_smi_report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"

enum { XML_PATH_SIZE = 256 };

enum xml_event {
    XML_OPEN,  /* an element starts: path, attributes */
    XML_CLOSE, /* it ends: path, and text if it had no child elements */
    XML_END,   /* the document is complete */
    XML_ERROR, /* truncated, too deep, or not XML; why says which */
};

struct xml {
    struct str rest;
    /* of the current element */
    char path[XML_PATH_SIZE]; /* "nvidia_smi_log/gpu/uuid" */
    size_t path_len;
    struct str attributes; /* as written */
    struct str text;       /* as written, trimmed; xml_decode() resolves escapes */
    const char *why;
    /* inside */
    int depth;
    const char *text_start;
    bool leaf;        /* the current element has no children */
    bool self_closed; /* <x/>: the close event is pending */
    bool pop;         /* remove the last path component before the next event */
    bool seen_root;
};

static void xml_init(struct xml *x, struct str text)
{
    *x = (struct xml){.rest = text};
    if (str_starts(x->rest, "\xef\xbb\xbf"))
        x->rest = (struct str){text.at + 3, text.len - 3};
}

static enum xml_event xml_fail(struct xml *x, const char *why)
{
    x->why = why;
    return XML_ERROR;
}

static void skip(struct xml *x, size_t len)
{
    x->rest = (struct str){x->rest.at + len, x->rest.len - len};
}

/* Skips everything up to and including `end`. */
static bool skip_past(struct xml *x, const char *end)
{
    const char *found = memmem(x->rest.at, x->rest.len, end, strlen(end));
    if (!found)
        return false;
    skip(x, (size_t)(found - x->rest.at) + strlen(end));
    return true;
}

/* <!DOCTYPE a SYSTEM "b" [ ... ]> */
static bool skip_doctype(struct xml *x)
{
    int brackets = 0;
    for (size_t i = 0; i < x->rest.len; i++) {
        char c = x->rest.at[i];
        brackets += (c == '[') - (c == ']');
        if (c == '>' && brackets <= 0) {
            skip(x, i + 1);
            return true;
        }
    }
    return false;
}

static bool push(struct xml *x, struct str name)
{
    size_t need = name.len + (x->path_len ? 1 : 0);
    if (x->depth >= XML_DEPTH_MAX || x->path_len + need >= XML_PATH_SIZE)
        return false;
    if (x->path_len)
        x->path[x->path_len++] = '/';
    memcpy(x->path + x->path_len, name.at, name.len);
    x->path_len += name.len;
    x->path[x->path_len] = '\0';
    x->depth++;
    return true;
}

static void pop(struct xml *x)
{
    const char *slash = memrchr(x->path, '/', x->path_len);
    x->path_len = slash ? (size_t)(slash - x->path) : 0;
    x->path[x->path_len] = '\0';
    x->depth--;
}

static struct str last_part(const struct xml *x)
{
    const char *slash = memrchr(x->path, '/', x->path_len);
    size_t at = slash ? (size_t)(slash + 1 - x->path) : 0;
    return (struct str){x->path + at, x->path_len - at};
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

/* "name attributes>" or "name attributes/>", after the "<" */
static enum xml_event open_element(struct xml *x)
{
    size_t name = 0, end = 0;
    while (name < x->rest.len && is_name_char(x->rest.at[name]))
        name++;
    if (name == 0)
        return xml_fail(x, "a name is missing behind '<'");
    char quote = 0;
    for (end = name; end < x->rest.len && (quote || x->rest.at[end] != '>'); end++) {
        char c = x->rest.at[end];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
    }
    if (end >= x->rest.len)
        return xml_fail(x, "it ends inside an element");
    if (!push(x, (struct str){x->rest.at, name}))
        return xml_fail(x, "elements are nested too deeply");
    x->self_closed = end > name && x->rest.at[end - 1] == '/';
    x->attributes = str_trim((struct str){x->rest.at + name, end - name - x->self_closed});
    skip(x, end + 1);
    x->text_start = x->rest.at;
    x->leaf = true;
    x->seen_root = true;
    return XML_OPEN;
}

/* "/name>", after the "<" */
static enum xml_event close_element(struct xml *x, const char *text_end)
{
    const char *end = memchr(x->rest.at, '>', x->rest.len);
    if (!end)
        return xml_fail(x, "it ends inside an element");
    struct str name = str_trim((struct str){x->rest.at + 1, (size_t)(end - x->rest.at) - 1});
    if (x->depth == 0 || !str_equal(name, last_part(x)))
        return xml_fail(x, "an element is closed that was not opened");
    x->text = x->leaf ? str_trim((struct str){x->text_start, (size_t)(text_end - x->text_start)}) : (struct str){"", 0};
    x->leaf = false;
    x->pop = true;
    skip(x, (size_t)(end + 1 - x->rest.at));
    return XML_CLOSE;
}

static enum xml_event xml_next(struct xml *x)
{
    if (x->pop) {
        pop(x);
        x->pop = false;
    }
    if (x->self_closed) {
        x->self_closed = false;
        x->text = (struct str){"", 0};
        x->leaf = false;
        x->pop = true;
        return XML_CLOSE;
    }
    for (;;) {
        const char *mark = x->rest.len ? memchr(x->rest.at, '<', x->rest.len) : NULL;
        if (!mark) {
            if (x->depth > 0 || !x->seen_root)
                return xml_fail(x, x->seen_root ? "it ends before all elements are closed" : "there is no element in it");
            return XML_END;
        }
        skip(x, (size_t)(mark - x->rest.at));
        if (str_starts(x->rest, "<?")) {
            if (!skip_past(x, "?>"))
                return xml_fail(x, "it ends inside a declaration");
        } else if (str_starts(x->rest, "<!--")) {
            if (!skip_past(x, "-->"))
                return xml_fail(x, "it ends inside a comment");
        } else if (str_starts(x->rest, "<![CDATA[")) {
            if (!skip_past(x, "]]>"))
                return xml_fail(x, "it ends inside CDATA");
        } else if (str_starts(x->rest, "<!")) {
            if (!skip_doctype(x))
                return xml_fail(x, "it ends inside the document type");
        } else if (str_starts(x->rest, "</")) {
            skip(x, 1);
            return close_element(x, mark);
        } else {
            skip(x, 1);
            return open_element(x);
        }
    }
}

/* An attribute of the current element; false: missing. */
static bool xml_attribute(const struct xml *x, const char *name, struct str *value)
{
    struct str rest = x->attributes;
    while (rest.len) {
        const char *equals = memchr(rest.at, '=', rest.len);
        if (!equals)
            return false;
        struct str key = str_trim((struct str){rest.at, (size_t)(equals - rest.at)});
        rest = str_trim((struct str){equals + 1, rest.len - (size_t)(equals + 1 - rest.at)});
        if (rest.len < 2 || (rest.at[0] != '"' && rest.at[0] != '\''))
            return false;
        const char *end = memchr(rest.at + 1, rest.at[0], rest.len - 1);
        if (!end)
            return false;
        *value = (struct str){rest.at + 1, (size_t)(end - rest.at) - 1};
        if (str_is(key, name))
            return true;
        rest = (struct str){end + 1, rest.len - (size_t)(end + 1 - rest.at)};
    }
    return false;
}

/* "&name;" at the front: its replacement and length; 0: unknown. */
static size_t entity(struct str s, char out[4], size_t *len)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (str_starts(s, named[i].name)) {
            *len = strlen(named[i].name);
            return out[0] = named[i].c, 1;
        }
    const char *end = str_starts(s, "&#") ? memchr(s.at, ';', MIN_OF(s.len, (size_t)12)) : NULL;
    if (!end)
        return 0;
    bool hex = s.len > 2 && s.at[2] == 'x';
    uint32_t value = 0;
    for (const char *c = s.at + 2 + hex; c < end; c++) {
        if (hex ? !isxdigit((unsigned char)*c) : !isdigit((unsigned char)*c))
            return 0;
        value = value * (hex ? 16 : 10) + (uint32_t)hex_digit(*c);
        if (value > 0x10ffff)
            return 0;
    }
    if (value == 0 || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *len = (size_t)(end + 1 - s.at);
    return str_put_utf8(value, out);
}

void xml_decode(struct str text, char *to, size_t size)
{
    static const struct str cdata = {"<![CDATA[", 9};
    if (str_starts(text, cdata.at) && str_ends(text, "]]>"))
        text = (struct str){text.at + cdata.len, text.len - cdata.len - 3};
    size_t used = 0;
    while (text.len) {
        char out[4] = {text.at[0]};
        size_t len = 1, count = text.at[0] == '&' ? entity(text, out, &len) : 0;
        if (count == 0) {
            count = 1;
            len = 1;
            out[0] = text.at[0];
        }
        if (used + count >= size)
            break;
        memcpy(to + used, out, count);
        used += count;
        text = (struct str){text.at + len, text.len - len};
    }
    to[used] = '\0';
}

/* ---- The report ---- */

#define ROOT "nvidia_smi_log/"
#define GPU ROOT "gpu"
#define PROCESS GPU "/processes/process_info"
#define INSTANCE GPU "/mig_devices/mig_device"

struct reader {
    struct xml xml;
    struct smi_report *report;
    struct smi_card card; /* being read; moved into the report when complete */
    enum cell_trouble trouble;
    struct gpu *instance; /* being read */
    struct {
        int64_t pid, gpu_instance, compute_instance; /* -1 unknown */
        unsigned type;
        struct reading memory;
        char name[PROCESS_NAME_SIZE];
    } process;
};

/* The path after `prefix` and a slash; false: elsewhere. */
static bool below(const struct xml *x, const char *prefix, struct str *rest)
{
    size_t len = strlen(prefix);
    struct str path = {x->path, x->path_len};
    if (!str_starts(path, prefix) || path.len <= len || path.at[len] != '/')
        return false;
    *rest = (struct str){path.at + len + 1, path.len - len - 1};
    return true;
}

static bool is_at(const struct xml *x, const char *path)
{
    return str_is((struct str){x->path, x->path_len}, path);
}

static void begin(struct reader *r)
{
    if (is_at(&r->xml, GPU)) {
        gpu_done(&r->card.gpu);
        r->card = (struct smi_card){.index = -1};
        r->trouble = TROUBLE_NONE;
        r->instance = NULL;
        str_copy(r->card.gpu.id.vendor, sizeof r->card.gpu.id.vendor, STR("nvidia"));
        struct str id;
        if (xml_attribute(&r->xml, "id", &id))
            smi_pci_address(id, r->card.gpu.id.pci_address);
    } else if (is_at(&r->xml, GPU "/processes")) {
        r->card.gpu.processes_state = READING_OK;
    } else if (is_at(&r->xml, PROCESS)) {
        r->process.pid = r->process.gpu_instance = r->process.compute_instance = -1;
        r->process.type = 0;
        r->process.memory = reading_absent(READING_UNSUPPORTED);
        r->process.name[0] = '\0';
    } else if (is_at(&r->xml, INSTANCE)) {
        r->instance = gpu_add_instance(&r->card.gpu);
        if (r->instance) {
            size_t position = r->card.gpu.instance_count - 1;
            r->card.slices[position].gpu_instance = r->card.slices[position].compute_instance = -1;
        }
    }
}

static int64_t number_or(struct str text, int64_t fallback)
{
    int64_t number;
    return str_to_i64(text, &number) ? number : fallback;
}

static void read_process(struct reader *r, struct str what, struct str text)
{
    if (str_is(what, "pid"))
        r->process.pid = number_or(text, -1);
    else if (str_is(what, "gpu_instance_id"))
        r->process.gpu_instance = number_or(text, -1);
    else if (str_is(what, "compute_instance_id"))
        r->process.compute_instance = number_or(text, -1);
    else if (str_is(what, "type"))
        r->process.type = (str_contains(text, "C") ? PROCESS_COMPUTE : 0) | (str_contains(text, "G") ? PROCESS_GRAPHICS : 0);
    else if (str_is(what, "used_memory"))
        r->process.memory = cell_read(text, CELL_MIB);
    else if (str_is(what, "process_name"))
        smi_process_name(text, r->process.name, sizeof r->process.name);
}

static void read_instance(struct reader *r, struct str what, struct str text)
{
    static const struct {
        const char *path;
        enum metric metric;
        enum cell_kind kind;
    } readings[] = {
        {"fb_memory_usage/total", METRIC_mem_total_bytes, CELL_MIB},
        {"fb_memory_usage/used", METRIC_mem_used_bytes, CELL_MIB},
        {"fb_memory_usage/free", METRIC_mem_free_bytes, CELL_MIB},
        {"fb_memory_usage/reserved", METRIC_mem_reserved_bytes, CELL_MIB},
        {"bar1_memory_usage/total", METRIC_bar1_total_bytes, CELL_MIB},
        {"bar1_memory_usage/used", METRIC_bar1_used_bytes, CELL_MIB},
        {"gpu_instance_id", METRIC_gpu_instance_id, CELL_COUNT},
        {"device_attributes/shared/multiprocessor_count", METRIC_compute_units, CELL_COUNT},
        {"ecc_error_count/volatile_count/sram_uncorrectable", METRIC_ecc_uncorrected, CELL_COUNT},
    };
    if (!r->instance)
        return;
    size_t position = r->card.gpu.instance_count - 1;
    if (str_is(what, "index"))
        r->instance->index = (int)number_or(text, r->instance->index);
    else if (str_is(what, "gpu_instance_id"))
        r->card.slices[position].gpu_instance = (int)number_or(text, -1);
    else if (str_is(what, "compute_instance_id"))
        r->card.slices[position].compute_instance = (int)number_or(text, -1);
    for (size_t i = 0; i < ARRAY_LEN(readings); i++)
        if (str_is(what, readings[i].path))
            r->instance->metric[readings[i].metric] = cell_read(text, readings[i].kind);
}

static int instance_of(const struct smi_card *card, int64_t gpu_instance, int64_t compute_instance)
{
    for (size_t i = 0; i < card->gpu.instance_count; i++)
        if (gpu_instance >= 0 && card->slices[i].gpu_instance == gpu_instance &&
            (compute_instance < 0 || card->slices[i].compute_instance == compute_instance))
            return (int)i;
    return -1;
}

static void end_process(struct reader *r)
{
    if (r->process.pid <= 0 || r->process.pid > INT32_MAX)
        return;
    struct process *p = gpu_add_process(&r->card.gpu, (int32_t)r->process.pid);
    if (!p)
        return;
    p->type = r->process.type ? (enum process_type)r->process.type : PROCESS_COMPUTE;
    p->mem_bytes = r->process.memory;
    p->instance = instance_of(&r->card, r->process.gpu_instance, r->process.compute_instance);
    str_copy(p->name, sizeof p->name, str_from(r->process.name));
}

/* The card is complete: replaces its previous data in the report. */
static void end_card(struct reader *r)
{
    smi_finish(&r->card, r->trouble, r->trouble == TROUBLE_LOST ? STR("GPU is lost") : STR("GPU requires reset"));
    struct smi_card *to = smi_report_card(r->report, r->card.gpu.id.uuid, r->card.gpu.id.pci_address);
    if (!to)
        return;
    gpu_done(&to->gpu);
    *to = r->card;
    r->card = (struct smi_card){0};
}

/* "610.62 [Deprecated; will be removed]", since driver 610. */
static struct str without_note(struct str version)
{
    const char *note = version.len ? memmem(version.at, version.len, " [", 2) : NULL;
    return note ? (struct str){version.at, (size_t)(note - version.at)} : version;
}

static void end(struct reader *r)
{
    char decoded[512];
    struct str what;
    xml_decode(r->xml.text, decoded, sizeof decoded);
    struct str text = str_from(decoded);
    enum reading_state why;
    if (is_at(&r->xml, PROCESS)) {
        end_process(r);
    } else if (is_at(&r->xml, GPU)) {
        end_card(r);
    } else if (below(&r->xml, PROCESS, &what)) {
        read_process(r, what, text);
    } else if (is_at(&r->xml, GPU "/processes")) {
        if (text.len && cell_read(text, CELL_COUNT).state != READING_OK) /* "N/A" instead of a list */
            r->card.gpu.processes_state = cell_read(text, CELL_COUNT).state;
    } else if (below(&r->xml, INSTANCE, &what)) {
        read_instance(r, what, text);
    } else if (below(&r->xml, GPU, &what)) {
        for (const struct smi_field *field = NULL; text.len && (field = smi_element_find(what, field));)
            smi_apply(&r->card, field, text);
        enum cell_trouble told = cell_trouble(text);
        r->trouble = MAX_OF(r->trouble, told);
    } else if (is_at(&r->xml, ROOT "driver_version") || is_at(&r->xml, ROOT "kmd_version")) {
        if (!str_starts(text, "Deprecated"))
            cell_text(without_note(text), CELL_TEXT, r->report->driver.driver_version, sizeof r->report->driver.driver_version,
                      &why);
    } else if (is_at(&r->xml, ROOT "cuda_version") || is_at(&r->xml, ROOT "cuda_umd_version")) {
        if (!str_starts(text, "Deprecated"))
            cell_text(without_note(text), CELL_TEXT, r->report->driver.cuda_version, sizeof r->report->driver.cuda_version, &why);
    }
}

int smi_read_xml(struct smi_report *report, struct str text, struct error *err)
{
    /* Messages may precede the document. */
    const char *start = text.len ? memchr(text.at, '<', text.len) : NULL;
    if (!start)
        return error_set(err, -EBADMSG, "the output of nvidia-smi -q -x holds no XML");
    struct reader *r = calloc(1, sizeof *r); /* too large for a thread's stack */
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    r->report = report;
    xml_init(&r->xml, (struct str){start, text.len - (size_t)(start - text.at)});
    int rc = 0;
    for (enum xml_event event = xml_next(&r->xml); event != XML_END; event = xml_next(&r->xml)) {
        if (event == XML_ERROR) {
            rc = error_set(err, -EBADMSG, "the XML of nvidia-smi cannot be read: %s", r->xml.why);
            break;
        }
        if (event == XML_OPEN)
            begin(r);
        else
            end(r);
    }
    gpu_done(&r->card.gpu);
    free(r);
    return rc;
}

/* "GPU 0: NVIDIA H100 (UUID: GPU-...)" and below it "  MIG 3g.40gb     Device  0: (UUID: MIG-...)" */
void smi_read_list(struct smi_report *report, struct str text)
{
    struct smi_card *card = NULL;
    struct str line, word;
    while (str_cut(&text, '\n', &line)) {
        const char *mark = line.len ? memmem(line.at, line.len, "(UUID: ", 7) : NULL;
        if (!mark)
            continue;
        struct str uuid = str_trim((struct str){mark + 7, line.len - (size_t)(mark + 7 - line.at)});
        while (uuid.len && uuid.at[uuid.len - 1] == ')')
            uuid.len--;
        struct str rest = {line.at, (size_t)(mark - line.at)};
        if (str_starts(line, "GPU ")) {
            card = NULL;
            for (size_t i = 0; i < report->count; i++)
                if (str_is(uuid, report->cards[i].gpu.id.uuid))
                    card = &report->cards[i];
            continue;
        }
        struct str profile, device, number;
        if (!card || !str_word(&rest, &word) || !str_is(word, "MIG") || !str_word(&rest, &profile) || !str_word(&rest, &device) ||
            !str_word(&rest, &number))
            continue;
        number.len -= number.len && number.at[number.len - 1] == ':';
        int64_t index = number_or(number, -1);
        for (size_t i = 0; i < card->gpu.instance_count; i++) {
            struct gpu *instance = &card->gpu.instances[i];
            if (instance->index != index)
                continue;
            str_copy_clean(instance->id.uuid, sizeof instance->id.uuid, uuid);
            str_copy_clean(instance->profile, sizeof instance->profile, profile);
        }
    }
}
