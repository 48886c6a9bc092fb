story limit-copies-in
title Batches are copied to the GPU without an end: the link is the limit
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 99
  graphics_active_percent 0
  sm_active_percent 0
  dram_active_percent 1
  pcie_rx_bytes_per_second 54000000000
  pcie_tx_bytes_per_second 2100000000
  memory_used_mb 30000
  power_watts 128
  clock_graphics_mhz 1980
  throttle_reasons none
  was 60s..0s every 2s utilization_percent 99
  process 800 python3 compute
    user lena
    command python3 offload.py
    started 30min
    memory_mb 29500
    utilization_percent 99
    evidence main_running_percent 100
    evidence main_cpu_percent 100
    evidence busiest_thread_percent 100
    evidence cpu_percent 100
expect
  severity info or notice
  first copies
  pid 800
