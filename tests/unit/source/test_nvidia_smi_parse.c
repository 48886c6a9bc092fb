/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "source/nvidia_smi/nvidia_smi_report.h"
#include "test.h"

static void cells_are_numbers_with_or_without_units(void **state)
{
    (void)state;
    static const struct {
        const char *cell;
        enum cell_kind kind;
        int64_t value;
    } good[] = {
        {"42", CELL_CELSIUS, 42000},
        {"42 C", CELL_CELSIUS, 42000},
        {"-8 C", CELL_CELSIUS, -8000},
        {"79.95", CELL_WATT, 79950},
        {"79.95 W", CELL_WATT, 79950},
        {" 312 MiB ", CELL_MIB, 312LL * MIB_BYTES},
        {"143771", CELL_MIB, 143771LL * MIB_BYTES},
        {"100 %", CELL_PERCENT, 1000},
        {"0", CELL_PERCENT, 0},
        {"110 %", CELL_FAN, 1100},
        {"1980 MHz", CELL_MHZ, 1980000},
        {"16x", CELL_LANES, 16},
        {"16", CELL_LANES, 16},
        {"29603359 us", CELL_MICROSECONDS, 29603359},
        {"8572 KB/s", CELL_KB_PER_S, 8572000},
        {"P8", CELL_PSTATE, 8},
        {"P15", CELL_PSTATE, 15},
        {"0x0000000000000004", CELL_THROTTLE, THROTTLE_POWER_CAP},
        {"0x0000000000000000", CELL_THROTTLE, 0},
        {"0x8000000000000001", CELL_THROTTLE, THROTTLE_IDLE | THROTTLE_OTHER},
        {"Enabled", CELL_BOOL, 1},
        {"Disabled", CELL_BOOL, 0},
        {"Not Active", CELL_BOOL, 0},
        {"No", CELL_BOOL, 0},
        {"Exclusive_Process", CELL_COMPUTE_MODE, 3},
        {"Default", CELL_COMPUTE_MODE, 0},
        {"Drain and Reset", CELL_RECOVERY, 4},
        {"None", CELL_RECOVERY, 0},
        {"17", CELL_COUNT, 17},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct reading got = cell_read(str_from(good[i].cell), good[i].kind);
        if (got.state != READING_OK || got.value != good[i].value)
            fail_msg("'%s' gives state %d, value %lld", good[i].cell, got.state, (long long)got.value);
    }
}

static void odd_cells_say_why_there_is_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *cell;
        enum reading_state why;
    } odd[] = {
        {"[N/A]", READING_UNSUPPORTED},
        {"N/A", READING_UNSUPPORTED},
        {"[Not Supported]", READING_UNSUPPORTED},
        {"Not Supported", READING_UNSUPPORTED},
        {"[Requested functionality has been deprecated]", READING_UNSUPPORTED},
        {"", READING_UNSUPPORTED},
        {"[Insufficient Permissions]", READING_DENIED},
        {"[GPU is lost]", READING_FAILED},
        {"[Unknown Error]", READING_FAILED},
        {"[GPU requires reset]", READING_FAILED},
        {"ERR!", READING_FAILED},
        {"[Something new]", READING_FAILED},
        {"abc", READING_FAILED},
        {"12 parsecs", READING_FAILED},
        {"--5", READING_FAILED},
        {"4294967295 %", READING_IMPLAUSIBLE}, /* drivers have said so */
        {"1e5", READING_FAILED},
        {"nan", READING_FAILED},
        {"0x10", READING_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        if (cell_read(str_from(odd[i].cell), CELL_PERCENT).state != odd[i].why)
            fail_msg("'%s' gives %s", odd[i].cell, reading_state_name(cell_read(str_from(odd[i].cell), CELL_PERCENT).state));
    assert_int_equal(cell_read(STR("99999 C"), CELL_CELSIUS).state, READING_IMPLAUSIBLE);
    assert_int_equal(cell_read(STR("P99"), CELL_PSTATE).state, READING_FAILED);
    assert_int_equal(cell_read(STR("Maybe"), CELL_BOOL).state, READING_FAILED);
}

/* The columns of the contract, and the two that identify a card. */
static size_t contract_columns(const struct smi_field **columns)
{
    for (size_t i = 0; i < COLUMNS_ALWAYS + 2; i++)
        columns[i] = &smi_columns[i];
    return COLUMNS_ALWAYS + 2;
}

static struct smi_report read_csv(const char *text)
{
    const struct smi_field *columns[COLUMN_COUNT_MAX];
    struct smi_report r = {0};
    smi_read_csv(&r, str_from(text), columns, contract_columns(columns));
    return r;
}

static void the_contract_names_the_first_columns(void **state)
{
    (void)state;
    static const char *const names[COLUMNS_ALWAYS] = {"index",       "name",         "temperature.gpu", "power.draw",
                                                      "memory.used", "memory.total", "utilization.gpu", "utilization.memory"};
    for (size_t i = 0; i < COLUMNS_ALWAYS; i++)
        assert_string_equal(smi_columns[i].name, names[i]);
}

static void rows_become_cards(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r = read_csv("0, NVIDIA A, 40, 79.95, 100, 1000, 55, 12, GPU-a, 00000000:01:00.0\r\n"
                                               "\n"
                                               "2, NVIDIA B, 41, [N/A], 0, 2000, 0, [Not Supported], GPU-b, 00000000:AC:00.0");
    assert_int_equal(r.count, 2);
    struct gpu *a = &r.cards[0].gpu, *b = &r.cards[1].gpu;
    assert_int_equal(r.cards[0].index, 0);
    assert_int_equal(r.cards[1].index, 2);
    assert_string_equal(a->id.name, "NVIDIA A");
    assert_string_equal(a->id.uuid, "GPU-a");
    assert_string_equal(a->id.pci_address, "0000:01:00.0");
    assert_string_equal(b->id.pci_address, "0000:ac:00.0");
    assert_int_equal(a->temp_mdegc.value, 40000);
    assert_int_equal(a->power_mw.value, 79950);
    assert_int_equal(a->mem_used_bytes.value, 100LL * MIB_BYTES);
    assert_int_equal(a->util_permille.value, 550);
    assert_int_equal(b->mem_used_bytes.value, 0);
    assert_int_equal(b->mem_used_bytes.state, READING_OK);
    assert_int_equal(b->power_mw.state, READING_UNSUPPORTED);
    assert_int_equal(b->mem_util_permille.state, READING_UNSUPPORTED);
    assert_int_equal(b->fan_permille.state, READING_UNREAD); /* not asked for */
}

static void commas_in_names_do_not_shift_the_columns(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r = read_csv("0, Tesla, the second, 40, 1, 2, 3, 4, 5, GPU-a, 00000000:01:00.0\n"
                                               "1, \"Quoted, Inc.\", 41, 1, 2, 3, 4, 5, GPU-b, 00000000:02:00.0\n");
    assert_int_equal(r.count, 2);
    assert_string_equal(r.cards[0].gpu.id.name, "Tesla, the second");
    assert_int_equal(r.cards[0].gpu.temp_mdegc.value, 40000);
    assert_string_equal(r.cards[1].gpu.id.name, "Quoted, Inc.");
    assert_int_equal(r.cards[1].gpu.temp_mdegc.value, 41000);
}

static void lines_that_are_no_rows_are_left_out(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r =
        read_csv("index, name, temperature.gpu, power.draw [W], memory.used [MiB], memory.total [MiB], "
                 "utilization.gpu [%], utilization.memory [%], uuid, pci.bus_id\n"
                 "No devices were found\n"
                 "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n"
                 "0, short row\n"
                 "x, NVIDIA, 40, 1, 2, 3, 4, 5, y, z\n");
    assert_int_equal(r.count, 0);
    assert_int_equal(r.nameless, 0);
}

static void a_row_without_its_number_is_the_cards_that_its_uuid_or_address_names(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r = read_csv("[Unknown Error], NVIDIA A, 40, 1, 2, 3, 4, 5, GPU-a, 00000000:01:00.0\n"
                                               ", NVIDIA B, 41, 1, 2, 3, 4, 5, GPU-b, [Unknown Error]\n"
                                               "[Not Supported], NVIDIA C, 42, 1, 2, 3, 4, 5, [N/A], 00000000:03:00.0\n");
    assert_int_equal(r.count, 3);
    assert_int_equal(r.nameless, 0);
    for (size_t i = 0; i < r.count; i++) {
        assert_int_equal(r.cards[i].index, -1);
        assert_int_equal(r.cards[i].gpu.temp_mdegc.value, 40000 + 1000 * (int64_t)i);
    }
    assert_string_equal(r.cards[1].gpu.id.uuid, "GPU-b");
    assert_string_equal(r.cards[2].gpu.id.pci_address, "0000:03:00.0");
}

static void a_row_that_names_no_card_is_no_cards(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r =
        read_csv("0, NVIDIA A, 40, 1, 2, 3, 4, 5, [Unknown Error], [Unknown Error]\n"
                 "[Unknown Error], [Unknown Error], 40, 1, 2, 3, 4, 5, [Unknown Error], [Unknown Error]\n"
                 ", , 41, 1, 2, 3, 4, 5, , \n"
                 "1, NVIDIA B, 41, 1, 2, 3, 4, 5, GPU-b, 00000000:02:00.0\n");
    assert_int_equal(r.count, 1);
    assert_int_equal(r.nameless, 3);
    assert_string_equal(r.cards[0].gpu.id.uuid, "GPU-b");
}

static void a_lost_card_does_not_hide_the_others(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r =
        read_csv("0, NVIDIA A, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], GPU-a, "
                 "00000000:01:00.0\n"
                 "1, NVIDIA B, 41, 1, 2, 3, 4, 5, GPU-b, 00000000:02:00.0\n"
                 "2, NVIDIA C, 41, [GPU requires reset], 2, 3, 4, 5, GPU-c, 00000000:03:00.0\n"
                 "3, NVIDIA D, [Unknown Error], 1, 2, 3, 4, 5, GPU-d, 00000000:04:00.0\n");
    assert_int_equal(r.count, 4);
    assert_int_equal(r.cards[0].gpu.state, GPU_LOST);
    assert_string_equal(r.cards[0].gpu.error_message, "GPU is lost");
    assert_int_equal(r.cards[0].gpu.temp_mdegc.state, READING_FAILED);
    assert_int_equal(r.cards[1].gpu.state, GPU_OK);
    assert_int_equal(r.cards[2].gpu.state, GPU_ERROR);
    assert_string_equal(r.cards[2].gpu.error_message, "GPU requires reset");
    assert_int_equal(r.cards[2].gpu.temp_mdegc.value, 41000); /* what can be read still is */
    assert_int_equal(r.cards[3].gpu.state, GPU_OK);
    assert_int_equal(r.cards[3].gpu.temp_mdegc.state, READING_FAILED);
}

static void a_handle_that_cannot_be_had_is_a_lost_card(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r = {0};
    size_t lost = smi_lost_cards(&r, STR("Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot\n"
                                         "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n"
                                         "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error\n"
                                         "Unable to determine the device handle for GPU\n"));
    assert_int_equal(lost, 3);
    assert_int_equal(r.count, 3);
    assert_string_equal(r.cards[0].gpu.id.pci_address, "0000:05:00.0");
    assert_string_equal(r.cards[0].gpu.error_message, "GPU is lost.  Reboot");
    assert_string_equal(r.cards[1].gpu.id.pci_address, "0000:cb:00.0");
    assert_string_equal(r.cards[2].gpu.id.pci_address, "0000:34:00.0");
    assert_int_equal(r.cards[2].gpu.state, GPU_LOST);
}

static void processes_go_to_their_cards(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r = read_csv("0, A, 40, 1, 2, 3, 4, 5, GPU-a, 00000000:01:00.0\n"
                                               "1, B, 40, 1, 2, 3, 4, 5, GPU-b, 00000000:02:00.0\n");
    size_t rows = smi_read_apps(&r, STR("pid, process_name, used_gpu_memory [MiB], gpu_uuid\n"
                                        "505, /usr/bin/python3, 1002, GPU-b\n"
                                        "506, /opt/a, with comma, 12 MiB, GPU-a\n"
                                        "507, [Not Found], [N/A], GPU-a\n"
                                        "508, x, [Insufficient Permissions], GPU-a\n"
                                        "0, x, 1, GPU-a\n"
                                        "-3, x, 1, GPU-a\n"
                                        "509, x, 1, GPU-unknown\n"
                                        "No running processes found\n"));
    assert_int_equal(rows, 5);
    assert_int_equal(r.cards[0].gpu.process_count, 3);
    assert_int_equal(r.cards[1].gpu.process_count, 1);
    struct process *p = &r.cards[1].gpu.processes[0];
    assert_int_equal(p->pid, 505);
    assert_string_equal(p->name, "python3");
    assert_int_equal(p->mem_bytes.value, 1002LL * MIB_BYTES);
    assert_int_equal(p->type, PROCESS_COMPUTE);
    assert_string_equal(r.cards[0].gpu.processes[0].name, "a, with comma");
    assert_string_equal(r.cards[0].gpu.processes[1].name, "");
    assert_int_equal(r.cards[0].gpu.processes[1].mem_bytes.state, READING_UNSUPPORTED);
    assert_int_equal(r.cards[0].gpu.processes[2].mem_bytes.state, READING_DENIED);
}

static void process_names_are_the_last_part_of_the_path(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"/usr/lib/xorg/Xorg", "Xorg"},
        {"python3", "python3"},
        {"/opt/code/code --type=gpu-process --x=/a/b", "code"},
        {"C:\\Windows\\System32\\dwm.exe", "dwm.exe"},
        {"C:\\Program Files\\Game\\game.exe", "game.exe"},
        {"-", ""},
        {"[Not Found]", ""},
        {"/", "/"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        char name[64];
        smi_process_name(str_from(examples[i][0]), name, sizeof name);
        assert_string_equal(name, examples[i][1]);
    }
}

static const char XML[] =
    "<?xml version=\"1.0\" ?><!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\"><nvidia_smi_log>"
    "<!-- a comment --><driver_version>1.2.3</driver_version><cuda_version>13.0</cuda_version>"
    "<gpu id=\"00000000:01:00.0\"><product_name>A &amp; B &lt;&#67;&#x44;&gt;</product_name><uuid>GPU-a</uuid>"
    "<fan_speed>30 %</fan_speed><empty/><mig_devices><mig_device><index>0</index><gpu_instance_id>3</gpu_instance_id>"
    "<compute_instance_id>0</compute_instance_id><fb_memory_usage><total>100 MiB</total></fb_memory_usage>"
    "</mig_device></mig_devices>"
    "<clocks_throttle_reasons><clocks_throttle_reason_gpu_idle>Active</clocks_throttle_reason_gpu_idle>"
    "<clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap>"
    "<clocks_throttle_reason_hw_slowdown>Not Active</clocks_throttle_reason_hw_slowdown></clocks_throttle_reasons>"
    "<temperature><gpu_temp>59 C</gpu_temp><gpu_temp_tlimit>27 C</gpu_temp_tlimit>"
    "<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold></temperature>"
    "<processes><process_info><gpu_instance_id>3</gpu_instance_id><pid>7</pid><type>C+G</type><process_name>/bin/x"
    "</process_name><used_memory>5 MiB</used_memory></process_info><process_info><pid>8</pid><type>G</type>"
    "<used_memory>N/A</used_memory></process_info></processes></gpu></nvidia_smi_log>";

static void xml_gives_cards_instances_and_all_processes(void **state)
{
    (void)state;
    AUTO_REPORT struct smi_report r = {0};
    struct error err = {0};
    assert_int_equal(smi_read_xml(&r, STR(XML), &err), 0);
    assert_string_equal(r.driver.driver_version, "1.2.3");
    assert_string_equal(r.driver.cuda_version, "13.0");
    assert_int_equal(r.count, 1);
    struct gpu *gpu = &r.cards[0].gpu;
    assert_string_equal(gpu->id.name, "A & B <CD>");
    assert_string_equal(gpu->id.pci_address, "0000:01:00.0");
    assert_int_equal(gpu->fan_permille.value, 300);
    assert_int_equal(gpu->throttle_bits.value, THROTTLE_IDLE | THROTTLE_POWER_CAP);
    assert_int_equal(gpu->temp_limit_mdegc.value, 88000); /* 59 now, 27 of margin left, slows down 2 beyond */
    assert_int_equal(gpu->instance_count, 1);
    assert_int_equal(gpu->instances[0].mem_total_bytes.value, 100LL * MIB_BYTES);
    assert_int_equal(gpu->process_count, 2);
    assert_int_equal(gpu->processes[0].type, PROCESS_BOTH);
    assert_int_equal(gpu->processes[0].instance, 0);
    assert_string_equal(gpu->processes[0].name, "x");
    assert_int_equal(gpu->processes[1].type, PROCESS_GRAPHICS);
    assert_int_equal(gpu->processes[1].mem_bytes.state, READING_UNSUPPORTED);
    smi_read_list(
        &r, STR("GPU 0: A (UUID: GPU-a)\n  MIG 3g.40gb     Device  0: (UUID: MIG-1)\n  MIG 1g.10gb Device 9: (UUID: MIG-9)\n"));
    assert_string_equal(gpu->instances[0].id.uuid, "MIG-1");
    assert_string_equal(gpu->instances[0].profile, "3g.40gb");
}

/* Killed in the middle of its output: at every byte, nothing but whole cards comes out. */
static void cut_xml_is_an_error_and_never_half_a_card(void **state)
{
    (void)state;
    size_t whole = sizeof XML - 1 - strlen("</nvidia_smi_log>");
    for (size_t len = 0; len < sizeof XML - 1; len++) {
        AUTO_REPORT struct smi_report r = {0};
        assert_int_equal(smi_read_xml(&r, (struct str){XML, len}, NULL), -EBADMSG);
        assert_int_equal(r.count, len >= whole ? 1 : 0);
    }
}

static void xml_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          "no xml",          "<",     "<>", "<a>", "<a></b>", "</a>", "<a><b></a></b>", "<a", "<a b=\"", "<!--",
        "<![CDATA[", "<!DOCTYPE x [ <", "<?xml",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_REPORT struct smi_report r = {0};
        struct error err = {0};
        assert_int_equal(smi_read_xml(&r, str_from(bad[i]), &err), -EBADMSG);
        assert_true(err.text[0]);
    }
    char deep[XML_DEPTH_MAX * 3 + 8] = "";
    for (int i = 0; i <= XML_DEPTH_MAX; i++)
        strcat(deep, "<a>");
    AUTO_REPORT struct smi_report r = {0};
    struct error err = {0};
    assert_int_equal(smi_read_xml(&r, str_from(deep), &err), -EBADMSG);
    assert_non_null(strstr(err.text, "too deeply"));
}

static void xml_text_is_decoded_within_bounds(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"a&amp;b", "a&b"}, {"&#x20AC;", "\xe2\x82\xac"}, {"&#0;", "&#0;"},           {"&unknown;", "&unknown;"},
        {"&", "&"},         {"&#xD800;", "&#xD800;"},     {"<![CDATA[<x>]]>", "<x>"}, {"&#1114112;", "&#1114112;"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        char to[32];
        xml_decode(str_from(examples[i][0]), to, sizeof to);
        assert_string_equal(to, examples[i][1]);
    }
    char small[4];
    xml_decode(STR("abcdef"), small, sizeof small);
    assert_string_equal(small, "abc");
}

static void memory_is_what_each_cell_says(void **state)
{
    (void)state;
    const struct smi_field *columns[8];
    size_t count =
        smi_read_header(STR("index, memory.used [MiB], memory.free [MiB], memory.reserved [MiB], memory.total [MiB], uuid"),
                        columns, ARRAY_LEN(columns));
    AUTO_REPORT struct smi_report r = {0};
    assert_int_equal(smi_read_csv(&r, STR("0, 214 MiB, 7571 MiB, 408 MiB, 8192 MiB, GPU-a\n"), columns, count), 1);
    struct gpu *gpu = &r.cards[0].gpu;
    assert_int_equal(gpu->mem_reserved_bytes.value, 408LL * MIB_BYTES); /* each is rounded on its own; none is bent to the sum */
}

static void numbers_that_were_never_set_are_absent(void **state)
{
    (void)state;
    static const struct {
        const char *cell;
        enum cell_kind kind;
    } cells[] = {{"4294967295 MiB", CELL_MIB},         {"4294967295", CELL_MIB},          {"17592186044415 MiB", CELL_MIB},
                 {"4294967295 W", CELL_WATT},          {"4294967295", CELL_MHZ},          {"4294967295", CELL_COUNT},
                 {"18446744073709551615", CELL_COUNT}, {"4294967295 KB/s", CELL_KB_PER_S}};
    for (size_t i = 0; i < ARRAY_LEN(cells); i++)
        assert_int_equal(cell_read(str_from(cells[i].cell), cells[i].kind).state, READING_IMPLAUSIBLE);
}

static void xml_gives_voltage_module_traffic_and_the_draw_of_the_moment(void **state)
{
    (void)state;
    static const char text[] = "<nvidia_smi_log><gpu id=\"00000000:01:00.0\"><uuid>GPU-a</uuid><gpu_module_id>4</gpu_module_id>"
                               "<pci><rx_util>535 KB/s</rx_util><tx_util>6000 KB/s</tx_util></pci>"
                               "<voltage><graphics_volt>693.750 mV</graphics_volt></voltage>"
                               "<gpu_power_readings><average_power_draw>N/A</average_power_draw>"
                               "<instant_power_draw>79.15 W</instant_power_draw></gpu_power_readings></gpu></nvidia_smi_log>";
    AUTO_REPORT struct smi_report r = {0};
    assert_int_equal(smi_read_xml(&r, STR(text), NULL), 0);
    const struct gpu *gpu = &r.cards[0].gpu;
    assert_int_equal(gpu->voltage_mv.value, 694);
    assert_int_equal(gpu->module_id.value, 4);
    assert_int_equal(gpu->pcie_rx_bytes_per_s.value, 535000);
    assert_int_equal(gpu->pcie_tx_bytes_per_s.value, 6000000);
    assert_int_equal(gpu->power_mw.value, 79150);
    assert_int_equal(gpu->power_instant_mw.value, 79150);
    assert_int_equal(cell_read(STR("0.000 mV"), CELL_MILLIVOLT).state, READING_UNSUPPORTED); /* no card works at 0 V */
}

static void failures_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *output;
        int code;
        const char *part;
    } examples[] = {
        {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure...", -ENODEV, "modprobe nvidia"},
        {"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n", -ENODEV,
         "different versions"},
        {"No devices were found\n", -ENODEV, "finds no GPU"},
        {"Failed to initialize NVML: Unknown Error\n", -ENODEV, "restart the container"},
        {"Failed to initialize NVML: Insufficient Permissions\n", -EACCES, "/dev/nvidia*"},
        {"Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.", -EIO, "lost"},
        {"\n  Something odd \x01\n", -EIO, "status 9 (Something odd"},
        {"", -EIO, "no message"},
    };
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        struct error err = {0};
        assert_int_equal(smi_explain(str_from(examples[i].output), 9, &err), examples[i].code);
        if (!strstr(err.text, examples[i].part))
            fail_msg("'%s' says '%s'", examples[i].output, err.text);
    }
    struct str column;
    assert_true(smi_unknown_column(STR("Field \"utilization.ofa\" is not a valid field to query.\n\n"), &column));
    assert_true(str_is(column, "utilization.ofa"));
    assert_false(smi_unknown_column(STR("Field \"x"), &column));
    assert_true(smi_unknown_option(STR("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")));
}

static void versions_are_found_in_old_and_new_texts(void **state)
{
    (void)state;
    struct driver_info d = {0};
    smi_read_version(&d,
                     STR("NVIDIA-SMI version  : 610.57.04\nNVML version        : 610.57\nDRIVER version      : Deprecated, see x\n"
                         "CUDA version        : Deprecated, see y\nKMD version         : 610.57.04\nCUDA UMD version    : 13.3\n"));
    assert_string_equal(d.driver_version, "610.57.04");
    assert_string_equal(d.nvml_version, "610.57");
    assert_string_equal(d.cuda_version, "13.3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cells_are_numbers_with_or_without_units),
        TEST(odd_cells_say_why_there_is_nothing),
        TEST(the_contract_names_the_first_columns),
        TEST(rows_become_cards),
        TEST(commas_in_names_do_not_shift_the_columns),
        TEST(lines_that_are_no_rows_are_left_out),
        TEST(a_row_without_its_number_is_the_cards_that_its_uuid_or_address_names),
        TEST(a_row_that_names_no_card_is_no_cards),
        TEST(a_lost_card_does_not_hide_the_others),
        TEST(a_handle_that_cannot_be_had_is_a_lost_card),
        TEST(processes_go_to_their_cards),
        TEST(process_names_are_the_last_part_of_the_path),
        TEST(xml_gives_cards_instances_and_all_processes),
        TEST(cut_xml_is_an_error_and_never_half_a_card),
        TEST(xml_that_is_none_is_refused),
        TEST(xml_text_is_decoded_within_bounds),
        TEST(memory_is_what_each_cell_says),
        TEST(numbers_that_were_never_set_are_absent),
        TEST(xml_gives_voltage_module_traffic_and_the_draw_of_the_moment),
        TEST(failures_are_explained),
        TEST(versions_are_found_in_old_and_new_texts),
    };
    return RUN_TESTS(tests);
}
