"""viser made safe: the address that was asked for, foreign pages refused, no tunnel."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys

import pytest

import dalembert as dl
from dalembert.apps.studio import server

pytest.importorskip("viser", reason="the extra [studio] is not installed")


@pytest.fixture(scope="module")
def studio():
    with dl.studio.Studio(dl.load("planar-2r"), port=0) as made:
        yield made


def handshake(port: int, host: str | None = None, origin: str | None = None, upgrade: bool = True) -> str:
    """The first line and headers of the answer to a raw request."""
    lines = [f"GET / HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port}'}"]
    if upgrade:
        key = base64.b64encode(os.urandom(16)).decode()
        lines += ["Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Protocol: viser-v0"]
    if origin is not None:
        lines.append(f"Origin: {origin}")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        text = b""
        while b"\r\n\r\n" not in text and (piece := line.recv(4096)):
            text += piece
    return text.split(b"\r\n\r\n")[0].decode()


def test_a_socket_of_this_page_is_welcome_and_a_foreign_one_is_refused(studio):
    port = studio.port
    assert " 101 " in handshake(port, origin=f"http://127.0.0.1:{port}")
    assert " 101 " in handshake(port, host=f"localhost:{port}", origin=f"http://localhost:{port}")
    foreign = [
        "http://evil.example",
        f"http://evil.example:{port}",
        f"http://localhost:{port}",
        "null",
        "",
        f"https://127.0.0.1:{port}",
        f"http://127.0.0.1:{port + 1}",
        f"http://127.0.0.1:{port}.evil.example",
        None,
    ]
    for origin in foreign:
        answer = handshake(port, origin=origin)
        assert answer.startswith("HTTP/1.1 403"), (origin, answer)


def test_a_foreign_name_that_points_here_is_refused(studio):
    """DNS rebinding: the page and the socket then have one origin, and it is not ours."""
    port = studio.port
    for upgrade in (True, False):
        answer = handshake(port, host=f"evil.example:{port}", origin=f"http://evil.example:{port}", upgrade=upgrade)
        assert answer.startswith("HTTP/1.1 403"), answer


def test_the_page_may_reach_nothing_but_itself(studio):
    answer = handshake(studio.port, upgrade=False)
    assert answer.startswith("HTTP/1.1 200")
    policy = next(line for line in answer.splitlines() if line.startswith("Content-Security-Policy"))
    assert "default-src 'self'" in policy and f"ws://127.0.0.1:{studio.port}" in policy and "http:" not in policy


def test_origins_that_were_named_are_welcome_too():
    guard = server.Guard("127.0.0.1", ["https://lab.example"])

    class Headers(dict):
        def get_all(self, name):
            return [self[name]] if name in self else []

    def refusal(host, origin):
        return guard.refusal(Headers(Host=host, Origin=origin), True)

    assert refusal("lab.example", "https://lab.example") is None
    assert refusal("127.0.0.1:8080", "https://lab.example") is None
    assert "may not use this studio" in refusal("127.0.0.1:8080", "https://lab.example.evil")
    assert "is not" in refusal("other.example", "http://other.example")
    with pytest.raises(dl.InputError, match="an origin is written as http://name:port, got 'lab'"):
        server.Guard("127.0.0.1", ["lab"])


@pytest.mark.parametrize(
    "host",
    [
        "evil.com@localhost",
        "localhost/evil.com",
        "[::1].evil.com",
        "[127.0.0.1]",
        "localhost:",
        "localhost:80:80",
        "localhost ",
        "127.0.0.1,localhost",
        "",
        "[",
        "localhost#x",
        "[::1",
        "::1",
        "localhost:999999",
    ],
)
def test_a_malformed_host_is_refused(host):
    assert not server.Guard("127.0.0.1").known(host)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1", "192.168.0.7:1", "[::1]", "[::1]:8080"])
def test_hosts_that_are_ours(host):
    assert server.Guard("127.0.0.1").known(host)


def test_it_listens_on_loopback_alone(studio):
    bound = [s for s in _listening() if s[1] == studio.port]
    assert bound in ([], [("127.0.0.1", studio.port)])
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", studio.port), timeout=5):
        pass  # another address of this very machine


def _listening() -> list[tuple[str, int]]:
    """(address, port) of the listening TCP sockets of this machine, where it tells."""
    if not os.path.exists("/proc/net/tcp"):
        return []
    found = []
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            place, state = line.split()[1], line.split()[3]
            if state == "0A":
                address, port = place.split(":")
                found.append((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


def test_no_tunnel(studio, monkeypatch):
    import viser._viser

    def forbidden(*_):
        raise AssertionError("a tunnel was made")

    monkeypatch.setattr(viser._viser, "ViserTunnel", forbidden)
    assert studio.server.request_share_url() is None
    from viser import _messages

    handlers = studio.server._websock_server._incoming_handlers[_messages.ShareUrlRequest]
    for handler in handlers:  # what a page's request does
        handler(0, _messages.ShareUrlRequest())
    assert studio.server._share_tunnel is None


def test_a_taken_port_is_said_aloud(studio):
    with pytest.raises(dl.InputError, match=f"port {studio.port} on 127.0.0.1 is taken by another program"):
        dl.studio.Studio(dl.load("planar-2r"), port=studio.port)


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("", 0, "host is an address or a name"),
        ("no.such.host.invalid", 0, "there is no host 'no.such.host.invalid' here"),
        ("127.0.0.1", 70000, "port is a whole number from 0"),
        ("127.0.0.1", True, "port is a whole number from 0"),
        ("192.0.2.1", 0, "cannot be listened on"),
    ],
)
def test_addresses_that_cannot_be(host, port, said):
    with pytest.raises(dl.InputError, match=said):
        server.open_socket(host, port)


def test_a_viser_that_starts_otherwise_is_not_trusted(monkeypatch):
    """If the guard was passed by, nothing is served."""
    from contextlib import contextmanager

    @contextmanager
    def passed_by(guard, place):
        yield []

    monkeypatch.setattr(server, "_guarded", passed_by)
    with pytest.raises(dl.InputError, match="cannot be guarded"):
        server.serve("127.0.0.1", 0)


def test_after_stop_nothing_listens():
    with dl.studio.Studio(dl.load("planar-2r"), port=0) as made:
        port = made.port
        assert "200" in handshake(port, upgrade=False).splitlines()[0]
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(dl.InputError, match="this studio was closed"):
        made.move([0, 0])


def test_without_viser_one_sentence_and_the_command():
    code = "import sys; sys.modules['viser'] = None; from dalembert.apps.cli import main; main(['studio', 'panda'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "the studio needs viser, which is not installed: pip install 'dalembert[studio]'" in done.stderr


def test_urls():
    assert server.url_of("0.0.0.0", 80) == "http://127.0.0.1:80" and server.url_of("::", 80) == "http://[::1]:80"
    assert server.url_of("::1", 80) == "http://[::1]:80" and server.url_of("lab", 80) == "http://lab:80"
    assert server.is_loopback("127.0.0.1") and server.is_loopback("::1") and server.is_loopback("localhost")
    assert not server.is_loopback("0.0.0.0") and not server.is_loopback("lab")


@pytest.mark.parametrize("host", ["[", "]", "[]:1", "[::1", "a\xff", "a b", "127.0.0.1.evil.example"])
def test_a_host_that_is_none_is_refused(studio, host):
    assert handshake(studio.port, host=host, upgrade=False).startswith("HTTP/1.1 403")


def test_what_is_no_message_closes_the_line_without_a_word(studio, capfd):
    import msgspec
    import viser
    from websockets.exceptions import ConnectionClosedError
    from websockets.sync.client import connect

    packed = msgspec.msgpack.encode
    no_messages = [b"\xc1", b"", "text", packed([1]), packed({}), packed({"type": "Nope"})]
    no_messages += [packed({"type": "GuiUpdateMessage"})]
    for data in no_messages:
        port = studio.port
        page = connect(
            f"ws://127.0.0.1:{port}",
            origin=f"http://127.0.0.1:{port}",
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
        )
        with page:
            page.send(data)
            with pytest.raises(ConnectionClosedError, match="this is no message of the studio"):
                while True:
                    page.recv(timeout=20)
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out
