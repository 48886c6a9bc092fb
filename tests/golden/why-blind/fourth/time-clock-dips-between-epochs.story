story time-clock-dips-between-epochs
title Clocks and power fall for validation every minute and come back
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  was 600s..5s every 5s utilization_percent 98~98~98~98~98~98~98~98~98~98~35~40 power_watts 362~362~362~362~362~362~362~362~362~362~140~150
  process 30 python3 compute
    started 4h
    memory_mb 65000
    utilization_percent 98
expect
  calm yes
  first compute_load
