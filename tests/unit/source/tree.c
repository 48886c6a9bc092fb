/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "sysroot.h"
#include "test.h"

static void init_env(struct tree *t)
{
    clock_manual_init(&t->clock, (struct wall){1790000000000});
    env_init_system(&t->env);
    t->env.sysroot = t->root;
    t->env.clock = &t->clock.clock;
}

void tree_init(struct tree *t)
{
    *t = (struct tree){0};
    make_folder_here(t->root);
    t->made = true;
    init_env(t);
}

void tree_machine(struct tree *t, const char *name)
{
    tree_init(t);
    machine_make(name, t->root);
}

bool tree_recorded(struct tree *t, const char *name)
{
    *t = (struct tree){0};
    const char *dir = fixtures_dir();
    if (!dir)
        return false;
    snprintf(t->root, sizeof t->root, "%s/%s", dir, name);
    init_env(t);
    return access(t->root, R_OK) == 0;
}

void tree_done(struct tree *t)
{
    fault_clear();
    if (t->made)
        remove_all(t->root);
}

static void whole_path(struct tree *t, const char *path, char out[PATH_SIZE])
{
    assert_int_equal(env_path(&t->env, out, "%s", path), 0);
    for (char *slash = out + strlen(t->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(out, 0755);
        *slash = '/';
    }
}

void tree_write_bytes(struct tree *t, const char *path, const void *bytes, size_t size)
{
    char whole[PATH_SIZE];
    whole_path(t, path, whole);
    AUTO_FCLOSE FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
}

void tree_write(struct tree *t, const char *path, const char *text)
{
    tree_write_bytes(t, path, text, strlen(text));
}

void tree_link(struct tree *t, const char *path, const char *target)
{
    char whole[PATH_SIZE];
    whole_path(t, path, whole);
    unlink(whole);
    assert_int_equal(symlink(target, whole), 0);
}

void tree_remove(struct tree *t, const char *path)
{
    char whole[PATH_SIZE];
    whole_path(t, path, whole);
    remove_all(whole);
}

/* Faults: the calls behind base/file are replaced while there are any. */
enum fault_kind { FAULT_READ, FAULT_OPEN, FAULT_SHORT, FAULT_ACTION };

static struct fault {
    enum fault_kind kind;
    char suffix[64];
    int error;
    size_t length;
    void (*action)(void *);
    void *context;
} faults[16];
static size_t fault_count;

enum { FDS = 1024, OPENS = 65536 };
static const struct fault *fault_of_fd[FDS];
static size_t given[FDS];
static char *opens[OPENS];
static size_t open_count;
static size_t call_count, failing_call; /* opens and reads */
static int failing_error;

static bool call_fails(void)
{
    bool fails = ++call_count == failing_call;
    if (fails)
        errno = failing_error;
    return fails;
}

static bool ends_with(const char *path, const char *suffix)
{
    return str_ends(str_from(path), suffix);
}

static int faulty_openat(int dir, const char *path, int flags)
{
    if (open_count < OPENS)
        opens[open_count++] = strdup(path);
    if (call_fails())
        return -1;
    const struct fault *found = NULL;
    for (size_t i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (!ends_with(path, f->suffix))
            continue;
        if (f->kind == FAULT_ACTION && f->action) {
            void (*action)(void *) = f->action;
            f->action = NULL;
            action(f->context);
        }
        if (f->kind == FAULT_OPEN) {
            errno = f->error;
            return -1;
        }
        if (f->kind == FAULT_READ || f->kind == FAULT_SHORT)
            found = f;
    }
    int fd = file_calls_system.openat(dir, path, flags);
    if (fd >= 0 && fd < FDS) {
        fault_of_fd[fd] = found;
        given[fd] = 0;
    }
    return fd;
}

static ssize_t faulty_read(int fd, void *to, size_t size)
{
    const struct fault *f = fd < FDS ? fault_of_fd[fd] : NULL;
    if (call_fails())
        return -1;
    if (f && f->kind == FAULT_READ) {
        errno = f->error;
        return -1;
    }
    if (f && f->kind == FAULT_SHORT)
        size = MIN_OF(size, f->length - MIN_OF(given[fd], f->length));
    ssize_t got = file_calls_system.read(fd, to, size);
    if (got > 0 && fd < FDS)
        given[fd] += (size_t)got;
    return got;
}

static ssize_t faulty_write(int fd, const void *from, size_t size)
{
    return call_fails() ? -1 : file_calls_system.write(fd, from, size);
}

static const struct file_calls faulty_calls = {.openat = faulty_openat, .read = faulty_read, .write = faulty_write};

static struct fault *add_fault(enum fault_kind kind, const char *suffix)
{
    assert_true(fault_count < ARRAY_LEN(faults));
    struct fault *f = &faults[fault_count++];
    *f = (struct fault){.kind = kind};
    snprintf(f->suffix, sizeof f->suffix, "%s", suffix);
    file_calls_replace(&faulty_calls);
    return f;
}

void fault_read(const char *suffix, int error)
{
    add_fault(FAULT_READ, suffix)->error = error;
}

void fault_open(const char *suffix, int error)
{
    add_fault(FAULT_OPEN, suffix)->error = error;
}

void fault_short(const char *suffix, size_t length)
{
    add_fault(FAULT_SHORT, suffix)->length = length;
}

void fault_before_open(const char *suffix, void (*action)(void *), void *context)
{
    struct fault *f = add_fault(FAULT_ACTION, suffix);
    f->action = action;
    f->context = context;
}

void fault_call(size_t n, int error)
{
    call_count = 0;
    failing_call = n;
    failing_error = error;
    file_calls_replace(&faulty_calls);
}

size_t fault_calls(void)
{
    return call_count;
}

void watch_opens(void)
{
    file_calls_replace(&faulty_calls);
}

void fault_clear(void)
{
    file_calls_replace(NULL);
    memset(fault_of_fd, 0, sizeof fault_of_fd);
    fault_count = failing_call = 0;
    for (size_t i = 0; i < open_count; i++)
        free(opens[i]);
    open_count = 0;
}

size_t opened(const char *suffix)
{
    size_t count = 0;
    for (size_t i = 0; i < open_count; i++)
        count += ends_with(opens[i], suffix);
    return count;
}

static void write_processes(const struct gpu *gpu, const char *indent, struct buf *out)
{
    for (size_t i = 0; i < gpu->process_count; i++) {
        const struct process *p = &gpu->processes[i];
        const char *type = process_type_name(p->type);
        buf_printf(out, "%sprocess %d %s", indent, p->pid, type ? type : "unknown");
        if (p->instance >= 0)
            buf_printf(out, " instance=%d", p->instance);
        for (size_t m = 0; m < PROCESS_METRIC_COUNT; m++)
            if (p->metric[m].state == READING_OK)
                buf_printf(out, " %s=%lld", process_metric_table[m].field, (long long)p->metric[m].value);
        buf_char(out, '\n');
    }
    if (gpu->processes_hidden)
        buf_printf(out, "%sprocesses_hidden %zu\n", indent, gpu->processes_hidden);
}

void gpu_write(const struct gpu *gpu, const char *indent, struct buf *out)
{
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (gpu->property[i].state == READING_OK)
            buf_printf(out, "%s%s %s\n", indent, property_table[i].field, gpu->property[i].value);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (gpu->metric[i].state == READING_OK)
            buf_printf(out, "%s%s %lld\n", indent, metric_table[i].field, (long long)gpu->metric[i].value);
    write_processes(gpu, indent, out);
    for (size_t i = 0; i < gpu->instance_count; i++) {
        buf_printf(out, "%sinstance %zu %s %s %s\n", indent, i, gpu->instances[i].profile, gpu->instances[i].id.uuid,
                   gpu->instances[i].id.name);
        gpu_write(&gpu->instances[i], "  ", out);
    }
}

char *source_write(const struct source_ops *ops, const struct env *env)
{
    struct source *source = NULL;
    struct error err = {0};
    struct buf out = BUF(1024 * 1024);
    int rc = ops->open(env, "", &source, &err);
    if (rc < 0) {
        buf_printf(&out, "open: %s\n", err.text);
        return buf_take(&out);
    }
    AUTO_FREE struct gpu_id *ids = calloc(GPU_MAX, sizeof *ids);
    int count = ops->list(source, ids, GPU_MAX);
    if (ops->refresh)
        assert_int_equal(ops->refresh(source, GROUP_ALL, &err), 0);
    for (int i = 0; i < count; i++) {
        struct gpu gpu = {0};
        ops->sample(source, (size_t)i, GROUP_ALL, &gpu);
        buf_printf(&out, "gpu %d %s %s\n", i, ids[i].pci_address[0] ? ids[i].pci_address : "-", gpu_state_name(gpu.state));
        buf_printf(&out, "name %s\n", ids[i].name);
        if (ids[i].uuid[0])
            buf_printf(&out, "uuid %s\n", ids[i].uuid);
        if (gpu.error_message[0])
            buf_printf(&out, "error %s\n", gpu.error_message);
        gpu_write(&gpu, "", &out);
        gpu_done(&gpu);
    }
    ops->close(source);
    char *text = buf_take(&out);
    assert_non_null(text);
    return text;
}

void assert_golden(const char *name, const char *text)
{
    char path[PATH_SIZE];
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/golden/source/%s", root ? root : ".", name);
    AUTO_BUF struct buf golden = BUF(1024 * 1024);
    struct env env;
    env_init_system(&env);
    if (getenv("WHIRR_WRITE_GOLDEN")) {
        AUTO_FCLOSE FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        return;
    }
    int rc = file_read_all(&env, path, &golden);
    if (rc < 0 || strcmp(golden.at ? golden.at : "", text) != 0)
        printf("--- %s\n%s+++ read now\n%s\n", path, golden.at ? golden.at : "(missing)\n", text);
    assert_int_equal(rc, 0);
    assert_string_equal(golden.at ? golden.at : "", text);
}

void tree_device(struct tree *t, const char *card, const char *file, const char *text)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/sys/class/drm/%s/device/%s", card, file);
    tree_write(t, path, text);
}

void tree_card(struct tree *t, const char *name, const char *driver, const char *pci, const char *vendor_device, int render_minor)
{
    char text[256], path[PATH_SIZE];
    if (pci)
        snprintf(text, sizeof text, "DRIVER=%s\nPCI_CLASS=30000\nPCI_ID=%s\nPCI_SLOT_NAME=%s\n", driver, vendor_device, pci);
    else
        snprintf(text, sizeof text, "DRIVER=%s\nOF_COMPATIBLE_0=%s\n", driver, vendor_device);
    tree_device(t, name, "uevent", text);
    snprintf(text, sizeof text, "226:%s\n", name + 4);
    snprintf(path, sizeof path, "/sys/class/drm/%s/dev", name);
    tree_write(t, path, text);
    if (render_minor < 0)
        return;
    snprintf(path, sizeof path, "drm/renderD%d/dev", render_minor);
    tree_device(t, name, path, "226:128\n");
    snprintf(path, sizeof path, "drm/%s/dev", name);
    tree_device(t, name, path, "226:0\n");
}

void tree_process(struct tree *t, int pid, const char *comm)
{
    char path[PATH_SIZE], text[256];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    snprintf(text, sizeof text, "%s\n", comm);
    tree_write(t, path, text);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (%s) S 1 %d %d 0 -1 4194304 0 0 0 0 10 5 0 0 20 0 1 0 4242 1000000 300\n", pid, comm, pid, pid);
    tree_write(t, path, text);
    snprintf(path, sizeof path, "/proc/%d/fd/0", pid);
    tree_link(t, path, "/dev/null");
}

/* The clock of a file system is too coarse to tell two changes apart that follow each other at once. */
static void stamp(struct tree *t, int pid)
{
    static long second = 1700000000;
    char path[PATH_SIZE];
    assert_int_equal(env_path(&t->env, path, "/proc/%d/fd", pid), 0);
    struct timespec times[2] = {{.tv_sec = ++second}, {.tv_sec = second}};
    utimensat(AT_FDCWD, path, times, 0);
}

void tree_fd(struct tree *t, int pid, int fd, const char *node, const char *fdinfo)
{
    char real[PATH_SIZE];
    assert_int_equal(env_path(&t->env, real, "/proc/%d/fd/%d", pid, fd), 0);
    struct stat st;
    bool is_new = lstat(real, &st) != 0;
    char path[PATH_SIZE], target[64];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, fd);
    tree_write(t, path, fdinfo);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    snprintf(target, sizeof target, "/dev/dri/%s", node);
    if (is_new) {
        tree_link(t, path, target);
        stamp(t, pid);
    }
}

void tree_amd_fd(struct tree *t, int pid, int fd, const char *pci, int client, long long gfx_ns, long long vram_kib)
{
    char text[512];
    snprintf(text, sizeof text,
             "pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-pdev:\t%s\n"
             "drm-resident-vram:\t%lld KiB\ndrm-memory-vram:\t%lld KiB\ndrm-resident-gtt:\t64 KiB\ndrm-engine-gfx:\t%lld ns\n",
             client, pci, vram_kib, vram_kib, gfx_ns);
    tree_fd(t, pid, fd, "renderD128", text);
}
