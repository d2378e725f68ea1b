/**
 * The rules for the look that a page requests. This is a separate part, loaded only by a page that sets one; the card
 * frame has the rules too, and applies nothing that breaks one.
 */

type Rule = "color" | "fonts" | readonly [minPx: number, maxPx: number];

const rules: Readonly<Record<string, Rule>> = {
  "color-primary": "color",
  "color-on-primary": "color",
  "color-text": "color",
  "color-danger": "color",
  "color-background": "color",
  "color-border": "color",
  "border-width": [0, 4],
  radius: [0, 32],
  spacing: [4, 32],
  "font-size": [12, 32],
  "font-family": "fonts",
};

const members: Readonly<Record<string, readonly unknown[]>> = {
  theme: ["auto", "light", "dark"],
  labels: ["above", "floating"],
  summary: ["shown", "hidden"],
};

// Excludes addresses, properties of the page, and characters that end a declaration; the browser checks the rest.
const color = /^(#?\w+|(rgb|hsl|hwb|lab|lch|oklab|oklch)a?\([\w\s.,%/-]+\))$/i;
const fonts = /^[\w\s,"'-]{1,200}$/;

/** Returns the rule that a variable breaks, as the end of a sentence; undefined for a value that may be used. */
export function brokenRule(name: string, value: unknown): string | undefined {
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  const text = typeof value === "string" ? value : "";
  switch (rule) {
    case undefined:
      return "is unknown";
    case "color":
      return color.test(text) && CSS.supports("color", text) ? undefined : "must be a color, such as #1d4ed8";
    case "fonts":
      return fonts.test(text) && CSS.supports(name, text)
        ? undefined
        : "must be names of fonts, such as Georgia, serif";
    default: {
      const [, length, unit] = /^(\d*\.?\d+)(px|rem)$/.exec(text) ?? [];
      const pixels = Number(length) * (unit === "rem" ? 16 : 1);
      const [min, max] = rule;
      return pixels >= min && pixels <= max ? undefined : `must be ${min}px to ${max}px, or as many rem`;
    }
  }
}

/**
 * Warns in the console of each member and variable that breaks its rule, and passes the variables' names to `leaveOut`.
 * The name is the page's own; a value is never repeated.
 */
export function checkAppearance(appearance: unknown, leaveOut: (variable: string) => void): void {
  const { variables, ...others } = Object(appearance);
  for (const [name, value] of given(others)) {
    const values = Object.hasOwn(members, name) ? members[name]! : undefined;
    if (values === undefined) warn(name, "is unknown");
    else if (!values.includes(value)) warn(name, `must be ${values.join(" or ")}`);
  }
  for (const [name, value] of given(Object(variables))) {
    const rule = brokenRule(name, value);
    if (rule === undefined) continue;
    warn(`variables.${name}`, rule);
    leaveOut(name);
  }
}

function given(values: object): [string, unknown][] {
  return Object.entries(values).filter(([, value]) => value !== undefined);
}

function warn(name: string, rule: string): void {
  console.warn(`Switchyard.mount: appearance.${name} ${rule}. It is left out.`);
}
