story calm-apu-full-carveout
title An APU's carve-out of 512 MiB is nearly full, as always: it uses host memory
gpu 0 AMD Radeon 680M like apu680m
  memory_used_mb 498
  gtt_used_mb 2100
  utilization_percent 22
  clock_graphics_mhz 1200
  was 300s..0s every 5s memory_used_mb 498 gtt_used_mb 2100
  process 2 gnome-shell graphics
    started 8h
    memory_mb 120
    utilization_percent 14
  process 3 firefox graphics
    started 7h
    memory_mb 240
    utilization_percent 8
expect
  calm yes
