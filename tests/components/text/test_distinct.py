from prefrag.components.text.distinct import distinct


def test_values_stay_in_the_order_of_their_first_places():
    assert distinct(["web", "local", "web"]) == ["web", "local"]
    assert distinct(iter(())) == []
