/* SPDX-License-Identifier: Apache-2.0 */
#include "lease/lease.h"

#include <errno.h>
#include <stdio.h>

#include "base/units.h"
#include "test.h"

static const struct wall now = {1800000000000};

static struct lease example(void)
{
    struct lease l;
    lease_init(&l, LEASE_RUN, getpid(), now);
    assert_int_equal(lease_new_id(l.id), 0);
    l.until.ms = now.ms + HOUR_MS;
    l.gpus_wanted = l.gpu_count = 2;
    l.mem_bytes = 20 * GIB_BYTES;
    snprintf(l.command, sizeof l.command, "/usr/bin/python3 train.py");
    for (int i = 0; i < 2; i++) {
        snprintf(l.gpus[i].uuid, sizeof l.gpus[i].uuid, "GPU-%d", i);
        l.gpus[i].index = i;
    }
    l.gpus[1].free_bytes = reading_ok(7);
    l.setting_count = 1;
    l.settings[0] = (struct lease_setting){.what = "power_limit", .gpu = "GPU-0", .step = "written", .asked = reading_ok(330000)};
    l.settings[0].before = reading_ok(450000);
    return l;
}

static json_t *as_json(const struct lease *l)
{
    AUTO_BUF struct buf text = BUF(LEASE_BYTES_MAX);
    struct json_writer j = JSON_WRITER(&text);
    lease_json(&j, l);
    return json_loadb(buf_view(&text).at, text.len, JSON_REJECT_DUPLICATES, NULL);
}

static void json_brings_it_back(void **state)
{
    (void)state;
    struct lease l = example(), back;
    struct error err = {0};
    json_t *json = as_json(&l);
    assert_non_null(json);
    assert_int_equal(lease_from_json(json, &back, &err), 0);
    assert_string_equal(back.id, l.id);
    assert_int_equal(back.kind, LEASE_RUN);
    assert_int_equal(back.state, LEASE_ACTIVE);
    assert_int_equal(back.uid, geteuid());
    assert_string_equal(back.user, l.user);
    assert_int_equal(back.pid, getpid());
    assert_int_equal(back.start_key, l.start_key);
    assert_string_equal(back.boot, l.boot);
    assert_string_equal(back.command, l.command);
    assert_int_equal(back.until.ms, l.until.ms);
    assert_int_equal(back.mem_bytes, l.mem_bytes);
    assert_int_equal(back.gpu_count, 2);
    assert_string_equal(back.gpus[1].uuid, "GPU-1");
    assert_int_equal(back.gpus[1].free_bytes.value, 7);
    assert_int_not_equal(back.gpus[0].free_bytes.state, READING_OK);
    assert_int_equal(back.setting_count, 1);
    assert_string_equal(back.settings[0].step, "written");
    assert_int_equal(back.settings[0].before.value, 450000);
    assert_int_not_equal(back.settings[0].least.state, READING_OK);
    json_decref(json);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
    } wrong[] = {
        {"id", "\"../../etc\""},
        {"id", "7"},
        {"kind", "\"theft\""},
        {"state", "null"},
        {"uid", "-1"},
        {"uid", "1e9"},
        {"pid", "99999999999"},
        {"memory_bytes", "-5"},
        {"made", "null"},
        {"until", "\"2001-01-01\""},
        {"gpus", "[]"},
        {"gpus", "[{}]"},
        {"gpus", "[{\"uuid\": \"x\", \"gpu_index\": 100000}]"},
        {"gpus_wanted", "-3"},
        {"memory_bytes", "9223372036854775807"},
    };
    struct lease l = example(), back;
    struct error err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *json = as_json(&l);
        json_object_set_new(json, wrong[i].key, json_loads(wrong[i].value, JSON_DECODE_ANY, NULL));
        assert_int_equal(lease_from_json(json, &back, &err), -EBADMSG);
        json_decref(json);
    }
    assert_int_equal(lease_from_json(NULL, &back, &err), -EBADMSG);
}

static void a_process_is_known_by_its_start(void **state)
{
    (void)state;
    struct lease l = example();
    assert_true(lease_process_alive(&l));
    l.start_key++; /* another process got the number */
    assert_false(lease_process_alive(&l));
    l = example();
    l.boot[0] ^= 1; /* the host was started again */
    assert_false(lease_process_alive(&l));
}

static void it_is_said_in_words(void **state)
{
    (void)state;
    struct lease l = example();
    char words[LEASE_WORDS];
    snprintf(l.user, sizeof l.user, "alice");
    assert_string_equal(lease_gpu_words(&l, words), "GPUs 0 and 1");
    assert_string_equal(lease_holder_words(&l, words), "alice (python3)");
    snprintf(l.note, sizeof l.note, "paper");
    assert_string_equal(lease_holder_words(&l, words), "alice (\"paper\")");
    l.note[0] = l.command[0] = '\0';
    assert_string_equal(lease_holder_words(&l, words), "alice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json_brings_it_back),
        TEST(nonsense_is_refused),
        TEST(a_process_is_known_by_its_start),
        TEST(it_is_said_in_words),
    };
    return RUN_TESTS(tests);
}
