/* SPDX-License-Identifier: Apache-2.0
 * What a thread waits for, by the kernel function it sleeps in. Names change between kernels: "futex_wait_queue_me" until 5.15,
 * "futex_wait_queue" since 5.16 and "futex_do_wait" in 6.18, where "pipe_read" is "anon_pipe_read"; compilers append
 * ".constprop.0". So names are compared by prefix.
 */
#include "host/linux/evidence/texts.h"

#include "base/cleanup.h"

static const struct {
    const char *begin;
    enum wait_kind kind;
} names[] = {
    /* Locks, and waits for other threads */
    {"futex_", WAIT_LOCK},
    {"do_futex", WAIT_LOCK},
    /* Sleeps on purpose */
    {"hrtimer_nanosleep", WAIT_SLEEP},
    {"do_nanosleep", WAIT_SLEEP},
    {"common_nsleep", WAIT_SLEEP},
    {"__x64_sys_clock_nanosleep", WAIT_SLEEP},
    /* Any of several files, sockets or devices */
    {"poll_schedule_timeout", WAIT_POLL},
    {"do_sys_poll", WAIT_POLL},
    {"do_poll", WAIT_POLL},
    {"do_select", WAIT_POLL},
    {"core_sys_select", WAIT_POLL},
    {"ep_poll", WAIT_POLL},
    {"do_epoll_wait", WAIT_POLL},
    /* Children */
    {"do_wait", WAIT_CHILD},
    {"kernel_wait", WAIT_CHILD},
    {"kernel_clone", WAIT_CHILD}, /* vfork: until the child executes its program */
    {"wait_for_vfork_done", WAIT_CHILD},
    /* Pipes, and sockets between processes of this host */
    {"pipe_", WAIT_PIPE},
    {"anon_pipe_", WAIT_PIPE},
    {"fifo_", WAIT_PIPE},
    {"wait_for_partner", WAIT_PIPE}, /* a FIFO not yet opened on the other side */
    {"unix_", WAIT_PIPE},
    {"eventfd_read", WAIT_PIPE},
    {"do_mq_timed", WAIT_PIPE},
    {"do_msgrcv", WAIT_PIPE},
    {"n_tty_read", WAIT_PIPE},
    {"wait_woken", WAIT_SOCKET}, /* TCP, but also terminals */
    {"sk_wait_data", WAIT_SOCKET},
    {"sk_stream_wait", WAIT_SOCKET},
    {"inet_", WAIT_SOCKET},
    {"tcp_", WAIT_SOCKET},
    {"udp_", WAIT_SOCKET},
    {"__skb_wait_for_more_packets", WAIT_SOCKET},
    {"skb_wait_for_more_packets", WAIT_SOCKET},
    {"skb_recv_datagram", WAIT_SOCKET},
    {"vsock_", WAIT_SOCKET},
    {"ib_uverbs_", WAIT_SOCKET},
    /* Network file systems */
    {"rpc_", WAIT_NETWORK_FS},
    {"__rpc_", WAIT_NETWORK_FS},
    {"nfs", WAIT_NETWORK_FS},
    {"wait_on_commit", WAIT_NETWORK_FS}, /* NFS */
    {"netfs_", WAIT_NETWORK_FS},
    {"cifs_", WAIT_NETWORK_FS},
    {"smb2_", WAIT_NETWORK_FS},
    {"compound_send_recv", WAIT_NETWORK_FS}, /* SMB */
    {"wait_for_response", WAIT_NETWORK_FS},  /* SMB */
    {"ceph_", WAIT_NETWORK_FS},
    {"ptlrpc_", WAIT_NETWORK_FS}, /* Lustre */
    {"cl_sync_io_wait", WAIT_NETWORK_FS},
    {"osc_", WAIT_NETWORK_FS},
    {"ldlm_", WAIT_NETWORK_FS},
    {"ll_", WAIT_NETWORK_FS},
    {"cxiWaitEventWait", WAIT_NETWORK_FS}, /* GPFS */
    {"p9_client_rpc", WAIT_NETWORK_FS},
    {"afs_", WAIT_NETWORK_FS},
    /* FUSE */
    {"request_wait_answer", WAIT_FUSE},
    {"fuse_", WAIT_FUSE},
    {"__fuse_", WAIT_FUSE},
    /* Disks: pages, buffers, journals, swap */
    {"folio_", WAIT_DISK},
    {"__folio_", WAIT_DISK},
    {"wait_on_page", WAIT_DISK},
    {"__lock_page", WAIT_DISK},
    {"io_schedule", WAIT_DISK},
    {"blk_", WAIT_DISK},
    {"__blk_", WAIT_DISK},
    {"submit_bio_wait", WAIT_DISK},
    {"bio_", WAIT_DISK},
    {"rq_qos_wait", WAIT_DISK},
    {"wbt_wait", WAIT_DISK},
    {"do_blockdev_direct_IO", WAIT_DISK},
    {"__blockdev_direct_IO", WAIT_DISK},
    {"dio_", WAIT_DISK},
    {"iomap_", WAIT_DISK},
    {"__iomap_", WAIT_DISK},
    {"bit_wait_io", WAIT_DISK},
    {"__wait_on_buffer", WAIT_DISK},
    {"wait_on_buffer", WAIT_DISK},
    {"balance_dirty_pages", WAIT_DISK},
    {"jbd2_", WAIT_DISK},
    {"ext4_", WAIT_DISK},
    {"xfs_", WAIT_DISK},
    {"btrfs_", WAIT_DISK},
    {"f2fs_", WAIT_DISK},
    {"cv_wait_common", WAIT_DISK}, /* ZFS */
    {"zio_wait", WAIT_DISK},
    {"read_events", WAIT_DISK}, /* asynchronous I/O, both kinds */
    {"io_cqring_wait", WAIT_DISK},
    {"md_", WAIT_DISK},
    {"nvme_", WAIT_DISK},
    {"swap_", WAIT_DISK},
    {"__swap_", WAIT_DISK},
    {"wait_on_bit", WAIT_DISK},
    /* A frozen control group */
    {"do_freezer_trap", WAIT_STOPPED},
    {"__refrigerator", WAIT_STOPPED},
    {"do_signal_stop", WAIT_STOPPED},
    {"ptrace_stop", WAIT_STOPPED},
};

static enum wait_kind kind_of_name(struct str wchan)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(wchan, names[i].begin))
            return names[i].kind;
    return WAIT_OTHER;
}

enum wait_kind wait_kind(char state, struct str wchan)
{
    wchan = str_trim(wchan);
    bool named = wchan.len && !str_is(wchan, "0");
    switch (state) {
    case 'R': return WAIT_RUNNING;
    case 'T':
    case 't': return WAIT_STOPPED;
    case 'D': return named ? kind_of_name(wchan) : WAIT_DISK; /* uninterruptible almost always means a file */
    default: return named ? kind_of_name(wchan) : WAIT_UNKNOWN;
    }
}
