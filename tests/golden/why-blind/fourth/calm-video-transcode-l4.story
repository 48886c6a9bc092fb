story calm-video-transcode-l4
title Four transcodes on an L4
gpu 0 NVIDIA L4 like l4
  utilization_percent 12
  encoder_percent 71
  decoder_percent 44
  memory_used_mb 1900
  power_watts 33
  performance_state 0
  clock_graphics_mhz 2040
  clock_memory_mhz 6250
  throttle_reasons none
  pcie_generation 4
  temperature_celsius 49
  was 120s..0s every 5s encoder_percent 68~74
  process 81 ffmpeg compute
    command ffmpeg -hwaccel cuda -i in.mkv
    started 12min
    memory_mb 460
    encoder_percent 36
    utilization_percent 6
  process 82 ffmpeg compute
    command ffmpeg -hwaccel cuda -i in2.mkv
    started 11min
    memory_mb 460
    encoder_percent 35
    utilization_percent 6
expect
  calm yes
  first video_load
