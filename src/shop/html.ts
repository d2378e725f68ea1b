/** Builds HTML in which every value is escaped unless it is HTML already. */

/** Text that is known to be safe HTML. Only the tag below creates it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** html`<p>${anything}</p>`: safe in text and in quoted attributes. `false` and `undefined` produce nothing. */
export function html(texts: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(String.raw({ raw: texts }, ...parts.map(render)));
}

/** Returns data for a script of the page, as the content of a `<script type="application/json">`. */
export function jsonForScript(data: unknown): Html {
  return new Html(JSON.stringify(data).replaceAll("<", "\\u003c"));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(render).join("");
  if (part === false || part === undefined) return "";
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
