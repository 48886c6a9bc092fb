/* SPDX-License-Identifier: Apache-2.0 */
#include "format/record.h"

#include <dirent.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sysroot.h"
#include "test.h"

static void expand(struct sysroot *s, const char *text)
{
    struct error err = {0};
    sysroot_init(s);
    if (machine_expand(str_from(text), s->path, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_file(struct sysroot *s, const char *path, struct str want)
{
    AUTO_BUF struct buf text = BUF(1 << 20);
    if (file_read_all(&s->env, path, &text) < 0)
        fail_msg("there is no %s", path);
    if (!str_equal(buf_view(&text), want))
        fail_msg("%s holds '" STR_FMT "'", path, STR_ARG(buf_view(&text)));
}

static void assert_link(struct sysroot *s, const char *path, const char *want)
{
    char target[PATH_SIZE];
    assert_true(file_read_link(&s->env, path, target, sizeof target) > 0);
    assert_string_equal(target, want);
}

static void lines_become_files(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    expand(&s, "# whirr machine 1\n"
               "/etc/machine = a = b\n"
               "\n"
               "[/sys/class/drm/card0]\n"
               "dev = 226:0\n"
               "device/empty =\n"
               "device/uevent =\n"
               "| DRIVER=amdgpu\n"
               "|\n"
               "  | two  blanks  \n"
               "hex device/gpu_metrics = 7800 0103\n"
               "| ff*3 00\n"
               "link device/driver = ../../../../bus/pci/drivers/amdgpu\n"
               "folder device/hwmon\n");
    assert_file(&s, "/etc/machine", STR("a = b\n"));
    assert_file(&s, "/sys/class/drm/card0/dev", STR("226:0\n"));
    assert_file(&s, "/sys/class/drm/card0/device/empty", STR(""));
    assert_file(&s, "/sys/class/drm/card0/device/uevent", STR("DRIVER=amdgpu\n\ntwo  blanks  \n"));
    assert_file(&s, "/sys/class/drm/card0/device/gpu_metrics", STR("\x78\x00\x01\x03\xff\xff\xff\x00"));
    assert_link(&s, "/sys/class/drm/card0/device/driver", "../../../../bus/pci/drivers/amdgpu");
    AUTO_DIR DIR *folder = dir_open(&s.env, "/sys/class/drm/card0/device/hwmon");
    assert_non_null(folder);
}

static void a_process_needs_little(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    expand(&s, "process 42 my game\n"
               "uid = 1000\n"
               "start = 777\n"
               "cmdline = game --fast\n"
               "fd 5 = /dev/dri/renderD128\n"
               "| drm-driver:\tamdgpu\n"
               "process 43 sh\n"
               "stat = 43 (sh) R 42\n"
               "[/proc]\n"
               "loadavg = 1\n");
    assert_file(&s, "/proc/42/comm", STR("my game\n"));
    assert_file(&s, "/proc/42/cmdline", STR("game\0--fast\0"));
    assert_file(&s, "/proc/42/status", STR("Name:\tmy game\nPid:\t42\nUid:\t1000\t1000\t1000\t1000\n"));
    assert_file(&s, "/proc/42/stat", STR("42 (my game) S 1 42 42 0 -1 4194304 0 0 0 0 10 5 0 0 20 0 1 0 777 1000000 300\n"));
    assert_file(&s, "/proc/42/fdinfo/5", STR("drm-driver:\tamdgpu\n"));
    assert_link(&s, "/proc/42/fd/5", "/dev/dri/renderD128");
    assert_file(&s, "/proc/43/stat", STR("43 (sh) R 42\n"));
    assert_file(&s, "/proc/loadavg", STR("1\n"));
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    static const struct machine_entry entries[] = {
        {MACHINE_FILE, "/etc/hostname", {"host\n", 5}},
        {MACHINE_FILE, "/proc/42/cgroup", {"0::/a\n", 6}},
        {MACHINE_FILE, "/proc/42/cmdline", {"game\0--name=x y\0", 16}},
        {MACHINE_FILE, "/proc/42/comm", {"game\n", 5}},
        {MACHINE_LINK, "/proc/42/fd/5", {"/dev/dri/renderD128", 19}},
        {MACHINE_FILE, "/proc/42/fdinfo/5", {"pos:\t0\nx:\t1\n", 12}},
        {MACHINE_FILE, "/proc/42/stat", {"42 (game) S 1\n", 14}},
        {MACHINE_FILE, "/proc/7/cmdline", {"sh\0-c\0", 6}},
        {MACHINE_FILE, "/proc/7/comm", {"sh\n", 3}},
        {MACHINE_FILE, "/proc/meminfo", {"MemTotal: 1 kB\nMemFree: 1 kB\n", 29}},
        {MACHINE_FOLDER, "/sys/class/drm", {"", 0}},
        {MACHINE_LINK, "/sys/class/drm/card0", {"../../devices/x", 15}},
        {MACHINE_FOLDER, "/sys/class/hwmon", {"", 0}},
        {MACHINE_FILE, "/sys/devices/x/cut", {"no newline", 10}},
        {MACHINE_FILE, "/sys/devices/x/empty", {"", 0}},
        {MACHINE_FILE, "/sys/devices/x/gpu_metrics", {"\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11}},
        {MACHINE_FILE, "/sys/devices/x/line", {"\n", 1}},
        {MACHINE_FILE, "/sys/devices/x/name", {"  = | [x] # y \n", 15}},
        {MACHINE_FILE, "/whirr/recording", {"WHIRRREC\x01\x02", 10}},
    };
    AUTO_BUF struct buf text = BUF(MACHINE_TEXT_MAX);
    assert_int_equal(machine_write(&text, STR("about\nit"), entries, ARRAY_LEN(entries)), 0);
    AUTO_SYSROOT struct sysroot s;
    expand(&s, text.at);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        if (entries[i].kind == MACHINE_FILE)
            assert_file(&s, entries[i].path, entries[i].bytes);
        else if (entries[i].kind == MACHINE_LINK)
            assert_link(&s, entries[i].path, entries[i].bytes.at);
        else
            assert_true(file_exists(&s.env, entries[i].path));
    }
    /* It is for people: commands and names stand there as such. */
    assert_non_null(strstr(text.at, "process 7 sh\ncmdline = sh -c\n"));
    assert_non_null(strstr(text.at, "fd 5 = /dev/dri/renderD128\n| pos:\t0\n"));
    assert_non_null(strstr(text.at, "ff*8"));
}

static void names_that_the_format_cannot_hold_are_counted(void **state)
{
    (void)state;
    static const struct machine_entry entries[] = {
        {MACHINE_FILE, "/sys/a b", {"x\n", 2}}, {MACHINE_FILE, "/sys/c\nd", {"x\n", 2}}, {MACHINE_FILE, "/sys/e", {"x\n", 2}}};
    AUTO_BUF struct buf text = BUF(65536);
    assert_int_equal(machine_write(&text, STR(""), entries, ARRAY_LEN(entries)), 2);
    AUTO_SYSROOT struct sysroot s;
    expand(&s, text.at);
    assert_file(&s, "/sys/e", STR("x\n"));
}

static void nothing_is_written_outside(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot outside;
    sysroot_init(&outside);
    char through[512];
    snprintf(through, sizeof through, "link /a = %s\n/a/b = x\n", outside.path);
    const char *const texts[] = {"/../x = 1\n",
                                 "[/sys/..]\n../../x = 1\n",
                                 "[/../..]\nx = 1\n",
                                 "/a/./b = 1\n",
                                 "/a//b = 1\n",
                                 "process 5 x\n../../x = 1\n",
                                 "process 5 x\nlink ../../../x = y\n",
                                 "folder /..\n",
                                 "/ = 1\n",
                                 through};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_SYSROOT struct sysroot s;
        struct error err = {0};
        sysroot_init(&s);
        if (machine_expand(str_from(texts[i]), s.path, &err) == 0)
            fail_msg("accepted: %s", texts[i]);
        assert_non_null(strstr(err.text, "line "));
        assert_false(file_exists(&outside.env, "/b"));
    }
}

static void a_line_that_makes_no_sense_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {"\n\nnonsense\n",
                                        "\n\nrelative = 1\n",
                                        "\n\n| no file\n",
                                        "\n\n[/sys\n",
                                        "\n\nhex /a = 0\n",
                                        "\n\nhex /a = zz\n",
                                        "\n\nhex /a = 00*x\n",
                                        "\n\nprocess x\n",
                                        "\n\nprocess -5 x\n",
                                        "/a = 1\n/b = 1\n/a =\n",
                                        "process 5 x\n\nfd x = /dev\n",
                                        "process 5 x\n\nuid = me\n",
                                        "\n\nlink /a =\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_SYSROOT struct sysroot s;
        struct error err = {0};
        sysroot_init(&s);
        if (machine_expand(str_from(texts[i]), s.path, &err) == 0)
            fail_msg("accepted: %s", texts[i]);
        if (!strstr(err.text, "line 3: "))
            fail_msg("'%s' says '%s'", texts[i], err.text);
    }
}

static void a_folder_that_cannot_be_made_says_why(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct error err = {0};
    char text[400];
    sysroot_init(&s);
    snprintf(text, sizeof text, "/%0300d/b = x\n", 0);
    assert_int_equal(machine_expand(str_from(text), s.path, &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.text, strerror(ENAMETOOLONG)));
}

static void a_directory_that_holds_something_is_left_alone(void **state)
{
    (void)state;
    AUTO_SYSROOT struct sysroot s;
    struct error err = {0};
    sysroot_init(&s);
    sysroot_write(&s, "/mine", "precious");
    assert_true(machine_expand(STR("/mine = x\n"), s.path, &err) < 0);
    assert_non_null(strstr(err.text, "not empty"));
    assert_file(&s, "/mine", STR("precious"));
}

static void a_text_that_is_cut_or_spoiled_does_no_harm(void **state)
{
    (void)state;
    static const char text[] = "# whirr machine 1\n[/sys/a]\nb = 1\nc =\n| x\n|\nhex d = 00 ff*3\nlink e = ../a\nfolder f\n"
                               "process 5 x y\nuid = 1\ncmdline = a b\nfd 3 = /dev/null\n| pos: 0\n[/proc]\ng = 2\n";
    static const char spoil[] = {'\0', '\n', '/', '=', '|', '[', '*', ' ', '.', '\xff', 'x'};
    for (size_t i = 0; i < sizeof text - 1; i += 2) {
        AUTO_SYSROOT struct sysroot s;
        char copy[sizeof text];
        struct error err = {0};
        bool cut = i % 3 == 0;
        memcpy(copy, text, sizeof text);
        sysroot_init(&s);
        if (!cut)
            copy[i] = spoil[i % sizeof spoil];
        int rc = machine_expand((struct str){copy, cut ? i : sizeof text - 1}, s.path, &err);
        assert_true(rc == 0 || err.text[0]);
    }
}

static void every_machine_of_the_project_expands(void **state)
{
    (void)state;
    char path[PATH_SIZE], name[PATH_SIZE];
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    size_t count = 0;
    snprintf(path, sizeof path, "%s/tests/machines", root ? root : ".");
    AUTO_DIR DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct str file = str_from(entry->d_name);
        if (!str_ends(file, ".machine"))
            continue;
        str_copy(name, sizeof name, (struct str){file.at, file.len - strlen(".machine")});
        AUTO_SYSROOT struct sysroot s;
        sysroot_machine(&s, name);
        count++;
    }
    assert_true(count >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_become_files),
        TEST(a_process_needs_little),
        TEST(what_is_written_comes_back),
        TEST(names_that_the_format_cannot_hold_are_counted),
        TEST(nothing_is_written_outside),
        TEST(a_line_that_makes_no_sense_is_named),
        TEST(a_folder_that_cannot_be_made_says_why),
        TEST(a_directory_that_holds_something_is_left_alone),
        TEST(a_text_that_is_cut_or_spoiled_does_no_harm),
        TEST(every_machine_of_the_project_expands),
    };
    return RUN_TESTS(tests);
}
