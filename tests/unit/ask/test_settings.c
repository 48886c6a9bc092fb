/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/settings.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ask/client.h"
#include "ask/session.h"
#include "base/cleanup.h"
#include "test.h"

static char folder[64];

/* A command with these options, on a machine without anything. */
static struct cli command(struct ask_options ask)
{
    struct cli cli = {.name = "release", .ask = ask};
    env_init_system(&cli.env);
    return cli;
}

#define COMMAND(...) command((struct ask_options){__VA_ARGS__})

static const char *file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    AUTO_FCLOSE FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    return path;
}

static void a_named_file_must_be_right(void **state)
{
    (void)state;
    struct cli missing = COMMAND(.config = "/nope/whirr.toml");
    assert_int_equal(settings_open(&missing), EXIT_USAGE);
    assert_null(missing.settings);
    struct cli broken = COMMAND(.config = file("broken.toml", "[server\n"));
    assert_int_equal(settings_open(&broken), EXIT_USAGE);
    struct cli right = COMMAND(.config = file("right.toml", "[server]\nsocket = \"/a.sock\"\n"));
    assert_int_equal(settings_open(&right), EXIT_FINE);
    assert_string_equal(right.settings->server.socket, "/a.sock");
    config_free(right.settings);
}

static void the_environment_outlives_a_broken_default_file(void **state)
{
    (void)state;
    file("whirr/whirr.toml", "[server\n");
    setenv("WHIRR_SERVER_SOCKET", "/b.sock", 1);
    struct cli cli = COMMAND(.direct = true);
    assert_int_equal(settings_open(&cli), EXIT_FINE);
    assert_string_equal(cli.settings->server.socket, "/b.sock");
    config_free(cli.settings);
    struct config *judged = NULL;
    assert_int_equal(settings_load(&cli, NULL, 0, &judged), EXIT_USAGE); /* who needs all of it does not go on */
    assert_null(judged);
    struct cli named = COMMAND(.socket = "/c.sock");
    assert_int_equal(settings_open(&named), EXIT_FINE);
    assert_string_equal(named.settings->server.socket, "/c.sock"); /* a flag goes before the environment */
    config_free(named.settings);
    unsetenv("WHIRR_SERVER_SOCKET");
    file("whirr/whirr.toml", "");
}

static void check_is_stricter_than_a_daemon(void **state)
{
    (void)state;
    static struct config_problems problems;
    struct config *c = NULL;
    struct cli cli = COMMAND(.config = file("worker.toml", "[guard.worker.x]\nways = [\"checkpoint\"]\n"));
    assert_int_equal(settings_check(&cli, &c, &problems), -EINVAL);
    assert_int_equal(settings_read(&cli, NULL, 0, &c, &problems), 0);
    assert_int_equal(problems.count, 1);
    assert_true(problems.list[0].warning);
    config_free(c);
}

static void acting_is_not_sampling(void **state)
{
    (void)state;
    struct error err = {0};
    struct client *client = NULL;
    struct cli direct = COMMAND(.direct = true), source = COMMAND(.sources = {"sim"}, .source_count = 1);
    assert_int_equal(act_open(&direct, &client, &err), -EINVAL);
    assert_string_equal(err.text, "'release' acts on a running daemon: it can't be combined with --direct");
    assert_int_equal(act_open(&source, &client, &err), -EINVAL);
    struct cli nobody = COMMAND(.socket = "/nope/x.sock");
    assert_int_equal(settings_open(&nobody), EXIT_FINE);
    assert_int_equal(act_open(&nobody, &client, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nope/x.sock"));
    config_free(nobody.settings);
}

int main(void)
{
    char path[128];
    make_folder_here(folder);
    snprintf(path, sizeof path, "%s/whirr", folder);
    mkdir(path, 0700);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("WHIRR_SYSTEM_ROOT", folder, 1);
    unsetenv("WHIRR_CONFIG");
    unsetenv("WHIRR_SERVER_SOCKET");
    const struct CMUnitTest tests[] = {
        TEST(a_named_file_must_be_right),
        TEST(the_environment_outlives_a_broken_default_file),
        TEST(check_is_stricter_than_a_daemon),
        TEST(acting_is_not_sampling),
    };
    return RUN_TESTS(tests);
}
