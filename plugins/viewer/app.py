"""The viewer as a Starlette application of a store and a token. Every view has its URL, none a script."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route

from variantbench.plugins.errors import StoreError, UserError
from variantbench.plugins.report.html import environment
from variantbench.plugins.store import Store
from variantbench.plugins.store.pages import COUNTED, PAGE, Pages
from variantbench.plugins.viewer.filters import Filters, Flip, Outcome, read_comparison, read_filters

_HERE = Path(__file__).parent / "pages"
_SHOWN = 20_000  # characters of a text, until all of it is asked for
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def application(store: Store, token: str) -> Starlette:
    """The application. Whoever does not know the token finds nothing, nor does a page of another host name."""
    viewer = _Viewer(store)
    routes = [
        Route("/", viewer.runs),
        Route("/answers", viewer.answers),
        Route("/answer", viewer.answer),
        Route("/text", viewer.text),
        Route("/compare", viewer.compare),
        Route("/pair", viewer.pair),
        Route("/style.css", viewer.style),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
            Middleware(BaseHTTPMiddleware, dispatch=_with_headers),
        ],
        exception_handlers={UserError: _refused, StoreError: _refused, 404: _nothing},
    )


async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    response.headers.update(_HEADERS)
    return response


def _refused(request: Request, error: Exception) -> Response:
    """What was asked for cannot be: one line, and no more."""
    del request
    return PlainTextResponse(f"variantbench: {error}\n".encode("utf-8", "backslashreplace"), status_code=400)


def _nothing(request: Request, error: Exception) -> Response:
    del request, error
    return PlainTextResponse("nothing here: open the address that `variantbench view` printed\n", status_code=404)


class _Viewer:
    """The pages. Reading a store blocks, so Starlette runs these in threads."""

    def __init__(self, store: Store) -> None:
        self.store, self.pages = store, Pages(store)
        self.environment = environment(_HERE)
        shared = Path(__file__).parent.parent / "report" / "pages"
        self.environment.loader = ChoiceLoader([FileSystemLoader(_HERE), FileSystemLoader(shared)])

    def runs(self, request: Request) -> Response:
        """Every run of the store."""
        del request
        return self._page("runs.html", title="Runs", runs=self.store.runs())

    def answers(self, request: Request) -> Response:
        """The answers of a run under filters, a page of them."""
        filters = read_filters(request.query_params)
        run = self._run(filters.run)
        choices = self.pages.choices(run["id"])
        for name, value, known in (
            ("model", filters.model, choices["models"]),
            ("format", filters.format, choices["formats"]),
        ):
            if value and value not in known:
                raise UserError(f"run {run['id']} has no {name} {value[:80]!r}: there are {', '.join(known[:20])}")
        where = self._where(filters)
        found = self.pages.answers(run["id"], where, after=filters.after, before=filters.before)
        more = len(found) > PAGE
        if filters.before:
            found, back, on = found[-PAGE:], more, True
        else:
            found, back, on = found[:PAGE], bool(filters.after), more
        return self._page(
            "answers.html",
            title=f"Answers of {run['id']}",
            run=run,
            filters=filters,
            answers=found,
            count=self.pages.count(run["id"], where),
            counted=COUNTED,
            back=filters.query(after="", before=found[0]["case_id"]) if back and found else "",
            on=filters.query(before="", after=found[-1]["case_id"]) if on and found else "",
            outcomes=list(Outcome),
            batches=self.pages.batches(run["id"]),
            **choices,
        )

    def answer(self, request: Request) -> Response:
        """One answer: prompt, completion, how it was read, what its program did; its neighbours under the filters."""
        given = dict(request.query_params)
        case, full = given.pop("case", ""), given.pop("full", "")
        filters = read_filters(given)
        run = self._run(filters.run)
        row = self._answer(run["id"], case)
        where = self._where(filters)
        return self._page(
            "answer.html",
            title=f"{row['item']}, {row['format']}, {row['model']}",
            run=run,
            filters=filters,
            row=row,
            full=bool(full),
            most=None if full else _SHOWN,
            execution=json.loads(row["execution"]) if row["execution"] else None,
            settings=json.loads(row["settings"]) if row["settings"] else {},
            notes=json.loads(row["notes"]),
            covariates=json.loads(row["covariates"]),
            back=self.pages.neighbour(run["id"], where, case, back=True),
            on=self.pages.neighbour(run["id"], where, case, back=False),
            elsewhere=self.pages.elsewhere(run["id"], row["item_hash"]),
        )

    def text(self, request: Request) -> Response:
        """A completion as it was generated, as plain text."""
        given = request.query_params
        row = self._answer(self._run(given.get("run", ""))["id"], given.get("case", ""))
        return PlainTextResponse((row["text"] or "").encode("utf-8", "surrogatepass"))

    def compare(self, request: Request) -> Response:
        """Two runs' answers to the same questions."""
        asked = read_comparison(request.query_params)
        runs = self.store.runs()
        if not asked.first or not asked.second:
            return self._page("compare.html", title="Compare two runs", asked=asked, runs=runs, flips=list(Flip),
                              pairs=None, models=([], []), formats=[], count=0, counted=COUNTED, on="")  # fmt: skip
        first, second = self._run(asked.first), self._run(asked.second)
        choices = [self.pages.choices(run["id"]) for run in (first, second)]
        models = tuple(
            given or (some["models"] or [""])[0]
            for given, some in zip((asked.first_model, asked.second_model), choices, strict=True)
        )
        found, count = self.pages.pairs(
            (first["id"], second["id"]), (models[0], models[1]), asked.format, asked.flip, asked.after
        )
        return self._page(
            "compare.html",
            title="Compare two runs",
            asked=asked,
            runs=runs,
            flips=list(Flip),
            pairs=found[:PAGE],
            models=(choices[0]["models"], choices[1]["models"]),
            chosen=models,
            formats=choices[0]["formats"],
            count=count,
            counted=COUNTED,
            on=asked.query(after=found[PAGE - 1][0]["case_id"]) if len(found) > PAGE else "",
        )

    def pair(self, request: Request) -> Response:
        """Two answers side by side."""
        given = request.query_params
        rows = []
        for side in ("first", "second"):
            run = self._run(given.get(side, ""))
            rows.append((run, self._answer(run["id"], given.get(f"{side}_case", ""))))
        return self._page("pair.html", title=f"{rows[0][1]['item']} in two runs", rows=rows, most=_SHOWN)

    def style(self, request: Request) -> Response:
        """The style of report and viewer."""
        del request
        return Response(self.environment.get_template("style.css").render(), media_type="text/css")

    def _page(self, name: str, **values: Any) -> Response:
        text = self.environment.get_template(name).render(**values)
        return HTMLResponse(text.encode("utf-8", "backslashreplace"))

    def _run(self, name: str) -> dict[str, Any]:
        return self.store.find_run(name or None)

    def _answer(self, run_id: str, case: str) -> Mapping[str, Any]:
        row = self.pages.answer(run_id, case) if "\x00" not in case else None
        if row is None:
            raise UserError(f"no answer to {case[:120]!r} in run {run_id}")
        return row

    def _where(self, filters: Filters) -> list[Any]:
        return self.pages.where(
            model=filters.model,
            form=filters.format,
            outcome=filters.outcome,
            template=filters.template,
            batch=filters.batch,
        )
