/** The form's style sheet. The custom properties of two words and --radius are the appearance's variables. */

/** The style sheet of the form's shadow root. */
export const formStyle = `
:host {
  display: block;
  color-scheme: light;
  --primary: var(--color-primary, #1d4ed8);
  --on-primary: var(--color-on-primary, #fff);
  --text: var(--color-text, #1a1f2b);
  --danger: var(--color-danger, #b3261e);
  font: 400 var(--font-size, 1rem)/1.4 var(--font-family, system-ui, sans-serif);
  color: var(--text);
}
:host([data-theme="dark"]) {
  color-scheme: dark;
  --primary: var(--color-primary, #8ab4ff);
  --on-primary: var(--color-on-primary, #0b1530);
  --text: var(--color-text, #e8eaf0);
  --danger: var(--color-danger, #ffb4ab);
}
@media (prefers-color-scheme: dark) {
  :host([data-theme="auto"]) {
    color-scheme: dark;
    --primary: var(--color-primary, #8ab4ff);
    --on-primary: var(--color-on-primary, #0b1530);
    --text: var(--color-text, #e8eaf0);
    --danger: var(--color-danger, #ffb4ab);
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
/* The frame keeps 3 px around its fields for their focus rings: the fields stand in line with the button. */
.card { margin-inline: -3px; }
/* The height that the card frame begins with: nothing below it moves when it comes. */
.card:empty { min-height: 17rem; }
.pay {
  position: relative;
  width: 100%;
  min-height: 3rem;
  margin-top: 1rem;
  padding: .625rem 1rem;
  border: 0;
  border-radius: var(--radius, .5rem);
  background: var(--primary);
  color: var(--on-primary);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
.pay[data-waiting] { visibility: hidden; }
.pay:hover { filter: brightness(1.08); }
.pay:focus-visible { outline: 3px solid var(--primary); outline-offset: 2px; }
.pay:disabled { opacity: .55; cursor: default; filter: none; }
.pay[aria-busy="true"] { cursor: progress; }
.pay[aria-busy="true"] .label { opacity: 0; }
.spinner {
  display: none;
  position: absolute;
  inset: 0;
  margin: auto;
  width: 1.25rem;
  height: 1.25rem;
  border: 3px solid;
  border-inline-end-color: transparent;
  border-radius: 50%;
  animation: turn .8s linear infinite;
}
.pay[aria-busy="true"] .spinner { display: block; }
p { margin: .75rem 0 0; overflow-wrap: anywhere; }
p:empty { margin: 0; }
.status { text-align: center; }
.error { color: var(--danger); }
@keyframes turn { to { transform: rotate(1turn); } }
@media (prefers-reduced-motion: reduce) {
  .spinner { animation-duration: 4s; }
}
`;
