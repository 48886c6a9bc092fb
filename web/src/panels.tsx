// SPDX-License-Identifier: Apache-2.0
// Alerts, health, the guard, room for a model, and energy.
import { useEffect, useState } from "preact/hooks";
import { clock, duration, energy, memory, parseSize } from "./format";
import { get, login, post, Refused } from "./live";
import type { Level } from "./model";
import { Bar, Mark, Scroll, Section } from "./parts";
import { refreshSides, type State } from "./store";
import type { CapacityGpu, Placement, Report, Worker } from "./types";

const alertLevel = (severity: string): Level => (severity === "critical" ? "bad" : severity === "warning" ? "warn" : "good");
const healthLevel = (state: string): Level => (state === "failing" || state === "lost" ? "bad" : state === "degraded" ? "warn" : state === "healthy" ? "good" : "idle");
/** Energy that no process accounts for has no user. */
export const userName = (u: { name: string; kind?: string }) => u.name || (u.kind && u.kind !== "used" ? u.kind.replaceAll("_", " ") : "not attributed");
const words = (e: unknown) => (e instanceof Error ? e.message : String(e));

export function TokenForm({ done }: { done: () => void }) {
  const [message, setMessage] = useState("");
  return (
    <form class="controls token" onSubmit={async (e) => {
      e.preventDefault();
      const field = e.currentTarget.elements.namedItem("token") as HTMLInputElement;
      try {
        const how = await login(field.value.trim());
        if (how === "ok") { setMessage(""); done(); }
        else { setMessage(how === "wait" ? "Too many wrong tokens. Try again in a minute." : "That token isn't known here."); field.select(); }
      } catch (problem) { setMessage(words(problem)); }
    }}>
      <label class="control">This needs a token (<code>whirr token new NAME</code>): <input type="password" name="token" required autocomplete="current-password" /></label>
      <button type="submit">Sign in</button>
      <span role="alert" class="lv bad">{message}</span>
    </form>
  );
}

/** Runs what needs the token; asks for it first where it is missing. */
function useAction(): { run: (path: string, body: unknown) => void; form: preact.ComponentChildren; note: string } {
  const [wanted, setWanted] = useState<{ path: string; body: unknown } | null>(null);
  const [note, setNote] = useState("");
  const run = async (path: string, body: unknown) => {
    try {
      await post(path, body);
      setNote("");
      setWanted(null);
      await refreshSides();
    } catch (e) {
      if (e instanceof Refused && e.status === 401) setWanted({ path, body });
      else setNote(words(e));
    }
  };
  return { run: (p, b) => void run(p, b), note, form: wanted && <TokenForm done={() => void run(wanted.path, wanted.body)} /> };
}

export function AlertsPanel({ s }: { s: State }) {
  const act = useAction();
  const list = s.alerts.alerts.filter((a) => a.state !== "pending");
  return (
    <Section id="alerts" title="Alerts">
      {list.length ? <ul class="plain">{list.map((a) => (
        <li key={a.fingerprint + a.state} class={a.state === "resolved" || a.silenced ? "dim" : ""}>
          <Mark level={a.state === "resolved" ? "idle" : alertLevel(a.severity)} label={`${a.severity}, ${a.state}`} /> {a.summary}{" "}
          <span class="dim">{a.state === "resolved" ? `resolved ${a.ended_at ? clock(Date.parse(a.ended_at)) : ""}` : `since ${a.started_at ? clock(Date.parse(a.started_at)) : "–"}`}{a.silenced ? ", silenced" : ""}</span>{" "}
          {a.state === "firing" && !a.silenced && <button type="button" class="small" onClick={() => act.run("/api/alerts/silence", { matchers: { alert: a.alert, ...(a.gpu_index == null ? {} : { gpu: String(a.gpu_index) }) }, for_seconds: 3600, comment: "from the dashboard" })}>Silence for 1h</button>}
        </li>
      ))}</ul> : <p class="dim">No alerts.</p>}
      {s.alerts.silences.length > 0 && <ul class="plain">{s.alerts.silences.map((x) => (
        <li key={x.id} class="dim">Silenced until {clock(Date.parse(x.until))}: {Object.entries(x.matchers).map(([k, v]) => `${k}=${v}`).join(", ")}{x.comment ? ` (${x.comment})` : ""}</li>
      ))}</ul>}
      {act.form}{act.note && <p role="alert" class="lv bad">{act.note}</p>}
    </Section>
  );
}

export function HealthPanel({ s }: { s: State }) {
  if (!s.health.length) return null;
  const sick = s.health.filter((h) => h.state !== "healthy" && h.state !== "asleep");
  return (
    <Section id="health" title="Health">
      {sick.length === 0 && <p><Mark level="good" /> {s.health.length === 1 ? "The GPU is healthy." : `All ${s.health.length} GPUs are healthy.`}</p>}
      <ul class="plain">{(s.health.length <= 8 ? s.health : sick).map((h) => (
        <li key={h.gpu_index}><Mark level={healthLevel(h.state)} label={h.state} /> GPU {h.gpu_index} is {h.state}. <span class="dim">{h.reason}</span>{h.state !== "healthy" ? ` ${h.action}` : ""}</li>
      ))}</ul>
    </Section>
  );
}

function GuardRow({ w, run }: { w: Worker; run: (path: string, body: unknown) => void }) {
  const off = w.state === "paused" || w.held;
  const busy = ["draining", "evicting", "verifying", "reserving", "resuming"].includes(w.state);
  return (
    <li>
      <Mark level={w.problem ? "warn" : w.state === "running" ? "good" : "idle"} label={w.state} /> <b>{w.name}</b> is {w.state}{w.held ? ", held" : ""}
      {w.since && <span class="dim"> for {duration((Date.now() - Date.parse(w.since)) / 1000)}</span>} <span class="dim">{w.gpus.length ? `GPU ${w.gpus.join(", ")}, ` : ""}{memory(w.memory_mb)}{w.dry_run ? ", dry run" : ""}</span>
      {w.reason && <div class="dim">{w.reason}</div>}
      {w.problem && <div class="lv warn">{w.problem}</div>}
      <div class="controls">
        {!off && <button type="button" class="small" disabled={busy} onClick={() => run("/api/guard/evict", { worker: w.name })}>Evict</button>}
        {!w.held && <button type="button" class="small" disabled={busy} onClick={() => run("/api/guard/hold", { worker: w.name })}>Hold</button>}
        {off && <button type="button" class="small" disabled={busy} onClick={() => run("/api/guard/resume", { worker: w.name })}>Resume</button>}
      </div>
    </li>
  );
}

export function GuardPanel({ s }: { s: State }) {
  const act = useAction();
  return (
    <Section id="guard" title="Guard">
      {s.workers.length ? <ul class="plain">{s.workers.map((w) => <GuardRow key={w.name} w={w} run={act.run} />)}</ul> : <p class="dim">No workers under guard.</p>}
      {act.form}{act.note && <p role="alert" class="lv bad">{act.note}</p>}
    </Section>
  );
}

export function CapacityPanel({ s }: { s: State }) {
  const [gpus, setGpus] = useState<CapacityGpu[]>([]);
  const [size, setSize] = useState("");
  const [found, setFound] = useState<Placement | null>(null);
  const [problem, setProblem] = useState("");
  const tick = Math.floor((s.sampleAt ?? 0) / 30e3);
  useEffect(() => { if (s.link === "live") get<{ gpus: CapacityGpu[] }>("/api/capacity").then((c) => setGpus(c.gpus)).catch(() => undefined); }, [tick, s.link]);
  const ask = async (e: Event) => {
    e.preventDefault();
    const bytes = parseSize(size);
    setFound(null);
    if (!bytes) { setProblem("Write a size like 24GiB."); return; }
    try {
      setFound(await get<Placement>(`/api/placement?bytes=${bytes}`));
      setProblem("");
    } catch (p) { setProblem(words(p)); }
  };
  return (
    <Section id="capacity" title="What fits where">
      <form class="controls" onSubmit={ask}>
        <label class="control">Size of the model <input value={size} placeholder="24GiB" size={8} onInput={(e) => setSize(e.currentTarget.value)} /></label>
        <button type="submit">Check</button>
      </form>
      <p role="status">{problem && <span class="lv bad">{problem}</span>}{found && <><Mark level={found.fits_now ? "good" : found.fits ? "warn" : "bad"} label={found.fits ? "fits" : "doesn't fit"} /> {found.fits ? `Fits on GPU ${found.gpus.join(", ")}${found.fits_now ? "" : ", after evicting workers"}. ` : "Doesn't fit: "}{found.reason}</>}</p>
      <ul class="plain">{gpus.slice(0, 16).map((g) => (
        <li key={`${g.gpu_index}/${g.instance}`} class="room"><span>GPU {g.gpu_index}{g.instance == null ? "" : `/${g.instance}`}</span>
          {g.usable ? <><Bar value={(g.memory_total_mb ?? 0) - (g.available_mb ?? 0)} limit={g.memory_total_mb} label="VRAM in use" /><span class="num">{memory(g.available_mb)} free</span><span class="dim">24h low {memory(g.free_least_24h_mb)}</span></> : <span class="dim">{g.problem}</span>}
        </li>
      ))}</ul>
    </Section>
  );
}

export function EnergyPanel({ s, span }: { s: State; span: number }) {
  const [report, setReport] = useState<Report | null>(null);
  const tick = Math.floor((s.sampleAt ?? 0) / Math.max(60e3, span * 5));
  useEffect(() => { if (s.link === "live" && s.history) get<Report>(`/api/report?since=-${span}s`).then(setReport).catch(() => undefined); }, [tick, span, s.link, s.history]);
  if (!s.history) return null;
  const cost = (v: number | null | undefined) => (v == null ? "" : `${v.toFixed(2)} ${report?.currency ?? ""}`);
  return (
    <Section id="energy" title="Energy">
      {report ? <>
        <p>{report.answer}</p>
        <Scroll label="Energy by user"><table class="small">
          <thead><tr><th scope="col">User</th><th scope="col" class="n">Busy</th><th scope="col" class="n">Energy</th>{report.price_per_kwh != null && <th scope="col" class="n">Cost</th>}<th scope="col" class="n">Share</th></tr></thead>
          <tbody>{report.users.slice(0, 10).map((u) => <tr key={u.name}><th scope="row">{userName(u)}</th><td class="n">{duration(u.busy_hours * 3600)}</td><td class="n">{energy(u.energy_joules)}</td>{report.price_per_kwh != null && <td class="n">{cost(u.cost)}</td>}<td class="n">{u.share_percent == null ? "–" : `${Math.round(u.share_percent)}%`}</td></tr>)}</tbody>
        </table></Scroll>
        {report.price_per_kwh == null && <p class="dim">Set <code>energy.price_per_kwh</code> to see what it costs.</p>}
      </> : <p class="dim">Loading…</p>}
    </Section>
  );
}
