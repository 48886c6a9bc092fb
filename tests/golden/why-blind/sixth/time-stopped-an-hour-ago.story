story time-stopped-an-hour-ago
title A training on a 4090 ended an hour ago; the GPU is cool
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
  was 3600s..0s every 30s power_watts 19 temperature_celsius 36
  ended 6001 python3 compute
    ago 60min
    ran 5h
    user ana
    utilization_percent 99
expect
  calm yes
  never recent_load
