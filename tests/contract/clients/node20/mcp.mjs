// SPDX-License-Identifier: Apache-2.0
// With @modelcontextprotocol/client, in the version of the protocol that it is told: node mcp.mjs '{"version", "url" or "command", ...}'.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { talk } from "../mcp-talk.mjs";

const told = JSON.parse(process.argv[2]);
const modern = told.version >= "2026";

async function connect() {
  const client = new Client(
    { name: "test", version: "1" },
    {
      supportedProtocolVersions: [told.version],
      versionNegotiation: { mode: modern ? { pin: told.version } : "legacy" },
    },
  );
  const [command, ...args] = told.command ?? [];
  await client.connect(
    told.url
      ? new StreamableHTTPClientTransport(new URL(told.url))
      : new StdioClientTransport({ command, args, env: told.env }),
  );
  return client;
}

await talk({ ...told, modern }, connect, (client, call, signal) => client.callTool(call, { signal }));
