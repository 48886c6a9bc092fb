/* SPDX-License-Identifier: Apache-2.0
 * The doctor's rules: each examines the facts, and says what is wrong and how to fix it.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/os/words.h"
#include "doctor/doctor.h"
#include "source/source.h"

struct patient {
    const struct doctor_facts *facts;
    const struct snapshot *s;
    struct findings *findings;
};

static void found(struct patient *p, enum urgency urgency, const char *fix, const char *format, ...)
    __attribute__((format(gnu_printf, 4, 5)));
static void found(struct patient *p, enum urgency urgency, const char *fix, const char *format, ...)
{
    if (p->findings->count == DOCTOR_FINDINGS_MAX)
        return;
    struct doctor_finding *f = &p->findings->list[p->findings->count++];
    f->urgency = urgency;
    str_copy(f->fix, sizeof f->fix, str_from(fix));
    va_list args;
    va_start(args, format);
    vsnprintf(f->what, sizeof f->what, format, args);
    va_end(args);
}

static const struct source_status *driver_source(const struct snapshot *s)
{
    for (size_t i = 0; i < s->source_count; i++)
        if (s->sources[i].names_driver)
            return &s->sources[i];
    return NULL;
}

/* Another source replaces the one that names the driver. */
static bool driver_is_replaced(const struct snapshot *s)
{
    for (size_t i = 0; i < s->source_count; i++) {
        const struct source_ops *ops = source_find(str_from(s->sources[i].name));
        const struct source_ops *first = ops && ops->instead_of ? source_find(str_from(ops->instead_of)) : NULL;
        if (first && first->names_driver && !ops->reads_files && s->sources[i].state == SOURCE_OK)
            return true;
    }
    return false;
}

static bool says(const struct source_status *source, const char *word)
{
    return source && str_contains(str_from(source->message), word);
}

/* ---- NVIDIA ---- */

static bool is_nvidia(const struct doctor_card *card)
{
    return strcmp(card->on_bus.vendor_id, "10de") == 0;
}

static void nvidia_card_without_driver(struct patient *p, const struct doctor_card *card)
{
    if (strcmp(card->on_bus.driver, "nouveau") == 0)
        found(p, USEFUL,
              "Install NVIDIA's driver (Debian: nvidia-driver) and reboot; nouveau reports almost nothing about utilization and "
              "processes.",
              "The NVIDIA GPU at %s is using nouveau.", card->on_bus.pci_address);
    else if (strcmp(card->on_bus.driver, "vfio-pci") == 0)
        found(p, NOTE, "", "The NVIDIA GPU at %s is assigned to a virtual machine (vfio-pci) and can't be read from here.",
              card->on_bus.pci_address);
    else if (!card->on_bus.driver[0])
        found(p, URGENT, "Install NVIDIA's driver (Debian: nvidia-driver), or load it with `sudo modprobe nvidia`.",
              "The NVIDIA GPU at %s has no driver.", card->on_bus.pci_address);
}

static const char *nvidia_container_fix(const struct doctor_facts *f)
{
    if (strcmp(f->container, "kubernetes") == 0)
        return "Give the pod a GPU (`nvidia.com/gpu` in its limits), or `runtimeClassName: nvidia` and NVIDIA_VISIBLE_DEVICES=all.";
    if (strcmp(f->container, "podman") == 0)
        return "Start the container with `--device nvidia.com/gpu=all`.";
    return "Start the container with `--gpus all` (docker) and NVIDIA_DRIVER_CAPABILITIES=utility.";
}

/* What systemd knows of, it does not forget. */
#define STAYS_ALLOWED                                                                                \
    "Start it again. To keep its GPUs: let systemd know the devices (podman, or docker with CDI: "   \
    "`--device nvidia.com/gpu=all`; else a `--device` for each /dev/nvidia* that it needs), or set " \
    "`\"exec-opts\": [\"native.cgroupdriver=cgroupfs\"]` in Docker's daemon.json."

static void containers(struct patient *p)
{
    for (size_t i = 0; i < p->facts->cut_off_count; i++) {
        const struct doctor_cut_off *c = &p->facts->cut_off[i];
        if (c->already)
            found(p, URGENT, STAYS_ALLOWED,
                  "The container %s lost its GPUs, as after `systemctl daemon-reload`: programs that start there can't open them.",
                  c->container);
        else
            found(p, USEFUL, STAYS_ALLOWED,
                  "The container %s loses its GPUs with the next `systemctl daemon-reload`, if it has not: systemd doesn't know "
                  "that it has them.",
                  c->container);
    }
}

/* The nvidia driver is bound to the GPU, but NVML does not work. */
static void nvml_does_not_work(struct patient *p, const struct source_status *nvml)
{
    const struct doctor_facts *f = p->facts;
    const char *words = nvml ? nvml->message : "it was not tried";
    if (says(nvml, "recorded machine"))
        return;
    if (says(nvml, "mismatch"))
        found(p, URGENT,
              "Reboot. Without a reboot: stop everything that uses the GPU, then `sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset "
              "nvidia && "
              "sudo modprobe nvidia`.",
              "The kernel is still running a different driver version (%s) than the installed one: %s.",
              f->nvidia_module[0] ? f->nvidia_module : "unknown", words);
    else if (f->cut_off_here)
        found(p, URGENT, STAYS_ALLOWED,
              "This container lost its GPUs: its device cgroup refuses /dev/nvidiactl, as after `systemctl daemon-reload` on the "
              "host.");
    else if (f->container[0])
        found(p, URGENT, nvidia_container_fix(f), "The driver's library does not work in this container: %s.", words);
    else if (says(nvml, "cannot open shared object") || says(nvml, "No such file"))
        found(p, URGENT, "Install the driver's library (Debian: libnvidia-ml1), or set WHIRR_NVML_LIBRARY.",
              "The kernel module nvidia %s is loaded, but its library is missing: %s.", f->nvidia_module, words);
    else
        found(p, URGENT, "Check " WORD_SYSTEM_LOG_OF("nvrm") ".", "NVML does not start: %s.", words);
}

static void nvidia(struct patient *p)
{
    const struct source_status *nvml = driver_source(p->s);
    bool driven = p->facts->nvidia_module[0] != '\0';
    for (size_t i = 0; i < p->facts->card_count; i++) {
        const struct doctor_card *card = &p->facts->cards[i];
        if (!is_nvidia(card))
            continue;
        driven |= strcmp(card->on_bus.driver, "nvidia") == 0;
        if (card->gpu_index < 0)
            nvidia_card_without_driver(p, card);
    }
    if (driven && (!nvml || nvml->state == SOURCE_OFF))
        nvml_does_not_work(p, nvml);
    if (driver_is_replaced(p->s))
        found(p, USEFUL, "",
              "GPUs are read with the nvidia-smi program because NVML doesn't work: slower, and with fewer readings.");
    const char *visible = p->facts->visible_devices;
    if (strcmp(visible, "none") == 0)
        found(p, USEFUL, "Unset it, or set it to all.", "NVIDIA_VISIBLE_DEVICES, empty or none, hides every NVIDIA GPU.");
    else if (visible[0] && !p->s->gpu_count && strcmp(visible, "all") != 0 && strcmp(visible, "void") != 0)
        found(p, USEFUL, "Unset it, or set it to all.", "NVIDIA_VISIBLE_DEVICES=%s names no GPU of this host.", visible);
    else if (visible[0] && strcmp(visible, "all") != 0 && strcmp(visible, "void") != 0)
        found(p, NOTE, "", "NVIDIA_VISIBLE_DEVICES=%s limits what is shown.", visible);
}

/* ---- every vendor ---- */

static void sources(struct patient *p)
{
    for (size_t i = 0; i < p->s->source_count; i++) {
        const struct source_status *source = &p->s->sources[i];
        switch (source->state) {
        case SOURCE_FAILING:
        case SOURCE_SET_ASIDE:
            found(p, URGENT, "Check " WORD_SYSTEM_LOG "; whirr retries automatically.", "%s %s after %u failures: %s.",
                  source->name, source->state == SOURCE_FAILING ? "fails" : "was suspended", source->consecutive_errors,
                  source->message);
            break;
        case SOURCE_HUNG:
            found(p, URGENT, "The driver does not come back: save your work, then reset the GPU or reboot.",
                  "%s is hanging in the driver.", source->name);
            break;
        case SOURCE_RELEASED: found(p, NOTE, "", "%s was released on request and comes back automatically.", source->name); break;
        default: break;
        }
    }
}

static void nodes(struct patient *p)
{
    for (size_t i = 0; i < p->facts->node_count; i++) {
        const struct doctor_node *node = &p->facts->nodes[i];
        char fix[256] = "Start the container with this device.";
        if (node->usable || (p->facts->cut_off_here && str_starts(str_from(node->path), "/dev/nvidia")))
            continue;
        if (node->group[0] && !node->member)
            snprintf(fix, sizeof fix, "Join its group: `sudo usermod -aG %s $USER`, then log in again.", node->group);
        else if (!p->facts->container[0])
            snprintf(fix, sizeof fix, "Make it readable and writable for a group of yours (a udev rule), or run whirr as root.");
        found(p, str_contains(str_from(node->path), "caps") ? NOTE : USEFUL, fix, "%s can't be opened by this user.", node->path);
    }
}

static void cards_of_others(struct patient *p)
{
    for (size_t i = 0; i < p->facts->card_count; i++) {
        const struct doctor_card *card = &p->facts->cards[i];
        if (card->gpu_index >= 0 || is_nvidia(card))
            continue;
        if (strcmp(card->on_bus.vendor_id, "1002") != 0 && strcmp(card->on_bus.vendor_id, "8086") != 0)
            found(p, NOTE, "", "The display controller at %s (%s:%s, driver %s) is of a type that whirr doesn't read.",
                  card->on_bus.pci_address, card->on_bus.vendor_id, card->on_bus.device_id,
                  card->on_bus.driver[0] ? card->on_bus.driver : "none");
        else if (!card->on_bus.driver[0])
            found(p, URGENT,
                  strcmp(card->on_bus.vendor_id, "1002") == 0 ? "Load its driver: `sudo modprobe amdgpu`."
                                                              : "Load its driver: `sudo modprobe i915`, or xe for newer GPUs.",
                  "The GPU at %s (%s:%s) has no driver.", card->on_bus.pci_address, card->on_bus.vendor_id, card->on_bus.device_id);
        else
            found(p, NOTE, "", "No source shows the GPU at %s (driver %s).", card->on_bus.pci_address, card->on_bus.driver);
    }
}

static bool reports_nothing(const struct gpu *gpu)
{
    return gpu->state == GPU_OK && gpu->util_permille.state != READING_OK && gpu->mem_used_bytes.state != READING_OK &&
           gpu->temp_mdegc.state != READING_OK && gpu->power_mw.state != READING_OK;
}

/* Other commands refer people here when a GPU reports nothing. */
static void silent_gpus(struct patient *p)
{
    size_t unlisted = 0, last = 0;
    for (size_t i = 0; i < p->s->gpu_count; i++) {
        const struct gpu *gpu = &p->s->gpus[i];
        if (reports_nothing(gpu))
            found(p, USEFUL, "Update its driver, or use its vendor's: this one doesn't report them.",
                  "GPU %d (%s) reports no utilization, memory, temperature or power through %s.", gpu->index, gpu->id.name,
                  gpu->source);
        if (gpu->state == GPU_OK && gpu->processes_state != READING_OK && gpu->processes_state != READING_DENIED) {
            unlisted++;
            last = i;
        }
    }
    if (unlisted && p->facts->wsl)
        found(p, NOTE, "", "Windows' driver doesn't list processes in WSL2; its Task Manager does.");
    else if (unlisted)
        found(p, NOTE, "", "Processes can't be listed on %zu of %zu GPUs: %s (%s).", unlisted, p->s->gpu_count,
              reading_state_name(p->s->gpus[last].processes_state), p->s->gpus[last].source);
}

static void gpus(struct patient *p)
{
    size_t hidden = 0, denied = 0;
    for (size_t i = 0; i < p->s->gpu_count; i++) {
        const struct gpu *gpu = &p->s->gpus[i];
        int64_t value;
        hidden += gpu->processes_hidden;
        denied += gpu->processes_state == READING_DENIED;
        if (gpu->state == GPU_LOST)
            found(p, URGENT,
                  "Reboot; if it happens again, check power cables, the slot and the temperature, and `sudo dmesg | grep -i xid`.",
                  "GPU %d (%s) is lost: %s.", gpu->index, gpu->id.name, gpu->error_message);
        else if (gpu->state == GPU_ERROR && !gpu->released && snapshot_source_started(p->s, gpu))
            found(p, URGENT, "Check " WORD_SYSTEM_LOG ".", "GPU %d (%s) cannot be read: %s.", gpu->index, gpu->id.name,
                  gpu->error_message);
        else if (gpu->state == GPU_ASLEEP)
            found(p, NOTE, "", "GPU %d (%s) is asleep; whirr doesn't wake it.", gpu->index, gpu->id.name);
        if (reading_get(gpu->recovery_action, &value) && value != 0)
            found(p, URGENT, "Do so when its work is done.", "The driver of GPU %d asks for this: %s.", gpu->index,
                  recovery_action_name(value));
        if (reading_or(gpu->remapped_rows_failed, 0))
            found(p, URGENT, "Have the GPU replaced.", "GPU %d could not remap bad memory.", gpu->index);
        if (reading_or(gpu->remapped_rows_pending, 0) || reading_or(gpu->retired_pages_pending, 0))
            found(p, USEFUL, "Reset the GPU or reboot.", "GPU %d is waiting for a reset to retire bad memory.", gpu->index);
    }
    if (hidden || denied)
        found(p, USEFUL, "Run whirr as root, or let the system service show them to all: `sudo whirr setup --service system`.",
              "Processes of other users are hidden on %zu GPUs.", denied ? denied : (size_t)1);
}

static void rights(struct patient *p)
{
    const struct doctor_facts *f = p->facts;
    if (f->hidepid && !f->root && !f->cap_ptrace)
        found(p, USEFUL, "Join the group that the mount option gid= of /proc names, or run whirr as root.",
              "/proc is mounted with hidepid=%d: processes of other users have no names.", f->hidepid);
    if (f->own_pid_namespace && p->s->gpu_count && !p->s->gpus[0].simulated)
        found(p, NOTE, "Start the container with `--pid=host` to see all names.",
              "This is a separate PID namespace%s%s: processes outside of it have no names.", f->container[0] ? " in " : "",
              f->container);
}

static void no_gpu(struct patient *p)
{
    const char *visible = p->facts->visible_devices;
    bool hidden = visible[0] && strcmp(visible, "all") != 0 && strcmp(visible, "void") != 0; /* reported already */
    if (p->s->gpu_count || p->facts->card_count || hidden)
        return;
    if (p->facts->bus_error)
        found(p, URGENT, "", "The PCI bus can't be read: %s.", strerror(p->facts->bus_error));
    else if (p->facts->wsl)
        found(p, USEFUL, "Update the GPU's driver in Windows and run `wsl --update` there; WSL2 itself needs no driver.",
              "Windows passes no GPU into WSL2 that its library shows.");
    else if (p->facts->container[0])
        found(p, USEFUL,
              "Pass one in: `--gpus all` for NVIDIA (podman: `--device nvidia.com/gpu=all`), `--device /dev/kfd --device /dev/dri` "
              "for AMD, "
              "`--device /dev/dri` for Intel.",
              "No GPU is passed into this container.");
    else
        found(p, USEFUL,
              "If one is installed, check that it is seated and powered, and the firmware's settings, until `lspci` lists it. "
              "Without "
              "one: "
              "`whirr --source sim` shows whirr on a simulated machine.",
              "There is no GPU on the PCI bus of this host.");
}

/* The message "no GPU found" refers people here: report what is known about the cause. */
static void explain_no_gpu(struct patient *p)
{
    struct findings *all = p->findings;
    if (p->s->gpu_count)
        return;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].urgency != NOTE)
            return;
    for (size_t i = 0; i < all->count; i++)
        all->list[i].urgency = USEFUL;
    if (!all->count)
        found(p, USEFUL, "The reasons are under Sources; `--source NAME` selects the source.",
              "There are GPUs on the PCI bus, but none of the sources in use shows one.");
}

static void guard(struct patient *p)
{
    if (p->facts->guards_nothing)
        found(p, USEFUL, "Add a [guard.worker.NAME] to the configuration, or use `whirr guard attach`.",
              "[worker] asks for evictions, but no worker is configured: nothing is guarded.");
}

void doctor_judge(const struct doctor_facts *facts, const struct snapshot *s, struct findings *findings)
{
    *findings = (struct findings){0};
    struct patient p = {facts, s, findings};
    sources(&p);
    nvidia(&p);
    containers(&p);
    cards_of_others(&p);
    gpus(&p);
    silent_gpus(&p);
    nodes(&p);
    rights(&p);
    no_gpu(&p);
    explain_no_gpu(&p);
    guard(&p);
    /* Stable: rules keep their order within an urgency. */
    struct doctor_finding sorted[DOCTOR_FINDINGS_MAX];
    size_t count = 0;
    for (int urgency = URGENT; urgency <= NOTE; urgency++)
        for (size_t i = 0; i < findings->count; i++)
            if (findings->list[i].urgency == (enum urgency)urgency)
                sorted[count++] = findings->list[i];
    memcpy(findings->list, sorted, count * sizeof sorted[0]);
}
