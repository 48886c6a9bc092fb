/* SPDX-License-Identifier: Apache-2.0
 * Lines of the kernel log on their way to the cards that they are about.
 */
#include "engine/engine.h"

#include "health_of.h"
#include "sysroot.h"

#define XID_LINE(second, code) "4,1," #second "000000,-;NVRM: Xid (PCI:0000:41:00): " #code ", pid=4242, name=python3\n"
static const char boot[] = "4,0,1000000,-;Linux version 6.1\n";

struct machine {
    struct sysroot root;
    struct fault_log *log;
    struct judge *judge;
    struct snapshot *s;
};

static void start(struct machine *m, const char *kmsg)
{
    sysroot_init(&m->root);
    sysroot_write(&m->root, "/proc/stat", "cpu  1 0 1 8 0 0 0 0 0 0\nbtime 1799996400\n");
    sysroot_write(&m->root, "/proc/sys/kernel/random/boot_id", "11111111-1111-1111-1111-111111111111\n");
    if (kmsg)
        sysroot_write(&m->root, "/dev/kmsg", kmsg);
    m->log = fault_log_new(&m->root.env);
    m->judge = judge_new();
    m->s = snapshot_new(1);
    assert_true(m->log && m->judge && m->s);
    m->s->taken_at.ms = 1800000000000;
    m->s->gpus[0].temp_mdegc = reading_ok(40000);
    snprintf(m->s->gpus[0].id.pci_address, sizeof m->s->gpus[0].id.pci_address, "0000:41:00.0");
}

static void stop(struct machine *m)
{
    snapshot_unref(m->s);
    judge_free(m->judge);
    fault_log_free(m->log);
    sysroot_done(&m->root);
}

/* The XID that the card is judged by; 0: none. */
static int64_t xid_of(struct machine *m)
{
    struct health *h = health_of(m->judge, m->s);
    assert_non_null(h);
    int64_t code = h->verdicts[0].xid_count ? h->verdicts[0].xids[0].code : 0;
    health_free(h);
    return code;
}

static void a_line_reaches_its_card(void **state)
{
    (void)state;
    struct machine m;
    char text[512];
    snprintf(text, sizeof text, "%s%s", boot, XID_LINE(3000, 119));
    start(&m, text);
    fault_log_read(m.log);
    fault_log_deliver(m.log, judge_health(m.judge), m.s);
    assert_int_equal(xid_of(&m), 119);
    assert_string_equal(fault_log_state(m.log), "read");
    assert_false(fault_log_is_unread(m.log));
    stop(&m);
}

static void a_line_waits_for_a_card_that_is_not_there_yet(void **state)
{
    (void)state;
    struct machine m;
    char text[512];
    snprintf(text, sizeof text, "%s%s", boot, XID_LINE(3000, 119));
    start(&m, text);
    snprintf(m.s->gpus[0].id.pci_address, sizeof m.s->gpus[0].id.pci_address, "0000:05:00.0");
    fault_log_read(m.log);
    fault_log_deliver(m.log, judge_health(m.judge), m.s);
    assert_int_equal(xid_of(&m), 0);
    snprintf(m.s->gpus[0].id.pci_address, sizeof m.s->gpus[0].id.pci_address, "0000:41:00.0");
    fault_log_deliver(m.log, judge_health(m.judge), m.s);
    assert_int_equal(xid_of(&m), 119);
    stop(&m);
}

static void what_an_earlier_daemon_has_read_is_no_news(void **state)
{
    (void)state;
    struct machine m;
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", boot, XID_LINE(3000, 119), XID_LINE(3100, 62));
    start(&m, text);
    fault_log_skip(m.log, (struct health_log_mark){.us = 3050000000});
    fault_log_read(m.log);
    fault_log_deliver(m.log, judge_health(m.judge), m.s);
    assert_int_equal(xid_of(&m), 62);
    assert_int_equal(fault_log_mark(m.log).us, 3100000000);
    stop(&m);
}

static void a_log_that_is_not_there_is_unread(void **state)
{
    (void)state;
    struct machine m;
    start(&m, NULL);
    assert_string_equal(fault_log_state(m.log), "skipped"); /* not asked for yet: the cards may all be simulated */
    assert_false(fault_log_is_unread(m.log));
    fault_log_read(m.log);
    assert_string_equal(fault_log_state(m.log), "absent");
    assert_true(fault_log_is_unread(m.log));
    assert_true(fault_log_message(m.log)[0] != '\0');
    stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_reaches_its_card),
        TEST(a_line_waits_for_a_card_that_is_not_there_yet),
        TEST(what_an_earlier_daemon_has_read_is_no_news),
        TEST(a_log_that_is_not_there_is_unread),
    };
    return RUN_TESTS(tests);
}
