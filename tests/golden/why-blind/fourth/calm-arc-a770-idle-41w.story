story calm-arc-a770-idle-41w
title An A770 idles at 41 W, as this model does, and its temperature can't be read
gpu 0 Intel Arc A770 like a770
  was 300s..0s every 5s power_watts 40~42
expect
  calm yes
