story limit-no-requests
title A server without a request
gpu 0 NVIDIA H100 80GB HBM3 like h100
  utilization_percent 0
  memory_used_mb 74000
  power_watts 121
  clock_graphics_mhz 1980
  throttle_reasons none
  was 600s..0s every 10s power_watts 121
  process 800 python3 compute
    user lena
    command vllm serve mistralai/Mistral-Small
    model Mistral-Small
    started 2h
    memory_mb 73000
    utilization_percent 0
    requests_running 0
    requests_waiting 0
    kv_cache_percent 0
    evidence main_poll_percent 100
    evidence main_cpu_percent 0
    evidence busiest_thread_percent 0
    evidence cpu_percent 0
    evidence listens 1
expect
  severity info or notice
  first context_held or vram_held
  pid 800
