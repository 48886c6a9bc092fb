/* SPDX-License-Identifier: Apache-2.0
 * What config.def turns into for people: the default file, `config show`, docs/configuration.md.
 */
#include "base/file.h"
#include "config/config_schema.h"
#include "config_fixture.h"

#include <jansson.h>

/* The default file with the # taken away in front of every setting (and every example). */
static void uncomment(const char *text, struct buf *out)
{
    struct str rest = str_from(text), line;
    while (str_cut(&rest, '\n', &line)) {
        if (line.len > 1 && line.at[0] == '#' && line.at[1] != ' ')
            line = (struct str){line.at + 1, line.len - 1};
        buf_str(out, line);
        buf_char(out, '\n');
    }
}

static void the_default_file_is_valid_and_changes_nothing(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF(1 << 20);
    config_write_default(&text);
    struct config *defaults = loaded(""), *file = loaded(text.at);
    struct config_changes changes;
    config_compare(defaults, file, &changes);
    assert_int_equal(changes.count, 0);
    config_free(file);

    AUTO_BUF struct buf bare = BUF(1 << 20);
    uncomment(text.at, &bare);
    file = loaded(bare.at);
    assert_int_equal(problems.errors, 0);
    assert_int_equal(problems.count, 1); /* a warning: the proxy of the example of [access.NAME] is for each site to name */
    config_compare(defaults, file, &changes);
    /* Only the examples of the groups came. */
    assert_int_equal(changes.count, 10);
    assert_int_equal(file->alert_count, 1);
    config_free(file);
    config_free(defaults);
}

static void what_is_shown_can_be_read_again(void **state)
{
    (void)state;
    struct config *c = loaded(
        "[server]\ncors_origins = ['https://a', 'https://b']\n[energy]\nprice_per_kwh = 0.3125\ncurrency = \"\\\"\\\\ \\u00e4\"\n"
        "[store]\nmax_size = 1500\nraw_days = 1e-1\n[notify.'a b']\ntype='command'\ncommand=['x','y z']\nheaders={'a.b'='c'}\n"
        "[[alert]]\nname='n'\nwhen='w'\nfor='90s'\nnotify='a b'\n");
    AUTO_BUF struct buf shown = BUF(1 << 20);
    config_write_show(c, true, &shown);
    struct config *again = loaded(shown.at);
    struct config_changes changes;
    config_compare(c, again, &changes);
    assert_int_equal(changes.count, 0);
    config_free(c);
    config_free(again);
}

static void secrets_are_hidden_unless_asked_for(void **state)
{
    (void)state;
    struct config *c = loaded("[store]\nurl = 'postgresql://u:sesame@h/d'\n[notify.a]\ntype='slack'\nurl='https://hooks/sesame'\n"
                              "headers={x='sesame'}\n[guard.worker.w]\ntoken='sesame'\n");
    AUTO_BUF struct buf shown = BUF(1 << 20), json = BUF(1 << 20), all = BUF(1 << 20);
    config_write_show(c, false, &shown);
    config_write_show_json(c, false, &json);
    config_write_show(c, true, &all);
    assert_null(strstr(shown.at, "sesame"));
    assert_null(strstr(json.at, "sesame"));
    assert_non_null(strstr(all.at, "sesame"));
    config_free(c);
    c = loaded("[store]\nurl = 'sqlite:/x'\n");
    AUTO_BUF struct buf plain = BUF(1 << 20);
    config_write_show(c, false, &plain);
    assert_non_null(strstr(plain.at, "url = \"sqlite:/x\""));
    config_free(c);
}

/* Wherever a text can be set, a secret in it does not come out: in a URL, an option, a document, a header, by its looks alone. What
 * is SECRET shows nothing at all. */
static const char *const carriers[] = {
    "hunter2",
    "http://bob:hunter2@127.0.0.1:8080/x",
    "http://127.0.0.1:8080/x?api_key=hunter2",
    "POST /unload?token=hunter2",
    "--password=hunter2",
    "{\"token\": \"hunter2\", \"n\": 1}",
    "Authorization: Bearer hunter2",
    "sh -c \"curl -u bob:hunter2 http://x\"",
    "hf_hunter2hunter2hunter2hunter2",
};

static void set_to(const struct setting *s, void *value, const char *const *text, struct config_pair *pair)
{
    static const char *const command[] = {"curl",      "-s", "-u",         "bob:hunter2", "-H", "X-Token: hunter2",
                                          "http://a/", "-b", "sid=hunter2"};
    *pair = (struct config_pair){text == carriers ? "password" : "label", *text};
    if (s->type == SETTING_TEXT)
        *(const char **)value = *text;
    else if (s->type == SETTING_MAP)
        *(struct config_map *)value = (struct config_map){pair, 1};
    else if (s->flags & COMMAND)
        *(struct config_list *)value = (struct config_list){command, ARRAY_LEN(command)};
    else
        *(struct config_list *)value = (struct config_list){text, 1};
}

static void no_setting_shows_a_secret(void **state)
{
    (void)state;
    struct config *c =
        loaded("[guard.worker.a]\nmethods='process'\n[guard.method.b]\nunload='POST /u'\n[notify.c]\ntype='webhook'\n"
               "url='http://h'\n[finding.hot]\nmute=true\n[push.d]\nurl='http://"
               "h'\n[[alert]]\nname='e'\nwhen='w'\n[hosts.f]\ntoken='x'\n[serving.g]\nkind='vllm'\n[access.i]\nusers='u'\n[hook.h]"
               "\non='lost'\nrun='/bin/"
               "true'\n");
    size_t tried = 0;
    for (size_t i = 0; i < config_section_count; i++) {
        const struct section *section = &config_sections[i];
        assert_int_equal(section_entries(c, section), 1);
        for (size_t k = 0; k < section->count; k++) {
            const struct setting *s = &section->settings[k];
            if (s->type != SETTING_TEXT && s->type != SETTING_LIST && s->type != SETTING_IDS && s->type != SETTING_MAP)
                continue;
            void *value = setting_at(section_entry(c, section, 0), s);
            char kept[sizeof(struct config_map)];
            memcpy(kept, value, value_size(s));
            for (size_t t = 0; t < ARRAY_LEN(carriers); t++) {
                bool plain = t == 0 && !(s->flags & SECRET) && s->type != SETTING_MAP; /* a word alone says nothing */
                bool whole = s->check == CHECK_STORE_URL && !strchr(carriers[t], '@'); /* sqlite:PATH is shown */
                if (plain || whole)
                    continue;
                struct config_pair pair;
                AUTO_BUF struct buf text = BUF(1 << 20), json = BUF(1 << 20);
                set_to(s, value, &carriers[t], &pair);
                config_write_show(c, false, &text);
                config_write_show_json(c, false, &json);
                if (strstr(text.at, "hunter2") || strstr(json.at, "hunter2"))
                    fail_msg("%s.%s = '%s' is shown", section->path, s->key, carriers[t]);
                tried++;
            }
            memcpy(value, kept, value_size(s));
        }
    }
    assert_true(tried > 300);
    config_free(c);
}

static void the_json_form_has_every_setting_with_its_origin(void **state)
{
    (void)state;
    struct config *c = loaded("[sampling]\ninterval_seconds = 1\n[[alert]]\nname='n'\nwhen='w'\nfor='90s'\n");
    AUTO_BUF struct buf text = BUF(1 << 20);
    config_write_show_json(c, false, &text);
    json_t *root = json_loads(text.at, 0, NULL), *item;
    assert_non_null(root);
    size_t i, found = 0;
    json_array_foreach(json_object_get(root, "settings"), i, item)
    {
        const char *key = json_string_value(json_object_get(item, "key"));
        if (strcmp(key, "sampling.interval_seconds") == 0) {
            assert_string_equal(json_string_value(json_object_get(item, "origin")), "file");
            assert_int_equal(json_integer_value(json_object_get(item, "line")), 2);
            found++;
        } else if (strcmp(key, "alert[0].for") == 0) {
            assert_string_equal(json_string_value(json_object_get(item, "value")), "90s");
            found++;
        } else if (strcmp(key, "server.listen") == 0) {
            assert_true(json_is_null(json_object_get(item, "where")));
            assert_true(json_is_true(json_object_get(item, "needs_restart")));
            found++;
        }
    }
    assert_int_equal(found, 3);
    json_decref(root);
    config_free(c);
}

static void the_page_of_the_docs_is_up_to_date(void **state)
{
    (void)state;
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    assert_non_null(root);
    struct env env;
    env_init_system(&env);
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/docs/configuration.md", root);
    AUTO_BUF struct buf page = BUF(1 << 20), fresh = BUF(1 << 20);
    assert_int_equal(file_read_all(&env, path, &page), 0);
    config_write_docs(&fresh);
    if (strcmp(page.at, fresh.at) != 0)
        fail_msg("config.def has changed: whirr config docs > docs/configuration.md");
}

int main(void)
{
    make_config_folder();
    const struct CMUnitTest tests[] = {
        TEST(the_default_file_is_valid_and_changes_nothing),
        TEST(what_is_shown_can_be_read_again),
        TEST(secrets_are_hidden_unless_asked_for),
        TEST(no_setting_shows_a_secret),
        TEST(the_json_form_has_every_setting_with_its_origin),
        TEST(the_page_of_the_docs_is_up_to_date),
    };
    return RUN_TESTS(tests);
}
