/* SPDX-License-Identifier: Apache-2.0
 * Which processes listen on a port of their network, and how often the kernel is asked for that.
 */
#include "host/listens.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sysroot.h"

#define TCP_HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define TCP_LINE(inode) \
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 " inode " 1 0 100 0 0 10 0\n"

static int tables_read;

static void count_tables(const struct env *env, enum env_read kind, const char *path, struct str bytes)
{
    (void)env, (void)bytes;
    tables_read += kind == READ_FILE && strstr(path, "/net/tcp") != NULL;
}

static void add_process(struct sysroot *s, int pid, const char *network, const char *socket)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
    sysroot_link(s, path, network);
    snprintf(path, sizeof path, "/proc/%d/fd/3", pid);
    sysroot_link(s, path, socket);
    snprintf(path, sizeof path, "/proc/%d/net/tcp", pid);
    sysroot_write(s, path, TCP_HEAD TCP_LINE("31337") TCP_LINE("99999"));
}

static void the_table_of_a_network_is_read_once_for_its_processes(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct listeners known = {0};
    struct mono now = {NS_PER_S}, later = {7 * NS_PER_S};
    sysroot_init(&s);
    add_process(&s, 77, "net:[1]", "socket:[31337]");
    add_process(&s, 78, "net:[1]", "socket:[5]");
    add_process(&s, 79, "net:[2]", "socket:[99999]");
    add_process(&s, 80, "net:[2]", "/dev/nvidia0");
    s.env.on_read = count_tables;
    tables_read = 0;
    assert_true(process_is_server(&s.env, 77, now, &known));
    int once = tables_read;
    assert_true(once > 0);
    assert_false(process_is_server(&s.env, 78, now, &known)); /* holds a socket that does not listen */
    assert_int_equal(tables_read, once);
    assert_true(process_is_server(&s.env, 79, now, &known)); /* in a network of its own */
    assert_int_equal(tables_read, 2 * once);
    assert_false(process_is_server(&s.env, 80, now, &known)); /* without a socket no table is needed */
    assert_int_equal(tables_read, 2 * once);
    assert_true(process_is_server(&s.env, 79, later, &known)); /* what is old is read again */
    assert_int_equal(tables_read, 3 * once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_of_a_network_is_read_once_for_its_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
