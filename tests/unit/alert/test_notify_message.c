/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/notify/message.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "test.h"

static struct alert_notice notice(void)
{
    struct alert_notice n = {
        .status = NOTICE_FIRING, .gpu_index = 0, .has_value = true, .value = 87.5, .started_at = {1700000000123}};
    snprintf(n.alert, sizeof n.alert, "busy");
    snprintf(n.severity, sizeof n.severity, "critical");
    snprintf(n.gpu_name, sizeof n.gpu_name, "NVIDIA H200");
    snprintf(n.gpu_uuid, sizeof n.gpu_uuid, "GPU-1");
    snprintf(n.host, sizeof n.host, "node7");
    snprintf(n.summary, sizeof n.summary, "It is \"busy\" <@everyone> & so\\on");
    snprintf(n.fingerprint, sizeof n.fingerprint, "f00d");
    notice_add_label(&n, "team", "ml");
    return n;
}

static struct notify_message message;

static json_t *make(enum config_notify_type type, const char *url, const char *own, const struct alert_notice *list, size_t count)
{
    const struct alert_notice *pointers[128];
    struct error err = {0};
    for (size_t i = 0; i < count; i++)
        pointers[i] = &list[i];
    const struct notice_group group = {pointers, count};
    assert_int_equal(notify_message(&(struct notify_address){type, url, own, "t0ken", "", {"!room:example.org"}}, &group,
                                    (struct wall){1700000100000}, &message, &err),
                     0);
    json_t *json = json_loadb(message.body.at, message.body.len, JSON_REJECT_DUPLICATES, NULL);
    return json;
}

static const char *text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static void a_webhook_gets_every_key(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    json_t *o = make(CONFIG_NOTIFY_WEBHOOK, "http://h/x", "", &n, 1);
    assert_string_equal(text(o, "status"), "firing");
    assert_string_equal(text(o, "alert"), "busy");
    assert_string_equal(text(o, "severity"), "critical");
    assert_int_equal(json_integer_value(json_object_get(o, "gpu_index")), 0);
    assert_string_equal(text(o, "gpu_name"), "NVIDIA H200");
    assert_true(json_number_value(json_object_get(o, "value")) == 87.5);
    assert_string_equal(text(o, "summary"), n.summary);
    assert_string_equal(text(o, "started_at"), "2023-11-14T22:13:20.123Z");
    assert_true(json_is_null(json_object_get(o, "ended_at")));
    assert_string_equal(text(json_object_get(o, "labels"), "team"), "ml");
    assert_int_equal(json_array_size(json_object_get(o, "alerts")), 1);
    assert_string_equal(message.content_type, "application/json");
    json_decref(o);
    notify_message_done(&message);
}

static void a_label_that_is_given_twice_has_its_last_value(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    notice_add_label(&n, "team", "ops");
    for (int i = 0; i < 2 * NOTICE_LABELS_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "l%d", i);
        notice_add_label(&n, key, "x");
    }
    notice_add_label(&n, "team", "last");
    json_t *o = make(CONFIG_NOTIFY_WEBHOOK, "http://h/x", "", &n, 1); /* which refuses keys that are there twice */
    assert_non_null(o);
    assert_string_equal(text(json_object_get(o, "labels"), "team"), "last");
    assert_int_equal(json_object_size(json_object_get(o, "labels")), NOTICE_LABELS_MAX);
    json_decref(o);
    notify_message_done(&message);
}

static void a_link_leads_to_the_moment_or_is_none(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    notice_set_link(&n, "http://h:9447//");
    assert_string_equal(n.link, "http://h:9447/?at=2023-11-14T22:13:20Z");
    notice_set_link(&n, "");
    assert_string_equal(n.link, "");
    n.started_at.ms = 0;
    notice_set_link(&n, "http://h:9447");
    assert_string_equal(n.link, "");
}

static void what_is_not_known_is_null(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    n.gpu_index = -1;
    n.has_value = false;
    n.gpu_name[0] = n.gpu_uuid[0] = '\0';
    json_t *o = make(CONFIG_NOTIFY_WEBHOOK, "http://h/x", "", &n, 1);
    const char *const keys[] = {"gpu_index", "gpu_name", "gpu_uuid", "value", "ended_at"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_true(json_is_null(json_object_get(o, keys[i])));
    json_decref(o);
    notify_message_done(&message);
}

/* ---- templates ---- */

static void expect(const char *template_text, const char *wanted)
{
    struct alert_notice n = notice();
    const struct notice_group group = {(const struct alert_notice *const[]){&n}, 1};
    AUTO_BUF struct buf out = BUF(65536);
    struct error err = {0};
    assert_int_equal(template_render(template_text, &group, &out, &err), 0);
    assert_string_equal(buf_view(&out).at, wanted);
}

static void templates_are_filled_in(void **state)
{
    (void)state;
    expect("{{alert}} on {{ host }}: {{value}} {{gpu_index}} {{labels.team}} {{labels.other}}!", "busy on node7: 87.5 0 ml !");
    expect("{\"text\": \"{{summary}}\", \"v\": {{value}}}",
           "{\"text\": \"It is \\\"busy\\\" <@everyone> & so\\\\on\", \"v\": 87.5}");
    expect("{{summary|json}}", "\"It is \\\"busy\\\" <@everyone> & so\\\\on\"");
    expect("{\"x\": \"{{alert|raw}}\"}", "{\"x\": \"busy\"}");
    expect("[{{labels}}]", "[{\"team\":\"ml\"}]");
    expect("no names, {{ open", "no names, {{ open");
    expect("{{title}}", "FIRING: busy on GPU 0 of node7 (critical)");
    expect("{\"e\": \"{{ended_at}}\", \"n\": {{count}}}", "{\"e\": \"\", \"n\": 1}");
}

static void numbers_that_are_not_known_are_null_in_json_and_nothing_in_text(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    n.has_value = false;
    n.gpu_index = -1;
    const struct notice_group group = {(const struct alert_notice *const[]){&n}, 1};
    AUTO_BUF struct buf json = BUF(1000), plain = BUF(1000);
    struct error err = {0};
    template_render("{\"v\": {{value}}, \"g\": {{gpu_index}}}", &group, &json, &err);
    template_render("v={{value}} g={{gpu_index}}", &group, &plain, &err);
    assert_string_equal(json.at, "{\"v\": null, \"g\": null}");
    assert_string_equal(plain.at, "v= g=");
}

static void mistakes_in_templates_are_found(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(template_check("{{sumary}}", &err), -EINVAL);
    assert_non_null(strstr(err.text, "{{summary}}"));
    assert_int_equal(template_check("{\"a\": {{alert}}}", &err), -EINVAL);
    assert_non_null(strstr(err.text, "JSON"));
    assert_int_equal(template_check("{{alert|shout}}", &err), -EINVAL);
    assert_int_equal(template_check("{\"a\": \"{{summary}}\", \"l\": {{alerts}}}", &err), 0);
    assert_int_equal(template_check("", &err), 0);
}

/* ---- services ---- */

static void slack_marks_in_values_are_escaped(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    json_t *o = make(CONFIG_NOTIFY_SLACK, "http://h/x", "", &n, 1);
    const json_t *attachment = json_array_get(json_object_get(o, "attachments"), 0);
    assert_string_equal(text(attachment, "color"), "danger");
    assert_non_null(strstr(text(attachment, "text"), "&lt;@everyone&gt; &amp; so"));
    assert_non_null(text(o, "text"));
    json_decref(o);
    notify_message_done(&message);
    n.status = NOTICE_RESOLVED;
    n.simulated = true;
    o = make(CONFIG_NOTIFY_SLACK, "http://h/x", "", &n, 1);
    assert_string_equal(text(json_array_get(json_object_get(o, "attachments"), 0), "color"), "good");
    assert_string_equal(text(o, "text"), "RESOLVED: busy on simulated GPU 0 of node7");
    json_decref(o);
    notify_message_done(&message);
}

static void longest(struct alert_notice *n)
{
    memset(n->summary, 0, sizeof n->summary);
    while (strlen(n->summary) + 3 < sizeof n->summary)
        strcat(n->summary, "ä");
    memset(n->alert, 'x', sizeof n->alert - 1);
    for (int i = 0; i < NOTICE_LABELS_MAX; i++) {
        char key[16], value[NOTICE_LABEL_VALUE_SIZE];
        snprintf(key, sizeof key, "label%d", i);
        memset(value, 'v', sizeof value);
        value[sizeof value - 1] = '\0';
        notice_add_label(n, key, value);
    }
}

static void discord_messages_keep_within_its_limits(void **state)
{
    (void)state;
    struct alert_notice many[10];
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = notice();
        longest(&many[i]);
    }
    for (size_t count = 1; count <= ARRAY_LEN(many); count++) {
        json_t *o = make(CONFIG_NOTIFY_DISCORD, "http://h/x", "", many, count);
        const json_t *embeds = json_object_get(o, "embeds");
        size_t together = 0;
        assert_int_equal(json_array_size(embeds), count);
        assert_true(strlen(text(o, "content")) <= 2000);
        for (size_t i = 0; i < count; i++) {
            const json_t *embed = json_array_get(embeds, i);
            size_t title = strlen(text(embed, "title")), description = strlen(text(embed, "description"));
            assert_true(title > 0 && title <= 256 && description > 0 && description <= 4096);
            together += title + description;
        }
        assert_true(together <= 6000);
        assert_int_equal(json_array_size(json_object_get(json_object_get(o, "allowed_mentions"), "parse")), 0);
        json_decref(o);
        notify_message_done(&message);
    }
}

static void ntfy_posts_to_the_root_with_the_topic(void **state)
{
    (void)state;
    struct alert_notice many[30];
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = notice();
        longest(&many[i]);
    }
    json_t *o = make(CONFIG_NOTIFY_NTFY, "https://ntfy.example/base/topic-1?auth=abc", "", many, ARRAY_LEN(many));
    assert_string_equal(message.url, "https://ntfy.example/base/?auth=abc");
    assert_string_equal(text(o, "topic"), "topic-1");
    assert_true(strlen(text(o, "message")) <= 4096 && strlen(text(o, "message")) > 4000);
    assert_true(strlen(text(o, "title")) <= 250);
    assert_int_equal(json_integer_value(json_object_get(o, "priority")), 5);
    json_decref(o);
    notify_message_done(&message);
}

static void an_ntfy_url_without_a_topic_is_refused(void **state)
{
    (void)state;
    const char *const urls[] = {"https://ntfy.sh", "https://ntfy.sh/", "https://ntfy.sh/?auth=x", "ntfy.sh/x"};
    struct alert_notice n = notice();
    const struct notice_group group = {(const struct alert_notice *const[]){&n}, 1};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct error err = {0};
        assert_int_equal(notify_message(&(struct notify_address){CONFIG_NOTIFY_NTFY, urls[i], "", "", "", {NULL}}, &group,
                                        (struct wall){1}, &message, &err),
                         -EINVAL);
        assert_non_null(strstr(err.text, "topic"));
        notify_message_done(&message);
    }
}

static void alertmanager_gets_labels_that_do_not_change_and_an_end_ahead(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    notice_add_label(&n, "bad-name é", "x");
    notice_add_label(&n, "alertname", "stolen");
    notice_add_label(&n, "0digit", "y");
    json_t *o = make(CONFIG_NOTIFY_ALERTMANAGER, "http://am:9093/", "", &n, 1);
    assert_string_equal(message.url, "http://am:9093/api/v2/alerts");
    const json_t *alert = json_array_get(o, 0), *labels = json_object_get(alert, "labels");
    assert_string_equal(text(labels, "alertname"), "busy");
    assert_string_equal(text(labels, "gpu"), "0");
    assert_string_equal(text(labels, "team"), "ml");
    assert_string_equal(text(labels, "bad_name___"), "x");
    assert_string_equal(text(labels, "_0digit"), "y");
    assert_null(json_object_get(labels, "value"));
    assert_string_equal(text(json_object_get(alert, "annotations"), "value"), "87.5");
    assert_string_equal(text(alert, "startsAt"), "2023-11-14T22:13:20.123Z");
    assert_string_equal(text(alert, "endsAt"), "2023-11-14T22:19:00.000Z"); /* now and four minutes */
    json_decref(o);
    notify_message_done(&message);
    n.status = NOTICE_RESOLVED;
    n.ended_at = (struct wall){1700000050000};
    o = make(CONFIG_NOTIFY_ALERTMANAGER, "http://am/prefix/api/v2", "", &n, 1);
    assert_string_equal(message.url, "http://am/prefix/api/v2/alerts");
    assert_string_equal(text(json_array_get(o, 0), "endsAt"), "2023-11-14T22:14:10.000Z");
    json_decref(o);
    notify_message_done(&message);
}

static void a_finding_has_the_name_and_labels_of_its_prometheus_rule(void **state)
{
    (void)state;
    struct alert_notice n = notice();
    str_copy(n.alert, sizeof n.alert, str_from("fan_stopped"));
    str_copy(n.gpu_uuid, sizeof n.gpu_uuid, str_from("GPU-1"));
    n.label_count = 0;
    notice_add_label(&n, "process", "train.py");
    notice_add_label(&n, "pid", "4242");
    json_t *o = make(CONFIG_NOTIFY_ALERTMANAGER, "http://am:9093/", "", &n, 1);
    const json_t *labels = json_object_get(json_array_get(o, 0), "labels");
    const json_t *annotations = json_object_get(json_array_get(o, 0), "annotations");
    assert_string_equal(text(labels, "alertname"), "GpuFanStopped");
    assert_string_equal(text(labels, "code"), "fan_stopped");
    assert_string_equal(text(labels, "uuid"), "GPU-1");
    assert_null(json_object_get(labels, "process")); /* of the next process it is the same alert */
    assert_null(json_object_get(labels, "pid"));
    assert_string_equal(text(annotations, "process"), "train.py");
    assert_string_equal(text(annotations, "runbook_url"), "https://whirr.invalid/docs/findings.md#fan_stopped");
    json_decref(o);
    notify_message_done(&message);
    str_copy(n.alert, sizeof n.alert, str_from("no_driver"));
    o = make(CONFIG_NOTIFY_ALERTMANAGER, "http://am:9093/", "", &n, 1);
    assert_string_equal(text(json_object_get(json_array_get(o, 0), "labels"), "alertname"), "WhirrNoDriver");
    json_decref(o);
    notify_message_done(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_webhook_gets_every_key),
        TEST(a_label_that_is_given_twice_has_its_last_value),
        TEST(a_link_leads_to_the_moment_or_is_none),
        TEST(what_is_not_known_is_null),
        TEST(templates_are_filled_in),
        TEST(numbers_that_are_not_known_are_null_in_json_and_nothing_in_text),
        TEST(mistakes_in_templates_are_found),
        TEST(slack_marks_in_values_are_escaped),
        TEST(discord_messages_keep_within_its_limits),
        TEST(ntfy_posts_to_the_root_with_the_topic),
        TEST(an_ntfy_url_without_a_topic_is_refused),
        TEST(alertmanager_gets_labels_that_do_not_change_and_an_end_ahead),
        TEST(a_finding_has_the_name_and_labels_of_its_prometheus_rule),
    };
    return RUN_TESTS(tests);
}
