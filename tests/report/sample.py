"""A report's data made by hand, with every feature of the page and some hostile values."""

import math

import numpy as np

HOSTILE = "<script>window.hacked = true</script>"
ATTRIBUTE = '" onmouseover="window.hacked = true'
LETTER = "Dear Sir or Madam, " * 40


def bell(mean, spread, n, start, step, points=81, **more):
    x = start + step * np.arange(points)
    y = np.exp(-0.5 * ((x - mean) / spread) ** 2)
    return {
        "kind": "curve",
        "n": n,
        "missing": 0.0,
        "start": start,
        "step": step,
        "y": [round(v) for v in 100 * y],
        **more,
    }


def columns():
    def column(name, role, kind, **more):
        empty = {"missing": 0.0, "evidence": 0.0, "remark": "", "axis": "number", "findings": []}
        return {"name": name, "role": role, "kind": kind, "distribution": None, **empty, **more}

    day = 86_400_000
    models = {
        "kind": "bars",
        "n": 1000,
        "missing": 0.0,
        "ordered": False,
        "labels": ["City", "Sedan", "SUV", "Estate", HOSTILE],
        "shares": [0.34, 0.26, 0.24, 0.159, 0.001],
    }
    return [
        column(
            "number plate", "set aside", "text", remark="not used: nearly every value is different"
        ),
        column(
            "model",
            "nominal",
            "text",
            evidence=0.12,
            distribution=models,
            findings=[{"text": f"model: 999 categories and 1 text, {HOSTILE} (row 7)"}],
        ),
        column(
            "production date",
            "numeric",
            "date",
            axis="time",
            evidence=0.18,
            distribution=bell(1.62e12, 1.2e10, 1000, 1.59e12, 7 * day),
        ),
        column(
            "range (km)",
            "numeric",
            "number",
            missing=0.012,
            evidence=0.6,
            distribution=bell(400, 70, 1000, 200, 5),
        ),
        column(
            "weight (kg)",
            "numeric",
            "number",
            missing=0.3,
            evidence=0.1,
            distribution=bell(1800, 200, 1000, 1200, 15, missing=0.3),
        ),
        column("remarks " + ATTRIBUTE, "set aside", "text", remark="every value is different"),
    ]


def reason(kind, text, target, share, evidence, **more):
    empty = {"value": None, "mark": None, "typical": None, "distribution": None}
    empty |= {"context": None, "n": 100, "presence": False}
    return {
        "kind": kind,
        "text": text,
        "target": target,
        "columns": [target, 3],
        "share": share,
        "evidence": evidence * share,
        **empty,
        **more,
    }


def row(number, evidence, flagged, association):
    km = 310 - number % 37
    broken = reason(
        "pattern",
        "Where battery capacity is 75 to 82 kWh (n = 412), range (km) is typically 430 to 495; "
        f"here it is {km}.",
        3,
        0.61,
        evidence,
        value=f"{km}",
        mark=km,
        typical=[[430, 495]],
        distribution=0,
        n=412,
    )
    belongs = reason(
        "context",
        "Rows with factory = Ghent and production date 2021-03-01 to 2021-03-09 (n = 24) are "
        "nearly all anomalous.",
        2,
        0.27,
        evidence,
        context=0,
        n=24,
    )
    odd = reason(
        "pattern",
        f"Where weight (kg) is above 2,100 (n = 88), model is typically SUV; here it is {HOSTILE}.",
        1,
        0.08,
        evidence,
        value=HOSTILE,
        mark=4,
        distribution=1,
        n=88,
    )
    absent = reason(
        "pattern",
        "Where model is City (n = 340), weight (kg) is typically recorded (99%); here it is "
        "missing.",
        4,
        0.03,
        evidence,
        presence=True,
        distribution=2,
        n=340,
    )
    similar = reason(
        "neighbours",
        "The cars most like this one (such as Car 14 and Car 3000) are anomalous too, mostly in "
        "range.",
        3,
        0.05,
        evidence,
        neighbours=["Car 14", "Car 3000"],
    )
    reasons = [belongs, broken, similar] if association else [broken, odd, absent]
    return {
        "row": number,
        "label": HOSTILE if number == 7 else f"Car {number}",
        "score": 1 - math.exp(-evidence),
        "evidence": evidence,
        "percentile": 99.9,
        "standing": "more anomalous than 99.9% of the table",
        "flagged": flagged,
        "association": association,
        "values": [
            f"Car {number}",
            HOSTILE,
            "2021-03-05",
            f"{km}",
            None,
            LETTER if number == 14 else ATTRIBUTE,
        ],
        "cells": [0, 0.08 * evidence, 0.1 * evidence, 0.75 * evidence, 0.04 * evidence, 0],
        "column": reasons[0]["target"],
        "reasons": reasons,
        "rest": 0.04,
        "contexts": [0] if association else [],
    }


def sample(n_rows=120):
    rng = np.random.default_rng(0)
    evidence = np.sort(rng.exponential(1.4, n_rows))[::-1] + 2
    rows = [
        row((7 * k) % 997, round(float(e), 4), bool(e > 4), k % 9 == 4)
        for k, e in enumerate(evidence)
    ]
    edges = [round(0.25 * k, 2) for k in range(41)]
    counts = [int(900 * math.exp(-k / 4)) for k in range(40)]
    members = [0] * 12 + [1, 0, 2, 3, 4, 3, 2, 3, 3, 2, 1] + [0] * 17
    return {
        "format": "admercs-report",
        "version": 1,
        "generator": "admercs 0.0",
        "name": "cars & <b>friends</b>.parquet",
        "created": "2025-11-15T09:30:00+00:00",
        "n_rows": 1000,
        "n_columns": 6,
        "n_suspicious": 2,
        "n_flagged": sum(r["flagged"] for r in rows),
        "threshold": {
            "score": 0.982,
            "evidence": 4.0,
            "suspicious": 3.5,
            "meaning": "On a table without anomalies at most 1 row in 100 would lie above it.",
        },
        "histogram": {"edges": edges, "counts": counts},
        "columns": columns(),
        "findings": [{"text": f"rows 3 and 9 are equal in all columns {HOSTILE}"}],
        "distributions": [
            bell(462, 18, 412, 395, 1.75),
            {
                "kind": "bars",
                "n": 88,
                "missing": 0.0,
                "shares": [[2, 0.93], [3, 0.06], [4, 0.01]],
            },
            bell(1450, 60, 340, 1250, 5, missing=0.01),
        ],
        "values": [
            {
                "label": "row 7",
                "column": 1,
                "value": HOSTILE,
                "expected": ATTRIBUTE,
                "slip": "a typing error?",
                "evidence": 5.1,
                "text": "Rows typically have model = City (99%), but this row has " + HOSTILE + ".",
            },
        ],
        "rows": rows,
        "contexts": [
            {
                "text": "Rows with factory = Ghent and production date 2021-03-01 to 2021-03-09 "
                "(n = 24) are nearly all anomalous.",
                "score": 0.97,
                "n": 24,
                "n_here": 24,
                "target": 2,
                "counts": members,
                "members": [{"row": r["row"], "label": r["label"]} for r in rows[:20]],
                "shown": True,
            }
        ],
        "patterns": [
            {
                "text": f"Rows with model = {HOSTILE} typically have a range (km) of 430 to 495 "
                "(n = 412).",
                "target": 3,
                "n": 412,
            }
        ],
    }
