story calm-hybrid-laptop
title A hybrid laptop: the Radeon in the CPU plays a video, the GeForce sleeps
gpu 0 AMD Radeon 680M like apu680m
  utilization_percent 17
  decoder_percent 12
  clock_graphics_mhz 800
  power_watts 9
  temperature_celsius 51
  was 120s..0s every 5s utilization_percent 14~19
  process 81 firefox graphics
    started 5h
    memory_mb 210
    utilization_percent 11
gpu 1 NVIDIA GeForce RTX 4070 Laptop GPU
  vendor nvidia
  state asleep
expect
  calm yes
  first video_load or graphics_load or nothing_unusual or shared_load
