// SPDX-License-Identifier: Apache-2.0
// An assistant's side as people write it with an official package: connects, lists the tools, makes the calls that it was told to, and
// prints what came of it. The packages check every answer against the schemas of the protocol and of the tool.

// connect(): a client that is connected; call(client, call, signal): its result.
export async function talk({ clients = 1, calls = [], abort, modern = false }, connect, call) {
  async function one() {
    const client = await connect();
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
    const all = await Promise.all(Array.from({ length: clients }, one));
    console.log(JSON.stringify(["done", clients === 1 ? all[0] : { count: all.length, first: all[0] }, Date.now()]));
  } catch (error) {
    console.log(JSON.stringify(["failed", String(error.stack ?? error), Date.now()]));
  }
  process.exit(0);
}
