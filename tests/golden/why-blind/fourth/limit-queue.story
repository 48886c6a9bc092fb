story limit-queue
title More requests wait than a server works on, the GPU is full
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 99
  graphics_active_percent 99
  sm_active_percent 80
  tensor_active_percent 30
  dram_active_percent 55
  memory_used_mb 76000
  power_watts 610
  clock_graphics_mhz 1890
  throttle_reasons none
  temperature_celsius 60
  was 300s..0s every 5s utilization_percent 99
  process 800 python3 compute
    user lena
    command vllm serve Qwen/Qwen3-32B
    model Qwen3-32B
    started 20h
    memory_mb 75000
    utilization_percent 99
    tokens_per_second 1900
    requests_running 64
    requests_waiting 210
    kv_cache_percent 61
expect
  severity info or notice
  first requests_queue
  pid 800
