"""Where a reply is routed, and which steps count."""

from prefrag.components.loop.preference_router import PreferenceRouter
from prefrag.components.state.state import Action, State, Step
from tests.components.samples import answer_step, kinds, search_step, settings, state
from tests.for_each import for_each

UNREADABLE = Step(Action.UNREADABLE, reply="Thought: hm")
UNKNOWN = Step(Action.UNKNOWN_ACTION, reply="Action: Telephone", tool="Telephone")


def routed(reached: State, **changes: object) -> tuple[str, State]:
    output = PreferenceRouter(["local", "web"], **changes).run(reached)  # type: ignore[arg-type]
    assert len(output) == 1
    return next(iter(output.items()))


class TestSearches:
    def test_searches_go_to_the_preferred_source_or_the_named(self):
        output, reached = routed(state(search_step("aurora", named_source="web")))

        assert output == "search_local"
        assert reached.events[-1].to_dict() == {"kind": "search", "step": 1, "source": "local", "query": "aurora"}

        assert routed(state(search_step(), preferred="web"))[0] == "search_web"
        assert routed(state(search_step(named_source="web")), follow_model=True)[0] == "search_web"
        assert routed(state(search_step()), follow_model=True)[0] == "search_local"

    @for_each("allowed", ("local", "web"), ("web",))
    def test_go_to_all_sources_that_the_run_may_search(self, allowed: tuple[str, ...]):
        output, reached = routed(state(search_step("aurora"), sources=allowed, preferred=allowed[0]), ask_all=True)

        assert output == "search_all"
        assert [(event.kind, event.data["source"]) for event in reached.events] == [
            ("search", name) for name in allowed
        ]

    def test_of_a_source_that_the_request_forbids_are_corrected(self):
        forbidden = state(search_step(named_source="web", tool="Search_2"), sources=("local",))

        output, reached = routed(forbidden, follow_model=True)

        assert output == "retry"
        assert reached.step.observed
        assert "Search_2 may not be used" in reached.step.note


class TestReplies:
    @for_each("step, note", (UNREADABLE, "could not be read"), (UNKNOWN, "no action 'Telephone'"))
    def test_one_that_cannot_be_used_goes_back_with_a_correction(self, step: Step, note: str):
        output, reached = routed(state(step))

        assert output == "retry"
        assert note in reached.step.note
        assert reached.step.observed
        assert kinds(reached) == [step.action.value]


class TestCounting:
    @for_each("max_steps, last", (0, 1), (1, 2), (3, 4))
    @for_each("step", search_step(), UNREADABLE, UNKNOWN)
    def test_the_hard_limit_is_one_reply_more_than_the_prompt_allows(self, step: Step, max_steps: int, last: int):
        for replies in range(1, last):
            assert routed(state(*[step] * replies, max_steps=max_steps))[0] != "exhausted"

        output, reached = routed(state(*[step] * last, max_steps=max_steps))

        assert output == "exhausted"
        assert reached.events[-1].to_dict() == {"kind": "exhausted", "step": last, "replies": last}

    def test_an_answer_is_reflected_upon_and_never_too_late(self):
        for steps in ([], [search_step()] * 9):
            reached = state(*steps, answer_step())
            assert routed(reached) == ("answered", reached)

    def test_a_supplement_grants_one_more_reply(self):
        def after(replies: int) -> str:
            return routed(State("Who?", settings(), steps=(search_step(),) * replies, supplements=1))[0]

        assert after(4) == "search_local"
        assert after(5) == "exhausted"


class TestAsPublished:
    def test_the_last_reply_as_published_searches_once(self):
        output, reached = routed(state(*[search_step()] * 4), run_last_search=True)

        assert (output, reached.last_search) == ("search_local", True)
        assert routed(reached.with_last(observed=True), run_last_search=True)[0] == "exhausted"

    @for_each("step", UNREADABLE, UNKNOWN)
    def test_any_other_last_reply_ends_the_run(self, step: Step):
        assert routed(state(*[search_step()] * 3, step), run_last_search=True)[0] == "exhausted"

    def test_a_supplement_grants_two_more_replies(self):
        def after(replies: int) -> str:
            reached = State("Who?", settings(), steps=(search_step(),) * replies, supplements=1)
            return routed(reached, replies_per_supplement=2)[0]

        assert after(5) == "search_local"
        assert after(6) == "exhausted"
