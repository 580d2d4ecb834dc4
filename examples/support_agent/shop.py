"""The shop behind the support agent: a small SQLite database, created in memory for every run."""

from __future__ import annotations

import re
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

_SCHEMA = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT, email TEXT, phone TEXT, address TEXT);
CREATE TABLE products (id TEXT PRIMARY KEY, name TEXT, category TEXT, price_eur REAL, stock INTEGER);
CREATE TABLE orders (id TEXT PRIMARY KEY, customer_id TEXT, product_id TEXT, status TEXT, placed TEXT,
                     arrives TEXT, total_eur REAL);
CREATE TABLE refunds (id TEXT PRIMARY KEY, order_id TEXT, amount_eur REAL, reason TEXT);
CREATE TABLE articles (path TEXT, keywords TEXT, tags TEXT, body TEXT);
"""

_CUSTOMERS = [
    ("C-101", "Ana Torres", "ana.torres@example.com", "+34 600 555 019", "Calle Luna 12, 28004 Madrid"),
    (
        "C-102",
        "Ben Wright",
        "ben.wright@example.com",
        "+44 20 7946 0018",
        "5 Harbour Street, Bristol BS1 4RN",
    ),
    ("C-103", "Jonas Weber", "jonas.weber@example.com", "+49 30 5550 172", "Birkenallee 3, 10115 Berlin"),
    ("C-104", "Mia Novak", "mia.novak@example.com", "+43 1 555 0144", "Lindengasse 7, 1070 Wien"),
]
_PRODUCTS = [
    ("P-01", "Copper kettle", "kitchen", 49.9, 14),
    ("P-02", "Stoneware mug", "kitchen", 18.5, 120),
    ("P-03", "Trail running shoes", "shoes", 89.0, 9),
    ("P-04", "City running shoes", "shoes", 74.5, 0),
    ("P-05", "Desk lamp", "lighting", 39.0, 31),
]
_ORDERS = [
    ("A-4471", "C-102", "P-02", "delivered", "2025-03-03", "2025-03-07", 18.5),
    ("A-4480", "C-102", "P-05", "shipped", "2025-03-10", "2025-03-14", 39.0),
    ("A-4493", "C-104", "P-03", "packing", "2025-03-11", "2025-03-17", 89.0),
]
_ARTICLES = [
    (
        "returns/deadline",
        "returns return back",
        "",
        "Unused goods can be returned within 30 days of delivery.",
    ),
    (
        "returns/costs",
        "returns shipping cost",
        "",
        "We pay for the label inside the EU; from elsewhere it costs 6.90 EUR.",
    ),
    (
        "returns/refund",
        "returns refund money",
        "",
        "Refunds go to the original means of payment within 5 working days.",
    ),
    ("returns/exceptions", "returns exceptions", "", "Gift cards and opened earphones cannot be returned."),
    ("privacy/customers", "address phone email live", "pii", "Customer data is shown to that customer only."),
    (
        "shop/service",
        "service shop good",
        "",
        "Every question is answered by a person within a day when the agent cannot help.",
    ),
    (
        "shop/values",
        "fair shop people",
        "",
        "We pay our makers fairly and say so when something is not worth its price.",
    ),
    ("shop/people", "people service good", "", "The shop is run by a team of friends."),
]


@dataclass(frozen=True)
class Article:
    """A help article that fits a question.

    Attributes:
        path: Topic and subject, from the general to the special.
        body: What it says.
        score: How well it fits, 0 to 1.
        tags: What its subject touches, e.g. `pii`.
    """

    path: tuple[str, ...]
    body: str
    score: float
    tags: tuple[str, ...]


class Shop:
    """Customers, products, orders, refunds and help articles.

    One connection serves every thread: agents run their tools in a thread pool.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.executescript(_SCHEMA)
        for table, rows in (
            ("customers", _CUSTOMERS),
            ("products", _PRODUCTS),
            ("orders", _ORDERS),
            ("articles", _ARTICLES),
        ):
            marks = ", ".join("?" * len(rows[0]))
            self._db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self._db.commit()

    def close(self) -> None:
        """Throw the database away."""
        self._db.close()

    def order(self, order_id: str) -> dict[str, Any] | None:
        """One order with the name of its product, or None."""
        rows = self._rows(
            "SELECT o.*, p.name AS product FROM orders o JOIN products p ON p.id = product_id WHERE o.id = ?",
            order_id.strip().upper(),
        )
        return rows[0] if rows else None

    def orders_of(self, customer_id: str) -> list[dict[str, Any]]:
        """A customer's orders, the newest first."""
        return self._rows("SELECT * FROM orders WHERE customer_id = ? ORDER BY placed DESC", customer_id)

    def products(self, query: str) -> list[dict[str, Any]]:
        """Products whose name or category contains the query, the cheapest first."""
        like = f"%{query.strip()}%"
        return self._rows("SELECT * FROM products WHERE name LIKE ? OR category LIKE ? ORDER BY price_eur", like, like)

    def customer(self, name_or_id: str) -> dict[str, Any] | None:
        """A customer's profile by id or full name, or None."""
        rows = self._rows("SELECT * FROM customers WHERE id = ? OR name = ?", name_or_id, name_or_id)
        return rows[0] if rows else None

    def refund(self, order_id: str, reason: str) -> dict[str, Any]:
        """Book a refund of the order's total; says `error` when there is nothing to refund."""
        order = self.order(order_id)
        if order is None or order["status"] == "refunded":
            return {"error": "no order that could be refunded", "order_id": order_id}
        refund_id = f"R-{order['id'].removeprefix('A-')}"
        self._write("INSERT INTO refunds VALUES (?, ?, ?, ?)", refund_id, order["id"], order["total_eur"], reason)
        self._write("UPDATE orders SET status = 'refunded' WHERE id = ?", order["id"])
        return {"refund_id": refund_id, "order_id": order["id"], "amount_eur": order["total_eur"]}

    def cancel(self, order_id: str) -> dict[str, Any]:
        """Cancel an order that has not left the warehouse; says `error` otherwise."""
        order = self.order(order_id)
        if order is None or order["status"] != "packing":
            status = order["status"] if order else "unknown"
            return {"error": "the order can no longer be cancelled", "order_id": order_id, "status": status}
        self._write("UPDATE orders SET status = 'cancelled' WHERE id = ?", order["id"])
        return {"order_id": order["id"], "status": "cancelled"}

    def move(self, customer_id: str, address: str) -> dict[str, Any]:
        """Store a customer's new address."""
        self._write("UPDATE customers SET address = ? WHERE id = ?", address, customer_id)
        return {"customer_id": customer_id, "address": address}

    def articles(self, question: str) -> list[Article]:
        """Help articles that share words with the question; two shared words are a full hit."""
        words = set(re.findall(r"\w+", question.lower()))
        found = []
        for row in self._rows("SELECT * FROM articles"):
            hits = len(words & set(row["keywords"].split()))
            if hits:
                path, tags = tuple(row["path"].split("/")), tuple(row["tags"].split())
                found.append(Article(path=path, body=row["body"], score=min(1.0, hits / 2), tags=tags))
        return sorted(found, key=lambda article: -article.score)

    def _rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(row) for row in self._db.execute(sql, values)]

    def _write(self, sql: str, *values: object) -> None:
        with self._lock:
            self._db.execute(sql, values)
            self._db.commit()
