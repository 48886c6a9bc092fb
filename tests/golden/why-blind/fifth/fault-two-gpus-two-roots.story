story fault-two-gpus-two-roots
title Of four 3090s one hangs on one lane, another has its fan held at 30 percent and is too hot
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 66
  was 300s..0s every 5s temperature_celsius 66
  process 40 python3 compute
    command python3 sweep.py --seed 0
    started 4h
    memory_mb 19500
    utilization_percent 98
gpu 1 NVIDIA GeForce RTX 3090 like rtx3090-train
  pcie_width 1
  temperature_celsius 64
  was 300s..0s every 5s temperature_celsius 64
  process 41 python3 compute
    command python3 sweep.py --seed 1
    started 4h
    memory_mb 19500
    utilization_percent 98
gpu 2 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 67
  was 300s..0s every 5s temperature_celsius 67
  process 42 python3 compute
    command python3 sweep.py --seed 2
    started 4h
    memory_mb 19500
    utilization_percent 98
gpu 3 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 90
  fan_percent 30
  fan_control manual
  was 300s..0s every 5s temperature_celsius 89~90 fan_percent 30
  process 43 python3 compute
    command python3 sweep.py --seed 3
    started 4h
    memory_mb 19500
    utilization_percent 98
expect
  severity warning or critical
  first fan_by_hand or heat_limit or hot
  leads 3
  says GPU 1
  gpu 1
  has pcie_link
