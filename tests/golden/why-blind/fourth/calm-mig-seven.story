story calm-mig-seven
title An A100 divided into seven, of which two compute; utilization can't be read
gpu 0 NVIDIA A100-SXM4-80GB like a100
  mig_enabled 1
  utilization_percent -
  memory_utilization_percent -
  memory_used_mb 14100
  power_watts 151
  temperature_celsius 41
  clock_graphics_mhz 1410
  throttle_reasons none
  instance 1g.10gb
  instance 1g.10gb
  instance 1g.10gb
  process 11 python3 compute
    in 0
    user a
    started 4h
    memory_mb 7000
  process 12 python3 compute
    in 2
    user b
    started 2h
    memory_mb 6900
expect
  calm yes
