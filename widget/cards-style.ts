/** The style sheet of the part with stored cards, on top of the form's. */

/** The style sheet; the bundle holds it minified. */
export const cardsStyle = `
.cards, .save, .terms { margin-inline: 4px; }
/* The colors are those of the card frame's fields. */
.cards {
  --line: var(--color-border, color-mix(in srgb, var(--muted) 70%, transparent));
  min-width: 0;
  margin-block: 0;
  padding: 0;
  overflow: hidden;
  border: var(--border-width, 1px) solid var(--line);
  border-radius: var(--radius, 8px);
}
.cards + .error { margin: 12px 4px 0; }
.cards ~ iframe { margin-top: calc(var(--spacing, 16px) - 4px); }
.option {
  display: flex;
  flex-wrap: wrap;
  gap: 0 .6em;
  align-items: center;
  min-height: 48px;
  padding: 6px 14px;
  cursor: pointer;
}
:is(.option, .more) + .option { border-top: 1px solid var(--line); }
.option:has(:checked) { background: color-mix(in srgb, var(--primary) 8%, transparent); }
.option:has(:focus-visible) { outline: 2px solid var(--primary); outline-offset: -2px; border-radius: var(--radius, 8px); }
.option input:focus-visible { outline: none; }
:is(.option, .save) input {
  flex: none;
  width: 1.125em;
  height: 1.125em;
  margin: 0;
  accent-color: var(--primary);
}
.option bdi { font-variant-numeric: tabular-nums; }
.option bdi + bdi { margin-inline-start: auto; color: var(--muted); }
[aria-disabled] .option, .save:has([aria-disabled]) { cursor: default; opacity: .6; }
.more {
  width: 100%;
  min-height: 44px;
  border: 0;
  border-top: 1px solid var(--line);
  background: none;
  color: var(--primary);
  font: inherit;
  text-decoration: underline;
  cursor: pointer;
}
.more:focus-visible { outline: 2px solid var(--primary); outline-offset: -2px; }
.save {
  display: flex;
  gap: .6em;
  align-items: center;
  min-height: 24px;
  margin-top: 12px;
  cursor: pointer;
}
.save input:focus-visible { outline: 2px solid var(--primary); outline-offset: 2px; }
.terms { margin-top: 12px; color: var(--muted); font-size: .875em; }
.unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
`;
