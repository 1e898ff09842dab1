// Runs before the first paint, so that a chosen theme does not flash; main.js adds the switch.
const stored = localStorage.getItem("prefrag.theme");
if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
