story time-grew-then-stayed
title The memory of a service grew for half an hour and has stayed the same for twenty minutes
gpu 0 NVIDIA L40S like l40s-render
  utilization_percent 52
  memory_used_mb 26000
  power_watts 171
  temperature_celsius 51
  was 1200s..0s every 10s memory_used_mb 26000 utilization_percent 48~55
  was 3000s..1201s every 10s memory_used_mb 9000>26000
  process 14 python3 compute
    user svc
    command python3 -m asr_service
    started 20h
    memory_mb 25600
    utilization_percent 52
    was 1200s..0s every 10s memory_mb 25600
    was 3000s..1201s every 10s memory_mb 8600>25600
expect
  calm yes
  never vram_full_soon
