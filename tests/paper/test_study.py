"""What the study says of the paper's sentences."""

from psvm.paper import study


def test_every_sentence_names_its_tables():
    found = study.sentences()
    assert set(found) == {"best_exponent", "support_vectors", "overfitting"}
    for sentence in found.values():
        assert sentence.startswith("On 71 other real tables")
        assert sentence.endswith(".")
