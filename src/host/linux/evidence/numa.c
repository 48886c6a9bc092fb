/* SPDX-License-Identifier: Apache-2.0
 * NUMA: the node a process runs on, and the node of its memory. Memory comes from the control group's counters: listing the
 * process's own pages would walk all of them.
 */
#include <stdio.h>

#include "host/linux/evidence/internal.h"

enum { NODES_AGAIN_MS = 300 * 1000, LOOK_AGAIN_MS = 10 * 1000 };

bool cpu_list_each(struct str list, int64_t max, void (*each)(int64_t number, void *user), void *user)
{
    struct str part, first;
    list = str_trim(list);
    if (!list.len)
        return false;
    while (str_cut(&list, ',', &part)) {
        int64_t from, to;
        if (!str_cut(&part, '-', &first) || !str_to_i64(first, &from))
            return false;
        to = from;
        if ((part.len && !str_to_i64(part, &to)) || from < 0 || to < from)
            return false;
        for (int64_t i = from; i <= to && i < max; i++)
            each(i, user);
    }
    return true;
}

/* Reads the anonymous memory, which a program computes with. */
int64_t numa_stat_node(struct str text)
{
    struct str line, word, key;
    while (str_cut(&text, '\n', &line)) {
        if (!str_word(&line, &word) || !(str_is(word, "anon") || str_starts(word, "anon=")))
            continue;
        int64_t most = 0, found = -1;
        while (str_word(&line, &word)) {
            int64_t node, amount;
            if (word.at[0] != 'N' || !str_cut(&word, '=', &key) || !str_to_i64((struct str){key.at + 1, key.len - 1}, &node) ||
                !str_to_i64(word, &amount) || amount <= most)
                continue;
            most = amount;
            found = node;
        }
        return found;
    }
    return -1;
}

struct node_fill {
    struct numa_nodes *nodes;
    int8_t node;
};

static void set_node(int64_t cpu, void *user)
{
    const struct node_fill *f = user;
    f->nodes->node_of[cpu] = f->node;
}

static void count_one(int64_t number, void *user)
{
    (void)number;
    ++*(size_t *)user;
}

static void learn_node(int64_t node, void *user)
{
    struct evidence_reader *r = user;
    char path[64], text[1024];
    struct node_fill fill = {&r->nodes, (int8_t)node};
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", (int)node);
    ssize_t n = file_read_head(r->env, path, text, sizeof text);
    if (n > 0)
        cpu_list_each((struct str){text, (size_t)n}, NUMA_CPUS_MAX, set_node, &fill);
}

static void learn_nodes(struct evidence_reader *r)
{
    char text[256];
    if (r->nodes.is_known && mono_since_ms(r->now, r->nodes.at) < NODES_AGAIN_MS)
        return;
    r->nodes.is_known = true;
    r->nodes.at = r->now;
    r->nodes.count = 0;
    memset(r->nodes.node_of, -1, sizeof r->nodes.node_of);
    ssize_t n = file_read_head(r->env, "/sys/devices/system/node/online", text, sizeof text);
    struct str online = {text, n > 0 ? (size_t)n : 0};
    cpu_list_each(online, NUMA_NODES_MAX, count_one, &r->nodes.count);
    if (r->nodes.count > 1)
        cpu_list_each(online, NUMA_NODES_MAX, learn_node, r);
}

/* The only node of a CPU list; -1 unknown, -2 several. */
struct only_node {
    const struct numa_nodes *nodes;
    int node;
};

static void meet_cpu(int64_t cpu, void *user)
{
    struct only_node *o = user;
    int node = o->nodes->node_of[cpu];
    if (node >= 0)
        o->node = o->node == -1 || o->node == node ? node : -2;
}

/* If it may run on several nodes, the one it was seen on most. */
static int node_of_looks(const struct evidence_reader *r, const struct evidence_memory *w)
{
    int seen[NUMA_NODES_MAX] = {0}, best = -1;
    for (size_t i = 0; i < w->look_count; i++) {
        int64_t cpu = w->looks[i].stat.processor;
        int node = cpu >= 0 && cpu < NUMA_CPUS_MAX ? r->nodes.node_of[cpu] : -1;
        if (node >= 0 && node < NUMA_NODES_MAX && (++seen[node], best < 0 || seen[node] >= seen[best]))
            best = node;
    }
    return best;
}

static void keep_first(int64_t number, void *user)
{
    int64_t *only = user;
    *only = *only == -1 ? number : -2;
}

static void find_memory_node(struct evidence_reader *r, struct evidence_memory *w, const struct proc_status *status)
{
    char path[PATH_SIZE], text[4096];
    int64_t only = -1;
    if (cpu_list_each(status->nodes_allowed, NUMA_NODES_MAX, keep_first, &only) && only >= 0) {
        w->numa.memory_node = reading_ok(only);
        return;
    }
    w->numa.memory_node = reading_absent(READING_UNSUPPORTED);
    if (!w->cgroup.memory_folder[0] ||
        snprintf(path, sizeof path, "%s/memory.numa_stat", w->cgroup.memory_folder) >= (int)sizeof path || !budget_take(r))
        return;
    ssize_t n = file_read_head(r->env, path, text, sizeof text);
    int64_t node = n > 0 ? numa_stat_node((struct str){text, (size_t)n}) : -1;
    if (node >= 0)
        w->numa.memory_node = reading_ok(node);
}

void numa_look(struct evidence_reader *r, struct evidence_memory *w, const struct proc_status *status)
{
    if (w->numa.at.ns && mono_since_ms(r->now, w->numa.at) < LOOK_AGAIN_MS)
        return;
    w->numa.at = r->now;
    learn_nodes(r);
    w->numa.cpu_node = w->numa.memory_node = reading_absent(READING_UNSUPPORTED);
    if (r->nodes.count < 2)
        return;
    struct only_node only = {&r->nodes, -1};
    cpu_list_each(status->cpus_allowed, NUMA_CPUS_MAX, meet_cpu, &only);
    int node = only.node >= 0 ? only.node : node_of_looks(r, w);
    if (node >= 0)
        w->numa.cpu_node = reading_ok(node);
    find_memory_node(r, w, status);
}

void numa_write(const struct numa_memory *m, struct host_evidence *ret)
{
    ret->cpu_node = m->cpu_node;
    ret->memory_node = m->memory_node;
}
