story time-slow-leak-with-hours-left
title A notebook takes a little more every hour; at this rate it is full tomorrow
gpu 0 NVIDIA RTX A6000 like rtxa6000
  memory_used_mb 9000
  was 1800s..0s every 15s memory_used_mb 8980>9000
  process 71 python3 compute
    command jupyter
    started 50h
    memory_mb 8900
    was 1800s..0s every 15s memory_mb 8880>8900
expect
  severity info
  gpu 0
  never vram_full_soon
