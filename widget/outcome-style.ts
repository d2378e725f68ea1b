/** The style sheet of outcomes and notices, on top of the form's. */

/** The style sheet; the bundle holds it minified. */
export const outcomeStyle = `
/* A paid session leaves nothing to enter. */
:host([data-paid]) :is(.card, .pay) { display: none; }
.notice { --tone: var(--primary); --sign: "i" / ""; }
.good {
  --tone: var(--good);
  --sign: "✓" / "";
  flex-direction: column;
  align-items: center;
  padding: 24px;
  font-weight: 600;
  text-align: center;
}
.good::before { align-self: center; font-size: 2em; }
`;
