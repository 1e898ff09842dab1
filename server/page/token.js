/** The token in the address that the terminal shows: used once, to get a cookie that no script can read, and not kept. */

/**
 * Exchange the token of the address, if it has one, and take it out of the address.
 * @returns {Promise<string>} Why it was refused; empty if it was accepted, or if there was none.
 */
export async function useToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return "";
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const response = await fetch(new URL("access", document.baseURI), {
      method: "POST",
      headers: { Authorization: `Bearer ${token}` },
      credentials: "same-origin",
    });
    return response.ok ? "" : (await response.json()).detail;
  } catch {
    // If no server answers, the next request says so.
    return "";
  }
}
