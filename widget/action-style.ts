/** The style sheet of the part that shows an action, on top of the form's. */

/** The style sheet; the bundle holds it minified. */
export const actionStyle = `
/* The card form stays in the page: a frame that moves loses its input. */
:host([data-action]) :is(.card, .pay) { display: none; }
.action { text-align: center; }
.action h2 { margin: 0 0 16px; font-size: 1.125em; }
.action p { justify-content: center; margin: 0 0 16px; }
.action iframe {
  display: block;
  width: min(100%, 500px);
  height: clamp(400px, 85vh, 600px);
  margin: 0 auto;
  border: 1px solid color-mix(in srgb, var(--text) 25%, transparent);
  border-radius: var(--radius, 8px);
  background: #fff;
  color-scheme: light;
}
.action iframe.wide { box-sizing: content-box; width: 500px; height: 600px; }
.action .again { margin-top: 0; }
.action .link {
  min-height: 44px;
  margin: 0 8px;
  padding: 4px 8px;
  border: 0;
  border-radius: var(--radius, 8px);
  background: none;
  color: var(--primary);
  font: inherit;
  text-decoration: underline;
  cursor: pointer;
}
.action :is(.link, h2):focus-visible { outline: 2px solid var(--primary); outline-offset: 2px; }
.action .link[aria-disabled] { opacity: .6; }
`;
