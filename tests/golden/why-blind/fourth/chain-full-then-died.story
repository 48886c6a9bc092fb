story chain-full-then-died
title The second training did not fit any more and died when the card was full
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  memory_used_mb 14200
  was 40s..0s every 2s memory_used_mb 14200
  was 120s..41s every 2s memory_used_mb 15000>24400
  process 60 python3 compute
    user ana
    command python3 finetune.py
    started 4h
    memory_mb 14000
    utilization_percent 97
  ended 61 python3 compute
    user tom
    command python3 eval.py
    ago 41s
    ran 90s
    memory_mb 10200
expect
  severity notice or warning
  first died_memory_full
  pid 61
