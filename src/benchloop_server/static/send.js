// A change, asked for by a page: JSON with the header that only our own scripts send. Throws with the server's sentence.
export async function send(path, body = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-benchloop-page": "1" },
      body: JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Error("The server could not be reached; nothing was changed.");
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.error || `The server answered ${answer.status}.`);
  return said;
}
