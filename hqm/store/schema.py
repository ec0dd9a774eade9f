"""The tables of a store, and how they are made."""

from __future__ import annotations

import sqlite3

VERSION = 1
TABLES = ("respondents", "asks", "images", "answers", "administrations", "judgements", "records")
WHOLE = "administrations"
"""The key in `meta` that says: every administration in this store is recorded as one. A store that
was begun by HQM 0.1.0, or that took in answers without their administrations, does not have it."""
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE respondents (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL, identity TEXT NOT NULL);
CREATE TABLE asks (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, prompt TEXT NOT NULL, image TEXT, image_digest TEXT);
CREATE TABLE images (
    id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    UNIQUE (benchmark, name, digest));
CREATE TABLE answers (
    respondent INTEGER NOT NULL REFERENCES respondents, run INTEGER NOT NULL, ask INTEGER NOT NULL REFERENCES asks,
    attempt INTEGER NOT NULL, state TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
    time REAL NOT NULL, PRIMARY KEY (respondent, run, ask, attempt)) WITHOUT ROWID;
CREATE TABLE administrations (
    id INTEGER PRIMARY KEY, respondent INTEGER NOT NULL REFERENCES respondents, benchmark TEXT NOT NULL, form TEXT NOT NULL,
    digest TEXT NOT NULL, run INTEGER NOT NULL, sight TEXT NOT NULL, time REAL NOT NULL,
    UNIQUE (respondent, benchmark, form, digest, run, sight));
CREATE TABLE judgements (
    id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, judge TEXT NOT NULL, form TEXT NOT NULL, run INTEGER NOT NULL,
    respondent TEXT NOT NULL, item TEXT NOT NULL, label REAL, reply TEXT NOT NULL, reason TEXT NOT NULL, time REAL NOT NULL,
    UNIQUE (benchmark, judge, form, run, respondent, item));
CREATE TABLE records (id INTEGER PRIMARY KEY, time REAL NOT NULL, record TEXT NOT NULL);
"""


def tables(db: sqlite3.Connection) -> set[str]:
    """The names of the tables that there are."""
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def create(db: sqlite3.Connection) -> None:
    """Make the tables that are missing, each with triggers that refuse updates and deletions."""
    there = tables(db)
    for statement in filter(str.strip, SCHEMA.split(";")):
        name = statement.split()[2]
        if name in there:
            continue
        db.execute(statement)
        for verb in ("UPDATE", "DELETE") if name in TABLES else ():
            db.execute(
                f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
                "BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END"
            )
    if not there:
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("version", str(VERSION)), (WHOLE, "recorded")]
        )
