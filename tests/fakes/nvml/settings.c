/* SPDX-License-Identifier: Apache-2.0
 * What was set on the fake GPUs: in the file of WHIRR_FAKE_NVML_SETTINGS, so that it outlives a program as it does in a driver,
 * else in memory. A line is "GPU KEY VALUE". Replaced whole: a program that is killed meanwhile leaves the old or the new.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "fake.h"

enum { SETTINGS_MAX = 64 };

struct fake_setting {
    int gpu;
    char key[32];
    long long value;
};
static struct fake_setting settings[SETTINGS_MAX];
static int count;

static void load(const char *path)
{
    FILE *f = fopen(path, "r");
    count = 0;
    while (f && count < SETTINGS_MAX &&
           fscanf(f, "%d %31s %lld", &settings[count].gpu, settings[count].key, &settings[count].value) == 3)
        count++;
    if (f)
        fclose(f);
}

static void save(const char *path)
{
    char fresh[512];
    snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
    FILE *f = fopen(fresh, "w");
    for (int i = 0; f && i < count; i++)
        fprintf(f, "%d %s %lld\n", settings[i].gpu, settings[i].key, settings[i].value);
    if (!f || fclose(f) != 0 || rename(fresh, path) != 0)
        abort();
}

static struct fake_setting *find(int gpu, const char *key)
{
    for (int i = 0; i < count; i++)
        if (settings[i].gpu == gpu && strcmp(settings[i].key, key) == 0)
            return &settings[i];
    return NULL;
}

int64_t fake_setting(int gpu, const char *key, int64_t otherwise)
{
    const char *path = getenv("WHIRR_FAKE_NVML_SETTINGS");
    if (path)
        load(path);
    const struct fake_setting *s = find(gpu, key);
    return s ? s->value : otherwise;
}

/* One program at a time, as in a driver; -1: there is no file. */
static int lock_file(const char *path)
{
    char name[512];
    snprintf(name, sizeof name, "%s.lock", path ? path : "");
    int fd = path ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        flock(fd, LOCK_EX);
    return fd;
}

void fake_setting_put(int gpu, const char *key, int64_t value)
{
    const char *path = getenv("WHIRR_FAKE_NVML_SETTINGS");
    int locked = lock_file(path);
    if (path)
        load(path);
    struct fake_setting *s = find(gpu, key);
    if (!s && count < SETTINGS_MAX) {
        s = &settings[count++];
        s->gpu = gpu;
        snprintf(s->key, sizeof s->key, "%s", key);
    }
    if (!s)
        abort();
    s->value = value;
    if (path)
        save(path);
    if (locked >= 0)
        close(locked);
}

__attribute__((visibility("default"))) void fake_nvml_forget_settings(void)
{
    count = 0;
}
