/** The API reference in the browser: the language of the samples, and calls with a test key, which is kept in memory only. */

const languageKey = "switchyard-docs-language";

function choose(language) {
  document.documentElement.dataset.language = language;
  for (const button of document.querySelectorAll("[data-language]")) {
    if (button !== document.documentElement) button.setAttribute("aria-pressed", button.dataset.language === language);
  }
}

document.addEventListener("click", ({ target }) => {
  const language = target.closest("button[data-language]")?.dataset.language;
  if (language === undefined) return;
  const top = target.getBoundingClientRect().top;
  choose(language);
  // Samples above it have changed their height.
  scrollBy(0, target.getBoundingClientRect().top - top);
  localStorage.setItem(languageKey, language);
});
const kept = localStorage.getItem(languageKey);
choose(["curl", "Node", "Python"].includes(kept) ? kept : "curl");

const keys = [...document.querySelectorAll(".key input")];
document.addEventListener("input", ({ target }) => {
  if (keys.includes(target)) for (const other of keys) other.value = target.value;
});

const warning = document.querySelector("#live-key");
document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const answer = form.querySelector(".answer");
  const key = (form.querySelector(".key input")?.value ?? "").trim();
  warning.hidden = !key.includes("switchyard_live_");
  if (!warning.hidden) {
    warning.scrollIntoView({ block: "center" });
    return;
  }
  const fields = [...form.querySelectorAll("[data-place]")].filter(({ value }) => value !== "");
  const inPlace = (place) =>
    fields.filter((field) => field.dataset.place === place).map(({ name, value }) => [name, value]);
  const path = inPlace("path").reduce(
    (text, [name, value]) => text.replace(`{${name}}`, encodeURIComponent(value)),
    form.dataset.path,
  );
  const query = new URLSearchParams(inPlace("query")).toString();
  const body = form.elements.namedItem("body")?.value;
  const headers = { ...Object.fromEntries(inPlace("header")), ...(key && { Authorization: `Bearer ${key}` }) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  answer.textContent = "Sending…";
  try {
    const response = await fetch(query ? `${path}?${query}` : path, { method: form.dataset.method, headers, body });
    const text = await response.text();
    const status = document.createElement("p");
    status.textContent = `${response.status} ${response.statusText}`;
    const block = document.createElement("pre");
    block.tabIndex = 0;
    block.textContent = formatted(text);
    answer.replaceChildren(status, block);
  } catch (error) {
    answer.textContent = `Nothing was answered: ${error.message}`;
  }
});

function formatted(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
