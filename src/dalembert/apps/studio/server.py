"""viser made safe: the address that was asked for and no other, foreign pages refused, no tunnel.

By itself viser listens on every interface, takes the next port where one is taken, hands the scene to any page that
opens a socket, and opens a public tunnel for any client that asks. Here the socket is bound first; the handshake is
looked at before viser sees it; and the tunnel is not there.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import ipaddress
import logging
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from http import HTTPStatus
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from dalembert.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from viser import ViserServer
    from websockets.asyncio.server import ServerConnection, serve as serve_socket
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response

    Handler: TypeAlias = Callable[[ServerConnection], Awaitable[None]]
    Answer: TypeAlias = Callable[[ServerConnection, Request], Response | None]

LOOPBACK = "127.0.0.1"
PORT = 8080
INVALID = 1007  # why a socket is closed: RFC 6455, 7.4.1
# What the page may load and reach: itself. Its scripts are in it, and shapes are made of blobs.
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' data: blob: {socket}; "
    "frame-ancestors 'self'; form-action 'self'; base-uri 'self'"
)
_starting = threading.Lock()
# What pages did wrong, for those who ask: logging.getLogger("dalembert.apps.studio").
_SAID = logging.getLogger("dalembert.apps.studio")
_SAID.addHandler(logging.NullHandler())
_SAID.propagate = False


def viser() -> ModuleType:
    """The library, imported when a studio is opened."""
    try:
        import viser
    except ImportError:
        text = "the studio needs viser, which is not installed: pip install 'dalembert[studio]'"
        raise MissingExtraError(text) from None
    return viser


# ----------------------------------------------------------------------------------------------------- the address
def open_socket(host: str, port: int) -> socket.socket:
    """A socket at this address and no other; a sentence where it cannot be had. Port 0: one that is free."""
    if not isinstance(host, str) or not host.strip():
        raise InputError(f"host is an address or a name of this machine, such as {LOOPBACK!r}; got {host!r}")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise InputError(f"port is a whole number from 0 (any that is free) to 65535, got {port!r}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(f"there is no host {host!r} here; {LOOPBACK!r} is this machine alone") from None
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)  # here, so that what another program listens on is refused now
    except OSError as error:
        found.close()
        import errno

        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} on {host} is taken by another program (a studio left open?): choose another, or port 0 "
                "for any that is free"
            ) from None
        raise InputError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    return found


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def url_of(host: str, port: int) -> str:
    """The address for a browser on this machine: an address that means every interface is reached by loopback."""
    name = {"0.0.0.0": LOOPBACK, "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}"


# ------------------------------------------------------------------------------------------------------- who may come
HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[0-9A-Za-z._-]+))(:[0-9]{1,5})?")  # the whole header


class Guard:
    """Looks at a request before viser does.

    The host it asks for must be an address, or a name that is known to be ours: a foreign name that was made to point
    here (DNS rebinding) is neither. A socket must come from a page that this very server gave out, Origin = http://Host,
    or from one of `origins`."""

    def __init__(self, host: str, origins: Sequence[str] = ()) -> None:
        for origin in origins:
            parts = urlsplit(origin) if isinstance(origin, str) else None
            if parts is None or parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
                raise InputError(f"an origin is written as http://name:port, got {origin!r}")
        self.origins = tuple(origins)
        elsewhere = tuple(urlsplit(origin).hostname for origin in origins)
        self.names = {"localhost", host.lower(), socket.gethostname().lower(), *elsewhere}

    def refusal(self, headers: Headers, is_socket: bool) -> str | None:
        """Why a request is refused, in a sentence; None where it is welcome."""
        host = _only(headers, "Host")
        if host is None or not self.known(host):
            return f"this studio is not {host!r}"
        origin = _only(headers, "Origin")
        if is_socket and origin != f"http://{host}" and origin not in self.origins:
            return f"a page of {origin!r} may not use this studio"
        return None

    def known(self, host: str) -> bool:
        written = HOST.fullmatch(host)
        if written is None:
            return False
        try:
            if written["address"]:
                return ipaddress.IPv6Address(written["address"]).version == 6
            return ipaddress.IPv4Address(written["name"]).version == 4
        except ValueError:
            return (written["name"] or "").lower() in self.names

    def before(self, answer: Answer) -> Answer:
        """viser's own answer to a request, for those that are welcome."""

        def answered(connection: ServerConnection, request: Request) -> Response | None:
            is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
            refused = self.refusal(request.headers, is_socket)
            if refused is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, f"refused: {refused}\n")
            response = answer(connection, request)
            if response is not None:
                policy = POLICY.format(socket=f"ws://{request.headers['Host']}")
                response.headers["Content-Security-Policy"] = policy
                response.headers["X-Content-Type-Options"] = "nosniff"
                response.headers["Referrer-Policy"] = "no-referrer"
            return response

        return answered


def _only(headers: Headers, name: str) -> str | None:
    """The header's value; None where it is missing, or there twice."""
    values = headers.get_all(name)
    return str(values[0]) if len(values) == 1 else None


# --------------------------------------------------------------------------------------------------------- the server
def serve(host: str = LOOPBACK, port: int = PORT, label: str = "Dalembert", origins: Sequence[str] = ()) -> ViserServer:
    """A `viser.ViserServer` at this address, guarded, that opens no tunnel."""
    library = viser()
    guard = Guard(host, origins)
    place = open_socket(host, port)

    class Server(library.ViserServer):  # type: ignore[misc, name-defined]
        def request_share_url(self, verbose: bool = True) -> None:
            """Nothing: what is shown here stays here."""

    try:
        with _starting, _guarded(guard, place) as used, quiet():
            server = Server(host=host, port=place.getsockname()[1], label=label, verbose=False)
    except BaseException:
        place.close()
        raise
    if not used:
        with quiet():
            server.stop()
        place.close()
        raise InputError(
            f"viser {library.__version__} starts its server in a way that the studio does not know, so that it cannot "
            "be guarded: pip install 'viser>=1.1,<2'"
        )
    return server


@contextlib.contextmanager
def _guarded(guard: Guard, place: socket.socket) -> Iterator[list[bool]]:
    """While viser starts, what it takes for the package websockets is this: its server, on our socket and guarded.
    viser has no other way in; the list that is given says whether it went through it."""
    import viser.infra._infra as infra
    import websockets
    from websockets.asyncio.server import serve as open_server

    used: list[bool] = []

    def started(handler: Handler, host: str, port: int, **options: Any) -> serve_socket:
        used.append(True)
        options["process_request"] = guard.before(options["process_request"])
        return open_server(_calm(handler), sock=place, logger=_SAID, **options)

    own = infra.websockets
    infra.websockets = SimpleNamespace(
        asyncio=SimpleNamespace(server=SimpleNamespace(serve=started)),
        datastructures=websockets.datastructures,
        exceptions=websockets.exceptions,
    )
    try:
        yield used
    finally:
        infra.websockets = own


def _calm(handler: Handler) -> Handler:
    """What viser does with a page, until the page sends what is no message: then its line is closed, without a word on
    the terminal, which is not the page's to write on."""
    from websockets.exceptions import ConnectionClosed

    async def handled(connection: ServerConnection) -> None:
        # Tasks of a page that fail later are heard of here.
        asyncio.get_running_loop().set_exception_handler(lambda _, context: _SAID.debug("%s", context))
        try:
            await handler(connection)
        except ConnectionClosed:
            pass
        except Exception as error:
            _SAID.debug("a page sent what is no message", exc_info=error)
            await connection.close(INVALID, "this is no message of the studio")

    return handled


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """viser prints its addresses, and that it stopped; the studio says so itself."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
