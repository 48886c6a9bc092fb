story limit-tiny-kernels
title Thousands of tiny kernels
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 28
  graphics_active_percent 28
  sm_active_percent 0.1
  tensor_active_percent 0
  dram_active_percent 1
  memory_used_mb 30000
  power_watts 122
  clock_graphics_mhz 1980
  throttle_reasons none
  temperature_celsius 36
  was 60s..0s every 2s utilization_percent 28
  pcie_rx_bytes_per_second 220000000
  process 800 python3 compute
    user lena
    command python3 rnn_loop.py
    started 30min
    memory_mb 29500
    utilization_percent 28
    evidence main_running_percent 100
    evidence main_cpu_percent 100
    evidence busiest_thread_percent 100
    evidence cpu_percent 100
expect
  severity info or notice
  first small_kernels
  pid 800
