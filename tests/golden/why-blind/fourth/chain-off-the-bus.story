story chain-off-the-bus
title A card fell off the bus under load
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090
gpu 1 NVIDIA GeForce RTX 4090
  vendor nvidia
  state lost GPU is lost
  log 45s NVRM: Xid (PCI:0000:11:00): 79, pid=3141, name=python3, GPU has fallen off the bus.
expect
  severity critical
  first lost or xid
  leads 1
