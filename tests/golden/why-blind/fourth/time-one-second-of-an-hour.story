story time-one-second-of-an-hour
title One second of power brake in the last ten minutes is no trouble
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  was 600s..301s every 5s power_watts 362
  was 300s..300s every 1s throttle_reasons power_brake
  was 299s..0s every 5s power_watts 360~363
  process 5 python3 compute
    started 5h
    memory_mb 65000
    utilization_percent 98
expect
  calm yes
  first compute_load
