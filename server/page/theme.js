// Runs before the page is first drawn, so that no other theme flashes up. The button for themes is in main.js.
const stored = localStorage.getItem("prefrag.theme");
if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
