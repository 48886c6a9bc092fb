story calm-gb10-idle
title A GB10 at rest: unified memory, no power limit, no fan
gpu 0 NVIDIA GB10 like gb10
expect
  calm yes
