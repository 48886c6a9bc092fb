// SPDX-License-Identifier: Apache-2.0
// The host's time. The browser's clock may be hours off; samples show by how much.
let ahead: number | null = null; // ms by which the browser's clock is ahead

/** A sample has just arrived. The one with the least delay is the most accurate. */
export function sampled(at: number): void {
  const apart = Date.now() - at;
  ahead = ahead == null ? apart : Math.min(ahead, apart);
}

/** Either clock may have been set meanwhile. */
export function forgetClock(): void {
  ahead = null;
}

export const now = (): number => Date.now() - (ahead ?? 0);

/** How far the browser's clock is ahead of the host's, in milliseconds. */
export const clockAhead = (): number => ahead ?? 0;
