story time-lost-and-came-back
title A GPU was lost for 15 seconds five minutes ago, and works again
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090
  was 600s..316s every 5s power_watts 20
  was 315s..300s every 5s state lost
  was 299s..0s every 5s power_watts 20
  log 314s NVRM: Xid (PCI:0000:10:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
expect
  severity notice or warning
  first lost or xid
