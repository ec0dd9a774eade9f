"""The tables of a store."""

from __future__ import annotations

VERSION = 1
TABLES = ("respondents", "asks", "images", "answers", "judgements", "records")
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
CREATE TABLE judgements (
    id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL, judge TEXT NOT NULL, form TEXT NOT NULL, run INTEGER NOT NULL,
    respondent TEXT NOT NULL, item TEXT NOT NULL, label REAL, reply TEXT NOT NULL, reason TEXT NOT NULL, time REAL NOT NULL,
    UNIQUE (benchmark, judge, form, run, respondent, item));
CREATE TABLE records (id INTEGER PRIMARY KEY, time REAL NOT NULL, record TEXT NOT NULL);
"""
