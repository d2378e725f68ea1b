/** The style sheet of the part with wallets, on top of the form's. */

/** The style sheet; the bundle holds it minified. */
export const walletsStyle = `
.wallets { display: flex; flex-direction: column; justify-content: space-between; padding-bottom: 16px; }
.row[aria-disabled="true"] { opacity: .5; pointer-events: none; }
:host(:is([data-action], [data-formless], [data-paid])) .wallets { display: none; }
.row { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); gap: 8px; height: 48px; }
.row button { width: 100%; height: 48px; }
.apple-pay {
  -webkit-appearance: -apple-pay-button;
  -apple-pay-button-style: black;
  padding: 0;
  border: 0;
  border-radius: var(--radius, 8px);
  cursor: pointer;
}
.apple-pay:focus-visible { outline: 2px solid var(--primary); outline-offset: 2px; }
:host([data-theme="dark"]) .apple-pay { -apple-pay-button-style: white; }
/* If the browser does not draw the button, the wallet is an emulator. */
@supports not (-webkit-appearance: -apple-pay-button) {
  .apple-pay { background: #000; color: #fff; font: 500 18px/1 system-ui, sans-serif; }
  .apple-pay::before { content: "Apple Pay"; }
  :host([data-theme="dark"]) .apple-pay { background: #fff; color: #000; }
  @media (prefers-color-scheme: dark) { :host([data-theme="auto"]) .apple-pay { background: #fff; color: #000; } }
}
.wallets p { align-items: center; margin: 0; color: var(--muted); white-space: nowrap; }
.wallets p::before, .wallets p::after { content: ""; flex: 1; border-top: 1px solid; opacity: .4; }
/* Without a button the heading stands in the middle of their place, as its own line: an empty row would look broken. */
.wallets > p:only-child { margin-block: auto; color: inherit; font-weight: 600; }
`;
