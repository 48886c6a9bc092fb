/* SPDX-License-Identifier: Apache-2.0 */
#include "host/machine.h"

#include <errno.h>

#include "base/file.h"
#include "sysroot.h"

static const char NET_HEAD[] = "Inter-|   Receive                                                |  Transmit\n"
                               " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n";

static void write_net(struct sysroot *s, const char *lines)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s", NET_HEAD, lines);
    sysroot_write(s, "/proc/net/dev", text);
}

static void set_up(struct sysroot *s)
{
    sysroot_init(s);
    sysroot_write(s, "/proc/sys/kernel/hostname", "box\n");
    sysroot_write(s, "/proc/stat",
                  "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 50 0 50 350 50 0 0 0 0 0\ncpu1 50 0 50 350 50 0 0 0\nintr 1\n");
    sysroot_write(s, "/proc/meminfo",
                  "MemTotal:       16384 kB\nMemFree:         1024 kB\nMemAvailable:    8192 kB\nBuffers: 1 kB\n"
                  "Cached: 2 kB\nSwapTotal:       4096 kB\nSwapFree:        1024 kB\n");
    sysroot_write(s, "/proc/loadavg", "1.25 0.50 0.25 2/345 6789\n");
    write_net(s, "    lo: 5000 1 0 0 0 0 0 0 5000 1 0 0 0 0 0 0\n  eth0: 1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
                 "  br0: 1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n");
    sysroot_write(s, "/sys/class/net/eth0/device/vendor", "0x8086\n");
    sysroot_write(s, "/sys/class/net/br0/bridge/forward_delay", "1\n");
    sysroot_write(s, "/proc/diskstats",
                  "   8       0 sda 10 0 100 1 10 0 200 1 0 1 1\n   8       1 sda1 10 0 100 1 10 0 200 1 0 1 1\n"
                  " 253       0 dm-0 10 0 100 1 10 0 200 1 0 1 1\n   7 0 loop0 1 0 9 1 1 0 9 1 0 1 1\n");
    sysroot_write(s, "/sys/block/sda/device/model", "disk\n");
    sysroot_write(s, "/sys/block/dm-0/size", "1\n");
    sysroot_write(s, "/sys/block/loop0/size", "1\n");
}

static void the_first_sample_has_levels_and_pending_rates(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_string_equal(h.name, "box");
    assert_int_equal(h.cpu_count.value, 2);
    assert_int_equal(h.cpu_permille.state, READING_PENDING);
    assert_int_equal(h.mem_total_bytes.value, 16384 * 1024);
    assert_int_equal(h.mem_available_bytes.value, 8192 * 1024);
    assert_int_equal(h.swap_total_bytes.value, 4096 * 1024);
    assert_int_equal(h.swap_used_bytes.value, 3072 * 1024);
    assert_int_equal(h.load1_milli.value, 1250);
    assert_int_equal(h.net_rx_bytes_per_s.state, READING_PENDING);
    assert_int_equal(h.disk_write_bytes_per_s.state, READING_PENDING);
    machine_free(m);
}

static void a_machine_that_does_not_tell_its_name_goes_by_its_directory(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct machine *m = machine_new(&s.env);
    struct host h = {0};
    machine_sample(m, &h);
    assert_string_equal(h.name, strrchr(s.env.sysroot, '/') + 1);
    machine_free(m);
    sysroot_write(&s, "/proc/sys/kernel/hostname", "container\n"); /* of the reader's namespace */
    sysroot_write(&s, "/etc/hostname", "host\n");
    m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_string_equal(h.name, "host");
    machine_free(m);
}

static void a_glance_takes_what_is_known_once_there_are_rates(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_glance(m, 5000, &h);
    assert_int_equal(h.cpu_permille.state, READING_PENDING);
    clock_manual_advance_ms(&s.clock, 1000);
    sysroot_write(&s, "/proc/stat", "cpu  150 0 100 800 150 0 0 0 90 0\n");
    machine_glance(m, 5000, &h); /* rates come with the second, not after five seconds */
    assert_int_equal(h.cpu_permille.value, 250);
    sysroot_write(&s, "/proc/stat", "cpu  250 0 100 800 150 0 0 0 90 0\n");
    clock_manual_advance_ms(&s.clock, 4000);
    machine_glance(m, 5000, &h);
    assert_int_equal(h.cpu_permille.value, 250);
    assert_string_equal(h.name, "box");
    clock_manual_advance_ms(&s.clock, 1000);
    machine_glance(m, 5000, &h);
    assert_int_equal(h.cpu_permille.value, 1000);
    machine_free(m);
}

static void who_waits_what_is_left_of_the_window_gets_rates(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_set_window(m, 30);
    assert_int_equal(machine_left_ms(m), 0);
    clock_manual_advance_ms(&s.clock, 7); /* late: the window begins with the sample */
    machine_sample(m, &h);
    assert_int_equal(machine_left_ms(m), 30);
    s.clock.now.ns += 12 * NS_PER_MS + NS_PER_MS / 2;
    assert_int_equal(machine_left_ms(m), 18); /* half a millisecond more than is left, never less */
    sysroot_write(&s, "/proc/stat", "cpu  150 0 100 800 150 0 0 0 90 0\n");
    clock_manual_advance_ms(&s.clock, machine_left_ms(m));
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 250);
    clock_manual_advance_ms(&s.clock, 100);
    assert_int_equal(machine_left_ms(m), 0);
    machine_free(m);
}

static void the_first_rates_come_as_soon_as_there_are_two_looks(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 20); /* a tick or two: noise */
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.state, READING_PENDING);
    clock_manual_advance_ms(&s.clock, 20);
    sysroot_write(&s, "/proc/stat", "cpu  150 0 100 800 150 0 0 0 90 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 250);
    clock_manual_advance_ms(&s.clock, 150); /* from then on over a longer time */
    sysroot_write(&s, "/proc/stat", "cpu  250 0 100 800 150 0 0 0 90 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 250);
    clock_manual_advance_ms(&s.clock, 50);
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 1000);
    machine_free(m);
}

static void rates_are_taken_between_samples_and_count_hardware_once(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 2000);
    sysroot_write(&s, "/proc/stat", "cpu  150 0 100 800 150 0 0 0 90 0\n");
    write_net(&s, "    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n  eth0: 5000 1 0 0 0 0 0 0 2400 1 0 0 0 0 0 0\n"
                  "  br0: 5000 1 0 0 0 0 0 0 2400 1 0 0 0 0 0 0\n");
    sysroot_write(&s, "/proc/diskstats",
                  "   8       0 sda 10 0 140 1 10 0 208 1 0 1 1\n   8       1 sda1 10 0 140 1 10 0 208 1 0 1 1\n"
                  " 253       0 dm-0 10 0 140 1 10 0 208 1 0 1 1\n");
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 250); /* 50 busy of 200 */
    assert_int_equal(h.net_rx_bytes_per_s.value, 2000);
    assert_int_equal(h.net_tx_bytes_per_s.value, 200);
    assert_int_equal(h.disk_read_bytes_per_s.value, 40 * 512 / 2);
    assert_int_equal(h.disk_write_bytes_per_s.value, 8 * 512 / 2);

    /* A call right after keeps the reading instead of measuring noise. */
    clock_manual_advance_ms(&s.clock, 20);
    write_net(&s, "  eth0: 999999 1 0 0 0 0 0 0 999999 1 0 0 0 0 0 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 250);
    assert_int_equal(h.net_rx_bytes_per_s.value, 2000);
    machine_free(m);
}

static void a_new_interface_or_a_reset_counter_is_no_burst(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    sysroot_write(&s, "/sys/class/net/wlan0/device/vendor", "0x8086\n");
    write_net(&s, "  eth0: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n wlan0: 777777777 1 0 0 0 0 0 0 777777777 1 0 0 0 0 0 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.net_rx_bytes_per_s.value, 0);
    clock_manual_advance_ms(&s.clock, 1000);
    write_net(&s, "  eth0: 20 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n wlan0: 777777778 1 0 0 0 0 0 0 777777777 1 0 0 0 0 0 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.net_rx_bytes_per_s.value, 11);
    machine_free(m);
}

static void a_synthetic_card_and_the_one_below_it_count_once(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/sys/class/net/enP1/device/vendor", "0x15b3\n");
    sysroot_link(&s, "/sys/class/net/enP1/master", "../eth0");
    write_net(&s, "  eth0: 1000 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n enP1: 1000 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    write_net(&s, "  eth0: 1500 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n enP1: 1500 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.net_rx_bytes_per_s.value, 500);
    machine_free(m);
}

static void the_network_of_a_container_is_not_the_hosts(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_remove(&s, "/sys/class/net/eth0/device");
    sysroot_write(&s, "/sys/class/net/eth0/mtu", "1500\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    write_net(&s, "    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n  eth0: 1300 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.net_rx_bytes_per_s.state, READING_UNSUPPORTED);
    assert_int_equal(h.net_tx_bytes_per_s.state, READING_UNSUPPORTED);
    machine_free(m);
}

static void without_sysfs_all_but_loopback_count(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_remove(&s, "/sys/class/net");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    write_net(&s, "    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n  eth0: 1300 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n");
    machine_sample(m, &h);
    assert_int_equal(h.net_rx_bytes_per_s.value, 300);
    machine_free(m);
}

static void disks_are_told_by_name_without_sysfs(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_remove(&s, "/sys/block");
    const char *before =
        "8 0 sda 1 0 100 1 1 0 0 1 0 1 1\n8 1 sda1 1 0 100 1 1 0 0 1 0 1 1\n259 0 nvme0n1 1 0 100 1 1 0 0 1 0 1 1\n"
        "259 1 nvme0n1p1 1 0 100 1 1 0 0 1 0 1 1\n179 0 mmcblk0 1 0 100 1 1 0 0 1 0 1 1\n179 1 mmcblk0p1 1 0 100 1 1 "
        "0 0 1 0 1 1\n9 0 md0 1 0 100 1 1 0 0 1 0 1 1\n";
    sysroot_write(&s, "/proc/diskstats", before);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    char after[1024];
    size_t len = 0;
    for (const char *c = before; *c; c++) /* " 100 " becomes " 200 " */
        after[len++] = c[0] == '1' && c[1] == '0' && c[2] == '0' && c[3] == ' ' ? '2' : *c;
    sysroot_write_bytes(&s, "/proc/diskstats", after, len);
    machine_sample(m, &h);
    assert_int_equal(h.disk_read_bytes_per_s.value, 3 * 100 * 512);
    machine_free(m);
}

/* A machine of two cores, each busy for a tenth of its time. */
static struct machine *two_cores_sampled_once(struct sysroot *s, struct host *h)
{
    set_up(s);
    sysroot_write(s, "/proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 50 0 0 450 0 0 0 0\ncpu1 50 0 0 450 0 0 0 0\nintr 1\n");
    struct machine *m = machine_new(&s->env);
    machine_sample(m, h);
    return m;
}

static void the_busiest_core_and_waiting_are_told_apart_from_the_mean(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct host h;
    struct machine *m = two_cores_sampled_once(&s, &h);
    assert_int_equal(h.cpu_core_max_permille.state, READING_PENDING);
    clock_manual_advance_ms(&s.clock, 1000);
    /* One thread at full speed, the other core waits for a disk and loses time to the hypervisor. */
    sysroot_write(&s, "/proc/stat",
                  "cpu  200 0 0 960 30 0 0 10 0 0\ncpu0 150 0 0 450 0 0 0 0\ncpu1 50 0 0 510 30 0 0 10\ncpu7 9 9 9 9\nintr 1\n");
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 550); /* 110 of 200 */
    assert_int_equal(h.cpu_core_max_permille.value, 1000);
    assert_int_equal(h.cpu_iowait_permille.value, 150);
    assert_int_equal(h.cpu_steal_permille.value, 50);
    machine_free(m);
}

/* 59 of 60 ticks, 29 of 30 of each core. */
static void no_mean_is_above_the_busiest_core(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct host h;
    struct machine *m = two_cores_sampled_once(&s, &h);
    clock_manual_advance_ms(&s.clock, 300);
    sysroot_write(&s, "/proc/stat", "cpu  159 0 0 901 0 0 0 0 0 0\ncpu0 79 0 0 451 0 0 0 0\ncpu1 79 0 0 451 0 0 0 0\nintr 1\n");
    machine_sample(m, &h);
    assert_int_equal(h.cpu_permille.value, 983);
    assert_int_equal(h.cpu_core_max_permille.value, 983);
    machine_free(m);
}

static void pressure_is_the_kernels_own_average(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/proc/pressure/cpu", "some avg10=12.34 avg60=1.00 avg300=0.00 total=99\nfull avg10=0.00 avg60=0.00\n");
    sysroot_write(&s, "/proc/pressure/memory", "some avg10=3.00 avg60=1.00 avg300=0.00 total=9\nfull avg10=1.50 avg60=0 total=1\n");
    sysroot_write(&s, "/proc/pressure/io", "some avg10=oops\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.cpu_pressure_permille.value, 123);
    assert_int_equal(h.mem_pressure_permille.value, 30);
    assert_int_equal(h.mem_stall_permille.value, 15);
    assert_int_equal(h.io_pressure_permille.state, READING_FAILED);
    assert_int_equal(h.io_stall_permille.state, READING_UNSUPPORTED);
    assert_int_equal(h.mem_used_permille.value, 500);
    machine_free(m);
}

static void the_busiest_disk_counts_not_the_sum_of_all(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/sys/block/sdb/device/model", "disk\n");
    sysroot_write(&s, "/proc/diskstats", "8 0 sda 1 0 0 1 1 0 0 1 0 1000 1\n8 16 sdb 1 0 0 1 1 0 0 1 0 500 1\n");
    sysroot_write(&s, "/proc/vmstat", "nr_free_pages 1\npswpin 100\npswpout 1000\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.disk_busy_permille.state, READING_PENDING);
    assert_int_equal(h.swap_in_pages_per_s.state, READING_PENDING);
    clock_manual_advance_ms(&s.clock, 2000);
    sysroot_write(&s, "/proc/diskstats", "8 0 sda 1 0 0 1 1 0 0 1 0 2500 1\n8 16 sdb 1 0 0 1 1 0 0 1 0 1500 1\n");
    sysroot_write(&s, "/proc/vmstat", "pswpin 300\npswpout 1000\n");
    machine_sample(m, &h);
    assert_int_equal(h.disk_busy_permille.value, 750);
    assert_int_equal(h.swap_in_pages_per_s.value, 100);
    assert_int_equal(h.swap_out_pages_per_s.value, 0);
    machine_free(m);
}

static void without_swap_nothing_is_swapped(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/proc/meminfo", "MemTotal: 16384 kB\nMemAvailable: 8192 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    sysroot_write(&s, "/proc/vmstat", "pswpin 100\npswpout 1000\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    machine_sample(m, &h);
    assert_int_equal(h.swap_in_pages_per_s.state, READING_UNSUPPORTED);
    assert_int_equal(h.swap_total_bytes.value, 0);
    machine_free(m);
}

static void the_air_is_a_sensor_that_is_labeled_so(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/name", "nct6798\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/temp1_label", "SYSTIN\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/temp1_input", "41000\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.ambient_temp_mdegc.state, READING_UNSUPPORTED); /* inside of the case is no ambient */
    machine_free(m);
    sysroot_write(&s, "/sys/class/hwmon/hwmon3/name", "dell_smm\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon3/temp1_label", "CPU\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon3/temp1_input", "61000\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon3/temp3_label", "Ambient\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon3/temp3_input", "27000\n");
    m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.ambient_temp_mdegc.value, 27000);
    sysroot_write(&s, "/sys/class/hwmon/hwmon3/temp3_input", "127000\n"); /* no room is that hot */
    clock_manual_advance_ms(&s.clock, 5000);
    machine_sample(m, &h);
    assert_int_equal(h.ambient_temp_mdegc.state, READING_FAILED);
    machine_free(m);
    sysroot_remove(&s, "/sys/class/hwmon");
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/name", "w1_slave_temp\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/temp1_input", "22500\n");
    m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.ambient_temp_mdegc.value, 22500);
    machine_free(m);
}

static void the_hottest_package_is_the_cpus_temperature(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/name", "nvme\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon1/name", "coretemp\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon1/temp1_input", "61000\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon2/name", "coretemp\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon2/temp1_input", "64000\n");
    sysroot_write(&s, "/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    sysroot_write(&s, "/sys/class/thermal/thermal_zone0/temp", "98000\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.cpu_temp_mdegc.value, 64000);
    machine_free(m);
    /* Without a chip driver, the thermal zone of the CPU. */
    sysroot_remove(&s, "/sys/class/hwmon");
    m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.cpu_temp_mdegc.value, 98000);
    sysroot_write(&s, "/sys/class/thermal/thermal_zone0/temp", "-274000\n");
    clock_manual_advance_ms(&s.clock, 1000);
    machine_sample(m, &h);
    assert_int_equal(h.cpu_temp_mdegc.value, 98000); /* not asked again so soon */
    clock_manual_advance_ms(&s.clock, 4000);
    machine_sample(m, &h);
    assert_int_equal(h.cpu_temp_mdegc.state, READING_FAILED);
    machine_free(m);
}

static void an_empty_machine_is_absent_not_zero(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++) {
        assert_int_not_equal(h.metric[i].state, READING_OK);
        assert_int_not_equal(h.metric[i].state, READING_UNREAD);
    }
    machine_free(m);
}

static void nonsense_is_absent(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    sysroot_init(&s);
    sysroot_write(&s, "/proc/stat", "cpu  x y z\n");
    sysroot_write(&s, "/proc/meminfo", "MemTotal: lots kB\nMemAvailable\n::::\n");
    sysroot_write(&s, "/proc/loadavg", "\n");
    sysroot_write(&s, "/proc/net/dev", "garbage\n:\n../x: 1 2 3\n");
    sysroot_write(&s, "/proc/diskstats", "1 2\n\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_not_equal(h.cpu_permille.state, READING_OK);
    assert_int_not_equal(h.mem_total_bytes.state, READING_OK);
    assert_int_not_equal(h.load1_milli.state, READING_OK);
    machine_free(m);
}

/* ---- power ---- */

static void write_zone(struct sysroot *s, const char *zone, const char *name, long long uj)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "/sys/class/powercap/%s/name", zone);
    snprintf(text, sizeof text, "%s\n", name);
    sysroot_write(s, path, text);
    snprintf(path, sizeof path, "/sys/class/powercap/%s/max_energy_range_uj", zone);
    sysroot_write(s, path, "262143328850\n");
    snprintf(path, sizeof path, "/sys/class/powercap/%s/energy_uj", zone);
    snprintf(text, sizeof text, "%lld\n", uj);
    sysroot_write(s, path, text);
}

static void packages_and_their_memory_add_up_and_wrap_around(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_zone(&s, "intel-rapl:0", "package-0", 262143000000);
    write_zone(&s, "intel-rapl:0:0", "core", 1000);
    write_zone(&s, "intel-rapl:0:1", "dram", 5000000);
    write_zone(&s, "intel-rapl:1", "package-1", 7000000);
    write_zone(&s, "intel-rapl-mmio:0", "package-0", 262143000000); /* the first one again */
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.cpu_power_mw.state, READING_PENDING);
    assert_int_equal(h.power_mw.state, READING_UNSUPPORTED);
    clock_manual_advance_ms(&s.clock, 2000);
    write_zone(&s, "intel-rapl:0", "package-0", 100000000 - 328850); /* over the end of its range: 100 J */
    write_zone(&s, "intel-rapl:0:0", "core", 90000000);
    write_zone(&s, "intel-rapl:0:1", "dram", 25000000);    /* 20 J */
    write_zone(&s, "intel-rapl:1", "package-1", 47000000); /* 40 J */
    machine_sample(m, &h);
    assert_int_equal(h.cpu_power_mw.state, READING_OK);
    assert_in_range(h.cpu_power_mw.value, 79990, 80510);
    clock_manual_advance_ms(&s.clock, 20); /* too soon for a new one */
    machine_sample(m, &h);
    assert_in_range(h.cpu_power_mw.value, 79990, 80510);
    machine_free(m);
}

static void a_meter_or_the_platform_is_the_whole_host(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_zone(&s, "intel-rapl:1", "psys", 1000000);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    write_zone(&s, "intel-rapl:1", "psys", 43000000);
    machine_sample(m, &h);
    assert_int_equal(h.power_mw.value, 42000);
    assert_int_equal(h.cpu_power_mw.state, READING_UNSUPPORTED);
    machine_free(m);
    sysroot_write(&s, "/sys/class/hwmon/hwmon7/name", "power_meter\n");
    sysroot_write(&s, "/sys/class/hwmon/hwmon7/power1_average", "1420000000\n");
    m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.power_mw.value, 1420000); /* at once, and rather than the platform's own idea */
    machine_free(m);
}

static int deny_counters(int dir, const char *path, int flags)
{
    if (strstr(path, "energy_uj")) {
        errno = EACCES;
        return -1;
    }
    return file_calls_system.openat(dir, path, flags);
}

static void counters_that_only_root_may_read_are_denied(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_zone(&s, "intel-rapl:0", "package-0", 1000000);
    const struct file_calls denying = {.openat = deny_counters, .read = file_calls_system.read};
    file_calls_replace(&denying);
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    clock_manual_advance_ms(&s.clock, 1000);
    machine_sample(m, &h);
    file_calls_replace(NULL);
    assert_int_equal(h.cpu_power_mw.state, READING_DENIED);
    machine_free(m);
}

static void write_ib_port(struct sysroot *s, const char *device, const char *state, const char *rate)
{
    char path[256];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/hca_type", device);
    sysroot_write(s, path, "MT4129\n");
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/link_layer", device);
    sysroot_write(s, path, "InfiniBand\n");
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/state", device);
    sysroot_write(s, path, state);
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/rate", device);
    sysroot_write(s, path, rate);
}

static void infiniband_ports_are_lost_only_after_they_had_a_link(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    write_ib_port(&s, "mlx5_0", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    write_ib_port(&s, "mlx5_1", "4: ACTIVE\n", "200 Gb/sec (2X NDR)\n");
    write_ib_port(&s, "mlx5_2", "1: DOWN\n", "10 Gb/sec (4X SDR)\n");
    write_ib_port(&s, "mlx5_3", "4: ACTIVE\n", "fast\n");
    sysroot_write(&s, "/sys/class/infiniband/mlx5_4/ports/1/link_layer", "Ethernet\n");
    struct machine *m = machine_new(&s.env);
    struct host h;
    machine_sample(m, &h);
    assert_int_equal(h.ib_ports_up.value, 2);
    assert_int_equal(h.ib_ports_slow.value, 1);
    write_ib_port(&s, "mlx5_0", "1: DOWN\n", "400 Gb/sec (4X NDR)\n");
    machine_sample(m, &h);
    assert_int_equal(h.ib_ports_up.value, 2); /* looked at every 30 s */
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.ib_ports_up.value, 1);
    assert_int_equal(h.ib_ports_lost.value, 2); /* and the one whose rate makes no sense */
    assert_int_equal(h.ib_ports_slow.value, 0);
    machine_free(m);
}

static void write_count(struct sysroot *s, const char *port, const char *file, int64_t value)
{
    char path[256], text[32];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/%s", port, file);
    snprintf(text, sizeof text, "%lld\n", (long long)value);
    sysroot_write(s, path, text);
}

static void write_counts(struct sysroot *s, int64_t retries, int64_t notices, int64_t disordered, int64_t downed)
{
    write_count(s, "mlx5_0/ports/1", "hw_counters/packet_seq_err", retries);
    write_count(s, "mlx5_0/ports/1", "hw_counters/local_ack_timeout_err", 7);
    write_count(s, "mlx5_4/ports/1", "hw_counters/np_cnp_sent", notices); /* of Ethernet */
    write_count(s, "mlx5_0/ports/1", "hw_counters/out_of_sequence", disordered);
    write_count(s, "mlx5_0/ports/1", "counters/link_downed", downed);
    write_count(s, "mlx5_4/ports/1", "counters/link_downed", 50 * downed);
}

static void rdma_ports_count_what_is_sent_again_and_links_that_come_back(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct host h;
    struct machine *m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.rdma_retries_per_s.state, READING_UNSUPPORTED);
    assert_int_equal(h.ib_flaps.state, READING_UNSUPPORTED);
    machine_free(m);

    write_ib_port(&s, "mlx5_0", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    sysroot_write(&s, "/sys/class/infiniband/mlx5_4/ports/1/link_layer", "Ethernet\n");
    write_counts(&s, 1000, 0, 5, 2);
    m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.rdma_retries_per_s.state, READING_PENDING);
    assert_int_equal(h.ib_ports_up.value, 1);
    write_counts(&s, 1000 + 31 * 340, 31 * 20, 5 + 31, 4);
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.rdma_retries_per_s.value, 340);
    assert_int_equal(h.rdma_congested_per_s.value, 20);
    assert_int_equal(h.rdma_disordered_per_s.value, 1);
    assert_int_equal(h.ib_flaps.value, 2);
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.rdma_retries_per_s.value, 0);
    assert_int_equal(h.ib_flaps.value, 2); /* for an hour */
    clock_manual_advance_ms(&s.clock, 3600 * 1000);
    machine_sample(m, &h);
    assert_int_equal(h.ib_flaps.value, 0);
    write_counts(&s, 3, 0, 0, 0); /* counted anew */
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.rdma_retries_per_s.state, READING_PENDING);
    machine_free(m);
}

static void a_host_is_on_battery_when_its_cord_is_out(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    set_up(&s);
    struct host h;
    struct machine *m = machine_new(&s.env);
    machine_sample(m, &h);
    assert_int_equal(h.on_battery.state, READING_UNSUPPORTED);
    assert_int_equal(h.cpu_clocks_low.state, READING_UNSUPPORTED);
    sysroot_write(&s, "/sys/class/power_supply/AC/type", "Mains\n");
    sysroot_write(&s, "/sys/class/power_supply/AC/online", "0\n");
    sysroot_write(&s, "/sys/class/power_supply/hid-mouse/type", "Battery\n");
    sysroot_write(&s, "/sys/class/power_supply/hid-mouse/scope", "Device\n");
    sysroot_write(&s, "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "intel_pstate\n");
    sysroot_write(&s, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.on_battery.state, READING_UNSUPPORTED); /* a mouse's battery feeds no host */
    assert_int_equal(h.cpu_clocks_low.value, 0);
    sysroot_write(&s, "/sys/class/power_supply/BAT0/type", "Battery\n");
    sysroot_write(&s, "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "acpi-cpufreq\n");
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.on_battery.value, 1);
    assert_int_equal(h.cpu_clocks_low.value, 1);
    sysroot_write(&s, "/sys/class/power_supply/AC/online", "1\n");
    clock_manual_advance_ms(&s.clock, 31000);
    machine_sample(m, &h);
    assert_int_equal(h.on_battery.value, 0);
    machine_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_sample_has_levels_and_pending_rates),
        TEST(a_machine_that_does_not_tell_its_name_goes_by_its_directory),
        TEST(a_glance_takes_what_is_known_once_there_are_rates),
        TEST(who_waits_what_is_left_of_the_window_gets_rates),
        TEST(the_first_rates_come_as_soon_as_there_are_two_looks),
        TEST(rates_are_taken_between_samples_and_count_hardware_once),
        TEST(a_new_interface_or_a_reset_counter_is_no_burst),
        TEST(a_synthetic_card_and_the_one_below_it_count_once),
        TEST(the_network_of_a_container_is_not_the_hosts),
        TEST(without_sysfs_all_but_loopback_count),
        TEST(disks_are_told_by_name_without_sysfs),
        TEST(the_busiest_core_and_waiting_are_told_apart_from_the_mean),
        TEST(no_mean_is_above_the_busiest_core),
        TEST(pressure_is_the_kernels_own_average),
        TEST(the_busiest_disk_counts_not_the_sum_of_all),
        TEST(without_swap_nothing_is_swapped),
        TEST(the_air_is_a_sensor_that_is_labeled_so),
        TEST(the_hottest_package_is_the_cpus_temperature),
        TEST(packages_and_their_memory_add_up_and_wrap_around),
        TEST(a_meter_or_the_platform_is_the_whole_host),
        TEST(counters_that_only_root_may_read_are_denied),
        TEST(an_empty_machine_is_absent_not_zero),
        TEST(nonsense_is_absent),
        TEST(infiniband_ports_are_lost_only_after_they_had_a_link),
        TEST(rdma_ports_count_what_is_sent_again_and_links_that_come_back),
        TEST(a_host_is_on_battery_when_its_cord_is_out),
    };
    return RUN_TESTS(tests);
}
