story fault-vram-without-owner
title A killed job left 58 GiB on an A100, and no process holds them
gpu 0 NVIDIA A100-SXM4-80GB like a100
  memory_used_mb 59400
  was 600s..0s every 10s memory_used_mb 59400
expect
  severity notice or warning
  first memory_unowned
