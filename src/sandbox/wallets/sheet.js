/* The sheet that both emulators show over the page. Pages with a strict policy may load it: it writes no HTML and no style attribute. */
const sheetStyle = `
:host { all: initial; color-scheme: light; }
dialog { width: min(400px, calc(100vw - 32px)); box-sizing: border-box; padding: 20px; border: 0; border-radius: 16px;
  font: 16px/1.4 system-ui, sans-serif; color: #1a1f2b; background: #fff; }
dialog::backdrop { background: rgb(0 0 0 / 45%); }
.mark { margin: 0 0 12px; padding: 4px 10px; border-radius: 8px; background: #fff3cd; color: #5c4400; font-size: 13px; }
h2 { margin: 0; font-size: 18px; }
.amount { margin: 4px 0 16px; font-size: 24px; font-weight: 600; }
fieldset { max-height: 40vh; margin: 0 0 16px; padding: 0; border: 0; overflow: auto; }
legend { padding: 0; color: #5b6474; font-size: 14px; }
label { display: flex; gap: 10px; align-items: baseline; padding: 8px 0; }
small { color: #5b6474; }
.buttons { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; }
button { min-height: 44px; border: 1px solid #5b6474; border-radius: 10px; font: inherit; color: inherit; background: #fff; cursor: pointer; }
button.pay { border-color: #000; color: #fff; background: #000; }
button:disabled { opacity: .5; cursor: default; }
:is(button, input):focus-visible { outline: 2px solid #1d4ed8; outline-offset: 2px; }
`;

function make(tag, text, className) {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  if (className) node.className = className;
  return node;
}

/** Opens a sheet; `onPay` gets the chosen card's number, `onCancel` nothing. */
function openSheet({ wallet, merchant, amount, cards, onPay, onCancel }) {
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  const style = new CSSStyleSheet();
  style.replaceSync(sheetStyle);
  root.adoptedStyleSheets = [style];
  const dialog = make("dialog");
  const title = make("h2", wallet);
  title.id = "title";
  dialog.setAttribute("aria-labelledby", "title");
  const list = make("fieldset");
  list.append(make("legend", "Card"));
  cards.forEach(({ number, label }, index) => {
    const line = make("label");
    const choice = make("input");
    choice.type = "radio";
    choice.name = "card";
    choice.value = number;
    choice.checked = index === 0;
    const words = make("span", `${label} `);
    words.append(make("small", `•••• ${number.slice(-4)}`));
    line.append(choice, words);
    list.append(line);
  });
  const pay = make("button", "Pay", "pay");
  const cancel = make("button", "Cancel");
  const buttons = make("div", "", "buttons");
  buttons.append(cancel, pay);
  const status = make("p");
  status.setAttribute("role", "status");
  dialog.append(
    make("p", "Emulator. No money moves.", "mark"),
    title,
    make("p", merchant),
    make("p", amount, "amount"),
    list,
    buttons,
    status,
  );
  root.append(dialog);
  document.body.append(host);
  dialog.showModal();
  const close = () => host.remove();
  const end = () => {
    close();
    onCancel();
  };
  cancel.onclick = end;
  dialog.oncancel = end;
  pay.onclick = () => {
    pay.disabled = cancel.disabled = true;
    dialog.oncancel = (event) => event.preventDefault();
    status.textContent = "Processing…";
    onPay(root.querySelector("input:checked").value);
  };
  return {
    close,
    setReady: (ready) => {
      pay.disabled = !ready;
    },
    say: (text) => {
      status.textContent = text;
    },
  };
}

async function post(path, body) {
  const answer = await fetch(given.origin + path, { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error("the emulator refuses this");
  return answer.json();
}

// The wallet's own script follows this one, and reads them there.
Object.assign(given, { openSheet, post });
