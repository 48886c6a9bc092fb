story fault-two-at-once
title One card's fan stands still, the other one hangs on one lane
gpu 0 NVIDIA GeForce RTX 3060 like rtx3060-busy
  pcie_width 1
  utilization_percent 60
  power_watts 110
  was 120s..0s every 5s utilization_percent 58~62
  process 20 python3 compute
    started 1h
    memory_mb 9000
    utilization_percent 60
gpu 1 NVIDIA GeForce RTX 3060 like rtx3060-busy
  temperature_celsius 91
  fan_percent 0
  fan_target_percent 100
  power_watts 122
  was 120s..0s every 5s temperature_celsius 89>91
  process 21 python3 compute
    started 1h
    memory_mb 9000
    utilization_percent 97
expect
  severity critical
  first fan_stopped
  leads 1
  gpu 0
  has pcie_link
