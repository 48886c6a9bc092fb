// SPDX-License-Identifier: Apache-2.0
// The state of the page and everything that changes it. Parts of the page read it and redraw when it changes.
import { useEffect, useState } from "preact/hooks";
import { now, sampled } from "./clock";
import { isChange } from "./changes";
import { connect, get, type Link } from "./live";
import { withFindings } from "./level";
import { merge } from "./model";
import { pastAt, THEN } from "./moment";
import { checked, NOW, type Place, readPlace, readView, type View, writePlace } from "./place";
import { Refused } from "./refused";
import { again, failed, LOADING, NO_HISTORY, ok, type Resource } from "./resource";
import * as ring from "./ring";
import type { Alerts, Forecast, GuardedWorker as Worker, Notifier } from "./api";
import type {
  Finding,
  Gpu,
  GpuCondition,
  History,
  Life,
  LimitStretch,
  Metrics,
  PastEvent,
  RemedyDoing,
  Report,
  Session,
  SourceStatus,
  Summary,
  Held,
  Why,
  WhySpan,
} from "./types";

export interface State {
  place: Place;
  view: View;
  link: Link;
  retryAt: number | null;
  dead: boolean; // the data shown as current no longer is
  notice: string | null; // why a request was not fulfilled as asked
  host: string;
  sampleAt: number | null; // by the host's clock
  receivedAt: number | null; // by this browser's clock
  interval: number;
  metrics: Resource<Metrics>; // the last whole one
  gpus: Gpu[] | null; // of it, with the figures of each sample since
  findings: Finding[]; // of it, the worst first
  why: Resource<Why>; // now
  sources: SourceStatus[];
  health: Resource<GpuCondition[]>;
  alerts: Resource<Alerts>;
  notifiers: Resource<Notifier[]>;
  workers: Resource<Worker[]>;
  forecast: Resource<Forecast>;
  lives: Resource<Life[]>; // of the last hour
  doings: Resource<RemedyDoing[]>; // remedies, the newest first
  changes: Resource<Held[]>; // what still holds, the newest first
  recent: Resource<Recent>; // the last minutes, from the history
  past: Resource<Past>; // the moment of place.at
  span: Resource<Stretch>; // the range of place
  history: boolean; // is there a history database?
  outdated: boolean; // the daemon has another version of this page
  fleet: boolean; // is there a page of all hosts?
  utcOffset: number | null; // minutes: the zone of times in the daemon's sentences
  session: Session | null; // null: unknown so far
}

export interface Past {
  gpus: Gpu[];
  why: Why;
  health: GpuCondition[];
}
export interface Stretch {
  why: WhySpan;
  report: Report | null;
  events: PastEvent[];
}
interface Recent {
  limits: LimitStretch[];
  changes: PastEvent[];
}

let state: State = {
  place: NOW,
  view: readView(location.search),
  link: "connecting",
  retryAt: null,
  dead: false,
  notice: null,
  host: "",
  sampleAt: null,
  receivedAt: null,
  interval: 5,
  metrics: LOADING,
  gpus: null,
  findings: [],
  why: LOADING,
  sources: [],
  health: LOADING,
  alerts: LOADING,
  notifiers: LOADING,
  workers: LOADING,
  forecast: LOADING,
  lives: LOADING,
  doings: LOADING,
  changes: LOADING,
  recent: LOADING,
  past: LOADING,
  span: LOADING,
  history: true,
  outdated: false,
  fleet: false,
  utcOffset: null,
  session: null,
};
const watchers = new Set<(s: State) => void>();

let drawing = 0;
const TOGETHER = 40; // ms

function draw(): void {
  clearTimeout(drawing);
  drawing = 0;
  for (const w of watchers) w(state);
}

/** A sample, its answer and its processes arrive a few milliseconds apart and are drawn together; user actions at once. */
export function set(change: Partial<State>, now = false): void {
  state = { ...state, ...change };
  if (now) draw();
  else if (!drawing && watchers.size) drawing = window.setTimeout(draw, TOGETHER);
}

export const current = (): State => state;

export function useStore(): State {
  const [now, update] = useState(state);
  useEffect(() => {
    watchers.add(update);
    update(state);
    return () => void watchers.delete(update);
  }, []);
  return now;
}

type Questions = { [K in keyof State as State[K] extends Resource<unknown> ? K : never]: State[K] };
type AnswerOf<K extends keyof Questions> = Questions[K] extends Resource<infer T> ? T : never;

/** Takes an answer; if there is none, keeps the last one, with the reason. */
async function note<K extends keyof Questions>(key: K, work: Promise<AnswerOf<K>>): Promise<void> {
  try {
    set({ [key]: ok(await work) });
  } catch (e) {
    if (e instanceof Refused && e.status === 401) location.reload(); // the session ended: the server asks for a token
    set({ [key]: failed(state[key] as Resource<unknown>, e) });
  }
}

/** A GPU that can't be read has no list of processes. */
function whole(g: Gpu): Gpu {
  g.processes ??= [];
  g.absent ??= {};
  return g;
}
const known = (m: Metrics): Partial<State> => ({
  gpus: withFindings(m.gpus.map(whole), state.why.value?.findings ?? m.findings ?? []),
  findings: state.why.value?.findings ?? m.findings ?? [],
  host: m.host ?? undefined,
  sources: m.source_status,
  metrics: ok(m),
  ...arrived(m.timestamp),
});

/** When a sample was taken and arrived: the same one, received again, is not newer. */
function arrived(timestamp: string): Partial<State> {
  const sampleAt = Date.parse(timestamp);
  if (sampleAt === state.sampleAt) return {};
  sampled(sampleAt);
  return { sampleAt, receivedAt: Date.now(), dead: false };
}

/** Three samples are late, or one on a lost link. */
const isDead = () =>
  state.receivedAt != null &&
  Math.abs(Date.now() - state.receivedAt) / 1000 > (state.link === "live" ? 3 : 1) * state.interval + 2;

/* The socket brings the figures of every sample. The answer with its evidence and the processes are requested separately: with
 * every sample on a desktop, less often if there is much to send. */
let detailAt = 0;
const asking = new Set<string>();

/** One query at a time. */
async function once(key: string, work: () => Promise<void>): Promise<void> {
  if (asking.has(key)) return;
  asking.add(key);
  await work();
  asking.delete(key);
}

/** What is found comes with the answer, so that nothing on the page is judged by an older or newer list. */
const judgedBy = (why: Why): Partial<State> => ({
  why: ok(why),
  findings: why.findings,
  gpus: state.gpus && withFindings(state.gpus, why.findings),
});
const explain = () =>
  once("why", () =>
    note(
      "why",
      get<Why>("/api/why").then((why) => {
        set(judgedBy(why));
        return why;
      }),
    ),
  );
const detail = () => {
  detailAt = Date.now();
  return once("metrics", () =>
    note(
      "metrics",
      get<Metrics>("/api/gpu/metrics").then((m) => {
        set(known(m));
        ring.pushProcesses(state.sampleAt!, state.gpus!);
        return m;
      }),
    ),
  );
};

function sample(summary: Summary, interval: number): void {
  const change: Partial<State> = { ...arrived(summary.timestamp), host: summary.host ?? undefined, interval };
  const known = state.gpus,
    same = known?.length === summary.gpus.length;
  if (same) change.gpus = merge(known, summary);
  if (same) ring.push(Date.parse(summary.timestamp), change.gpus!, interval);
  set(change);
  void explain();
  if (state.workers.value?.some((w) => w.state !== "running" && w.state !== "absent")) void guarded(); // the time left changes
  if (state.doings.value?.some((d) => d.phase !== "over")) void once("acted", async () => void (await acted()));
  const pause = summary.gpus.length > 32 ? 10000 : summary.gpus.length > 8 ? 5000 : 1500;
  if (!same || Date.now() - detailAt >= pause) void detail();
}

const guarded = () =>
  note(
    "workers",
    get<{ workers: Worker[] }>("/api/guard").then((g) => g.workers),
  );

/** What the tiles show besides the figures. */
const judged = () =>
  Promise.all([
    note(
      "health",
      get<{ gpus: GpuCondition[] }>("/api/gpu/health").then((h) => h.gpus),
    ),
    note("forecast", get<Forecast>("/api/forecast")),
  ]);

const alerted = () => note("alerts", get<Alerts>("/api/alerts"));

/** Whether the reader may act, and can log out. */
export const signedIn = () =>
  get<Session>("/api/session").then(
    (session) => set({ session }),
    () => undefined, // asked again soon; until then there are no buttons
  );

const told = () =>
  Promise.all([
    signedIn(),
    alerted(),
    note(
      "notifiers",
      get<{ notifiers: Notifier[] }>("/api/notifiers").then((n) => n.notifiers),
    ),
    guarded(),
    acted(),
  ]);

export async function refreshSides(): Promise<void> {
  await Promise.all([judged(), told()]);
}

/** After something was done: what holds now, and who did it. */
export async function refreshActs(): Promise<void> {
  await Promise.all([acted(), alerted(), guarded(), changed().catch(() => undefined)]);
}

/** Who changed what in the last minutes. */
async function changed(): Promise<void> {
  if (!state.history || !state.recent.value) return;
  const { events } = await get<{ events: PastEvent[] }>(`/api/history/events?since=-${ring.KEPT}s&limit=500`);
  set({ recent: ok({ ...state.recent.value, changes: events.filter(isChange) }) });
}

const acted = () =>
  Promise.all([
    note(
      "doings",
      get<{ doings: RemedyDoing[] }>("/api/remedies").then((r) => r.doings),
    ),
    note(
      "changes",
      get<{ changes: Held[] }>("/api/undo").then((u) => u.changes),
    ),
  ]);

const AFTER = 1000; // ms
const CONCERNED: Record<string, () => Promise<unknown>> = { gpu_health: judged, alert: alerted, guard: guarded };
const due = new Set<string>();

/** Events come in bursts, one per GPU: reload what they affect once, a moment later. */
function happened(type: string): void {
  if (!(type in CONCERNED)) return;
  if (!due.size)
    setTimeout(() => {
      const types = [...due];
      due.clear();
      for (const t of types) void CONCERNED[t]!();
    }, AFTER);
  due.add(type);
}

const lives = () =>
  note(
    "lives",
    get<{ processes: Life[] }>("/api/history/processes?since=-1h&limit=2000").then((h) =>
      h.processes.filter((l) => !l.ended),
    ),
  );

/** Loads what happened before the page was opened, or while it saw nothing. */
async function backfill(): Promise<void> {
  try {
    const many = (state.gpus?.length ?? 0) > 8;
    const recent = await get<History>(
      `/api/history?metric=${ring.LIVE.join()}&since=-${ring.KEPT}s&points=${many ? 90 : ring.KEPT}`,
    );
    // Nothing at all: is the database empty, or is there none?
    if (!recent.series.length && (await get<{ store: { state: string } }>("/api/health")).store.state === "off")
      return set({ history: false, recent: NO_HISTORY });
    ring.fill(recent);
    set({ recent: ok(state.recent.value ?? { limits: [], changes: [] }) });
    if (!many) {
      const { stretches } = await get<{ stretches: LimitStretch[] }>(`/api/history/limits?since=-${ring.KEPT}s`);
      set({ recent: ok({ ...state.recent.value!, limits: stretches }) });
    }
    await changed();
  } catch (e) {
    // A database that doesn't answer now still exists; the next query may work.
    set({ recent: failed(state.recent, e) });
  }
}

/** Whether what the place names is on its way. */
export const isBusy = (s: State): boolean =>
  s.place.at != null ? s.past.state === "loading" : s.place.from != null && s.span.state === "loading";

let asked: AbortController | null = null;
const LONG = 500; // ms

/** Loads what `place` names; the last request wins. */
async function load(): Promise<void> {
  asked?.abort();
  const { place } = state;
  if (place.at == null && place.from == null) {
    set({ past: LOADING, span: LOADING });
    return;
  }
  const mine = (asked = new AbortController());
  set({ past: again(state.past), span: again(state.span) });
  // Keep the previous content for a moment, paler; longer, it would pass for the requested one.
  setTimeout(() => mine === asked && isBusy(state) && set({ past: LOADING, span: LOADING }), LONG);
  try {
    if (place.at != null) {
      const at = new Date(place.at).toISOString();
      const around = `since=${new Date(place.at - 3600e3).toISOString()}&until=${new Date(Math.min(now(), place.at + 30e3)).toISOString()}`;
      const [why, history, changes] = await Promise.all([
        get<Why>(`/api/why?at=${at}`, mine.signal),
        get<History>(
          `/api/history?metric=${THEN.join()},power_limit_watts,memory_total_mb&${around}&points=240`,
          mine.signal,
        ),
        get<{ events: PastEvent[] }>("/api/history/events?kind=health&since=-400d&limit=2000", mine.signal).catch(
          () => ({ events: [] }),
        ),
      ]);
      const present = { gpus: state.gpus, health: state.health.value ?? [] };
      set({ past: ok({ why, ...pastAt(present, history, why, changes.events, place.at) }), span: LOADING });
    } else {
      const range = `since=${new Date(place.from!).toISOString()}&until=${new Date(place.to!).toISOString()}`;
      const [why, report, events] = await Promise.all([
        get<WhySpan>(`/api/why?${range}`, mine.signal),
        get<Report>(`/api/report?${range}`, mine.signal).catch(() => null),
        get<{ events: PastEvent[] }>(`/api/history/events?${range}&limit=200`, mine.signal),
      ]);
      set({ span: ok({ why, report, events: events.events }), past: LOADING });
    }
  } catch (e) {
    if (!mine.signal.aborted) set({ past: failed(LOADING, e), span: failed(LOADING, e) });
  }
}

let wish = 0;

const address = (how: "push" | "replace") =>
  history[how === "push" ? "pushState" : "replaceState"](
    { trail },
    "",
    location.pathname + writePlace(state.place, state.view) + location.hash,
  );

let trail: Place[] = []; // previous places, step by step

/** Goes to a moment or a range; `settle` waits until a movement has ended. Refuses the future. */
export function go(wanted: Place, how: "push" | "replace" = "push", settle = 0): void {
  const { refused, ...place } = checked(wanted, now()),
    before = state.place;
  set({ notice: refused ?? null }, true);
  if (refused || (["at", "from", "to"] as const).every((k) => place[k] === before[k])) return;
  if (place.at == null && place.from == null) trail = [];
  else if (how === "push") trail.push(before);
  move(place, how, settle);
}

function move(place: Place, how: "push" | "replace", settle = 0): void {
  set({ place, past: again(state.past), span: again(state.span) }, true);
  address(how);
  clearTimeout(wish);
  wish = window.setTimeout(() => void load(), settle);
}

/** One step back: from a moment to the range around it, from a range to the previous one. */
export function goBack(): void {
  if (trail.length) return history.back(); // as the browser does
  move(state.place.at != null && state.place.from != null ? { ...state.place, at: null } : NOW, "push");
}

/** Whether one step back leads to the present. */
export const nowIsNext = () => {
  const next = trail.at(-1);
  return next ? next.at == null && next.from == null : state.place.at == null || state.place.from == null;
};

export const goNow = () => go(NOW);

/** Goes to the place in the address. */
function arrive(): void {
  const { refused, ...place } = readPlace(location.search, now());
  set({ place, view: readView(location.search), notice: refused ?? null }, true);
  trail = (history.state as { trail?: Place[] } | null)?.trail ?? [];
  if (refused) address("replace");
}

/** Shows the same data in another way. */
export function look(view: Partial<View>): void {
  set({ view: { ...state.view, ...view } }, true);
  address("replace");
}

/** Data that the server embedded in the page. */
function embedded<T>(id: string): T | null {
  const element = document.getElementById(id);
  return element ? (JSON.parse(element.textContent!) as T) : null;
}

/** Resolves when something was painted, or should have been: nothing else gets in between. */
export const painted = () =>
  new Promise<void>((done) => {
    setTimeout(done, 500);
    new PerformanceObserver((list, watch) => {
      if (list.getEntriesByName("first-contentful-paint").length) {
        watch.disconnect();
        done();
      }
    }).observe({ type: "paint", buffered: true });
  });

let wasLive = false;

/** The addresses of the page's files name their content: after an upgrade of the daemon they are gone. */
async function compareVersions(): Promise<void> {
  const reply = await fetch(import.meta.url, { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (reply?.status === 404) set({ outdated: true });
}

/** Resolves when the first paint is worthwhile: everything is loaded, or the wait was long enough. */
export async function start(): Promise<void> {
  window.addEventListener("popstate", () => {
    arrive();
    void load();
  });
  const metrics = embedded<Metrics>("first-metrics"),
    why = embedded<Why>("first-why");
  const health = embedded<{ gpus: GpuCondition[] }>("first-health"),
    forecast = embedded<Forecast>("first-forecast");
  if (metrics) {
    set(known(metrics));
    ring.push(state.sampleAt!, state.gpus!, state.interval);
    ring.pushProcesses(state.sampleAt!, state.gpus!);
  }
  if (why) set(judgedBy(why));
  if (health) set({ health: ok(health.gpus) });
  if (forecast) set({ forecast: ok(forecast) });
  detailAt = Date.now();
  const stored = embedded<boolean>("first-history") !== false;
  if (!stored) set({ history: false, recent: NO_HISTORY, lives: NO_HISTORY });
  if (embedded<boolean>("first-fleet")) set({ fleet: true });
  set({ utcOffset: embedded<number>("first-utc-offset") });
  if (metrics) arrive(); // with the host's clock
  const first = Promise.all([health && forecast ? null : judged(), metrics ? null : detail(), why ? null : explain()]);
  void first.then(() => {
    if (!metrics) arrive();
    void load();
  });
  void painted().then(() => {
    void told();
    if (state.history) void lives();
    connect({
      link: (link, retryAt) => {
        if (link === "live" && state.history) void backfill();
        if (link === "live" && wasLive) void compareVersions();
        wasLive ||= link === "live";
        if (link === "live" && (state.past.state === "failed" || state.span.state === "failed")) void load();
        set({ link, retryAt });
        set({ dead: isDead() });
      },
      sample,
      event: happened,
    });
  });
  setInterval(() => isDead() !== state.dead && set({ dead: !state.dead }), 1000);
  const visible = (work: () => void) => () => {
    if (document.visibilityState === "visible" && state.link === "live") work();
  };
  setInterval(
    visible(() => void (state.history && lives())),
    60e3,
  );
  setInterval(
    visible(() => void refreshSides()),
    30e3,
  );
  if (!metrics || !why) await first;
}
