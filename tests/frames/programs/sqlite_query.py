# SPDX-License-Identifier: Apache-2.0
import sqlite3

print("ready", flush=True)

DB = sqlite3.connect(":memory:")
DB.execute("CREATE TABLE t (a INTEGER)")
DB.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(2000)])


def join():
    return DB.execute("SELECT count(*) FROM t x, t y WHERE x.a * y.a % 7 = 1").fetchone()  # here: join


while True:
    join()
