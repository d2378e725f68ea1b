/** The search of /docs: looks for all words in the sections of the guides, the reference and the errors. */

const field = document.querySelector("#search");
const results = document.querySelector("#results");
const shownMax = 30;
let sections;

const escapePattern = (word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Sections that have every word, those in whose title they are first. */
function find(words) {
  const found = sections.flatMap((section) => {
    const title = `${section.page} ${section.title}`.toLowerCase();
    const text = section.text.toLowerCase();
    if (!words.every((word) => title.includes(word) || text.includes(word))) return [];
    const inTitle = words.filter((word) => section.title.toLowerCase().includes(word)).length;
    const inPage = words.filter((word) => section.page.toLowerCase().includes(word)).length;
    return [{ section, score: inTitle * 3 + inPage }];
  });
  return found.toSorted((one, other) => other.score - one.score).map(({ section }) => section);
}

/** The words around the first one that was found, with each found word marked. */
function excerpt(text, words) {
  const at = Math.max(
    0,
    Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((index) => index >= 0)),
  );
  const start = Number.isFinite(at) ? Math.max(0, at - 60) : 0;
  const part = `${start > 0 ? "…" : ""}${text.slice(start, start + 180)}…`;
  const line = document.createElement("p");
  for (const [index, piece] of part.split(new RegExp(`(${words.map(escapePattern).join("|")})`, "i")).entries()) {
    line.append(index % 2 === 0 ? piece : Object.assign(document.createElement("mark"), { textContent: piece }));
  }
  return line;
}

async function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const url = new URL(location.href);
  if (words.length > 0) url.searchParams.set("q", field.value);
  else url.searchParams.delete("q");
  history.replaceState(null, "", url);
  document.body.classList.toggle("searching", words.length > 0);
  if (words.length === 0) return results.replaceChildren();
  sections ??= await (await fetch("/docs/search.json")).json();
  const found = find(words);
  const count = document.createElement("p");
  count.textContent =
    found.length === 0
      ? "No results. Try fewer words, or the exact error code."
      : found.length > shownMax
        ? `The first ${shownMax} of ${found.length} sections`
        : `${found.length} ${found.length === 1 ? "section" : "sections"}`;
  const list = document.createElement("ol");
  for (const { page, title, path, text } of found.slice(0, shownMax)) {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), {
      href: path,
      textContent: title === page ? page : `${page}: ${title}`,
    });
    item.append(link, excerpt(text, words));
    list.append(item);
  }
  results.replaceChildren(count, list);
}

field.value = new URL(location.href).searchParams.get("q") ?? "";
field.addEventListener("input", show);
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
if (field.value !== "") show();
