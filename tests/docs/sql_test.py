"""The SQL of docs/fencing.md refuses late writes, taken from there: in SQLite, and in PostgreSQL where that is installed. That of
MySQL isn't run: Debian has none."""
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/fencing.md"
OF_MYSQL = re.compile(r"ON DUPLICATE KEY|START TRANSACTION")


def blocks():
    found = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in found if not OF_MYSQL.search(block)]


class in_sqlite:
    def __init__(self, folder):
        self.database = sqlite3.connect(f"{folder}/orders.db", isolation_level=None)

    def run(self, text, **values):
        """How many rows each statement has written or returned, without those that are about tables and transactions."""
        counts = []
        for statement in re.sub(r"--.*", "", text).split(";"):
            if not statement.strip():
                continue
            cursor = self.database.execute(statement, values)
            rows = cursor.fetchall()
            if re.match(r"\s*(INSERT|UPDATE|SELECT)", statement):
                counts.append(len(rows) if cursor.description else cursor.rowcount)
        return counts

    def end(self):
        self.database.close()


class in_postgres:
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1:]

    # initdb refuses root; in a namespace of its own this user has another number.
    user = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []

    def __init__(self, folder):
        self.folder = folder
        self.call("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "--no-sync")
        self.call("pg_ctl", "-D", f"{folder}/data", "-o", f"-k {folder} -h ''", "-l", f"{folder}/log", "-w", "start")

    @classmethod
    def is_there(cls):
        return cls.programs and subprocess.run([*cls.user, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0

    def call(self, program, *words, **options):
        return subprocess.run([*self.user, self.programs[0] / program, *words], check=True, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, timeout=120, **options).stdout

    def run(self, text, **values):
        variables = [word for name, value in values.items() for word in ("-v", f"{name}={value}")]
        output = self.call("psql", "-h", self.folder, "-U", "postgres", "-At", "-v", "ON_ERROR_STOP=1", *variables, input=text)
        return [int(count) for count in re.findall(r"^(?:INSERT 0|UPDATE|SELECT) (\d+)$", output, re.MULTILINE)]

    def end(self):
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")


class sql_of_fencing:
    database = None
    server = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.server = cls.database(folder.name)
        cls.addClassCleanup(cls.server.end)

    def setUp(self):
        self.server.run("DROP TABLE IF EXISTS orders; DROP TABLE IF EXISTS fences;")
        self.column, self.new_row, self.table, self.transaction = blocks()
        self.server.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER)")

    def test_a_row_that_exists(self):
        self.server.run("INSERT INTO orders (id, total) VALUES (1, 0)")
        alter, update = self.column.split(";")[:2]
        self.server.run(alter)
        outcomes = [self.server.run(update + ";", id=1, total=token, token=token) for token in (5, 5, 4, 6)]
        self.assertEqual(outcomes, [[1], [1], [0], [1]])

    def test_a_row_that_may_be_new(self):
        self.server.run(self.column.split(";")[0])
        outcomes = [self.server.run(self.new_row, id=1, total=token, token=token) for token in (5, 5, 4, 6)]
        self.assertEqual(outcomes, [[1], [1], [0], [1]])

    def test_a_transaction(self):
        self.server.run(self.table)
        outcomes = [self.server.run(self.transaction, token=token) for token in (5, 5, 4, 6)]
        self.assertEqual(outcomes, [[1], [1], [0], [1]])


class sqlite(sql_of_fencing, unittest.TestCase):
    database = in_sqlite


@unittest.skipUnless(in_postgres.is_there(), "PostgreSQL isn't installed, or refuses root")
class postgres(sql_of_fencing, unittest.TestCase):
    database = in_postgres


if __name__ == "__main__":
    sys.exit(unittest.main())
