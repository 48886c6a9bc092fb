story calm-mi300x-eight-serve
title A model over eight MI300X answers requests
gpu 0 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 431
  temperature_hotspot_celsius 61
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 800 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 1 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 433
  temperature_hotspot_celsius 62
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 801 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 2 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 435
  temperature_hotspot_celsius 63
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 802 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 3 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 437
  temperature_hotspot_celsius 61
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 803 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 4 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 439
  temperature_hotspot_celsius 62
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 804 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 5 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 441
  temperature_hotspot_celsius 63
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 805 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 6 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 443
  temperature_hotspot_celsius 61
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 806 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
gpu 7 AMD Instinct MI300X like mi300x-train
  utilization_percent 63
  memory_utilization_percent 41
  power_watts 445
  temperature_hotspot_celsius 62
  temperature_memory_celsius 54
  clock_graphics_mhz 2080
  was 300s..0s every 5s utilization_percent 58~66~61~70
  process 807 python3 compute
    user svc
    command vllm serve deepseek-ai/DeepSeek-V3 -tp 8
    model DeepSeek-V3
    started 90h
    memory_mb 169000
    utilization_percent 63
expect
  calm yes
