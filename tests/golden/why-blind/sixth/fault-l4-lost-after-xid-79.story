story fault-l4-lost-after-xid-79
title An L4 of two fell off the bus three minutes ago and is not there any more
gpu 0 NVIDIA L4 like l4-serve
  was 300s..0s every 5s utilization_percent 86
  process 41 vllm compute
    user svc
    command vllm serve Qwen/Qwen3-4B
    model Qwen/Qwen3-4B
    started 30h
    memory_mb 20000
    utilization_percent 86
gpu 1 NVIDIA L4 like l4
  state lost
  log 180s NVRM: Xid (PCI:0000:11:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
expect
  severity critical
  first lost
  leads 1
