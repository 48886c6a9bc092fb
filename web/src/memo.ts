// SPDX-License-Identifier: Apache-2.0
// Redraws a part only when its properties change. (preact/compat has one, too, but slows down every element.)
import { Component, type ComponentChildren, createElement, type FunctionComponent } from "preact";

function shallow<P extends object>(a: P, b: P): boolean {
  const keys = Object.keys(b) as (keyof P)[];
  return keys.length === Object.keys(a).length && keys.every((k) => a[k] === b[k]);
}

export function memo<P extends object>(
  part: FunctionComponent<P>,
  same: (a: P, b: P) => boolean = shallow,
): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !same(this.props as P, next);
    }
    override render(): ComponentChildren {
      return createElement(part, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
