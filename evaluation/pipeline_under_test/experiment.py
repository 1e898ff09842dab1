"""The settings of an evaluation.

:class:`Experiment` has what an evaluation changes in a pipeline. :class:`Evaluation` adds the questions and how they
    are run. docs/evaluation.md explains each setting.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from prefrag.components.prompts.prompt_folder import check_prompts
from prefrag.components.prompts.render_prompt import MODES
from prefrag.components.state.web_switch import WEB_SWITCH, web_setting
from prefrag.evaluation.simulated_reader.policy import Policy, PolicySettings

# `SIMULATED`, `READER` and `EMBEDDED` are kinds of models in the description of a run. `llm` may be `SIMULATED` or
# `READER`, too.

# The simulated reader, which replies from the gold passages.
SIMULATED = "simulated"
# The extractive reader, which copies answers from passages.
READER = "reader"
# A GGUF file that runs in this process. It is never the value of `llm`, which has the path of the file instead.
EMBEDDED = "embedded"
# The search engine that `web` may name.
DDGS = "ddgs"


@dataclass(frozen=True)
class Experiment(PolicySettings):
    """What an evaluation changes in a pipeline, and how the simulated reader decides in place of a language model.

    :param changes: Changed settings of the pipeline, each as PATH=VALUE.
    :param corpus: The file with the passages to search. None means that the pipeline's own indexes are searched.
    :param web_corpus: The file with the passages that replace the web.
    :param web: "ddgs" searches the real web. None searches a corpus in place of the web.
    :param split: Whether the corpus is divided between the sources, or each source gets all of it. None means that it
        is divided only if the pipeline has a second source for which no other corpus or web is named.
    :param store: "elasticsearch" indexes the corpus in Elasticsearch. None or "tantivy" means tantivy.
    :param llm: What answers: "simulated", "reader", a GGUF file or the URL of a model server. None means the configured
        model.
    :param model: The name of the model on its server. None means the configured name.
    :param embedder: The Sentence Transformers model for a pipeline that searches by meaning. None means the pipeline's
        model.
    :param top_k: The number of documents per retrieval. None means the pipeline's number.
    :param prompts: "plain" (the project's words in place of the papers'), "product" (the prompts of users) or a folder.
    :param seed: The seed of the simulated reader, and of a model's sampling. None means 0, and an unseeded model.
    :param web_sentences: The number of sentences of each web passage that are shown. 0 means all.
    :param web_junk: The probability, from 0 to 1, that a rank of the web's results gets a junk passage.
    :param record: The file to which every reply and every web search is written.
    :param replay: The recorded file from which replies and web searches are read.
    :raises ValueError: If a setting is invalid, or two settings contradict each other.
    :raises FileNotFoundError: If ``llm`` names a GGUF file that does not exist.
    """

    changes: tuple[str, ...] = ()
    corpus: Path | None = None
    web_corpus: Path | None = None
    web: str | None = None
    split: bool | None = None
    store: str | None = None
    llm: str | None = None
    model: str | None = None
    embedder: str | None = None
    top_k: int | None = None
    prompts: str = "plain"
    seed: int | None = None
    web_sentences: int = 0
    web_junk: float = 0.0
    record: Path | None = None
    replay: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._convert_values()
        self._check_searches()
        self._check_recording()
        self._check_model()
        self._check_noise()
        check_prompts(self.prompts)
        if self.llm == SIMULATED and self.prompts not in MODES:
            raise ValueError(
                f"The simulated reader knows only the shipped prompts: set prompts to {' or '.join(MODES)}."
            )
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}: set it to 1 or more.")

    def _convert_values(self) -> None:
        """Convert values that have another form in a file of settings. The class is frozen, so ``object`` sets them."""
        object.__setattr__(self, "changes", tuple(self.changes))
        for name in ("corpus", "web_corpus", "record", "replay"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, Path(value).expanduser())
        if self.store == "tantivy":
            object.__setattr__(self, "store", None)

    def _check_searches(self) -> None:
        """Raise ValueError if the settings of the corpus, of the web and of the store contradict each other."""
        if self.web not in (None, DDGS):
            raise ValueError(f"web is '{self.web}': set it to {DDGS}, or give a corpus that stands in for the web.")
        if self.web is not None and self.web_corpus is not None:
            raise ValueError("Both the real web (web) and a corpus in its place (web_corpus) are set: choose one.")
        if self.split and self.web_corpus is not None:
            raise ValueError("With split, part of the corpus already replaces the web: leave out split or web_corpus.")
        divides_corpus = self.split is not None or self.web_corpus is not None
        if divides_corpus and self.corpus is None:
            raise ValueError("split and web_corpus work only with a corpus: set corpus.")
        if self.web is not None and self.replay is None and web_setting() in ("off", "ask"):
            raise ValueError(f"The web is closed by {WEB_SWITCH}: set it to on, or give a corpus instead of the web.")
        lacks_corpus = self.store is not None and self.corpus is None
        if self.store not in (None, "elasticsearch") or lacks_corpus:
            raise ValueError(f"store is '{self.store}': set it to tantivy or, if there is a corpus, to elasticsearch.")

    def _check_recording(self) -> None:
        """Raise ValueError if a recording is both written and read, or a replay names a model."""
        if self.record is not None and self.replay is not None:
            raise ValueError("record and replay are both set: choose one.")
        names_model = self.llm is not None or self.model is not None
        if self.replay is not None and names_model:
            raise ValueError("A replay calls no model: leave llm and model out.")

    def _check_model(self) -> None:
        """Raise ValueError if ``llm`` names nothing that answers, or if ``model`` or the policy does not fit it.

        Raise FileNotFoundError if it names a GGUF file that does not exist.
        """
        if self.llm not in (None, SIMULATED, READER) and self.server is None and self.gguf is None:
            raise ValueError(
                f"llm is '{self.llm}': set it to {SIMULATED}, {READER}, a GGUF file or the URL of a model server."
            )
        if self.gguf is not None and not self.gguf.is_file():
            raise FileNotFoundError(f"There is no GGUF file {self.gguf}.")
        if self.model is not None and self.llm is not None and self.server is None:
            raise ValueError(f"A model is named, but llm is {self.llm}: set llm to the URL of the model's server.")
        if self.is_policy_set and self.llm != SIMULATED:
            raise ValueError(f"Error rates and policies apply only to the simulated reader: set llm to {SIMULATED}.")

    def _check_noise(self) -> None:
        """Raise ValueError if noise in the web is out of its range, or if no corpus stands in for the web."""
        replaces_web = self.corpus is not None and self.web is None
        if self.is_web_noisy and not replaces_web:
            raise ValueError("web_sentences and web_junk need a corpus in place of the web: set corpus, leave out web.")
        if not 0 <= self.web_junk <= 1:
            raise ValueError(f"web_junk is {self.web_junk}: set it between 0 and 1.")
        if self.web_sentences < 0:
            raise ValueError(f"web_sentences is {self.web_sentences}: set it to 0 or more.")

    @property
    def server(self) -> str | None:
        """The URL of the model server, if ``llm`` is a URL."""
        url = urlsplit(self.llm or "")
        if url.scheme in ("http", "https") and url.hostname:
            return self.llm
        return None

    @property
    def gguf(self) -> Path | None:
        """The GGUF file that runs in this process, if ``llm`` names one."""
        file = Path(self.llm or "").expanduser()
        if file.suffix.lower() == ".gguf" and self.server is None:
            return file
        return None

    @property
    def policy(self) -> Policy:
        """How the simulated reader decides."""
        settings = {field.name: getattr(self, field.name) for field in fields(Policy)}
        settings["seed"] = self.seed or 0
        return Policy(**settings)

    @property
    def is_policy_set(self) -> bool:
        """Whether any setting of the simulated reader differs from its default."""
        return any(getattr(self, field.name) != field.default for field in fields(PolicySettings))

    @property
    def is_web_noisy(self) -> bool:
        """Whether noise is added to a corpus in place of the web.

        Noise means that passages are cut to snippets or that junk passages are inserted.
        """
        return bool(self.web_sentences or self.web_junk)


@dataclass(frozen=True)
class Evaluation(Experiment):
    """An experiment, its questions, and how to run them.

    The file ``experiment.yaml`` in the folder of a run has these fields.

    :param pipeline: The name of a pipeline or variant, or the path of a YAML file.
    :param questions: The file of questions.
    :param format: The format of the file of questions. "auto" means that it is detected.
    :param limit: The maximum number of questions to run, from the start of the file. None means all.
    :param concurrency: The number of questions that a process runs at the same time. None means that the model decides,
        see :func:`choose_concurrency`.
    :param workers: The number of processes. None means that the questions run in this process.
    :param ray: The address of a Ray cluster on which the workers run. None means this machine.
    :param retries: The number of further attempts if the run of a question breaks off.
    :param deadline: The maximum time of one attempt in seconds.
    :param contents: Whether the stored predictions contain the texts of the documents.
    :raises ValueError: If a number is too small.
    """

    pipeline: str = "prefrag"
    questions: Path | None = None
    format: str = "auto"
    limit: int | None = None
    concurrency: int | None = None
    workers: int | None = None
    ray: str | None = None
    retries: int = 1
    deadline: float = 600.0
    contents: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = (self.concurrency, self.workers, self.limit)
        is_too_small = any(number is not None and number < 1 for number in numbers)
        if is_too_small or self.retries < 0 or self.deadline <= 0:
            raise ValueError(
                "workers, concurrency and limit must be at least 1, retries at least 0 and deadline over 0."
            )
