"""Calls of functions in the processes of Dask's workers, each over a connection of its own.

A message of Dask's takes about a millisecond of Python on its way, as long as a search. So a worker also listens on a port of its
own, at its host's address and with the certificates of its other connections, and answers callers that show its token, which they
get through Dask. What they send is pickled: as with Dask, who may call a worker may run anything there.
"""
import contextlib
import hmac
import multiprocessing.connection
import pickle
import secrets
import socket
import struct
import threading
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

_TOKEN_BYTES = 32
_CONNECT_SECONDS = 2.0
_LENGTH = struct.Struct("<Q")
_KEEP_ALIVE = {"TCP_NODELAY": 1, "TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 10_000}

Call = Tuple[Any, ...]  # a function and its arguments


class Failed(Exception):
    """A function that was called has raised an exception."""


class Silent(Exception):
    """These have not answered in time."""

    def __init__(self, names: Sequence[str]):
        super().__init__(", ".join(names))
        self.names = list(names)


class Address(NamedTuple):
    """Where a worker listens, and what callers must show it."""
    host: str
    port: int
    token: bytes


def _prepare(connection: socket.socket) -> None:
    """Sends at once, and fails within seconds if the other machine is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(message)) + message)


def _read(connection: socket.socket, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ConnectionError("the connection was closed")
        data += piece
    return data


def _receive(connection: socket.socket) -> bytearray:
    return _read(connection, _LENGTH.unpack(_read(connection, _LENGTH.size))[0])


# --- on the workers ---------------------------------------------------------------------------------------------------


def _answer(message: bytearray) -> bytes:
    try:
        function, *arguments = pickle.loads(message)
        return pickle.dumps((True, function(*arguments)))
    except Exception as error:  # pylint: disable=broad-except
        return pickle.dumps((False, repr(error)))


class Listener:
    """Answers calls, on a thread for each connection, until the process ends."""

    def __init__(self, host: str, context: Any = None):
        self._context = context
        self._socket = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.address = Address(host, self._socket.getsockname()[1], secrets.token_bytes(_TOKEN_BYTES))
        threading.Thread(target=self._accept, name="sqlite-glove-listen", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection,), name="sqlite-glove-answer", daemon=True).start()
            except (OSError, RuntimeError):  # too many files or threads, or a caller that has gone
                time.sleep(0.1)

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, MemoryError), contextlib.closing(connection):
            _prepare(connection)
            connection.settimeout(_CONNECT_SECONDS)
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with contextlib.closing(connection):
                if not hmac.compare_digest(_read(connection, _TOKEN_BYTES), self.address.token):
                    return
                connection.settimeout(None)
                while True:
                    _send(connection, _answer(_receive(connection)))


# --- on the caller's side ---------------------------------------------------------------------------------------------


class Line:
    """The connections to a worker, of which each call has one for itself. Any thread may use it."""

    def __init__(self, address: Address, context: Any = None):
        self._idle: List[socket.socket] = []  # append and pop are atomic
        self._address = address
        self._context = context
        self.give(self._connect())

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self._address[:2], _CONNECT_SECONDS)
        try:
            _prepare(connection)
            if self._context is not None:
                connection = self._context.wrap_socket(connection)
            connection.sendall(self._address.token)
            return connection
        except BaseException:
            connection.close()
            raise

    def take(self) -> socket.socket:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def give(self, connection: socket.socket) -> None:
        self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def __del__(self) -> None:
        self.close()


@contextlib.contextmanager
def _connections(lines: Dict[str, Line]) -> Iterator[Dict[str, socket.socket]]:
    """A connection of each line. They are closed if anything fails, because answers may still come."""
    taken: Dict[str, socket.socket] = {}
    try:
        for name, line in lines.items():
            taken[name] = line.take()
        yield taken
    except BaseException:
        for connection in taken.values():
            connection.close()
        raise
    for name, connection in taken.items():
        lines[name].give(connection)


def call_all(lines: Dict[str, Line], calls: Dict[str, Call], seconds: float) -> List[Any]:
    """What the calls return, in their order; all run at once. Raises Silent after `seconds`, and Failed or OSError if one fails."""
    end = time.monotonic() + seconds
    answers: Dict[str, bytearray] = {}
    with _connections({name: lines[name] for name in calls}) as connections:
        try:
            for name, call in calls.items():
                _limit(connections[name], end)
                _send(connections[name], pickle.dumps(call))
            for name in calls:
                _limit(connections[name], end)
                answers[name] = _receive(connections[name])
        except socket.timeout:
            arrived = multiprocessing.connection.wait([connections[name] for name in calls if name not in answers], 0)
            raise Silent([name for name in calls if name not in answers and connections[name] not in arrived]) from None
    results = [pickle.loads(answers[name]) for name in calls]
    for name, (done, result) in zip(calls, results):
        if not done:
            raise Failed(f"{name}: {result}")
    return [result for _, result in results]


def _limit(connection: socket.socket, end: float) -> None:
    left = end - time.monotonic()
    if left <= 0:
        raise socket.timeout()
    connection.settimeout(left)
