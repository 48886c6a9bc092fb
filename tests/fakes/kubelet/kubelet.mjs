// SPDX-License-Identifier: Apache-2.0
// A kubelet's pod-resources socket: gRPC over HTTP/2 on a Unix socket, by node's own HTTP/2. It answers as strictly as a real one.
//
//   node kubelet.mjs SOCKET ANSWER   ANSWER: a file with the message (protobuf); read anew for each call
import { createServer } from "node:http2";
import { readFileSync } from "node:fs";

const [socket, answer] = process.argv.slice(2);
const server = createServer();

function refuse(stream, status, message) {
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", "grpc-status": String(status), "grpc-message": message },
    { endStream: true },
  );
}

server.on("stream", (stream, headers) => {
  const pieces = [];
  stream.on("error", () => {});
  stream.on("data", (piece) => pieces.push(piece));
  stream.on("end", () => {
    const body = Buffer.concat(pieces);
    if (
      headers[":method"] !== "POST" ||
      !String(headers["content-type"]).startsWith("application/grpc") ||
      headers.te !== "trailers"
    )
      return stream.respond({ ":status": 415 }, { endStream: true });
    if (headers[":path"] !== "/v1.PodResourcesLister/List") return refuse(stream, 12, "unknown service or method");
    if (body.length !== 5 || body.readUInt32BE(1) !== 0)
      return refuse(stream, 3, "a frame with an empty message is expected");
    const message = readFileSync(answer);
    if (message.toString() === "refuse") return refuse(stream, 8, "rate limit");
    const frame = Buffer.alloc(5);
    frame.writeUInt32BE(message.length, 1);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "grpc-message": "" }));
    stream.end(Buffer.concat([frame, message]));
  });
});
server.listen(socket, () => console.log("ready"));
