/* SPDX-License-Identifier: Apache-2.0
 * The description of the API: all answers that have a table (parts of them with a name of their own are found in these), their
 * schemas added to the template, and what they require added to its examples.
 */
#include "serve/api/assets.h"

#include <jansson.h>
#include <string.h>

#include "answer/parameter.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "format/alert_forms.h"
#include "format/capacity_forms.h"
#include "format/forecast_forms.h"
#include "format/health_forms.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/lease_forms.h"
#include "format/notifiers.h"
#include "net/http_message.h"
#include "past/history_answer.h"
#include "past/past_json.h"
#include "remedy/measure.h"
#include "remedy/undo.h"

/* Of parts, which are layers above. */
extern const struct answer fleet_answer_form, remedies_answer;
/* Of files beside this one. */
extern const struct answer settings_answer, widget_answer, session_answer, released_answer, service_answer, usage_answer,
    live_status_answer, target_answer, setting_answer;

const struct answer *const all_answers[] = {
    &alert_rules_answer,   &alerts_answer,          &capacity_answer,      &cpu_samples_answer, &devices_answer,
    &doing_answer,         &driver_answer,          &effect_answer,        &effect_hits_answer, &finding_codes_answer,
    &fleet_answer_form,    &forecast_answers,       &guard_answer,         &guard_event_answer, &history_answer_form,
    &guard_health_answer,  &health_answer,          &health_change_answer, &inventory_answer,   &leases_answer,
    &limits_answer,        &live_stats_answer,      &metrics_answer,       &notifiers_answer,   &past_events_answer,
    &past_limits_answer,   &process_history_answer, &placement_answer,     &processes_answer,   &moment_answer,
    &remedy_answer,        &report_answer,          &resources_answer,     &span_answer,        &stats_answer,
    &stats_history_answer, &summary_answer,         &widget_answer,        &error_answer,       &usage_answer,
    &live_status_answer,   &target_answer,          &remedies_answer,      &session_answer,     &released_answer,
    &silenced_answer,      &unsilenced_answer,      &forgotten_one_answer, &setting_answer,     &service_answer,
    &settings_answer,      &undo_list_answer,       &usual_answer,         &why_answer,
};
const size_t all_answer_count = ARRAY_LEN(all_answers);

/* ---- examples: those in the template have the most important values ---- */

static const json_t *resolve(const json_t *schema, const json_t *schemas)
{
    static const char ref[] = "#/components/schemas/";
    const char *to = json_text(schema, "$ref");
    return to[0] ? json_object_get(schemas, to + sizeof ref - 1) : schema;
}

static bool has_type(const json_t *schema, const char *type)
{
    const json_t *types = json_object_get(schema, "type");
    for (size_t i = 0; i < json_array_size(types); i++)
        if (strcmp(json_string_value(json_array_get(types, i)), type) == 0)
            return true;
    return json_is_string(types) && strcmp(json_string_value(types), type) == 0;
}

/* A value that says nothing. */
static json_t *empty_value(const json_t *schema)
{
    if (has_type(schema, "null") || json_object_get(schema, "oneOf") || json_object_get(schema, "anyOf"))
        return json_null();
    if (has_type(schema, "array"))
        return json_array();
    if (has_type(schema, "boolean"))
        return json_false();
    if (has_type(schema, "number") || has_type(schema, "integer"))
        return json_integer(0);
    if (has_type(schema, "string"))
        return json_string(json_object_get(schema, "enum") ? json_string_value(json_array_get(json_object_get(schema, "enum"), 0))
                                                           : "");
    return json_object();
}

/* Adds what its schema requires. */
static void complete(json_t *value, const json_t *schema, const json_t *schemas)
{
    const json_t *properties, *required, *all;
    schema = resolve(schema, schemas);
    all = json_object_get(schema, "oneOf") ? json_object_get(schema, "oneOf") : json_object_get(schema, "allOf");
    properties = json_object_get(schema, "properties");
    required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(all); i++)
        complete(value, json_array_get(all, i), schemas);
    for (size_t i = 0; i < json_array_size(value); i++)
        complete(json_array_get(value, i), json_object_get(schema, "items"), schemas);
    for (size_t i = 0; json_is_object(value) && i < json_array_size(required); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        const json_t *of = resolve(json_object_get(properties, key), schemas);
        bool reading = has_type(of, "number") && has_type(of, "null");
        if (!json_object_get(value, key))
            json_object_set_new(value, key, empty_value(of));
        if (strcmp(key, "absent") == 0)
            continue;
        if (reading && json_is_null(json_object_get(value, key)) && json_object_get(properties, "absent")) {
            if (!json_object_get(value, "absent"))
                json_object_set_new(value, "absent", json_object());
            json_object_set_new(json_object_get(value, "absent"), key, json_string("unsupported"));
        }
    }
    const char *key;
    json_t *inner;
    if (json_is_object(value))
        json_object_foreach(value, key, inner) complete(inner, json_object_get(properties, key), schemas);
}

/* ---- parameters ---- */

static json_t *describe_parameter(const struct parameter *p)
{
    json_t *one =
        json_pack("{s:s, s:s, s:s, s:o}", "name", p->name, "in", "query", "description", p->about, "schema", parameter_schema(p));
    if (p->required)
        json_object_set_new(one, "required", json_true());
    if (p->example)
        json_object_set_new(one, "example", json_loads(p->example, JSON_DECODE_ANY, NULL));
    return one;
}

/* The template lists them by id; what is no text there is described there. */
static void describe_parameters(json_t *doc)
{
    const char *path, *method;
    json_t *methods, *operation, *one;
    size_t i;
    struct parameter p;
    json_object_foreach(json_object_get(doc, "paths"), path, methods) json_object_foreach(methods, method, operation)
    {
        json_t *list = json_object_get(operation, "parameters");
        json_array_foreach(list, i, one) if (json_is_string(one) && parameter_find(json_string_value(one), &p))
            json_array_set_new(list, i, describe_parameter(&p));
    }
}

json_t *openapi_parameters(void)
{
    const struct asset *template = asset_find("openapi.json");
    json_t *doc = template ? json_loadb(template->at, template->len, 0, NULL) : NULL, *found = json_object();
    const char *path, *method;
    json_t *methods, *operation, *one;
    size_t i;
    struct parameter p;
    json_object_foreach(json_object_get(doc, "paths"), path, methods)
    {
        json_t *names = json_object();
        json_object_foreach(methods, method, operation) json_array_foreach(json_object_get(operation, "parameters"), i, one)
        {
            bool known = json_is_string(one) && parameter_find(json_string_value(one), &p);
            json_object_set(names, known ? p.name : json_text(one, "name"), one);
            if (known && strcmp(p.id, "gpu") == 0)
                json_object_set(names, "gpu_index", one); /* the name in older endpoints */
        }
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
    AUTO_JSON json_t *doc = template ? json_loadb(template->at, template->len, 0, NULL) : NULL;
    json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
    const char *name;
    json_t *schema;
    describe_parameters(doc);
    answer_each_named(all_answers, all_answer_count, add_answer, schemas);
    json_object_foreach(schemas, name, schema)
    {
        json_t *examples = json_object_get(schema, "examples");
        for (size_t i = 0; i < json_array_size(examples); i++)
            complete(json_array_get(examples, i), schema, schemas);
    }
    json_object_set_new(json_object_get(doc, "info"), "version", json_string(WHIRR_VERSION));
    AUTO_FREE char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
    if (text) {
        buf_text(out, text);
        buf_char(out, '\n');
    } else {
        out->failed = true;
    }
}
