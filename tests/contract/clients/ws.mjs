// SPDX-License-Identifier: Apache-2.0
// A WebSocket client as people write it with the package `ws`: prints what it hears, sends what it is told on stdin.
import readline from "node:readline";
import WebSocket from "ws";

const [url, options] = process.argv.slice(2);
const say = (what, value) => console.log(JSON.stringify([what, value, Date.now()]));
const socket = new WebSocket(url, options ? JSON.parse(options) : {});
socket.on("open", () => say("open", null));
socket.on("message", (text) => {
  const { type, data } = JSON.parse(text);
  say(type, data);
});
socket.on("close", (code, reason) => say("close", [code, reason.toString()]));
socket.on("error", (error) => say("failed", error.message));
socket.on("pong", (data) => say("pong", data.toString()));
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line);
  if (command.pause) socket._socket.pause();
  else if (command.resume) socket._socket.resume();
  else if (command.ping) socket.ping(command.ping);
  else if (command.close) socket.close(command.close);
  else socket.send(command.text ?? JSON.stringify(command.message));
});
