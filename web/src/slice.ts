// SPDX-License-Identifier: Apache-2.0
// Long tables.
import { useEffect, useRef, useState } from "preact/hooks";

const MARGIN = 12; // rows beyond the visible part

/** For hundreds of rows: only those in view are in the document. */
export function useSlice(on: boolean, count: number, height: number) {
  const box = useRef<HTMLTableSectionElement>(null);
  const [first, setFirst] = useState(0);
  useEffect(() => {
    if (!on) return;
    let waiting = 0;
    const where = () => {
      waiting = 0;
      const top = box.current?.getBoundingClientRect().top ?? 0;
      setFirst(Math.max(0, Math.floor(-top / height) - MARGIN));
    };
    const moved = () => (waiting ||= requestAnimationFrame(where));
    addEventListener("scroll", moved, { passive: true });
    addEventListener("resize", moved);
    where();
    return () => {
      removeEventListener("scroll", moved);
      removeEventListener("resize", moved);
    };
  }, [on]);
  const shown = Math.ceil(innerHeight / height) + 2 * MARGIN,
    start = on ? Math.min(first, Math.max(0, count - shown)) : 0,
    end = on ? Math.min(count, start + shown) : count;
  return { box, start, end, above: start * height, below: (count - end) * height };
}
