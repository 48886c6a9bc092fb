// SPDX-License-Identifier: Apache-2.0
// A Socket.IO client as people write it, with the default settings unless told otherwise: node socketio.mjs URL [OPTIONS [PACKAGE]].
import readline from "node:readline";

const [url, options, client = "socket.io-client"] = process.argv.slice(2);
const { io } = await import(client);
const say = (what, value) => console.log(JSON.stringify([what, value, Date.now()]));
const socket = options ? io(url, JSON.parse(options)) : io(url);
socket.on("connect", () => {
  say("connect", socket.id);
  say("transport", socket.io.engine.transport.name);
  socket.io.engine.on("upgrade", (transport) => say("transport", transport.name));
});
socket.io.on("ping", () => say("ping", null));
socket.on("connect_error", (error) => say("connect_error", error.message));
socket.on("disconnect", (reason) => say("disconnect", reason));
socket.onAny((name, ...args) => say(name, args[0]));
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line);
  if (command.close) socket.disconnect();
  else if (command.binary) socket.emit(command.binary, Buffer.from([0, 1, 2]));
  else if (command.acknowledged)
    socket.emit(command.emit, ...(command.args ?? []), (...args) => say("acknowledged", args));
  else socket.emit(command.emit, ...(command.args ?? []));
});
