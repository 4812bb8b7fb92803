"""A generated table of orders with wrong values of nine kinds, at places that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from admercs.datasets.frames import to_frame
from admercs.datasets.labelled import NORMAL, LabelledTable

__all__ = ["ORDER_ERRORS", "make_orders"]

# City, country, first two digits of its zip codes, dialling code.
_CITIES = (
    ("Berlin", "Germany", "10", "+49 30"),
    ("Hamburg", "Germany", "20", "+49 40"),
    ("Leipzig", "Germany", "04", "+49 341"),
    ("Vienna", "Austria", "10", "+43 1"),
    ("Graz", "Austria", "80", "+43 316"),
    ("Salzburg", "Austria", "50", "+43 662"),
    ("Amsterdam", "Netherlands", "10", "+31 20"),
    ("Rotterdam", "Netherlands", "30", "+31 10"),
    ("Antwerp", "Belgium", "20", "+32 3"),
    ("Ghent", "Belgium", "90", "+32 9"),
)
_CITY_SHARES = (0.18, 0.14, 0.1, 0.14, 0.06, 0.05, 0.12, 0.07, 0.08, 0.06)
_VAT = {"Germany": 0.19, "Austria": 0.20, "Netherlands": 0.21, "Belgium": 0.21}
_ZIP_DIGITS = {"Germany": 5, "Austria": 4, "Netherlands": 4, "Belgium": 4}
# Product, price, weight in kg.
_PRODUCTS = (
    ("lamp", 49.90, 1.8),
    ("desk", 249.00, 32.0),
    ("chair", 89.50, 7.4),
    ("shelf", 119.00, 21.0),
    ("sofa", 799.00, 58.0),
    ("rug", 149.00, 9.5),
    ("mirror", 64.90, 5.2),
)
_FIRST = ("anna", "ben", "clara", "david", "emma", "felix", "greta", "hugo", "ida", "jan")
_LAST = ("maier", "peeters", "huber", "jansen", "weber", "claes", "gruber", "visser", "koch")
_HOSTS = ("mail.example", "post.example", "web.example")
_DISCOUNTS, _MOST_ITEMS, _MOST_DAYS = (1.0, 1.0, 0.95, 0.9), 6, 5
_FIRST_DAY, _N_DAYS = np.datetime64("2024-01-01"), 360
_FEWEST_ORDERS, _ERRORS_PER_ORDER = 300, 0.002

Order = dict[str, Any]


def make_orders(
    random_state: int | np.random.Generator | None = 0,
    n_orders: int = 5000,
    *,
    as_frame: str | None = None,
) -> LabelledTable:
    """Generate a table of orders in which single values are wrong.

    Net, VAT and total belong together, VAT goes by the country, the country, zip code and phone
    number go by the city, the weight by product and quantity, and goods are shipped within days.
    Nine kinds of errors are planted into that, each into two orders in a thousand:

    - *wrong total*, *wrong VAT*: the amount of another order;
    - *weight in grams*: instead of kilograms;
    - *shipped before ordered*: by a few days;
    - *phone*, *zip*, *e-mail*: not written as all others are;
    - *city*: a typing error;
    - *country*: not the one the city is in.

    Parameters
    ----------
    random_state : int, Generator or None, default=0
        Seed. The same seed gives the same table.
    n_orders : int, default=5000
        Number of rows, at least 300.
    as_frame : {"pandas", "polars", "pyarrow", "dict"}, optional
        Kind of table; by default the first of these libraries that is installed.

    Returns
    -------
    orders : LabelledTable
        The table, the kind of every row, the column of each wrong value, and in ``clean`` the
        table with the right values.

    Examples
    --------
    >>> from admercs.datasets import make_orders
    >>> orders = make_orders(as_frame="dict")
    >>> row = orders.rows("weight in grams")[0]
    >>> float(orders.table["weight (kg)"][row] / orders.clean["weight (kg)"][row])
    1000.0
    """
    if n_orders < _FEWEST_ORDERS:
        raise ValueError(f"n_orders must be at least {_FEWEST_ORDERS}; it is {n_orders!r}")
    rng = np.random.default_rng(random_state)
    columns = _draw(rng, n_orders)
    clean = {name: values.copy() for name, values in columns.items()}
    kind = np.full(n_orders, NORMAL, dtype=object)
    odd: dict[int, tuple[str, ...]] = {}
    each = max(1, round(_ERRORS_PER_ORDER * n_orders))
    places = iter(rng.permutation(n_orders).tolist())
    for name, (column, make) in ORDER_ERRORS.items():
        for row in [next(places) for _ in range(each)]:
            order = {key: values[row] for key, values in clean.items()}
            while (value := make(rng, order, clean)) == order[column]:
                pass
            columns[column][row] = value
            kind[row], odd[row] = name, (column,)
    return LabelledTable(
        table=to_frame(columns, as_frame),
        kind=kind.astype(str),
        odd_columns=odd,
        description=f"{n_orders:,} generated orders, {len(odd)} of them with a wrong value.",
        clean=to_frame(clean, as_frame),
    )


def _draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Draw orders without errors."""
    city = rng.choice(len(_CITIES), n, p=_CITY_SHARES)
    product, items = rng.integers(len(_PRODUCTS), size=n), rng.integers(1, _MOST_ITEMS + 1, n)
    country = [_CITIES[k][1] for k in city]
    price, weight = (np.array([each[k] for each in _PRODUCTS])[product] for k in (1, 2))
    net = np.round(price * items * rng.choice(_DISCOUNTS, n), 2)
    vat = np.round(net * np.array([_VAT[each] for each in country]), 2)
    ordered = _FIRST_DAY + np.sort(rng.integers(0, _N_DAYS, n))
    texts = {
        "order": [f"A-{100_000 + k}" for k in range(n)],
        "e-mail": [
            f"{rng.choice(_FIRST)}.{rng.choice(_LAST)}{rng.integers(10, 99)}@{rng.choice(_HOSTS)}"
            for _ in range(n)
        ],
        "phone": [f"{_CITIES[k][3]} {rng.integers(1_000_000, 9_999_999)}" for k in city],
        "zip": [_zip(rng, k) for k in city],
        "city": [_CITIES[k][0] for k in city],
        "country": country,
        "product": [_PRODUCTS[k][0] for k in product],
    }
    return {name: np.array(values, dtype=object) for name, values in texts.items()} | {
        "items": items,
        "weight (kg)": np.round(weight * items * rng.uniform(1.01, 1.05, n), 1),
        "net (EUR)": net,
        "vat (EUR)": vat,
        "total (EUR)": np.round(net + vat, 2),
        "ordered": ordered,
        "shipped": ordered + rng.integers(1, _MOST_DAYS + 1, n),
    }


def _zip(rng: np.random.Generator, city: int) -> str:
    _, country, first, _ = _CITIES[city]
    n_digits = _ZIP_DIGITS[country] - len(first)
    return f"{first}{rng.integers(10**n_digits):0{n_digits}d}"


def _of_another_order(column: str) -> Callable[..., Any]:
    return lambda rng, _, table: table[column][rng.integers(len(table[column]))]


def _typing_error(rng: np.random.Generator, order: Order, _: Any) -> str:
    """Exchange two neighbouring letters of the city."""
    city = order["city"]
    place = int(rng.integers(1, len(city) - 1))
    return city[:place] + city[place + 1] + city[place] + city[place + 2 :]


def _other_phone(rng: np.random.Generator, order: Order, _: Any) -> str:
    country, area, number = order["phone"].split()
    forms = (f"0{area}/{number}", f"{country}{area}{number}", f"({area}) {number[:3]}-{number[3:]}")
    return forms[rng.integers(len(forms))]


def _other_zip(rng: np.random.Generator, order: Order, _: Any) -> str:
    code = order["zip"]
    return (code[:-2], f"{code[:2]}-{code[2:]}", f"{code[:-1]}O")[rng.integers(3)]


def _other_mail(rng: np.random.Generator, order: Order, _: Any) -> str:
    mail = order["e-mail"]
    return (mail.replace("@", ""), mail.replace("@", " at "), mail.split(".")[0])[rng.integers(3)]


#: The kinds of errors: in which column, and what it holds then.
ORDER_ERRORS: dict[str, tuple[str, Callable[..., Any]]] = {
    "wrong total": ("total (EUR)", _of_another_order("total (EUR)")),
    "wrong VAT": ("vat (EUR)", _of_another_order("vat (EUR)")),
    "weight in grams": ("weight (kg)", lambda _, order, __: 1000 * order["weight (kg)"]),
    "shipped before ordered": (
        "shipped",
        lambda rng, order, _: order["ordered"] - rng.integers(2, 20),
    ),
    "phone": ("phone", _other_phone),
    "zip": ("zip", _other_zip),
    "e-mail": ("e-mail", _other_mail),
    "city": ("city", _typing_error),
    "country": ("country", _of_another_order("country")),
}
