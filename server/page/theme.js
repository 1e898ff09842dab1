// Runs before the page is first drawn, so that no other theme flashes up. The button for themes is in main.js.
try {
  const stored = localStorage.getItem("prefrag.theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
} catch {
  // The browser blocks storage, so the colours are those of the system.
}
