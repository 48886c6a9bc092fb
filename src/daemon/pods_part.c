/* SPDX-License-Identifier: Apache-2.0
 * Kubernetes as a part of the daemon: a thread asks the kubelet which pods have which GPUs. Pods with a GPU become series even
 * while they don't use it; processes in pods get names that the container runtime's files lack. Without a kubelet it only looks for
 * its socket, and never loads libcurl.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "daemon/poller.h"
#include "format/prometheus/prometheus.h"
#include "host/identity.h"
#include "remote/kubelet.h"

enum { EVERY_MS = 10000, SOON_MS = 500, NAMED_MAX = 1024, ENVIRON_MAX = 128 * 1024 };

/* A process in a pod, and its container's name. */
struct named {
    int32_t pid;
    int64_t start_key;
    char name[PROCESS_CONTAINER_NAME_SIZE];
};

struct pods_part {
    struct poller poller; /* its lock protects everything below `failing` */
    bool failing;         /* used by the thread: the failure was logged */
    bool there, answers;  /* a kubelet exists; its last query succeeded */
    struct kubelet_devices devices;
    struct named *named;
    size_t named_count;
};

/* ---- the thread ---- */

/* A pod's process has the pod's name in HOSTNAME, unless the pod uses the host's network. */
static bool pod_of_process(const struct pods_part *k, int32_t pid, char *to, size_t size)
{
    AUTO_BUF struct buf text = BUF(ENVIRON_MAX);
    struct str rest, one;
    to[0] = '\0';
    if (process_environment(k->poller.env, pid, &text) < 0)
        return false;
    rest = buf_view(&text);
    while (str_cut(&rest, '\0', &one))
        if (str_starts(one, "HOSTNAME="))
            str_copy_clean(to, size, (struct str){one.at + 9, one.len - 9});
    return to[0] != '\0';
}

/* The only container of that pod with this GPU. The GPU alone proves nothing: other containers may use it unasked. */
static const struct kubelet_device *owner_of(const struct kubelet_devices *d, const struct gpu *gpu, const char *pod)
{
    const struct kubelet_device *found = NULL;
    for (size_t i = 0; i < d->count; i++) {
        const struct kubelet_device *one = &d->list[i];
        if (strcmp(one->pod, pod) != 0 || !kubelet_device_is(one, gpu))
            continue;
        if (found && (strcmp(found->space, one->space) != 0 || strcmp(found->container, one->container) != 0))
            return NULL;
        found = one;
    }
    return found;
}

static void name_processes(const struct pods_part *k, const struct kubelet_devices *d, const struct snapshot *s, struct named *list,
                           size_t *count)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count && *count < NAMED_MAX; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            char pod[160], text[sizeof(struct kubelet_device)];
            if (!p->visible || strncmp(p->container, "k8s:", 4) != 0 || p->container_name[0] ||
                !pod_of_process(k, p->pid, pod, sizeof pod))
                continue;
            const struct kubelet_device *owner = owner_of(d, &s->gpus[g], pod);
            if (!owner)
                continue;
            snprintf(text, sizeof text, "%s/%s/%s", owner->space, owner->pod, owner->container);
            list[*count] = (struct named){.pid = p->pid, .start_key = p->start_key};
            str_copy(list[*count].name, sizeof list[*count].name, str_from(text));
            ++*count;
        }
}

/* Keeps names as long as their process lives: the snapshot contains them, so they aren't looked up again. */
static size_t keep_named(const struct pods_part *k, const struct snapshot *s, struct named *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < k->named_count; i++)
        for (size_t g = 0; g < s->gpu_count; g++) {
            const struct process *p = gpu_find_process(&s->gpus[g], k->named[i].pid);
            if (p && p->start_key == k->named[i].start_key) {
                list[kept++] = k->named[i];
                break;
            }
        }
    return kept;
}

static void log_change(struct pods_part *k, int rc, const struct error *err)
{
    bool fails = rc < 0 && rc != -ENOENT && rc != -ECANCELED;
    if (fails && !k->failing)
        log_warn("the kubelet does not say which pods have GPUs", LOG_TEXT("error", err->text));
    if (!fails && k->failing)
        log_info("the kubelet says again which pods have GPUs");
    k->failing = fails;
}

/* Returns soon if there was no snapshot yet. */
static int64_t pods_part_poll(void *part)
{
    struct pods_part *k = part;
    struct kubelet_devices devices = {0}, old;
    struct error err = {0};
    int rc = k->poller.wanted ? kubelet_ask(k->poller.env, &k->poller.stop, &devices, &err) : -ENOENT;
    log_change(k, rc, &err);
    AUTO_SNAPSHOT const struct snapshot *s = rc == 0 ? engine_latest(k->poller.engine) : NULL;
    struct named *list = s ? calloc(NAMED_MAX, sizeof *list) : NULL, *before;
    size_t count = list ? keep_named(k, s, list) : 0;
    if (list)
        name_processes(k, &devices, s, list, &count);
    pthread_mutex_lock(&k->poller.lock);
    old = k->devices;
    before = k->named;
    k->there = rc != -ENOENT;
    k->answers = rc == 0;
    if (rc == 0 || rc == -ENOENT) { /* otherwise keep the last known state */
        k->devices = devices;
        k->named = list;
        k->named_count = count;
    }
    pthread_mutex_unlock(&k->poller.lock);
    if (rc == 0 || rc == -ENOENT) {
        kubelet_devices_done(&old);
        free(before);
    }
    return rc < 0 || s ? EVERY_MS : SOON_MS;
}

/* ---- in each snapshot: called by the engine ---- */

static void annotate(void *part, struct snapshot *s)
{
    const struct pods_part *k = part;
    for (size_t i = 0; i < k->named_count; i++)
        for (size_t g = 0; g < s->gpu_count; g++) {
            struct process *p = gpu_find_process(&s->gpus[g], k->named[i].pid);
            if (!p || p->start_key != k->named[i].start_key || p->container_name[0])
                continue;
            str_copy(p->container_name, sizeof p->container_name, str_from(k->named[i].name));
            p->container_name_state = READING_OK;
        }
}

/* ---- series ---- */

static bool same_owner(const struct kubelet_device *a, const struct kubelet_device *b)
{
    return strcmp(a->space, b->space) == 0 && strcmp(a->pod, b->pod) == 0 && strcmp(a->container, b->container) == 0;
}

/* A container with several shares of one GPU counts once. */
static bool is_first(const struct kubelet_devices *d, size_t at, const struct gpu *gpu)
{
    for (size_t i = 0; i < at; i++)
        if (same_owner(&d->list[i], &d->list[at]) && kubelet_device_is(&d->list[i], gpu))
            return false;
    return true;
}

static void pods_part_metrics(void *part, const struct snapshot *s, struct buf *out)
{
    struct pods_part *k = part;
    pthread_mutex_lock(&k->poller.lock);
    if (k->there)
        prometheus_plain(out, "whirr_kubelet_up", "gauge", "1 if the kubelet said which pods have GPUs, 0 if it could not be asked",
                         k->answers);
    bool headed = false;
    for (size_t g = 0; s && g < s->gpu_count; g++)
        for (size_t i = 0; i < k->devices.count; i++) {
            const struct kubelet_device *d = &k->devices.list[i];
            if (!kubelet_device_is(d, &s->gpus[g]) || !is_first(&k->devices, i, &s->gpus[g]))
                continue;
            prometheus_head_once(out, &headed, "gpu_pod_info", "gauge",
                                 "1 for each container that Kubernetes has given the GPU to, whether it uses it or not");
            buf_text(out, "gpu_pod_info{");
            prometheus_gpu_labels(out, &s->gpus[g], NULL);
            prometheus_label(out, false, "container", d->container);
            prometheus_label(out, false, "pod", d->pod);
            prometheus_label(out, false, "namespace", d->space);
            buf_text(out, "} 1\n");
        }
    pthread_mutex_unlock(&k->poller.lock);
}

/* ---- the part ---- */

static void close_pods(void *part)
{
    struct pods_part *k = part;
    if (!k)
        return;
    kubelet_devices_done(&k->devices);
    free(k->named);
    poller_close(k);
}

static bool pods_part_wanted(const struct config *config)
{
    return config->sampling.kubernetes;
}

static const struct poller_ops ask_kubelet = {"the kubelet is not asked for pods", pods_part_wanted, pods_part_poll, annotate};

static void *open_pods(const struct part_host *host, struct error *err)
{
    (void)err;
    return poller_open(&ask_kubelet, sizeof(struct pods_part), host);
}

const struct part_ops pods_part_ops = {
    .name = "kubernetes",
    .open = open_pods,
    .start = poller_start,
    .reload = poller_reload,
    .metrics = pods_part_metrics,
    .stop = poller_stop,
    .close = close_pods,
};
