story calm-vgpu-guest
title A guest with a vGPU slice: no power, no temperature, no fan, no link
gpu 0 NVIDIA A16-4Q
  vendor nvidia
  virtualization vgpu
  driver_version 550.127.05
  utilization_percent 6
  memory_utilization_percent 2
  memory_total_mb 4096
  memory_used_mb 610
  performance_state 0
  clock_graphics_mhz 1755
  clock_memory_mhz 6251
  process 40 Xorg graphics
    started 30h
    memory_mb 200
expect
  calm yes
