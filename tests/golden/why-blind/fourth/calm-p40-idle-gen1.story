story calm-p40-idle-gen1
title A P40 at rest shows PCIe generation 1: it saves power
gpu 0 Tesla P40 like p40
expect
  calm yes
  first nothing_unusual
