// SPDX-License-Identifier: Apache-2.0
// The six most important readings of a GPU, each against its limit and its usual range.
import { celsius, DASH, memory, percent, watts } from "./format";
import { areaLevel, type Level } from "./level";
import type { Usual } from "./api";
import type { Gpu, Num } from "./types";

export interface Reading {
  name: string;
  key: keyof Gpu & string;
  text: string;
  value: Num;
  limit: Num; // the end of its bar
  mark?: Num; // a limit to stay below
  usual?: Num;
  note: string;
  level: Level;
}

const mhz = (v: Num) => (v == null ? DASH : `${Math.round(v)} MHz`);

export function readings(g: Gpu, usual: Usual | null | undefined): Reading[] {
  const hot = g.temperature_limit_celsius,
    often = usual?.temperature_high_celsius,
    fan = usual?.fan_percent;
  return [
    {
      name: "Utilization",
      key: "utilization_percent",
      text: percent(g.utilization_percent),
      value: g.utilization_percent,
      limit: 100,
      note: "",
      level: "good",
    },
    {
      name: "Temperature",
      key: "temperature_celsius",
      text: celsius(g.temperature_celsius),
      value: g.temperature_celsius,
      limit: (hot ?? 95) + 5,
      mark: hot,
      usual: often,
      note: often != null ? `usual ${celsius(often)}` : hot != null ? `throttles at ${celsius(hot)}` : "",
      level: areaLevel(g, "heat"),
    },
    {
      name: "Power",
      key: "power_watts",
      text: watts(g.power_watts),
      value: g.power_watts,
      limit: g.power_limit_watts,
      mark: g.power_limit_watts,
      note: g.power_limit_watts == null ? "" : `limit ${watts(g.power_limit_watts)}`,
      level: areaLevel(g, "power"),
    },
    {
      name: "VRAM",
      key: "memory_used_mb",
      text: memory(g.memory_used_mb),
      value: g.memory_used_mb,
      limit: g.memory_total_mb,
      note: g.memory_total_mb == null ? "" : `of ${memory(g.memory_total_mb)}`,
      level: areaLevel(g, "memory"),
    },
    {
      name: "Fan",
      key: "fan_percent",
      text:
        g.finding?.code === "fan_stopped"
          ? "stopped"
          : g.fan_percent == null && g.fan_rpm
            ? `${Math.round(g.fan_rpm)} rpm`
            : percent(g.fan_percent),
      value: g.fan_percent ?? (g.fan_rpm || null),
      limit: g.fan_percent == null ? null : 100,
      usual: fan,
      note:
        fan != null
          ? `usual ${percent(fan)}`
          : g.fan_rpm && g.fan_percent != null
            ? `${Math.round(g.fan_rpm)} rpm`
            : "",
      level: areaLevel(g, "fan"),
    },
    {
      name: "Clock",
      key: "clock_graphics_mhz",
      text: mhz(g.clock_graphics_mhz),
      value: g.clock_graphics_mhz,
      limit: g.clock_graphics_max_mhz,
      note: g.clock_graphics_max_mhz == null ? "" : `up to ${mhz(g.clock_graphics_max_mhz)}`,
      level: areaLevel(g, "clocks"),
    },
  ];
}

const FIRST: Record<string, string[]> = {
  heat: ["Temperature", "Fan", "Power", "Clock"],
  fan: ["Temperature", "Fan", "Power", "Clock"],
  clocks: ["Clock", "Power", "Temperature", "Utilization"],
  power: ["Power", "Clock", "Temperature", "Utilization"],
  memory: ["VRAM", "Utilization", "Power", "Temperature"],
  idle: ["VRAM", "Utilization", "Power", "Clock"],
};

/** The four that matter for the finding. */
export function mattering(all: Reading[], area: string): Reading[] {
  const order = FIRST[area] ?? ["Utilization", "Temperature", "Power", "VRAM"],
    rank = (x: Reading) => (order.indexOf(x.name) + all.length + 1) % (all.length + 1);
  return all
    .filter((x) => x.value != null)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, 4);
}
