#!/usr/bin/env python3
"""Passes requests on to a server with an API key added, for clients that cannot send one. As a proxy does, it names the
server in Host and Origin where it was named itself; everything else stays as it came. Prints its own address.

    with_key.py URL KEY
"""

import http.client
import http.server
import sys
from urllib.parse import urlsplit

target, key = urlsplit(sys.argv[1]), sys.argv[2]
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "authorization"}


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        onward = http.client.HTTPConnection(target.hostname, target.port, timeout=30)
        onward.putrequest(self.command, target.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP:
                onward.putheader(name, value.replace(own, target.netloc))
        onward.putheader("Authorization", f"Bearer {key}")
        onward.putheader("Content-Length", str(len(body)))
        onward.endheaders(body)
        answer = onward.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        onward.close()

    do_GET = do_POST = do_DELETE = do_OPTIONS = answer

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
own = f"127.0.0.1:{server.server_port}"
print(f"http://{own}{target.path}", flush=True)
server.serve_forever()
