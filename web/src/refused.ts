// SPDX-License-Identifier: Apache-2.0
// Why the server did not answer. Does not touch the document.
export class Refused extends Error {
  constructor(
    public status: number,
    message: string,
  ) {
    super(message);
  }
}

export const words = (e: unknown) => (e instanceof Error ? e.message : String(e));
