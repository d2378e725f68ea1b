/** The form's style sheet. The custom properties of two words and --radius are the appearance's variables. */

const dark = `color-scheme: dark;
  --primary: var(--color-primary, #8ab4ff);
  --on-primary: var(--color-on-primary, #0b1530);
  --text: var(--color-text, #e8eaf0);
  --muted: #a5afc0;
  --danger: var(--color-danger, #ffb4ab);
  --good: #7fdca4;`;

/** The style sheet of the form's shadow root; the bundle holds it minified. */
export const formStyle = `
:host {
  display: block;
  color-scheme: light;
  --primary: var(--color-primary, #1d4ed8);
  --on-primary: var(--color-on-primary, #fff);
  --text: var(--color-text, #1a1f2b);
  --muted: #5b6474;
  --danger: var(--color-danger, #b3261e);
  --good: #0b6b3a;
  --label: 12px;
  --top: 26px;
  --high: 48px;
  --pitch: calc(74px + var(--spacing, 16px));
  /* The size is not in rem: a page may set its own, and the card frame has the browser's, like medium. */
  font: 400 var(--font-size, medium)/1.4 var(--font-family, system-ui, sans-serif);
  color: var(--text);
  letter-spacing: 0;
  word-spacing: 0;
  text-align: start;
  text-indent: 0;
  text-transform: none;
  white-space: normal;
}
:host([data-labels="floating"]) {
  --label: 0px;
  --top: 0px;
  --high: 56px;
  --pitch: calc(56px + var(--spacing, 16px));
}
:host([data-theme="dark"]) {
  ${dark}
}
@media (prefers-color-scheme: dark) {
  :host([data-theme="auto"]) {
    ${dark}
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
p {
  display: flex;
  gap: .6em;
  margin: 14px 0 0;
  overflow-wrap: anywhere;
}
/* A line without text takes no room, and keeps its place for screen readers. */
p:not(.summary):empty { margin: 0; padding: 0; border: 0; }
.summary {
  flex-wrap: wrap;
  justify-content: space-between;
  align-items: baseline;
  margin: 0 0 var(--spacing, 16px);
}
.merchant, .busy { color: var(--muted); }
.amount { font-size: 1.25em; }
/* Filled by the part with wallets, which moves nothing: a row of buttons and a line, or a heading. */
.wallets { height: calc(74px + 2em); }
/* The frame has 4 px around its fields for their focus rings; the negative margin aligns the fields with the button. */
.card { position: relative; margin-inline: -4px; }
/* The height that the card frame begins with: nothing below it moves when it comes. */
.card[inert] { min-height: calc(var(--rows) * var(--pitch) - var(--spacing, 16px) + 8px); }
/*
 * This includes merchant and amount: they keep their line, and a hidden line that gets its text does not count as
 * moved.
 */
.card[inert], .pay[data-waiting], .summary > :empty { visibility: hidden; }
.summary > :empty::before { padding: 0 3em; }
.card[inert]::before, .pay[data-waiting]::before, .summary > :empty::before {
  content: "";
  visibility: visible;
  background: var(--muted);
  opacity: .2;
  animation: wait 2s infinite;
}
@keyframes wait { 50% { opacity: .1; } }
/* The card form's labels and fields until it is loaded; rows beyond the form's own are cut off. */
.card[inert]::before {
  --bone: linear-gradient(var(--muted) 0 0);
  position: absolute;
  inset: 4px 4px auto;
  height: calc(100% - 8px);
  background:
    var(--bone) 0 4px/30% var(--label), var(--bone) 0 var(--top)/100% var(--high),
    var(--bone) 0 calc(var(--pitch) + 4px)/25% var(--label),
    var(--bone) 0 calc(var(--pitch) + var(--top))/calc(50% - 6px) var(--high),
    var(--bone) 100% calc(var(--pitch) + var(--top))/calc(50% - 6px) var(--high),
    var(--bone) 0 calc(2*var(--pitch) + 4px)/30% var(--label),
    var(--bone) 0 calc(2*var(--pitch) + var(--top))/100% var(--high),
    var(--bone) 0 calc(3*var(--pitch) + 4px)/30% var(--label),
    var(--bone) 0 calc(3*var(--pitch) + var(--top))/100% var(--high);
  background-repeat: no-repeat;
}
:host([dir="rtl"]) .card::before { transform: scaleX(-1); }
.pay[data-waiting]::before {
  position: absolute;
  inset: 0;
  border-radius: inherit;
}
.pay, .again {
  position: relative;
  width: 100%;
  min-height: 48px;
  margin-top: var(--spacing, 16px);
  padding: 10px 16px;
  border: 1px solid transparent;
  border-radius: var(--radius, 8px);
  background: var(--primary);
  color: var(--on-primary);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
:is(.pay, .again):hover { filter: brightness(1.08); }
:is(.pay, .again):focus-visible { outline: 2px solid var(--primary); outline-offset: 2px; }
.pay:disabled, .pay[aria-disabled="true"] { filter: none; cursor: default; }
.pay:disabled, .pay[aria-describedby="wait"][aria-busy="false"] { opacity: .5; }
/* Without the card form there are no fields and no button. */
:host([data-formless]) :is(.card, .pay) { display: none; }
.spinner {
  display: none;
  width: 1.1em;
  height: 1.1em;
  margin-inline-end: .6em;
  vertical-align: -.2em;
  border: 2px solid;
  border-inline-end-color: transparent;
  border-radius: 50%;
  animation: turn .8s linear infinite;
}
.pay[aria-busy="true"] .spinner { display: inline-block; }
.busy { justify-content: center; }
.error, .notice, .good {
  --tone: var(--danger);
  padding: 12px 14px;
  border: 1px solid var(--tone);
  border-radius: var(--radius, 8px);
  background: color-mix(in srgb, var(--tone) 8%, transparent);
}
.error::before, .notice::before, .good::before {
  flex: none;
  align-self: start;
  content: var(--sign, "!" / "");
  width: 1.5em;
  border-radius: 50%;
  background: var(--tone);
  /* White on a light page, nearly black on a dark one. */
  color: Canvas;
  font-size: .875em;
  font-weight: 700;
  line-height: 1.5em;
  text-align: center;
}
:empty::before { content: none; }
@keyframes turn { to { transform: rotate(1turn); } }
@keyframes fade { 50% { opacity: .35; } }
@media (prefers-reduced-motion: reduce) {
  .spinner { animation: fade 2s infinite; }
}
/* Forced colours remove the ground of a sign, put their own behind its letter, and draw its transparent parts. */
@media (forced-colors: active) {
  .error::before, .notice::before, .good::before { background: CanvasText; forced-color-adjust: none; }
  .spinner { border-inline-end-color: ButtonFace; }
}
`;
