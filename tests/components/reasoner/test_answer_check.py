"""How sure an answer is that a model has proposed."""

from dataclasses import replace

from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reader.reader import Candidate, Judgement
from prefrag.components.reasoner.answer_check import (
    ASKED_BELOW,
    ASKED_FROM,
    GIVEN,
    AnswerCheck,
    AnswerSigns,
    check_answer,
    estimate,
    needs_confirmation,
)
from tests.for_each import for_each

YARD = Document(content="The yard won the Halvard Prize in 1969. It stands in Brennholm.", meta={"title": "Yard"})
QUESTION = "In which year did the yard win the Halvard Prize?"


def candidate(text: str, probability: float) -> Candidate:
    return Candidate(text, "span", YARD, "The yard won the Halvard Prize in 1969.", probability)


def check(answer: str, question: str = QUESTION, judged: float = 0.0, cover: float = 0.0, signs=None):
    return check_answer(question, answer, [YARD], Judgement(judged, cover, cover), signs)


class TestOfAnyModel:
    def test_answer_in_a_sentence_on_the_question_is_stated(self):
        """The sentence holds it word for word, and is shown."""

        checked = check("1969", judged=0.2, cover=0.9)

        assert checked.certainty == "stated"
        assert checked.evidence[0].sentence == "The yard won the Halvard Prize in 1969."

    def test_answer_far_from_the_question_is_probable_without_reader(self):
        """It is stated if the reader agrees."""

        question = "Where did the sculptor of the capstan go to school?"

        assert check("Brennholm", question, cover=0.1).certainty == "probably"
        assert check("Brennholm", question, judged=0.6, cover=0.5).certainty == "stated"

    def test_answer_that_no_sentence_states_is_only_probable(self):
        judged = Judgement(0.95, 1.0, 1.0, is_doubtful=True)

        assert check_answer(QUESTION, "1969", [YARD], judged).certainty == "probably"
        assert check_answer(QUESTION, "1969", [YARD], judged, AnswerSigns()).certainty != "stated"
        assert check_answer(QUESTION, "1969", [YARD], Judgement(0.95, 1.0, 1.0), AnswerSigns()).certainty == "stated"

    def test_answer_beside_the_sentence_asked_for_is_only_probable(self):
        board = Document(content="The treasurer is Cleo Park. The secretary is Dan Low.")
        beside = Judgement(0.5, cover=1.0, head=0.0)

        for signs in (None, AnswerSigns(mean_logprob=-0.05)):
            checked = check_answer("Who is the treasurer?", "Dan Low", [board], beside, signs)
            assert checked.certainty != "stated"

    def test_one_of_two_that_are_compared_is_only_probable(self):
        """The sentence has the age of one, and does not say which is older. Two dates do."""

        mill = Document(content="The mill was built in 1690.", meta={"title": "Mill"})
        sure = Judgement(0.95, cover=1.0, head=1.0)

        older = check_answer("Which is older, the mill or the inn?", "the mill", [mill], sure)
        by_date = check_answer(
            "Which is older, the mill or the inn?", "the mill", [mill], replace(sure, is_by_date=True)
        )
        built = check_answer("Which was built in 1690, the mill or the inn?", "the mill", [mill], sure)
        assert (older.certainty, by_date.certainty, built.certainty) == ("probably", "stated", "stated")

    @for_each("answer", "1972", "Ostermoor Shipyard", "in 1969 and 1972")
    def test_a_number_or_name_that_no_passage_has_is_not_found(self, answer):
        checked = check(answer)

        assert (checked.certainty, checked.evidence) == ("not_found", ())

    def test_yes_and_no_are_probable_at_most_as_no_sentence_has_them(self):
        assert check("Yes", "Did the yard win the Halvard Prize?").certainty == "probably"

    def test_of_a_longer_answer_each_sentence_is_checked(self):
        checked = check("The yard won it in 1969. It had tried in 1955 with the Petrel.")

        assert checked.certainty == "probably"
        assert checked.unsupported == ("It had tried in 1955 with the Petrel.",)

    def test_of_an_endless_answer_the_first_sentences_count(self):
        checked = check(" ".join(["The yard won it in 1969."] * 500))

        assert len(checked.unsupported) == 300
        assert len(checked.evidence) == 1


class TestOfASmallModel:
    def test_an_answer_that_the_passages_support_is_given(self):
        checked = check("1969", judged=0.9, cover=1.0, signs=AnswerSigns(mean_logprob=-0.05))

        assert checked.certainty == "stated"
        assert checked.probability > 0.85

    @for_each(
        "judged, cover, signs",
        (0.0, 0.3, AnswerSigns(mean_logprob=-0.1)),
        (0.1, 0.6, AnswerSigns(is_forced=True, mean_logprob=-0.1)),
        (0.0, 0.5, AnswerSigns()),
    )
    def test_one_that_they_support_too_little_is_not(self, judged, cover, signs):
        checked = check("1969", judged=judged, cover=cover, signs=signs)

        assert checked.certainty == "not_found"
        assert checked.probability < GIVEN

    def test_doubt_about_its_sentence_lowers_its_probability(self):
        sure, doubtful = (Judgement(0.5, 1.0, 1.0, is_doubtful=is_doubtful) for is_doubtful in (False, True))

        assert estimate("1969", doubtful, AnswerSigns()) < estimate("1969", sure, AnswerSigns())

    def test_an_answer_that_its_sentence_may_not_state_is_not_given(self):
        denied = Judgement(0.99, 1.0, 1.0, is_doubtful=True)

        assert check_answer(QUESTION, "1969", [YARD], denied, AnswerSigns(mean_logprob=0.0)).certainty == "not_found"

    def test_answer_with_a_sentence_of_no_passage_is_not_stated(self):
        answer = "The yard won it in 1969. It was founded in Oslo in 1963."

        checked = check(answer, judged=0.95, cover=1.0, signs=AnswerSigns(mean_logprob=-0.05))

        assert checked.unsupported == ("It was founded in Oslo in 1963.",)
        assert checked.certainty == "probably"

    def test_words_that_no_passage_has_have_no_chance(self):
        assert check("1972", judged=1.0, cover=1.0, signs=AnswerSigns()).probability == 0.0

    def test_its_yes_or_no_is_never_given(self):
        question = "Did the yard win the Halvard Prize?"

        assert check("Yes", question, cover=1.0, signs=AnswerSigns(mean_logprob=-0.01)).probability == 0.0

    def test_confirmation_by_the_model_raises_its_probability(self):
        judged = Judgement(0.2, 0.4, 0.4)

        unlikely, likely = (estimate("1969", judged, AnswerSigns(False, -0.1, share)) for share in (0.1, 0.9))

        assert unlikely < GIVEN < likely

    def test_confirmation_by_the_model_makes_no_answer_stated(self):
        signs = AnswerSigns(False, 0.0, 1.0)
        judged = Judgement(0.99, 1.0, 1.0)

        assert check_answer(QUESTION, "1969", [YARD], judged, signs).certainty == "probably"

    @for_each(
        "probability, judged, signs, is_asked",
        (0.5, Judgement(0.5, 1.0, 1.0), AnswerSigns(mean_logprob=-0.1), True),
        (ASKED_FROM, Judgement(0.5, 1.0, 1.0), AnswerSigns(mean_logprob=-0.1), True),
        (ASKED_BELOW, Judgement(0.5, 1.0, 1.0), AnswerSigns(mean_logprob=-0.1), False),
        (0.01, Judgement(0.5, 1.0, 1.0), AnswerSigns(mean_logprob=-0.1), False),
        (0.5, Judgement(0.5, 1.0, 1.0, is_doubtful=True), AnswerSigns(mean_logprob=-0.1), False),
        (0.5, Judgement(0.5, 1.0, 1.0), AnswerSigns(), False),
    )
    def test_confirmation_is_asked_where_it_may_change_something(self, probability, judged, signs, is_asked):
        evidence = check("1969", judged=0.9, cover=1.0).evidence
        checked = AnswerCheck("probably", probability, evidence)

        assert needs_confirmation(QUESTION, checked, judged, signs) is is_asked
        assert not needs_confirmation(QUESTION, AnswerCheck("not_found", probability), judged, signs)
        longer = AnswerCheck("probably", probability, evidence, ("It sank.",))
        assert not needs_confirmation(QUESTION, longer, judged, signs)

    @for_each("head, is_asked", (0.0, False), (0.1, True))
    def test_confirmation_is_not_asked_of_what_is_only_described(self, head, is_asked):
        """The sentence on the yard names it, and not what the yard won."""

        question = "Which prize was given to the yard that built the Petrel?"
        checked = AnswerCheck("probably", 0.5, check("1969", judged=0.9, cover=1.0).evidence)
        signs = AnswerSigns(mean_logprob=-0.1)

        assert needs_confirmation(question, checked, Judgement(0.5, 1.0, head), signs) is is_asked
        assert needs_confirmation(QUESTION, checked, Judgement(0.5, 1.0, head), signs)

    @given(st.floats(0, 1), st.floats(0, 1), st.one_of(st.none(), st.floats(-50, 0)), st.booleans())
    def test_the_estimate_is_a_probability_that_rises_with_support(self, judged, cover, logprob, is_forced):
        signs = AnswerSigns(is_forced, logprob)

        assert (
            0
            <= estimate("1969", Judgement(judged, cover, cover), signs)
            <= estimate("1969", Judgement(1, 1, 1), signs)
            <= 1
        )
