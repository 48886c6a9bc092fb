# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for those who are told of alerts. They refuse what the real ones refuse, as their documentation has it:

Slack     https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: 400 no_text, invalid_payload, too_many_attachments (more
          than 100); a text is cut at 40,000 characters; answers "ok". Rate limits: 429 with Retry-After in seconds.
Discord   https://discord.com/developers/docs/resources/webhook#execute-webhook: 204; at least one of content and embeds; content up to 2000
          characters, 10 embeds, title 256, description 4096, 6000 together; 400 with code 50035; 429 with retry_after in the body.
ntfy      https://docs.ntfy.sh/publish/#publish-as-json: JSON to the root; topic [-_A-Za-z0-9]{1,64}, priority 1 to 5, tags; a message longer than
          4096 bytes becomes an attachment, which a server need not allow.
"""
import datetime
import http.server
import json
import re
import threading
import time


class Target:
    """A server that keeps what it is sent. `answers` are given one by one, then what `judge` says of the request."""

    def __init__(self, judge=None, port=0):
        self.requests, self.answers, self.delay, self.judge = [], [], 0, judge or (lambda request: (200, {}, b"ok"))
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Request(self.path, dict(self.headers.items()), body)
                if target.delay:
                    time.sleep(target.delay)
                status, headers, answer = target.answers.pop(0) if target.answers else target.judge(request)
                request.status = status
                target.requests.append(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def url(self, path=""):
        return f"http://127.0.0.1:{self.port}{path}"

    def bodies(self):
        return [r.json() for r in list(self.requests)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body, self.at, self.status = path, headers, body, time.monotonic(), None

    def json(self):
        return json.loads(self.body)


def _slack(request):
    try:
        body = json.loads(request.body)
        assert isinstance(body, dict)
    except (ValueError, AssertionError):
        return 400, {}, b"invalid_payload"
    if not body.get("text") and not body.get("blocks") and not body.get("attachments"):
        return 400, {}, b"no_text"
    if len(body.get("attachments", [])) > 100:
        return 400, {}, b"too_many_attachments"
    if re.search(r"<!(everyone|channel|here)>", json.dumps(body)):
        return 400, {}, b"posting_to_general_channel_denied"
    return 200, {"Content-Type": "text/html"}, b"ok"


def _discord(request):
    def refuse(where, what):
        return 400, {"Content-Type": "application/json"}, json.dumps({"code": 50035, "message": "Invalid Form Body", "errors": {where: what}}).encode()

    try:
        body = json.loads(request.body)
    except ValueError:
        return refuse("_misc", "not JSON")
    content, embeds = body.get("content") or "", body.get("embeds") or []
    if not content and not embeds:
        return 400, {}, b'{"code": 50006, "message": "Cannot send an empty message"}'
    if len(content) > 2000 or len(embeds) > 10 or len(body.get("username", "x")) > 80:
        return refuse("content", "BASE_TYPE_MAX_LENGTH")
    together = 0
    for embed in embeds:
        title, description = embed.get("title", ""), embed.get("description", "")
        together += len(title) + len(description)
        if len(title) > 256 or len(description) > 4096 or not isinstance(embed.get("color", 0), int):
            return refuse("embeds", "BASE_TYPE_MAX_LENGTH")
        try:
            datetime.datetime.fromisoformat(embed["timestamp"].replace("Z", "+00:00"))
        except (KeyError, ValueError):
            return refuse("timestamp", "DATE_TIME_TYPE_PARSE")
    if together > 6000:
        return refuse("embeds", "MAX_EMBED_SIZE_EXCEEDED")
    if body.get("allowed_mentions", {}).get("parse") != []:
        return refuse("allowed_mentions", "this stand-in wants nobody to be called")
    return 204, {}, b""


def _ntfy(request):
    def refuse(code, what):
        return 400, {"Content-Type": "application/json"}, json.dumps({"code": code, "http": 400, "error": what}).encode()

    if request.path.split("?")[0] != "/":
        return refuse(40401, "page not found: JSON is published to the root")
    try:
        body = json.loads(request.body)
    except ValueError:
        return refuse(40024, "invalid request: request body must be valid JSON")
    if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", body.get("topic", "")):
        return refuse(40009, "invalid request: topic invalid")
    if body.get("priority") not in range(1, 6):
        return refuse(40007, "invalid priority parameter")
    if len(body.get("message", "").encode()) > 4096:
        return refuse(40014, "invalid request: attachments not allowed")
    if not all(isinstance(tag, str) and tag for tag in body.get("tags", [])):
        return refuse(40024, "tags")
    return 200, {"Content-Type": "application/json"}, json.dumps({"id": "x", "event": "message", "topic": body["topic"]}).encode()


def slack():
    return Target(_slack)


def discord():
    return Target(_discord)


def ntfy():
    return Target(_ntfy)
