# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for services that receive alerts. They refuse what the real ones refuse, according to their documentation:

Slack     https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: 400 no_text, invalid_payload, too_many_attachments (more
          than 100); a text is cut at 40,000 characters; answers "ok". Rate limits: 429 with Retry-After in seconds.
Discord   https://discord.com/developers/docs/resources/webhook#execute-webhook: 204; at least one of content and embeds; content up to 2000
          characters, 10 embeds, title 256, description 4096, 6000 together; 400 with code 50035; 429 with retry_after in the body.
ntfy      https://docs.ntfy.sh/publish/#publish-as-json: JSON to the root; topic [-_A-Za-z0-9]{1,64}, priority 1 to 5, tags; a message longer than
          4096 bytes becomes an attachment, which a server need not allow.
Telegram  https://core.telegram.org/bots/api#sendmessage: POST /bot<token>/sendMessage; 1 to 4096 characters; 401 for a wrong token, 400 "chat not
          found"; 429 with parameters.retry_after in the body.
Gotify    https://gotify.net/api-docs#/message/createMessage: POST /message, X-Gotify-Key; 401 "you need to provide a valid access token".
Pushover  https://pushover.net/api: POST /1/messages.json; message up to 1024 characters, title 250, url 512; 400 with status 0 and errors.
Matrix    https://spec.matrix.org/latest/client-server-api: PUT .../rooms/{room}/send/m.room.message/{txn}, Bearer token; the same transaction again
          gives the same event; 401 M_UNKNOWN_TOKEN, 403 M_FORBIDDEN, 429 M_LIMIT_EXCEEDED with retry_after_ms.
Mail      Debian's aiosmtpd, with TLS and a login.
"""
import datetime
import email
import email.policy
import gzip
import http.server
import json
import re
import ssl
import subprocess
import threading
import time

from ports import free_port
from waiting import PATIENCE, be_slow


class Target:
    """A server that records its requests. It gives `answers` one by one, then the verdict of `judge` on the request. Its clock is `ahead` seconds
    ahead of ours; with `tls`, a server context, it speaks HTTPS."""

    def __init__(self, judge=None, port=0, tls=None):
        self.ahead, self.tls = 0, tls
        self.requests, self.answers, self.delay, self.judge = [], [], 0, judge or (lambda request: (200, {}, b"ok"))
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Request(self.path, dict(self.headers.items()), body, self.command)
                if target.delay:
                    be_slow(target.delay)
                status, headers, answer = target.answers.pop(0) if target.answers else target.judge(request)
                request.status = status
                target.requests.append(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_PUT = do_GET = do_POST

            def date_time_string(self, timestamp=None):
                return super().date_time_string((timestamp or time.time()) + target.ahead)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port or free_port()), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def url(self, path=""):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{path}"

    def bodies(self):
        return [r.json() for r in list(self.requests)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Request:
    def __init__(self, path, headers, body, method="POST"):
        self.path, self.headers, self.method, self.at, self.status = path, headers, method, time.monotonic(), None
        self.body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body

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


def _json(code, /, **body):
    return code, {"Content-Type": "application/json"}, json.dumps(body).encode()


TELEGRAM_TOKEN, GOTIFY_TOKEN, PUSHOVER_TOKEN, PUSHOVER_USER, MATRIX_TOKEN = (
    "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "AWoPvLp7eDTq2hY", "azGDORePK8gMaC0QOYAMyEEuzJnyUi", "uQiRzpo4DXghDmr9QzzfQu27cmVRsG", "syt_d2hpcnI_secret")


def _telegram(request):
    if request.method != "POST" or request.path != f"/bot{TELEGRAM_TOKEN}/sendMessage":
        return _json(401 if request.path.endswith("/sendMessage") else 404, ok=False, error_code=401, description="Unauthorized")
    body = json.loads(request.body)
    if str(body.get("chat_id")) != "-1001234567890":
        return _json(400, ok=False, error_code=400, description="Bad Request: chat not found")
    if not 1 <= len(body.get("text", "")) <= 4096 or "parse_mode" in body:
        return _json(400, ok=False, error_code=400, description="Bad Request: message is too long")
    return _json(200, ok=True, result={"message_id": 7})


def _gotify(request):
    if request.method != "POST" or request.path != "/message":
        return _json(404, error="Not Found", errorCode=404, errorDescription="page not found")
    if request.headers.get("X-Gotify-Key") != GOTIFY_TOKEN:
        return _json(401, error="Unauthorized", errorCode=401, errorDescription="you need to provide a valid access token or user credentials to access this api")
    body = json.loads(request.body)
    if not body.get("message") or not 0 <= body.get("priority", 0) <= 10:
        return _json(400, error="Bad Request", errorCode=400, errorDescription="Field 'message' is required")
    return _json(200, id=1, appid=1, message=body["message"])


def _pushover(request):
    body = json.loads(request.body)
    if request.method != "POST" or request.path != "/1/messages.json":
        return _json(404, status=0)
    if body.get("token") != PUSHOVER_TOKEN:
        return _json(400, token="invalid", errors=["application token is invalid"], status=0)
    if body.get("user") != PUSHOVER_USER:
        return _json(400, user="invalid", errors=["user identifier is not a valid user, group, or subscribed user key"], status=0)
    if not 1 <= len(body.get("message", "")) <= 1024 or len(body.get("title", "")) > 250 or len(body.get("url", "")) > 512 or body.get("priority") not in (-2, -1, 0, 1):
        return _json(400, errors=["message cannot be blank"], status=0)
    return _json(200, status=1, request="x")


def _matrix(request):
    if request.headers.get("Authorization") != f"Bearer {MATRIX_TOKEN}":
        return _json(401, errcode="M_UNKNOWN_TOKEN", error="Invalid access token passed.")
    if request.method != "PUT" or not re.fullmatch(r"/_matrix/client/v3/rooms/%21ops%3Aexample\.org/send/m\.room\.message/[-A-Za-z0-9]+", request.path):
        return _json(403, errcode="M_FORBIDDEN", error="User not in room")
    body = json.loads(request.body)
    if body.get("msgtype") != "m.text" or not body.get("body") or ("formatted_body" in body) != (body.get("format") == "org.matrix.custom.html"):
        return _json(400, errcode="M_BAD_JSON", error="'body' not in content")
    return _json(200, event_id="$" + request.path.rsplit("/", 1)[1])


def telegram():
    return Target(_telegram)


def gotify():
    return Target(_gotify)


def pushover():
    return Target(_pushover)


def matrix():
    return Target(_matrix)


class Mail:
    """A mail server that records its mail. how: "starttls", "tls" or "clear"."""

    def __init__(self, folder, how="starttls", port=0):
        from aiosmtpd.controller import Controller
        from aiosmtpd.smtp import SMTP, AuthResult

        self.letters, self.refuse = [], []
        self.ca = folder / "mail.pem"
        key = folder / "mail.key"
        if not self.ca.exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", self.ca, "-days", "2",
                            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca, key)
        mail = self

        class Handler:
            async def handle_DATA(self, server, session, envelope):
                if mail.refuse:
                    return mail.refuse.pop(0)
                mail.letters.append((envelope.mail_from, envelope.rcpt_tos, email.message_from_bytes(envelope.content, policy=email.policy.default), how == "tls" or session.ssl is not None))
                return "250 OK"

        def login(server, session, envelope, mechanism, data):
            return AuthResult(success=getattr(data, "login", b"") == b"whirr" and data.password == b"p4ssw0rd", handled=False)

        clear = how == "clear"

        class Server(Controller):
            def factory(self):
                return SMTP(self.handler, authenticator=login, auth_required=not clear, auth_require_tls=False, require_starttls=how == "starttls",
                            tls_context=context if how == "starttls" else None, hostname="localhost")

        self.controller = Server(Handler(), hostname="127.0.0.1", port=port or free_port(), ssl_context=context if how == "tls" else None, ready_timeout=PATIENCE)
        self.controller.start()
        self.port = self.controller.port
        self.url = f"{'smtps' if how == 'tls' else 'smtp'}://127.0.0.1:{self.port}"

    def close(self):
        if self.controller:
            self.controller.stop()
        self.controller = None
