/** Use the token in the address that the terminal shows. It is exchanged once for a cookie that no script can read. */

/**
 * Exchange the token in the page's address, if there is one, and remove it from the address.
 * @returns {Promise<string>} Why the token was refused; empty if it was accepted, or if there was none.
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
    // If no server answers, say nothing here: the next request fails too and shows it.
    return "";
  }
}
