"""The page that drafts are labelled on: on loopback, for one person, with hostile drafts in mind."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from draftcritic.labels._label import WORDS
from draftcritic.labels._session import LabelSession, pieces, verdict_lines

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_MAX_BODY = 10_000
KEYS = {"a": "approve", "r": "revise", "x": "refuse", "u": "unsure", "z": "undo"}


def page(session: LabelSession, token: str, port: int) -> Starlette:
    """Return the application that serves the page.

    The token is part of the path, a request for another host is rejected (a page elsewhere may point a name of its own
    at this machine), and the policy of the page forbids everything that a draft could bring along.

    Args:
        session: the drafts.
        token: the secret part of the address.
        port: where it is served.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    handlers = _Handlers(session, token, port)
    return Starlette(
        routes=[
            Route("/{token}/", handlers.show, methods=["GET"]),
            Route("/{token}/", handlers.act, methods=["POST"]),
        ]
    )


class _Handlers:
    def __init__(self, session: LabelSession, token: str, port: int) -> None:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("draftcritic.labels"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._template = environment.get_template("label.html")
        self._session = session
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def show(self, request: Request) -> Response:
        """Answer with the current draft."""
        from starlette.responses import HTMLResponse

        problem = self._rejected(request)
        if problem is not None:
            return problem
        session, nonce = self._session, secrets.token_urlsafe(16)
        run, last = session.current, session.last
        html = self._template.render(
            run=run,
            pieces=[] if run is None else pieces(run),
            last=last,
            said=[] if last is None else list(verdict_lines(last.run)),
            done=session.done,
            total=session.total,
            who=session.who,
            keys=KEYS,
            nonce=nonce,
        )
        return _secured(HTMLResponse(html), nonce)

    async def act(self, request: Request) -> Response:
        """Take a label, or take one back."""
        from starlette.responses import RedirectResponse

        problem = self._rejected(request)
        if problem is not None:
            return problem
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BODY:
                return _refusal("too large", 413)
        form = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        word = form.get("label", "")
        if word == "undo":
            self._session.undo()
        elif word in WORDS:
            self._session.give(form.get("turn_id", ""), word)
        else:
            return _refusal(f"allowed are {', '.join(WORDS)}", 400)
        return _secured(RedirectResponse(f"/{self._token}/", 303))

    def _rejected(self, request: Request) -> Response | None:
        if request.headers.get("host", "") not in self._hosts:
            return _refusal("unknown host", 421)
        if not secrets.compare_digest(request.path_params["token"].encode(), self._token.encode()):
            return _refusal("not found", 404)
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc not in self._hosts:
            return _refusal("unknown origin", 403)
        return None


def _refusal(reason: str, status: int) -> Response:
    from starlette.responses import PlainTextResponse

    return _secured(PlainTextResponse(reason, status))


def _secured(response: Response, nonce: str = "") -> Response:
    inline = f"style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; " if nonce else ""
    policy = f"default-src 'none'; {inline}form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    response.headers.update(
        {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
        }
    )
    return response


def serve(session: LabelSession, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page on loopback until the process is interrupted.

    Args:
        session: the drafts.
        port: where; 0 takes any free port.
        announce: called with the address of the page.

    Raises:
        OSError: the port is taken.
        ModuleNotFoundError: starlette, uvicorn or jinja2 is not installed.
    """
    import uvicorn

    token = secrets.token_urlsafe(24)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()  # a browser that is faster than the start of the server waits for it
        port = listening.getsockname()[1]
        config = uvicorn.Config(page(session, token, port), log_level="warning", access_log=False, lifespan="off")
        announce(f"http://127.0.0.1:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[listening])
