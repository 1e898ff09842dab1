"""The names of the shipped pipelines that can do without a model."""

LOOPS = ["prefrag", "prefrag_patient", "prefrag_direct", "prefrag_without_reflection", "mspr", "react", "react_mix"]
LOOPS += ["flare", "ircot"]
ONE_STEP = ["vanilla_local", "vanilla_web", "vanilla_mix", "self_rag", "crag"]
