"""Loaders read the public collections, and say clearly what is absent or damaged."""

import gzip

import numpy as np
import pytest

from admercs.datasets import (
    CAMPOS,
    CAMPOS_HD,
    DamagedFileError,
    DataNotFoundError,
    LabelledArray,
    data_folder,
    load_campos,
    load_campos_hd,
    load_hics,
    load_table,
)
from admercs.datasets.arff import read_arff

SMALL = ("Glass", "HeartDisease", "Hepatitis", "Ionosphere", "Lymphography", "Parkinson", "Pima")


@pytest.fixture(scope="module")
def data():
    try:
        return data_folder()
    except DataNotFoundError as error:
        pytest.skip(f"public data sets are not here: {error}")


@pytest.fixture
def folder(tmp_path):
    """A data folder with a small Glass set: 30 rows, 12 of them outliers."""
    glass = tmp_path / "campos" / "Glass"
    glass.mkdir(parents=True)
    head = "\n".join(f"@ATTRIBUTE 'att{i}' real" for i in range(7))
    rng = np.random.default_rng(0)
    rows = [
        ",".join(f"{v:.3f}" for v in rng.random(7)) + f",{i},'{'yes' if i % 20 == 0 else 'no'}'"
        for i in range(400)
    ]
    text = (
        f"@RELATION 'x'\n{head}\n@ATTRIBUTE 'id' real\n@ATTRIBUTE 'outlier' {{'no','yes'}}\n\n"
        "@DATA\n" + "\r\n".join(rows)
    )
    (glass / "Glass_withoutdupl_norm.arff").write_text(text)
    return tmp_path


def test_draws_are_fixed_scaled_and_at_five_percent(folder):
    first, again, other = (load_campos("Glass", v, folder) for v in (1, 1, 2))
    assert first.X.shape == CAMPOS["Glass"]
    assert first.y.sum() == 9
    np.testing.assert_array_equal(first.X, again.X)
    assert (first.X != other.X).any()
    assert first.X.min(axis=0).tolist() == [0.0] * 7
    assert first.X.max(axis=0).tolist() == [1.0] * 7
    assert first.origin == "drawn from Glass_withoutdupl_norm.arff"


def test_noise_is_added_behind_the_attributes(folder):
    base, noisy = load_campos("Glass", 3, folder), load_campos_hd("Glass", 3, folder)
    assert noisy.X.shape == (180, 35)
    np.testing.assert_array_equal(noisy.X[:, :7], base.X)
    assert noisy.subspaces == (tuple(range(7)),)
    assert len(CAMPOS_HD) == 21
    with pytest.raises(ValueError, match="unknown CamposHD set 'Arrhythmia'"):
        load_campos_hd("Arrhythmia", 1, folder)


def test_absent_things_are_named(folder, monkeypatch):
    with pytest.raises(DataNotFoundError, match="the Campos set Wilt is absent"):
        load_campos("Wilt", 1, folder)
    with pytest.raises(DataNotFoundError, match=r"synth_multidim_010_000\.arff is absent"):
        load_hics(10, 0, folder)
    with pytest.raises(DataNotFoundError, match=r"zoo\.csv is absent"):
        load_table("zoo", folder)
    monkeypatch.setenv("ADMERCS_DATA", str(folder / "gone"))
    with pytest.raises(DataNotFoundError, match="gone does not exist"):
        load_table("zoo")


def test_folder_is_found_by_variable(folder, monkeypatch):
    monkeypatch.setenv("ADMERCS_DATA", str(folder))
    assert data_folder() == folder
    monkeypatch.delenv("ADMERCS_DATA")
    monkeypatch.setattr("admercs.datasets.folder._BESIDE_CHECKOUT", folder / "gone")
    with pytest.raises(DataNotFoundError, match="set the environment variable ADMERCS_DATA"):
        data_folder()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("@relation x\n@attribute a real\n", "no @data line"),
        ("@relation x\n@attribute a real\n@data\n", "no rows"),
        ("@attribute a real\n@data\n1\n2,3\n", "line 4: 2 values for 1 attributes"),
        ("@attribute a real\n@data\n1\nx\n", "attribute 'a'"),
        ("@attribute a {u,v}\n@data\nu\nw\n", "attribute 'a' has undeclared 'w'"),
        ("@attribute a\n@data\n1\n", "line 1: an @attribute needs a name and a type"),
        ("@attribute a real\n@attribute a real\n@data\n1,2\n", "line 2: .* 'a' is there already"),
    ],
)
def test_damaged_arff_is_named(tmp_path, text, complaint):
    path = tmp_path / "bad.arff"
    path.write_text(text)
    with pytest.raises(DamagedFileError, match=complaint) as caught:
        read_arff(path)
    assert "bad.arff" in str(caught.value)


def test_truncated_gzip_is_named(tmp_path):
    path = tmp_path / "cut.arff.gz"
    path.write_bytes(gzip.compress(b"@attribute a real\n@data\n" + b"1.5\n" * 1000)[:-20])
    with pytest.raises(DamagedFileError, match=r"cut\.arff\.gz"):
        read_arff(path)


def test_arff_agrees_with_scipy(tmp_path):
    from scipy.io import arff

    path = tmp_path / "mixed.arff"
    path.write_text(
        "% note\n@relation 'a b'\n@ATTRIBUTE 'two words' real\n@attribute c {p,q}\n"
        "@data\n1e-3, p\n% note\n?,q\n"
    )
    ours = read_arff(path).columns
    theirs, _ = arff.loadarff(path)
    np.testing.assert_array_equal(ours["two words"], theirs["two words"])
    assert ours["c"].tolist() == [v.decode() for v in theirs["c"]]


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 rows but 2 labels"):
        LabelledArray("s", np.zeros((3, 1)), np.zeros(2, bool), np.zeros(2, "U1"), ("a",))


@pytest.mark.parametrize("name", SMALL)
def test_campos_sizes(data, name):
    for version in (1, 2):
        loaded = load_campos(name, version, data)
        assert loaded.X.shape == CAMPOS[name]
        assert loaded.y.mean() == pytest.approx(0.05, abs=0.013)


def test_wilt_has_one_version(data):
    assert load_campos("Wilt", 1, data).X.shape == CAMPOS["Wilt"]
    with pytest.raises(ValueError, match="one version only"):
        load_campos("Wilt", 2, data)


def test_hics_knows_its_subspaces(data):
    loaded = load_hics(10, 0, data)
    assert loaded.subspaces == ((0, 1), (2, 3, 4, 5), (6, 7), (8, 9))
    assert loaded.y.sum() == 19
    assert loaded.odd_subspaces[172] == (3,)
    assert loaded.odd_subspaces[315] == (0, 2)


@pytest.mark.parametrize(
    ("name", "shape"), [("zoo", (101, 18)), ("titanic", (1309, 14)), ("hypothyroid", (2772, 23))]
)
def test_tables(data, name, shape):
    assert load_table(name, data, as_frame="pandas").shape == shape


def test_zoo_speaks_plainly(data):
    zoo = load_table("zoo", data, as_frame="dict")
    scorpion = zoo["animal_name"].tolist().index("scorpion")
    assert zoo["tail"][scorpion]
    assert zoo["class_type"][scorpion] == "invertebrate"
