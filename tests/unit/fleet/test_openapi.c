/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api/assets.h"

#include <jansson.h>
#include <stdio.h>

#include "daemon/part.h"
#include "fleet/fleet.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "model/metric.h"
#include "serve/api/core.h"
#include "test.h"

static json_t *doc;

static int read_description(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(4 << 20);
    openapi_write(&out);
    json_error_t error;
    doc = out.failed ? NULL : json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, &error);
    if (!doc)
        printf("openapi.json is not JSON: %s at line %d\n", error.text, error.line);
    return doc ? 0 : -1;
}

static int forget_description(void **state)
{
    (void)state;
    json_decref(doc);
    return 0;
}

/* Files of the pages are not part of the API. */
static bool is_file(const char *path)
{
    return strcmp(path, "/style.css") == 0 || strcmp(path, "/icon.svg") == 0;
}

/* A route that ends in a slash, and takes what follows it, is described with a parameter. */
static const char *described_path(const struct route *route, char *to, size_t size)
{
    size_t len = strlen(route->path);
    bool open = len > 1 && route->path[len - 1] == '/' && strncmp(route->path, "/api/", 5) == 0;
    snprintf(to, size, "%s%s", route->path, open ? "{id}" : "");
    return to;
}

static void check_described(const json_t *paths, const struct route *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_file(list[i].path))
            continue;
        char described[128];
        const json_t *path = json_object_get(paths, described_path(&list[i], described, sizeof described));
        if (list[i].methods & HTTP_GET && !json_object_get(path, "get"))
            fail_msg("GET %s is not described in openapi.json", list[i].path);
        if (list[i].methods & HTTP_POST && !json_object_get(path, "post"))
            fail_msg("POST %s is not described in openapi.json", list[i].path);
    }
}

static bool is_served(const char *name, const struct route *list, size_t count)
{
    char path[128];
    for (size_t i = 0; i < count; i++)
        if (strcmp(described_path(&list[i], path, sizeof path), name) == 0)
            return true;
    return false;
}

static void every_route_is_described_and_nothing_else(void **state)
{
    (void)state;
    json_t *paths = json_object_get(doc, "paths");
    check_described(paths, server_routes, server_route_count);
    for (size_t p = 0; p < daemon_part_count; p++)
        check_described(paths, daemon_parts[p]->routes, daemon_parts[p]->route_count);
    check_described(paths, fleet_part_ops.routes, fleet_part_ops.route_count);
    const char *name;
    json_t *path;
    json_object_foreach(paths, name, path)
    {
        bool found = is_served(name, server_routes, server_route_count) ||
                     is_served(name, fleet_part_ops.routes, fleet_part_ops.route_count);
        for (size_t p = 0; p < daemon_part_count; p++)
            found |= is_served(name, daemon_parts[p]->routes, daemon_parts[p]->route_count);
        if (!found)
            fail_msg("openapi.json describes %s, which is not served", name);
    }
}

static void every_metric_is_described(void **state)
{
    (void)state;
    json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
    json_t *gpu = json_object_get(json_object_get(schemas, "Gpu"), "properties");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        assert_non_null(json_object_get(gpu, metric_table[i].json));
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        assert_non_null(json_object_get(gpu, property_table[i].json));
    assert_string_equal(json_string_value(json_object_get(json_object_get(doc, "info"), "version")), WHIRR_VERSION);
}

static void a_process_is_described_whole(void **state)
{
    (void)state;
    json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
    json_t *described = json_object_get(json_object_get(schemas, "Process"), "properties");
    AUTO_BUF struct buf out = BUF(1 << 16);
    struct json_writer j = JSON_WRITER(&out);
    answer_write(&j, &process_answer, &(struct process){.pid = 1, .instance = -1}, NULL);
    json_t *written = json_loadb(out.at, out.len, 0, NULL), *value;
    const char *key;
    assert_non_null(written);
    json_object_foreach(written, key, value) if (!json_object_get(described, key))
        fail_msg("Process in openapi.json lacks '%s'", key);
    json_decref(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_route_is_described_and_nothing_else), TEST(every_metric_is_described),
                                       TEST(a_process_is_described_whole)};
    return cmocka_run_group_tests(tests, read_description, forget_description);
}
