story time-ended-a-moment-ago
title A training ended 20 seconds ago; the card is still warm, its fan still turns
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  temperature_celsius 52
  fan_percent 38
  power_watts 31
  was 300s..21s every 3s utilization_percent 99 power_watts 402 temperature_celsius 64 fan_percent 45 memory_used_mb 20800
  was 20s..0s every 2s temperature_celsius 61>52 fan_percent 45>38 power_watts 60>31
  ended 41 python3 compute
    command python3 train.py
    ago 20s
    ran 2h
    memory_mb 20400
    utilization_percent 99
expect
  severity info
  first recent_load
