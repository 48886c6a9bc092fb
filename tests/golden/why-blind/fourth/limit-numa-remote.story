story limit-numa-remote
title A program copies from the memory of the other socket
gpu 0 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 41
  memory_used_mb 30000
  power_watts 130
  clock_graphics_mhz 1410
  throttle_reasons none
  pcie_rx_bytes_per_second 11000000000
  pcie_tx_bytes_per_second 400000000
  was 60s..0s every 2s utilization_percent 39~43
  process 800 python3 compute
    user lena
    command python3 stream.py
    started 30min
    memory_mb 29500
    utilization_percent 40
    evidence main_running_percent 100
    evidence main_cpu_percent 100
    evidence busiest_thread_percent 100
    evidence cpu_percent 100
    evidence cpu_numa_node 1
    evidence memory_numa_node 1
    evidence gpu_numa_node 0
expect
  severity info or notice
  first remote_node or copies
  pid 800
  gpu 0
  has remote_node
