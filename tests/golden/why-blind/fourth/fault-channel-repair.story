story fault-channel-repair
title A memory channel of a B200 waits for its repair
gpu 0 NVIDIA B200 like b200
  channel_repair_pending 1
expect
  severity warning or critical
  first repair
