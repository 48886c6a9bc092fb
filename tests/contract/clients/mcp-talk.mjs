// SPDX-License-Identifier: Apache-2.0
// An assistant's side as people write it with an official package: connects, lists the tools, makes the calls that it was told to, and
// prints what came of it. The packages check every answer against the schemas of the protocol and of the tool.

// And ends, once all of it is written.
const say = (what, value) =>
  process.stdout.write(JSON.stringify([what, value, Date.now()]) + "\n", () => process.exit(0));

// connect(url): a client that is connected, there or where it was told to; call(client, call, signal): its result. With `urls`, one after the
// other is asked the same.
export async function talk({ clients = 1, calls = [], urls, abort, modern = false }, connect, call) {
  async function one(url) {
    const client = await connect(url);
    const said = {
      server: client.getServerVersion() ?? null,
      instructions: client.getInstructions() ?? null,
      results: [],
    };
    if (!modern) await client.ping();
    said.tools = (await client.listTools()).tools;
    for (const asked of calls) {
      try {
        said.results.push(await call(client, asked));
      } catch (error) {
        said.results.push({ thrown: error.message, code: error.code ?? null });
      }
    }
    if (abort) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 300);
      said.aborted = await call(client, abort, controller.signal).then(
        () => "answered",
        () => "aborted",
      );
      said.after = await call(client, { name: "status", arguments: {} });
    }
    await client.close();
    return said;
  }
  try {
    const all = urls ? [[]] : await Promise.all(Array.from({ length: clients }, () => one()));
    for (const url of urls ?? []) all[0].push(await one(url));
    say("done", clients === 1 ? all[0] : { count: all.length, first: all[0] });
  } catch (error) {
    say("failed", String(error.stack ?? error));
  }
}
