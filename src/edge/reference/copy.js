/** Puts a button beside each block of code of a guide, which copies it. Browsers offer no clipboard to a page by http. */

const shownMs = 2_000;
// Read aloud.
const news = Object.assign(document.createElement("p"), { className: "visually-hidden", role: "status" });

function addButton(block) {
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "copy",
    textContent: "Copy",
  });
  const say = (text, words) => {
    button.textContent = text;
    news.textContent = words;
    setTimeout(() => {
      button.textContent = "Copy";
      news.textContent = "";
    }, shownMs);
  };
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      say("Copied", "The code is copied.");
    } catch {
      getSelection().selectAllChildren(block);
      say("Selected", "The browser does not allow copying. The code is selected.");
    }
  });
  const frame = Object.assign(document.createElement("div"), { className: "code" });
  block.replaceWith(frame);
  frame.append(block, button);
}

if (navigator.clipboard) {
  for (const block of document.querySelectorAll("main pre")) addButton(block);
  document.querySelector("main").append(news);
}
