// SPDX-License-Identifier: Apache-2.0
// With @modelcontextprotocol/sdk, as most assistants have it: node mcp.mjs '{"url" or "command", "calls", ...}'.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { talk } from "./mcp-talk.mjs";

const told = JSON.parse(process.argv[2]);

async function connect(url = told.url) {
  const client = new Client({ name: "test", version: "1" });
  const [command, ...args] = told.command ?? [];
  await client.connect(
    url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env: told.env }),
  );
  return client;
}

await talk(told, connect, (client, call, signal) => client.callTool(call, undefined, { signal }));
