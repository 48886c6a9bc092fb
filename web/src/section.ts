// SPDX-License-Identifier: Apache-2.0
// The current section: the address contains it, so that a reload or a link shows the same.
const GESTURES = ["wheel", "touchmove", "pointerdown", "keydown"];
let led = location.hash !== ""; // the address decides until the reader scrolls

addEventListener("hashchange", () => (led = true));
for (const type of GESTURES) addEventListener(type, () => (led = false), { passive: true, capture: true });

/** Scrolls to the section in the address, and again whenever late content (charts, tables) has pushed it away, until the reader moves. */
export function toSection(): void {
  const follow = () => {
    if (led) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  };
  follow();
  new ResizeObserver(follow).observe(document.body);
}

/** Reports which section is at the top, or was requested, and updates the address. */
export function onSection(ids: readonly string[], say: (id: string) => void): () => void {
  let waiting = 0,
    here = "";
  const where = () => {
    waiting = 0;
    const asked = location.hash.slice(1);
    const tops = ids.map((id) => ({ id, top: document.getElementById(id)?.getBoundingClientRect().top }));
    const seen = tops.filter((t) => t.top != null && t.top < innerHeight / 3).sort((a, b) => b.top! - a.top!)[0];
    const next = led && ids.includes(asked) ? asked : scrollY < 80 ? ids[0]! : (seen?.id ?? ids[0]!);
    if (next === here) return;
    here = next;
    say(here);
    if (!led) history.replaceState(null, "", location.pathname + location.search + (here === ids[0] ? "" : `#${here}`));
  };
  const moved = () => (waiting ||= window.setTimeout(where, 150));
  where();
  addEventListener("scroll", moved, { passive: true });
  addEventListener("hashchange", where);
  return () => {
    removeEventListener("scroll", moved);
    removeEventListener("hashchange", where);
  };
}
