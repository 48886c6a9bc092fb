/* SPDX-License-Identifier: Apache-2.0
 * CPU time of one sample of AMD, Intel and other cards on a generated machine: 4 cards, 550 processes, 1,600 open descriptors.
 *
 *   usual    a quarter of the descriptors are graphics devices, each a client of its own, in 100 processes
 *   all      every descriptor is a graphics device, three of them to a client, as graphics libraries duplicate them
 *   idle     the same, and nothing changes
 *   apart    every descriptor is a client of its own: no such machine is known
 *
 * A tenth of the clients work (none in "idle"). The limit is 4 ms a sample, 8 ms for "apart"; exits with 1 when one is over it.
 * Files are written between samples, outside of the measured time. The generated /proc has the costs of a real one except the
 * formatting of fdinfo by the driver.
 *
 * usage: bench_drm_scan [SAMPLES]
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "figure.h"
#include "source/drm/scan.h"
#include "source/source.h"

enum { PROCESSES = 550, DESCRIPTORS = 1600, FIRST_PID = 1000 };

static const struct {
    const char *name, *driver, *pci, *ids;
    int render;
} cards[] = {
    {"card0", "amdgpu", "0000:03:00.0", "1002:744C", 128},
    {"card1", "amdgpu", "0000:04:00.0", "1002:7550", 129},
    {"card2", "xe", "0000:05:00.0", "8086:E20B", 130},
    {"card3", "nouveau", "0000:06:00.0", "10DE:1B80", 131},
};

static char root[64];

static void write_file(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    AUTO_FCLOSE FILE *f = fopen(whole, "w");
    if (!f || fputs(text, f) < 0) {
        fprintf(stderr, "cannot write %s: %s\n", whole, strerror(errno));
        exit(2);
    }
}

static void make_cards(void)
{
    static const char *const files[][2] = {
        {"gpu_busy_percent", "37\n"},
        {"mem_busy_percent", "12\n"},
        {"mem_info_vram_total", "17163091968\n"},
        {"mem_info_vram_used", "668274688\n"},
        {"mem_info_gtt_total", "16786171904\n"},
        {"mem_info_gtt_used", "62369792\n"},
        {"pp_dpm_sclk", "0: 500Mhz \n1: 2100Mhz *\n2: 2660Mhz \n"},
        {"pp_dpm_mclk", "0: 96Mhz \n1: 1000Mhz *\n"},
        {"pp_dpm_pcie", "0: 2.5GT/s, x1 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n"},
        {"current_link_speed", "16.0 GT/s PCIe\n"},
        {"current_link_width", "16\n"},
        {"power/runtime_status", "active\n"},
        {"hwmon/hwmon4/name", "amdgpu\n"},
        {"hwmon/hwmon4/temp1_input", "56000\n"},
        {"hwmon/hwmon4/temp1_label", "edge\n"},
        {"hwmon/hwmon4/temp1_crit", "100000\n"},
        {"hwmon/hwmon4/temp2_input", "59000\n"},
        {"hwmon/hwmon4/temp2_label", "junction\n"},
        {"hwmon/hwmon4/temp2_crit", "110000\n"},
        {"hwmon/hwmon4/temp3_input", "54000\n"},
        {"hwmon/hwmon4/temp3_label", "mem\n"},
        {"hwmon/hwmon4/power1_average", "36000000\n"},
        {"hwmon/hwmon4/power1_cap", "289000000\n"},
        {"hwmon/hwmon4/fan1_input", "900\n"},
        {"hwmon/hwmon4/pwm1", "60\n"},
        {"hwmon/hwmon4/in0_input", "775\n"},
        {"hwmon/hwmon4/in0_label", "vddgfx\n"},
        {"hwmon/hwmon4/freq1_input", "1890000000\n"},
        {"hwmon/hwmon4/freq1_label", "sclk\n"},
        {"hwmon/hwmon4/energy1_input", "123456789\n"},
        {"tile0/gt0/freq0/act_freq", "2400\n"},
        {"tile0/gt0/freq0/throttle/status", "0\n"},
        {"tile0/gt0/gtidle/idle_residency_ms", "1\n"},
    };
    char path[256], text[256];
    for (size_t c = 0; c < ARRAY_LEN(cards); c++) {
        for (size_t f = 0; f < ARRAY_LEN(files); f++) {
            snprintf(path, sizeof path, "/sys/class/drm/%s/device/%s", cards[c].name, files[f][0]);
            write_file(path, files[f][1]);
        }
        snprintf(path, sizeof path, "/sys/class/drm/%s/device/uevent", cards[c].name);
        snprintf(text, sizeof text, "DRIVER=%s\nPCI_ID=%s\nPCI_SLOT_NAME=%s\n", cards[c].driver, cards[c].ids, cards[c].pci);
        write_file(path, text);
        snprintf(path, sizeof path, "/sys/class/drm/%s/device/drm/renderD%d/dev", cards[c].name, cards[c].render);
        write_file(path, "\n");
    }
}

/* As long as a real one of amdgpu: about 1.3 KiB. */
static void write_fdinfo(int descriptor, int client, int pid, long long busy_ns)
{
    static const char *const regions[] = {"cpu", "gtt", "vram", "gds", "gws", "oa", "doorbell"};
    size_t card = (size_t)pid % 3;
    char path[256], text[4096];
    size_t len = (size_t)snprintf(text, sizeof text,
                                  "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t1181\ndrm-driver:\t%s\ndrm-client-id:\t%d\n"
                                  "drm-pdev:\t%s\npasid:\t32785\n",
                                  cards[card].driver, client + 1, cards[card].pci);
    for (size_t i = 0; i < ARRAY_LEN(regions); i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "drm-total-%s:\t1024 KiB\ndrm-shared-%s:\t0\ndrm-active-%s:\t0\ndrm-resident-%s:\t1024 KiB\n"
                                "drm-purgeable-%s:\t0\n",
                                regions[i], regions[i], regions[i], regions[i], regions[i]);
    snprintf(text + len, sizeof text - len, "drm-memory-vram:\t1024 KiB\namd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t%lld ns\n",
             busy_ns);
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, descriptor);
    write_file(path, text);
}

struct scenario {
    const char *name;
    int graphics; /* descriptors that are graphics devices */
    int holders;  /* processes that they belong to */
    bool shared;  /* those of a process are one client */
    bool working;
    double limit_ms;
};

static int owner_of(const struct scenario *s, int descriptor)
{
    return FIRST_PID + descriptor % (descriptor < s->graphics ? s->holders : PROCESSES);
}

static void write_client(const struct scenario *s, int descriptor, long long busy_ns)
{
    int pid = owner_of(s, descriptor);
    write_fdinfo(descriptor, s->shared ? pid : descriptor, pid, busy_ns);
}

static void make_processes(const struct scenario *s)
{
    char path[256], whole[512], target[64];
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(path, sizeof path, "/proc/%d/comm", FIRST_PID + i);
        write_file(path, "process\n");
        snprintf(path, sizeof path, "/proc/%d/fd/.", FIRST_PID + i);
        snprintf(whole, sizeof whole, "%s/proc/%d/fd", root, FIRST_PID + i);
        mkdir(whole, 0755);
    }
    for (int d = 0; d < DESCRIPTORS; d++) {
        int pid = owner_of(s, d);
        snprintf(whole, sizeof whole, "%s/proc/%d/fd/%d", root, pid, d);
        snprintf(target, sizeof target, "/dev/dri/renderD%d", cards[pid % 3].render);
        if (symlink(d < s->graphics ? target : "/dev/null", whole) < 0)
            exit(2);
        if (d < s->graphics)
            write_client(s, d, 0);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One interval: every source is asked for what is read each second. Returns how many processes were seen. */
static size_t sample_all(struct source **sources, size_t count, const int *gpus)
{
    size_t processes = 0;
    for (size_t i = 0; i < count; i++) {
        if (sources[i]->ops->changed(sources[i]))
            abort();
        sources[i]->ops->refresh(sources[i], GROUP_QUICK, NULL);
        for (int g = 0; g < gpus[i]; g++) {
            struct gpu gpu = {0};
            sources[i]->ops->sample(sources[i], (size_t)g, GROUP_QUICK, &gpu);
            processes += gpu.process_count;
            gpu_done(&gpu);
        }
    }
    return processes;
}

static bool run(const struct scenario *scenario, int samples)
{
    static const struct source_ops *const ops[] = {&amdgpu_source, &intel_source, &drm_source};
    struct clock_manual clock;
    struct env env;
    struct source *sources[ARRAY_LEN(ops)];
    struct gpu_id ids[8];
    int gpus[ARRAY_LEN(ops)];
    struct error err = {0};
    /* In memory, like the real /proc and /sys. */
    snprintf(root, sizeof root, "%s/whirr-bench-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(root))
        exit(2);
    make_cards();
    make_processes(scenario);
    clock_manual_init(&clock, (struct wall){1790000000000});
    env_init_system(&env);
    env.sysroot = root;
    env.clock = &clock.clock;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (ops[i]->open(&env, "", &sources[i], &err) < 0) {
            fprintf(stderr, "%s: %s\n", ops[i]->name, err.text);
            exit(2);
        }
        gpus[i] = ops[i]->list(sources[i], ids, ARRAY_LEN(ids));
    }
    double before = cpu_ms(), first, *spent = calloc((size_t)samples, sizeof *spent);
    size_t processes = sample_all(sources, ARRAY_LEN(ops), gpus);
    first = cpu_ms() - before;
    for (int s = 0; s < samples; s++) {
        for (int d = 0; scenario->working && d < scenario->graphics; d++)
            if (owner_of(scenario, d) % 10 == 0)
                write_client(scenario, d, (s + 1) * 100000000LL);
        clock_manual_advance_ms(&clock, 1000);
        before = cpu_ms();
        processes = sample_all(sources, ARRAY_LEN(ops), gpus);
        spent[s] = cpu_ms() - before;
    }
    struct drm_scan *scan = drm_scan_ref(&env);
    struct drm_scan_stats stats;
    drm_scan_stats(scan, &stats);
    drm_scan_unref(scan);
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        ops[i]->close(sources[i]);
    nftw(root, remove_one, 32, FTW_DEPTH | FTW_PHYS);

    double sum = 0;
    for (int s = 0; s < samples; s++)
        sum += spent[s];
    qsort(spent, (size_t)samples, sizeof *spent, compare_doubles);
    double mean = sum / samples;
    printf("%-6s mean %.2f ms, median %.2f, worst %.2f, first %.2f; limit %.1f; %zu processes shown, %zu clients, %.0f fdinfo read "
           "a sample%s\n",
           scenario->name, mean, spent[samples / 2], spent[samples - 1], first, scenario->limit_ms, processes, stats.clients,
           (double)stats.reads / (double)stats.scans, mean > scenario->limit_ms ? "  TOO SLOW" : "");
    free(spent);
    char what[64];
    snprintf(what, sizeof what, "CPU of a look at all DRM clients (%s)", scenario->name);
    return figure(what, mean, "ms", false, scenario->limit_ms, "");
}

int main(int argc, char **argv)
{
    int samples = argc > 1 ? atoi(argv[1]) : 30;
    samples = samples > 0 ? samples : 30;
    static const struct scenario scenarios[] = {
        {"usual", DESCRIPTORS / 4, 100, false, true, 4},
        {"all", DESCRIPTORS, PROCESSES, true, true, 4},
        {"idle", DESCRIPTORS, PROCESSES, true, false, 4},
        {"apart", DESCRIPTORS, PROCESSES, false, true, 8},
    };
    bool fine = true;
    for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
        fine = run(&scenarios[i], samples) && fine;
    return fine ? 0 : 1;
}
