// SPDX-License-Identifier: Apache-2.0
// The host's time. The browser's clock may be hours off; samples show by how much.
let ahead: number | null = null, // ms by which the browser's clock is ahead
  samples = 0;

/** A sample has just arrived. The one with the least delay is the most accurate. */
export function sampled(at: number): void {
  const apart = Date.now() - at;
  ahead = ahead == null ? apart : Math.min(ahead, apart);
  samples++;
}

/** Either clock may have been set meanwhile. */
export function forgetClock(): void {
  ahead = null;
  samples = 0;
}

export const now = (): number => Date.now() - (ahead ?? 0);

const SURE = 3; // samples: the first ones may be from before they were asked for

/** How far the browser's clock is ahead of the host's, in milliseconds; 0 until that is known well. */
export const clockAhead = (): number => (samples < SURE ? 0 : (ahead ?? 0));
