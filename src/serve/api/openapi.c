/* SPDX-License-Identifier: Apache-2.0
 * Adds the schemas of answers and the metric table to the description, so that either is declared in only one place.
 */
#include "serve/api/assets.h"

#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/json/json.h"
#include "model/metric.h"

static json_t *metric_schema(const struct metric_info *m)
{
    switch (m->kind) {
    case KIND_NUMBER: return json_pack("{s:[ss], s:s}", "type", "number", "null", "description", m->help);
    case KIND_BOOL: return json_pack("{s:[ss], s:s}", "type", "boolean", "null", "description", m->help);
    case KIND_THROTTLE:
        return json_pack("{s:[ss], s:{s:s}, s:s}", "type", "array", "null", "items", "type", "string", "description", m->help);
    case KIND_PSTATE:
        return json_pack("{s:[ss], s:s, s:s}", "type", "string", "null", "pattern", "^P[0-9]+$", "description", m->help);
    case KIND_COMPUTE_MODE:
    case KIND_RECOVERY: break;
    }
    return json_pack("{s:[ss], s:s}", "type", "string", "null", "description", m->help);
}

static void openapi_add(json_t *schema, const char *key, json_t *value)
{
    json_object_set_new(json_object_get(schema, "properties"), key, value);
    json_array_append_new(json_object_get(schema, "required"), json_string(key));
}

/* The example is written by hand with the most important values; all other metrics are absent in it. */
static void complete_example(json_t *gpu, const char *key)
{
    if (!gpu || json_object_get(gpu, key))
        return;
    json_object_set_new(gpu, key, json_null());
    json_object_set_new(json_object_get(gpu, "absent"), key, json_string("unsupported"));
}

/* The names of query parameters in a list. */
static void add_parameters(json_t *names, const json_t *list, const json_t *shared)
{
    static const char ref[] = "#/components/parameters/";
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const char *to = json_text(one, "$ref");
        const json_t *p = to[0] ? json_object_get(shared, to + sizeof ref - 1) : one;
        if (strcmp(json_text(p, "in"), "query") != 0)
            continue;
        json_object_set_new(names, json_text(p, "name"), json_true());
        if (strcmp(json_text(p, "name"), "gpu") == 0)
            json_object_set_new(names, "gpu_index", json_true()); /* the name in older endpoints */
    }
}

json_t *openapi_parameters(void)
{
    const struct asset *template = asset_find("openapi.json");
    json_t *doc = template ? json_loadb(template->at, template->len, 0, NULL) : NULL, *found = json_object();
    const json_t *shared = json_object_get(json_object_get(doc, "components"), "parameters");
    const char *path, *method;
    json_t *methods, *operation;
    json_object_foreach(json_object_get(doc, "paths"), path, methods)
    {
        json_t *names = json_object();
        json_object_foreach(methods, method, operation) add_parameters(names, json_object_get(operation, "parameters"), shared);
        json_object_set_new(found, path, names);
    }
    json_decref(doc);
    return found;
}

/* The template adds to the generated schema, such as an example. */
static void add_answer(const struct answer *a, void *schemas)
{
    json_t *schema = answer_schema(a);
    json_object_update(schema, json_object_get(schemas, a->name));
    json_object_set_new(schemas, a->name, schema);
}

void openapi_write(struct buf *out)
{
    const struct asset *template = asset_find("openapi.json");
    json_t *doc = template ? json_loadb(template->at, template->len, 0, NULL) : NULL;
    json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
    json_t *gpu = json_object_get(schemas, "Gpu"), *process = json_object_get(schemas, "Process");
    json_t *example = json_array_get(json_object_get(json_object_get(schemas, "Metrics"), "examples"), 0);
    json_t *shown = json_array_get(json_object_get(example, "gpus"), 0);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        complete_example(shown, metric_table[i].json);
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        complete_example(shown, property_table[i].json);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        openapi_add(gpu, metric_table[i].json, metric_schema(&metric_table[i]));
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        openapi_add(gpu, property_table[i].json,
                    json_pack("{s:[ss], s:s}", "type", "string", "null", "description", property_table[i].help));
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        openapi_add(process, process_metric_table[i].json, metric_schema(&process_metric_table[i]));
    answer_each_named(json_answers, json_answer_count, add_answer, schemas);
    json_object_set_new(json_object_get(doc, "info"), "version", json_string(WHIRR_VERSION));
    AUTO_FREE char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    json_decref(doc);
    if (text) {
        buf_text(out, text);
        buf_char(out, '\n');
    } else {
        out->failed = true;
    }
}
