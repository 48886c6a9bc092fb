/* SPDX-License-Identifier: Apache-2.0
 * See fake_nvml.h.
 */
#include "fake_nvml.h"

#include <sys/stat.h>
#include <time.h>

#include "model/snapshot.h"

void *fake_machine_symbol(const struct fake_machine *m, const char *name)
{
    struct error why = {0};
    void *found = NULL, *library = library_load(m->library, &why);
    if (!library || library_symbols(library, &(struct library_symbol){name, &found}, 1, &why) < 0)
        fail_msg("%s", why.text);
    return found;
}

void fake_machine_init(struct fake_machine *m, const char *release, const char *script)
{
    const char *dir = getenv("WHIRR_FAKE_NVML_DIR");
    memset(m, 0, sizeof *m);
    env_init_system(&m->env);
    snprintf(m->library, sizeof m->library, "%s/libnvidia-ml-fake%s.so", dir ? dir : ".", release);
    make_folder_here(m->root);
    /* The fake's timestamps are of the real clock; ours stands still at the same moment. */
    clock_manual_init(&m->clock, (struct wall){(int64_t)time(NULL) * MS_PER_S});
    m->env.sysroot = m->root;
    m->env.clock = &m->clock.clock;
    m->env.nvml_library = m->library;
    m->env.visible_devices = NULL;

    *(void **)&m->script = fake_machine_symbol(m, "fake_nvml_script");
    *(void **)&m->calls = fake_machine_symbol(m, "fake_nvml_calls");
    *(void **)&m->reset_calls = fake_machine_symbol(m, "fake_nvml_reset_calls");
    *(void **)&m->open_count = fake_machine_symbol(m, "fake_nvml_open_count");
    m->script(script);
    m->reset_calls();
}

int fake_machine_open(struct fake_machine *m)
{
    return nvml_source.open(&m->env, "", &m->source, &m->err);
}

void fake_machine_done(struct fake_machine *m)
{
    nvml_source.close(m->source);
    assert_int_equal(m->open_count(), 0);
    m->script(NULL);
    remove_all(m->root);
}

struct gpu fake_machine_sample(struct fake_machine *m, size_t index, unsigned groups)
{
    struct gpu gpu = {0};
    assert_int_equal(nvml_source.refresh(m->source, groups, &m->err), 0);
    nvml_source.sample(m->source, index, groups, &gpu);
    gpu_drop_implausible(&gpu); /* as the engine does with every sample */
    return gpu;
}

void fake_machine_file(struct fake_machine *m, const char *path, const char *text)
{
    char whole[PATH_SIZE];
    snprintf(whole, sizeof whole, "%s%s", m->root, path);
    for (char *at = whole + strlen(m->root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(whole, 0755);
        *at = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}
