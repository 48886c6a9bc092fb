// SPDX-License-Identifier: Apache-2.0
// The state of the page and everything that changes it. Parts of the page look at it and are drawn again when it changes.
import { useEffect, useState } from "preact/hooks";
import { connect, get, type Link, Refused } from "./live";
import { withFindings } from "./level";
import { merge } from "./model";
import { pastAt, THEN } from "./moment";
import { NOW, type Place, readPlace, readView, type View, writePlace } from "./place";
import * as ring from "./ring";
import type {
  Alerts,
  Finding,
  Forecast,
  Gpu,
  HealthVerdict,
  History,
  Life,
  LimitStretch,
  Metrics,
  Notifier,
  PastEvent,
  Report,
  Session,
  SourceStatus,
  Summary,
  Why,
  WhySpan,
  Worker,
} from "./types";

export interface State {
  place: Place;
  view: View;
  link: Link;
  retryAt: number | null;
  host: string;
  sampleAt: number | null; // of the server's clock
  receivedAt: number | null; // of this browser's
  interval: number;
  gpus: Gpu[] | null; // now
  findings: Finding[]; // now, the worst first
  why: Why | null; // now
  sources: SourceStatus[];
  health: HealthVerdict[];
  alerts: Alerts;
  notifiers: Notifier[];
  workers: Worker[];
  forecast: Forecast | null;
  lives: Life[]; // of the last hour
  limits: LimitStretch[]; // of the last minutes, as the history has them
  filled: number; // how often the last minutes were taken from the history
  past: { gpus: Gpu[]; why: Why; health: HealthVerdict[] } | null; // the moment of place.at
  span: { why: WhySpan; report: Report | null; events: PastEvent[] } | null; // the range of place
  busy: boolean;
  error: string | null;
  history: boolean; // is there a history database?
  fleet: boolean; // is there a page of all hosts?
  utcOffset: number | null; // minutes: of the times in the daemon's sentences
  session: Session;
}

let state: State = {
  place: readPlace(location.search),
  view: readView(location.search),
  link: "connecting",
  retryAt: null,
  host: "",
  sampleAt: null,
  receivedAt: null,
  interval: 5,
  gpus: null,
  findings: [],
  why: null,
  sources: [],
  health: [],
  alerts: { alerts: [], silences: [] },
  notifiers: [],
  workers: [],
  forecast: null,
  lives: [],
  limits: [],
  filled: 0,
  past: null,
  span: null,
  busy: false,
  error: null,
  history: true,
  fleet: false,
  utcOffset: null,
  session: { may_act: false, signed_in: false },
};
const watchers = new Set<(s: State) => void>();

let drawing = 0;
const TOGETHER = 40; // ms

function draw(): void {
  clearTimeout(drawing);
  drawing = 0;
  for (const w of watchers) w(state);
}

/** A sample, its answer and its processes arrive a few milliseconds apart and are drawn together; what a person did is drawn at once. */
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

const words = (e: unknown) => (e instanceof Error ? e.message : String(e));
const quiet = async (work: Promise<unknown>) => {
  try {
    await work;
  } catch {
    /* the next one may work; its age shows */
  }
};

/** A GPU that cannot be read has no list of processes. */
function whole(g: Gpu): Gpu {
  g.processes ??= [];
  g.absent ??= {};
  return g;
}
const known = (m: Metrics): Partial<State> => ({
  gpus: withFindings(m.gpus.map(whole), m.findings ?? []),
  findings: m.findings ?? [],
  host: m.host,
  sources: m.source_status,
  sampleAt: Date.parse(m.timestamp),
  receivedAt: Date.now(),
  error: null,
});

/* The socket brings the figures of every sample. The answer with its evidence is asked for beside that, and the processes: with every
 * sample on a desktop, less often where there is much to send. */
let detailAt = 0;
const asking = new Set<string>();

/** One question at a time. */
async function ask<T>(path: string, take: (answer: T) => void): Promise<void> {
  if (asking.has(path)) return;
  asking.add(path);
  try {
    take(await get<T>(path));
  } catch (e) {
    if (e instanceof Refused && e.status === 401) location.reload(); // the session ended: the server asks for a token
    set({ error: words(e) });
  } finally {
    asking.delete(path);
  }
}

const explain = () => ask<Why>("/api/why", (why) => set({ why }));
const detail = () => {
  detailAt = Date.now();
  return ask<Metrics>("/api/gpu/metrics", (m) => {
    set(known(m));
    ring.pushProcesses(state.sampleAt!, state.gpus!);
  });
};

function sample(summary: Summary, interval: number | null): void {
  const change: Partial<State> = {
    sampleAt: Date.parse(summary.timestamp),
    receivedAt: Date.now(),
    host: summary.host,
  };
  if (interval) change.interval = interval;
  const known = state.gpus,
    same = known?.length === summary.gpus.length;
  if (same) change.gpus = merge(known, summary);
  if (same) ring.push(change.sampleAt!, change.gpus!, state.interval);
  set(change);
  void explain();
  if (state.workers.some((w) => w.state !== "running" && w.state !== "absent")) void guarded(); // the time left is worth a look
  const pause = summary.gpus.length > 32 ? 10000 : summary.gpus.length > 8 ? 5000 : 1500;
  if (!same || Date.now() - detailAt >= pause) void detail();
}

const guarded = () => quiet(get<{ workers: Worker[] }>("/api/guard").then((g) => set({ workers: g.workers })));

/** What the tiles show beside the figures. */
const judged = () =>
  Promise.all([
    quiet(get<{ gpus: HealthVerdict[] }>("/api/gpu/health").then((h) => set({ health: h.gpus }))),
    quiet(get<Forecast>("/api/forecast").then((forecast) => set({ forecast }))),
  ]);

const alerted = () => quiet(get<Alerts>("/api/alerts").then((alerts) => set({ alerts })));

/** Whether it may act, and whether it can log out. */
export const signedIn = () => quiet(get<Session>("/api/session").then((session) => set({ session })));

const told = () =>
  Promise.all([
    signedIn(),
    alerted(),
    quiet(get<{ notifiers: Notifier[] }>("/api/notifiers").then((n) => set({ notifiers: n.notifiers }))),
    guarded(),
  ]);

export async function refreshSides(): Promise<void> {
  await Promise.all([judged(), told()]);
}

const AFTER = 1000; // ms
const CONCERNED: Record<string, () => Promise<unknown>> = { gpu_health: judged, alert: alerted, guard: guarded };
const due = new Set<string>();

/** Events come in bursts, one for each GPU: what they concern is asked for once, a moment later. */
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
  quiet(
    get<{ processes: Life[] }>("/api/history/processes?since=-1h&limit=2000").then((h) =>
      set({ lives: h.processes.filter((l) => !l.ended) }),
    ),
  );

/** What was before the page was opened, or while it saw nothing. */
async function backfill(): Promise<void> {
  try {
    const many = (state.gpus?.length ?? 0) > 8;
    const recent = await get<History>(
      `/api/history?metric=${ring.LIVE.join()}&since=-${ring.KEPT}s&points=${many ? 90 : 450}`,
    );
    // Nothing at all: is there a database that has nothing yet, or none?
    if (!recent.series.length && (await get<{ store: { state: string } }>("/api/health")).store.state === "off")
      return set({ history: false });
    ring.fill(recent);
    set({ filled: state.filled + 1 });
    if (!many)
      set({ limits: (await get<{ stretches: LimitStretch[] }>(`/api/history/limits?since=-${ring.KEPT}s`)).stretches });
  } catch {
    /* a database that doesn't answer now is still there; the next one may work */
  }
}

let asked: AbortController | null = null;

/** Shows what `place` asks for; the last wish wins. */
async function load(): Promise<void> {
  asked?.abort();
  const { place } = state;
  if (place.at == null && place.from == null) {
    set({ past: null, span: null, busy: false });
    return;
  }
  const mine = (asked = new AbortController());
  set({ busy: true });
  try {
    if (place.at != null) {
      const at = new Date(place.at).toISOString();
      const around = `since=${new Date(place.at - 3600e3).toISOString()}&until=${new Date(Math.min(Date.now(), place.at + 30e3)).toISOString()}`;
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
      set({
        past: { why, ...pastAt(state, history, why, changes.events, place.at) },
        span: null,
        busy: false,
        error: null,
      });
    } else {
      const range = `since=${new Date(place.from!).toISOString()}&until=${new Date(place.to!).toISOString()}`;
      const [why, report, events] = await Promise.all([
        get<WhySpan>(`/api/why?${range}`, mine.signal),
        get<Report>(`/api/report?${range}`, mine.signal).catch(() => null),
        get<{ events: PastEvent[] }>(`/api/history/events?${range}&limit=200`, mine.signal),
      ]);
      set({ span: { why, report, events: events.events }, past: null, busy: false, error: null });
    }
  } catch (e) {
    if (!mine.signal.aborted) set({ busy: false, error: words(e) });
  }
}

let wish = 0;

const address = (how: "push" | "replace") =>
  history[how === "push" ? "pushState" : "replaceState"](
    null,
    "",
    location.pathname + writePlace(state.place, state.view) + location.hash,
  );

/** Goes to a moment or a range; `settle` waits for a hand that still moves. */
export function go(place: Place, how: "push" | "replace" = "push", settle = 0): void {
  set({ place, busy: place.at != null || place.from != null }, true);
  address(how);
  clearTimeout(wish);
  wish = window.setTimeout(() => void load(), settle);
}

export const goNow = () => go(NOW);

/** Looks at the same in another way. */
export function look(view: Partial<View>): void {
  set({ view: { ...state.view, ...view } }, true);
  address("replace");
}

/** What the server wrote into the page. */
function embedded<T>(id: string): T | null {
  const element = document.getElementById(id);
  return element ? (JSON.parse(element.textContent!) as T) : null;
}

/** Done when something was on the screen, or should have been: nothing else comes in between. */
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

/** Done when the first paint is worth it: all is there, or the wait for it has been long enough. */
export async function start(): Promise<void> {
  window.addEventListener("popstate", () => {
    set({ place: readPlace(location.search), view: readView(location.search) }, true);
    void load();
  });
  const metrics = embedded<Metrics>("first-metrics"),
    why = embedded<Why>("first-why");
  const health = embedded<{ gpus: HealthVerdict[] }>("first-health"),
    forecast = embedded<Forecast>("first-forecast");
  if (metrics) {
    set(known(metrics));
    ring.push(state.sampleAt!, state.gpus!, state.interval);
    ring.pushProcesses(state.sampleAt!, state.gpus!);
  }
  if (why) set({ why });
  if (health) set({ health: health.gpus });
  if (forecast) set({ forecast });
  detailAt = Date.now();
  const stored = embedded<boolean>("first-history") !== false;
  if (!stored) set({ history: false });
  if (embedded<boolean>("first-fleet")) set({ fleet: true });
  set({ utcOffset: embedded<number>("first-utc-offset") });
  const first = Promise.all([health && forecast ? null : judged(), metrics ? null : detail(), why ? null : explain()]);
  void first.then(load);
  void painted().then(() => {
    void told();
    void lives();
    connect({
      link: (link, retryAt) => {
        if (link === "live" && state.history) void backfill();
        set({ link, retryAt });
      },
      sample,
      event: happened,
    });
  });
  const visible = (work: () => void) => () => {
    if (document.visibilityState === "visible" && state.link === "live") work();
  };
  setInterval(
    visible(() => void lives()),
    60e3,
  );
  setInterval(
    visible(() => void refreshSides()),
    30e3,
  );
  if (!metrics || !why) await first;
}
