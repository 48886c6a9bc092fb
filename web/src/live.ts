// SPDX-License-Identifier: Apache-2.0
// The connection to the daemon: requests, and the socket that announces new data. Nothing runs while the page is hidden.
import { forgetClock } from "./clock";
import { backoff } from "./model";
import { Refused } from "./refused";
import type { Summary } from "./types";

const PATIENCE = 30e3; // ms: timeout of requests
let link = new AbortController(); // cancels all requests of a lost link

/** Errors in words for people, whatever the browser calls them. */
async function ask<T>(path: string, how: RequestInit, signal?: AbortSignal): Promise<T> {
  const ends = [link.signal, AbortSignal.timeout(PATIENCE), ...(signal ? [signal] : [])];
  try {
    return await answer<T>(await fetch(path, { ...how, signal: AbortSignal.any(ends) }));
  } catch (e) {
    if (e instanceof Refused || signal?.aborted) throw e;
    throw new Error(
      e instanceof DOMException && e.name === "TimeoutError"
        ? "The host didn't answer in time."
        : "The host can't be reached.",
    );
  }
}

export const get = <T>(path: string, signal?: AbortSignal) =>
  ask<T>(path, { headers: { Accept: "application/json" } }, signal);

export const post = <T>(path: string, body: unknown) =>
  ask<T>(path, {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

async function answer<T>(reply: Response): Promise<T> {
  if (reply.ok) return (await reply.json()) as T;
  let text = `The server answered ${reply.status}.`;
  try {
    text = ((await reply.json()) as { error: { message: string } }).error.message;
  } catch {
    /* not from us: from a proxy in between */
  }
  throw new Refused(reply.status, text);
}

/** Exchanges a token for a cookie that scripts can't read. */
export async function login(token: string): Promise<"ok" | "wrong" | "wait"> {
  const reply = await fetch("/login", {
    method: "POST",
    body: new URLSearchParams({ token }),
    redirect: "manual",
    headers: { Accept: "text/html" },
  });
  return reply.type === "opaqueredirect" || reply.ok ? "ok" : reply.status === 429 ? "wait" : "wrong";
}

export type Link = "connecting" | "live" | "lost" | "paused";

export interface Listener {
  link(state: Link, retryAt: number | null): void;
  sample(summary: Summary, intervalSeconds: number): void;
  event(type: string): void;
}

const LATE = 5000; // ms beyond three samples: then the daemon is gone, whatever the transport says

/** Connects at once instead of after the pause. */
export let connectNow = (): void => undefined;

/** Keeps one socket open while the page is visible, with back-off; notifies the listener of every sample. Drops a link without
 * samples: a laptop that slept or a lost network reports no error. */
export function connect(listener: Listener): void {
  let socket: WebSocket | null = null,
    timer = 0,
    attempt = 0,
    interval = 5, // seconds
    last = "", // sample
    heardAt = 0;
  const stop = () => {
    clearTimeout(timer);
    const old = socket;
    socket = null;
    old?.close();
  };
  const lost = () => {
    stop();
    const wait = backoff(attempt++) * 1000;
    listener.link("lost", Date.now() + wait);
    timer = window.setTimeout(open, wait);
  };
  const sample = (summary: Summary) => {
    if (summary.timestamp === last) return; // not new: sampled before the link was lost
    last = summary.timestamp;
    heardAt = Date.now();
    attempt = 0;
    listener.sample(summary, interval);
  };
  const open = () => {
    stop();
    forgetClock();
    heardAt = Date.now();
    listener.link("connecting", null);
    const s = (socket = new WebSocket(
      `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws?events=gpu_status,gpu_status_update,gpu_health,alert,guard,gpu_event`,
    ));
    s.onopen = () => {
      if (s === socket) listener.link("live", null);
    };
    s.onmessage = (message) => {
      if (s !== socket) return;
      const { type, data } = JSON.parse(message.data as string);
      if (type === "gpu_status") interval = data.interval_seconds ?? interval;
      if (type === "gpu_status_update") sample(data as Summary);
      else if (type === "gpu_status" && data.summary) sample(data.summary as Summary);
      else listener.event(type);
    };
    s.onclose = () => {
      if (s === socket) lost();
    };
  };
  connectNow = () => {
    attempt = 0;
    if (document.visibilityState === "visible") open();
  };
  const look = () => {
    if (document.visibilityState === "visible") return connectNow();
    stop();
    listener.link("paused", null);
  };
  setInterval(() => {
    // Absolute: a clock may be set back, too.
    if (!socket || Math.abs(Date.now() - heardAt) <= 3000 * interval + LATE) return;
    link.abort(); // its pending requests hang as well
    link = new AbortController();
    lost();
  }, 1000);
  document.addEventListener("visibilitychange", look);
  window.addEventListener("online", connectNow);
  window.addEventListener("pageshow", (e) => e.persisted && look());
  look();
}
