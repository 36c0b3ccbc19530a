"""A door to a REST catalog that lets in what AWS's own library finds signed. It prints its port, and on the end of stdin what it saw."""

import hashlib
import http.server
import json
import sys
import threading
import urllib.error
import urllib.request

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

upstream, service, region, key, secret = sys.argv[1:]
auth = SigV4Auth(Credentials(key, secret), service, region)
seen = {"signed": 0, "refused": []}


def flaw(r, body):
    """What is wrong with a request; empty: nothing."""
    try:
        said = dict(part.split("=", 1) for part in r.headers["Authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(", "))
    except (AttributeError, KeyError, ValueError):
        return "not signed"
    signed = {name: r.headers[name] for name in said["SignedHeaders"].split(";")}
    if signed.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
        return "another body"
    again = AWSRequest(r.command, f"http://{r.headers['Host']}{r.path}", headers=signed, data=body)
    again.context["timestamp"] = r.headers["X-Amz-Date"]
    want = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    if said["Credential"] != auth.scope(again) or said["Signature"] != want:
        return f"{said['Credential']} signed {said['Signature']}, and {auth.scope(again)} would {want}"
    return ""


class Door(http.server.BaseHTTPRequestHandler):
    def any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wrong = flaw(self, body)
        if wrong:
            seen["refused"].append(f"{self.command} {self.path}: {wrong}")
            status, answer = 403, json.dumps({"error": {"message": wrong, "code": 403}}).encode()
        else:
            seen["signed"] += 1
            request = urllib.request.Request(upstream + self.path, data=body or None, method=self.command, headers={"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request) as got:
                    status, answer = got.status, got.read()
            except urllib.error.HTTPError as e:
                status, answer = e.code, e.read()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_DELETE = any

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
print(json.dumps(seen))
