/** The style sheet of outcomes and notices, on top of the form's. */

/** The style sheet; the bundle holds it minified. */
export const outcomeStyle = `
/* A paid session leaves nothing to enter. */
:host([data-paid]) :is(.card, .pay) { display: none; }
.notice { --tone: var(--primary); }
.good { --tone: var(--good); }
.good {
  flex-direction: column;
  align-items: center;
  padding: 24px;
  font-weight: 600;
  text-align: center;
}
.notice:not(:empty)::before { content: "i" / ""; }
.good:not(:empty)::before { align-self: center; content: "✓" / ""; font-size: 2em; }
`;
