story limit-spilled-to-host
title A model is larger than the VRAM of a Radeon: ten GiB lie in host memory
gpu 0 AMD Radeon RX 6800 XT like rx6800xt-game
  utilization_percent 41
  memory_used_mb 16100
  gtt_used_mb 10300
  power_watts 121
  temperature_celsius 52
  temperature_hotspot_celsius 60
  was 300s..0s every 5s utilization_percent 38~44 gtt_used_mb 10300
  process 800 python3 compute
    user lena
    command python3 generate.py
    started 1h
    memory_mb 15600
    utilization_percent 40
expect
  severity info or notice
  first memory_spilled
  pid 800 or none
