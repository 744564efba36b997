"""The tables of the result store. Published migrations are never edited; a change is a new one at the end.

* ``texts``: the prefixes of prompts, once each, by hash.
* ``models``: what generated, by identity: an overwritten checkpoint is another model.
* ``runs``: one line per run with its manifest.
* ``items``: what was asked, by content.
* ``completions``: what was answered, untouched, by the key of everything it depends on; shared between runs.
* ``records``: how a run graded it.
* ``run_totals``: how many answers a finished run has, so that listing runs counts nothing.
* ``baselines``: which run a name stood for, and since when and why; the newest counts, none is overwritten.
* ``noise``: how many verdicts of a model flipped when the same items ran again with another batch plan.
* indexes: what the viewer filters by (`pages.py`).
* view ``answers``: records with item, prompt and completion side by side, for people with SQL.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TextClause,
    text,
)

from variantbench.plugins.store.types import AnyText

metadata = MetaData()

schema_version = Table(
    "schema_version", metadata, Column("version", Integer, primary_key=True), Column("applied", Text, nullable=False)
)

texts = Table("texts", metadata, Column("hash", String(64), primary_key=True), Column("text", AnyText, nullable=False))

models = Table(
    "models",
    metadata,
    Column("identity", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("details", Text, nullable=False),  # JSON: source, revision, licence
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("started", Text, nullable=False),  # ISO 8601, UTC
    Column("finished", Text),
    Column("status", Text, nullable=False),  # running, complete, interrupted
    Column("manifest", Text, nullable=False),  # JSON
)

items = Table(
    "items",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("id", Text, nullable=False),
    Column("benchmark", Text, nullable=False),
    Column("group_id", Text, nullable=False),
    Column("variant", Integer, nullable=False),
    Column("batch", Text),
    Column("question", AnyText, nullable=False),
    Column("target", Text, nullable=False),
    Column("covariates", Text, nullable=False),  # JSON
    Column("notes", Text, nullable=False),  # JSON
    Column("source", Text, nullable=False),
)

completions = Table(
    "completions",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("model_identity", String(64), ForeignKey("models.identity"), nullable=False),
    Column("settings", Text, nullable=False),  # JSON: engine, device, dtype, decoding, seed, chat template or not
    Column("prefix_hash", String(64), ForeignKey("texts.hash"), nullable=False),
    Column("suffix", AnyText, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("finish_reason", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("new_tokens", Integer, nullable=False),
    Column("engine", Text, nullable=False),
    Column("batch", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("created", Text, nullable=False),
)

records = Table(
    "records",
    metadata,
    Column("run_id", String(32), ForeignKey("runs.id"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("grader", String(32), primary_key=True),  # version of the graders: grades are added, not overwritten
    Column("model", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("item_hash", String(64), ForeignKey("items.hash"), nullable=False),
    Column("completion_key", String(64), ForeignKey("completions.key")),  # null: the engine failed
    Column("paper_verdict", Text, nullable=False),
    Column("paper_status", Text, nullable=False),
    Column("paper_value", AnyText),
    Column("paper_method", Text, nullable=False),
    Column("paper_reason", AnyText, nullable=False),
    Column("robust_verdict", Text, nullable=False),
    Column("robust_status", Text, nullable=False),
    Column("robust_value", AnyText),
    Column("robust_method", Text, nullable=False),
    Column("robust_reason", AnyText, nullable=False),
    Column("execution", Text),  # JSON: how the program ended, null for answers in prose
    Index("records_completion", "completion_key"),  # until the fourth version
)

ANSWERS_VIEW = """
CREATE VIEW answers AS
SELECT records.run_id, records.case_id, records.model, records.format, records.seed,
       items.benchmark, items.id AS item, items.group_id, items.variant, items.batch, items.question, items.target,
       records.robust_verdict, records.robust_value, records.paper_verdict, records.paper_value,
       completions.text AS answer, completions.finish_reason, completions.prompt_tokens, completions.new_tokens,
       texts.text AS prompt_prefix, completions.suffix AS prompt_suffix, records.grader
FROM records
JOIN items ON items.hash = records.item_hash
LEFT JOIN completions ON completions.key = records.completion_key
LEFT JOIN texts ON texts.hash = completions.prefix_hash
"""

run_totals = Table(
    "run_totals",
    metadata,
    Column("run_id", String(32), ForeignKey("runs.id"), primary_key=True),
    Column("answers", Integer, nullable=False),
)

baselines = Table(
    "baselines",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("run_id", String(32), ForeignKey("runs.id"), nullable=False),
    Column("why", Text, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("created", Text, nullable=False),
)

noise = Table(
    "noise",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("model_identity", String(64), ForeignKey("models.identity"), nullable=False),
    Column("first_run", String(32), ForeignKey("runs.id"), nullable=False),
    Column("second_run", String(32), ForeignKey("runs.id"), nullable=False),
    Column("items", Integer, nullable=False),
    Column("flips", Integer, nullable=False),  # verdicts that differ
    Column("other_texts", Integer, nullable=False),
    Column("created", Text, nullable=False),
)

_FIRST = (schema_version, texts, models, runs, items, completions, records)

# One entry a version, the first being version 1: what to run on a database of the version before.
MIGRATIONS: tuple[tuple[Table | TextClause, ...], ...] = (
    (*_FIRST, text("DROP VIEW IF EXISTS answers"), text(ANSWERS_VIEW)),
    (run_totals, baselines, noise),
    (
        # what the viewer filters by; without a filter it pages by the primary key
        text("CREATE INDEX IF NOT EXISTS records_by_verdict ON records (run_id, grader, robust_verdict, case_id)"),
        text(
            "CREATE INDEX IF NOT EXISTS records_by_model "
            "ON records (run_id, grader, model, format, robust_verdict, case_id)"
        ),
        text(
            "CREATE INDEX IF NOT EXISTS records_by_item "
            "ON records (run_id, grader, item_hash, format, seed, model, robust_verdict)"
        ),
        text(
            "CREATE INDEX IF NOT EXISTS records_differ "
            "ON records (run_id, grader, case_id) WHERE robust_verdict <> paper_verdict"
        ),
        text("CREATE INDEX IF NOT EXISTS completions_cut_off ON completions (key) WHERE finish_reason = 'length'"),
        text("CREATE INDEX IF NOT EXISTS items_by_group ON items (group_id)"),
        text("CREATE INDEX IF NOT EXISTS items_by_batch ON items (batch)"),
    ),
    (
        # the viewer pages by model, format and case id; whatever it filters by, an index has its rows in that order
        text("DROP INDEX IF EXISTS records_by_verdict"),
        text("DROP INDEX IF EXISTS records_by_model"),
        text("DROP INDEX IF EXISTS records_by_item"),
        text("DROP INDEX IF EXISTS records_differ"),
        text(
            "CREATE INDEX IF NOT EXISTS records_in_order "
            "ON records (run_id, grader, model, format, case_id, robust_verdict)"
        ),
        text(
            "CREATE INDEX IF NOT EXISTS records_of_verdict "
            "ON records (run_id, grader, robust_verdict, model, format, case_id)"
        ),
        text("CREATE INDEX IF NOT EXISTS records_of_item ON records (run_id, grader, item_hash, case_id)"),
        text("DROP INDEX IF EXISTS records_completion"),
        text("CREATE INDEX IF NOT EXISTS records_of_completion ON records (completion_key, run_id, grader)"),
        text(
            "CREATE INDEX IF NOT EXISTS records_graded_apart "
            "ON records (run_id, grader, model, format, case_id) WHERE robust_verdict <> paper_verdict"
        ),
        # the same question in two runs
        text(
            "CREATE INDEX IF NOT EXISTS records_in_pairs "
            "ON records (run_id, grader, model, format, item_hash, seed, robust_verdict, case_id)"
        ),
        *(text(f"ANALYZE {table}") for table in ("records", "completions", "items")),
    ),
)

CURRENT = len(MIGRATIONS)
