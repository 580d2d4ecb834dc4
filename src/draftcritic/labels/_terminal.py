"""The same in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftcritic.labels._label import WORDS
from draftcritic.labels._page import KEYS
from draftcritic.labels._session import LabelSession, pieces, verdict_lines

if TYPE_CHECKING:
    from textual.app import App

_CSS = """
Horizontal { height: 1fr; }
VerticalScroll { width: 1fr; border: round $primary; padding: 0 1; }
#last { height: auto; padding: 0 1; }
"""


def terminal(session: LabelSession) -> App[None]:
    """Return the terminal application.

    Raises:
        ModuleNotFoundError: textual is not installed.
    """
    from rich.text import Text
    from textual.app import App
    from textual.containers import Horizontal, VerticalScroll
    from textual.widgets import Footer, Static

    class Labelling(App[None]):
        """Draft and evidence side by side."""

        CSS = _CSS
        BINDINGS = [*((key, f"say('{word}')", word) for key, word in KEYS.items()), ("q", "quit", "quit")]  # noqa: RUF012

        def compose(self) -> Any:
            """Lay the panes out."""
            with Horizontal():
                with VerticalScroll():
                    yield Static(id="draft")
                with VerticalScroll():
                    yield Static(id="evidence")
            yield Static(id="last")
            yield Footer()

        def on_mount(self) -> None:
            """Show the first draft."""
            self._show()

        def action_say(self, word: str) -> None:
            """Give a label, or take one back."""
            run = session.current
            if word == "undo":
                session.undo()
            elif run is not None and word in WORDS:
                session.give(run.turn.turn_id, word)
            self._show()

        def _show(self) -> None:
            run = session.current
            self.title = f"{session.done} of {session.total}"
            draft, evidence = Text("All drafts are labelled. Press q."), Text()
            if run is not None:
                # Plain text, never markup: drafts are not trusted.
                draft = Text()
                for piece in pieces(run):
                    draft.append(piece.text, style="bold yellow" if piece.kind else "")
                for message in run.turn.messages:
                    evidence.append(f"{message.role} {message.name} {message.status}\n", style="bold")
                    evidence.append(f"{message.content}\n")
                    for call in message.tool_calls:
                        evidence.append(f"calls {call.name} {call.arguments}\n")
            self.query_one("#draft", Static).update(draft)
            self.query_one("#evidence", Static).update(evidence)
            said = "" if session.last is None else "; ".join(verdict_lines(session.last.run))
            label = "" if session.last is None else f"you said {session.last.label}; the critic: {said}"
            self.query_one("#last", Static).update(Text(f"{session.done} of {session.total}  {label}"))

    return Labelling()
