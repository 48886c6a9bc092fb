// SPDX-License-Identifier: Apache-2.0
// The connection to the daemon: requests, and the socket that says when there is something new. Nothing runs while the page is hidden.
import { backoff } from "./model";
import type { Summary } from "./types";

export class Refused extends Error {
  constructor(
    public status: number,
    message: string,
  ) {
    super(message);
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answer<T>(await fetch(path, { signal, headers: { Accept: "application/json" } }));
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return answer<T>(
    await fetch(path, {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

async function answer<T>(reply: Response): Promise<T> {
  if (reply.ok) return (await reply.json()) as T;
  let text = `The server answered ${reply.status}.`;
  try {
    text = ((await reply.json()) as { error: { message: string } }).error.message;
  } catch {
    /* not from us: a proxy in between */
  }
  throw new Refused(reply.status, text);
}

/** A token for a cookie that scripts cannot read. */
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
  sample(summary: Summary, intervalSeconds: number | null): void;
  event(type: string): void;
}

/** Keeps one socket open while the page is visible, with back-off; tells the listener of every sample. */
export function connect(listener: Listener): void {
  let socket: WebSocket | null = null,
    timer = 0,
    attempt = 0;
  const stop = () => {
    clearTimeout(timer);
    const old = socket;
    socket = null;
    old?.close();
  };
  const open = () => {
    stop();
    listener.link("connecting", null);
    const s = (socket = new WebSocket(
      `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws?events=gpu_status,gpu_status_update,gpu_health,alert,guard,gpu_event`,
    ));
    s.onopen = () => {
      if (s !== socket) return;
      attempt = 0;
      listener.link("live", null);
    };
    s.onmessage = (message) => {
      if (s !== socket) return;
      const { type, data } = JSON.parse(message.data as string);
      if (type === "gpu_status_update") listener.sample(data as Summary, null);
      else if (type === "gpu_status" && data.summary)
        listener.sample(data.summary as Summary, data.interval_seconds ?? null);
      else listener.event(type);
    };
    s.onclose = () => {
      if (s !== socket) return;
      socket = null;
      const wait = backoff(attempt++) * 1000;
      listener.link("lost", Date.now() + wait);
      timer = window.setTimeout(open, wait);
    };
  };
  const look = () => {
    if (document.visibilityState === "hidden") {
      stop();
      listener.link("paused", null);
    } else {
      attempt = 0;
      open();
    }
  };
  document.addEventListener("visibilitychange", look);
  window.addEventListener("online", () => {
    if (!socket && document.visibilityState === "visible") open();
  });
  look();
}
