/* SPDX-License-Identifier: Apache-2.0
 * Advice for each limit, for the program at hand: PyTorch's words only for Python programs, a vendor's command only on its GPUs.
 */
#include "insight/view/limit_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct advice {
    const struct snapshot *now;
    const struct gpu *gpu;
    const struct process *process;
    bool python;
    int64_t cores;
    size_t count;
    char (*lines)[WHY_LINE_SIZE];
};

__attribute__((format(gnu_printf, 2, 3))) static void advise(struct advice *a, const char *format, ...)
{
    va_list args;
    if (a->count == LIMIT_ADVICE_MAX)
        return;
    va_start(args, format);
    vsnprintf(a->lines[a->count++], WHY_LINE_SIZE, format, args);
    va_end(args);
}

static int64_t of_host(const struct advice *a, enum evidence what)
{
    const struct host_evidence *h = a->process->host;
    return h && h->state == READING_OK ? reading_or(h->metric[what], 0) : 0;
}

static int64_t workers(const struct advice *a)
{
    return a->cores ? MAX_OF(MIN_OF(a->cores / 2, (int64_t)16), (int64_t)2) : 8;
}

static void advise_thread(struct advice *a)
{
    if (of_host(a, EVIDENCE_runqueue_permille) >= 400)
        advise(a, "Give it more CPU cores: other programs, or its own threads, use all of them.");
    else if (a->python)
        advise(a, "If it prepares data there, let loader processes do that: DataLoader(num_workers=%lld, pin_memory=True)",
               (long long)workers(a));
    else
        advise(a, "Move work off the thread that feeds the GPU, or give the GPU more at a time.");
}

/* What is given to the CPU by an optimizer, a tokenizer or a decoder is known to the program alone. */
static void advise_cpu_work(struct advice *a)
{
    advise(a, a->python
                  ? "Move what it computes there to the GPU (an optimizer, a decoder), or into processes that run beside the steps."
                  : "Move what it computes there to the GPU, or let it run beside the steps.");
}

static void advise_partly(struct advice *a)
{
    char lacks[SHORT_WORDS];
    int64_t missing = of_host(a, EVIDENCE_model_bytes) - reading_or(a->process->mem_bytes, 0);
    const struct process *other = NULL;
    char who[PROCESS_WORDS];
    for (size_t i = 0; i < a->gpu->process_count; i++) {
        const struct process *p = &a->gpu->processes[i];
        if (p->pid != a->process->pid && reading_or(p->mem_bytes, 0) > (other ? other->mem_bytes.value : missing / 4))
            other = p;
    }
    if (other)
        advise(a, "Free memory of the GPU: %s holds %s.", process_words(other, WITH_OWNER, who),
               words_bytes(other->mem_bytes.value, lacks));
    advise(a, "Use a smaller quantization or a shorter context, so that %s more fit on the GPU.", words_bytes(missing, lacks));
}

static void advise_peer(struct advice *a)
{
    int64_t pid = of_host(a, EVIDENCE_peer_pid);
    if (pid)
        advise(a, "Look at what it waits for: ps -o pid,stat,%%cpu,args -p %lld", (long long)pid);
    else if (a->process->host && a->process->host->peer[0])
        advise(a, "Ask for the next answer before it is needed, or look at what is slow at the other end.");
    else
        advise(a, "See what it waits for: sudo ls -l /proc/%d/fd", (int)a->process->pid);
}

static void advise_loaders(struct advice *a)
{
    int64_t count = of_host(a, EVIDENCE_child_count), cpu = of_host(a, EVIDENCE_child_cpu_permille);
    if (of_host(a, EVIDENCE_child_busiest_permille) < 300)
        advise(a, "The loaders wait themselves: read ahead (prefetch_factor), use more of them, or move the data closer.");
    else if (a->cores && cpu >= a->cores * 750)
        advise(a, "All CPU cores are busy: store the data decoded, use a faster format, or decode on the GPU.");
    else
        advise(a, "Use more loader processes (now %lld; num_workers=%lld), or a format that takes less CPU time.", (long long)count,
               (long long)MAX_OF(2 * count, workers(a)));
}

static void advise_disk(struct advice *a)
{
    if (of_host(a, EVIDENCE_write_bytes_per_s) > of_host(a, EVIDENCE_read_bytes_per_s))
        advise(a, "Save less often, or while the next steps run (asynchronous checkpoints).");
    else
        advise(a, "Read ahead in loader processes, or move the data to a faster disk or into memory.");
}

static void advise_copies(struct advice *a)
{
    enum { LINK_FULL = 600 };
    int64_t capacity = limit_link_capacity(a->gpu), free_bytes;
    int64_t bytes = MAX_OF(reading_or(a->gpu->pcie_rx_bytes_per_s, 0), reading_or(a->gpu->pcie_tx_bytes_per_s, 0));
    char amount[SHORT_WORDS];
    if (capacity && bytes < capacity / 1000 * LINK_FULL)
        advise(a, a->python ? "Copy from pinned memory, asynchronously: pin_memory=True and .to(device, non_blocking=True)"
                            : "Copy from pinned memory, asynchronously: less than half of what the link can carry is used.");
    if (reading_get(a->gpu->mem_free_bytes, &free_bytes) && free_bytes >= 4LL << 30)
        advise(a, "Keep the data on the GPU (%s are free), or copy less per step.", words_bytes(free_bytes, amount));
    else
        advise(a, "Copy less per step.");
}

static void advise_numa(struct advice *a)
{
    int64_t node = of_host(a, EVIDENCE_gpu_node);
    advise(a, "Bind it to the GPU's NUMA node: numactl --cpunodebind=%lld --membind=%lld COMMAND", (long long)node,
           (long long)node);
}

static void advise_clocks(struct advice *a)
{
    if (a->now->may_control && !a->gpu->simulated)
        advise(a, "Unlock the clocks: whirr clocks stock --gpu %d", a->gpu->index);
    else if (strcmp(a->gpu->id.vendor, "nvidia") == 0 && !a->gpu->simulated)
        advise(a, "Unlock the clocks: sudo nvidia-smi -i %d -rgc -rac", a->gpu->index);
    else
        advise(a, "Set the clocks back to their default.");
}

static void advise_launch(struct advice *a)
{
    advise(a, a->python ? "Use larger batches, or CUDA graphs: torch.compile(model, mode=\"reduce-overhead\")"
                        : "Give the GPU more per kernel: larger batches, fused kernels, or CUDA graphs.");
    if (a->python)
        advise(a, "Avoid .item(), .cpu() and printing in every step: each waits for the GPU.");
}

size_t limit_advice(const struct snapshot *now, const struct gpu *gpu, const struct process *p,
                    char lines[LIMIT_ADVICE_MAX][WHY_LINE_SIZE])
{
    struct advice a = {now, gpu, p, strncmp(p->name, "python", 6) == 0, reading_or(now->host.cpu_count, 0), 0, lines};
    switch (p->limit.code) {
    case LIMIT_HOST_CPU: advise_thread(&a); break;
    case LIMIT_CPU_WORK: advise_cpu_work(&a); break;
    case LIMIT_PARTLY_ON_CPU: advise_partly(&a); break;
    case LIMIT_PEER: advise_peer(&a); break;
    case LIMIT_ALLOCATION:
        advise(&a, a.python ? "Keep memory between steps: no torch.cuda.empty_cache() in the loop; reuse tensors, or set "
                              "PYTORCH_ALLOC_CONF=expandable_segments:True"
                            : "Allocate once and reuse: memory pools (cudaMallocAsync), or buffers that stay.");
        break;
    case LIMIT_LOADERS: advise_loaders(&a); break;
    case LIMIT_DISK: advise_disk(&a); break;
    case LIMIT_PCIE_IN:
    case LIMIT_PCIE_OUT: advise_copies(&a); break;
    case LIMIT_LAUNCH: advise_launch(&a); break;
    case LIMIT_NUMA: advise_numa(&a); break;
    case LIMIT_CLOCKS: advise_clocks(&a); break;
    case LIMIT_COMPILE: advise(&a, "Keep shapes the same (pad them), so that kernels are compiled once."); break;
    case LIMIT_CPU_QUOTA:
        advise(&a, "Raise the CPU quota of its container (docker update --cpus, the CPU limit of its pod).");
        break;
    case LIMIT_NETWORK_FS: advise(&a, "Copy the data to a local disk before the run, or cache it there."); break;
    case LIMIT_MEMORY_PRESSURE: advise(&a, "Free memory on the host, or raise the memory limit of its container."); break;
    case LIMIT_NO_TENSOR:
        advise(&a, a.python ? "Allow TF32: torch.backends.cuda.matmul.allow_tf32 = True; or use bfloat16 (autocast)"
                            : "Allow TF32, or use a 16-bit format.");
        break;
    case LIMIT_KERNEL_WAIT:
        advise(&a, "A collective waits like that for a late rank: look for it among the processes of the job: whirr ps");
        break;
    case LIMIT_OTHERS: advise(&a, "Give it a GPU of its own; who else is on it: whirr ps --gpu %d", gpu->index); break;
    case LIMIT_SPILL: advise(&a, "Use a smaller batch or model, or a GPU with more memory."); break;
    default: break;
    }
    return a.count;
}
