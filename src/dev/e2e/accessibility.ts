/** Checks a page and its card frame with axe-core. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Frame, Page } from "playwright-core";
import type { EnginePage } from "./engine.ts";

// The minified one: each document that is checked compiles it.
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// WCAG 2.0 to 2.2, levels A and AA, which laws require.
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Every rule that a page or one of its frames breaks, one line for each element; empty for none. */
export async function findViolations(page: Page): Promise<string[]> {
  const found = await Promise.all(page.frames().map(violationsIn));
  return found.flat();
}

/** Returns the violations of the widget's page and its card frame in any engine, in the look that the engine has. */
export async function findViolationsIn(page: EnginePage, cardFrame: string): Promise<string[]> {
  const ground = await page.run(`(${readGround})(${cardFrame})`);
  await page.runInFrame(`(${paint})(${JSON.stringify(ground)})`);
  const found: string[] = [];
  for (const run of [page.run, page.runInFrame]) {
    await run(`(() => {${axeSource}\n})()`);
    found.push(...(await run<string[]>(`(${runAxe})(${JSON.stringify(tags)})`)));
  }
  return found;
}

async function violationsIn(frame: Frame): Promise<string[]> {
  if (frame.parentFrame()) await frame.evaluate(paint, await groundOf(frame));
  // Loads axe by the debugger's access, which no content security policy blocks; once for each load.
  if (!(await frame.evaluate("'axe' in globalThis"))) await frame.evaluate(axeSource);
  await frame.evaluate(`(${paintFilledText})(document)`);
  return frame.evaluate(runAxe, tags);
}

/** Runs in the page. */
async function runAxe(values: readonly string[]): Promise<string[]> {
  const runner = (globalThis as unknown as { axe: AxeRunner }).axe;
  // Each frame is checked separately. Two regions of one name are no violation of WCAG, but they cannot be
  // distinguished in a list of them.
  const rules = { "landmark-unique": { enabled: true } };
  const runOnly = { type: "tag", values };
  // Lists only one element of each rule that passes, which takes a part of the time.
  const options = { runOnly, rules, iframes: false, resultTypes: ["violations"] };
  const { violations, passes } = await runner.run(document, options);
  if (passes.length === 0) throw new Error(`axe-core found nothing to check in ${location.href}`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** A transparent frame shows the ground of the page around it, which axe-core takes for white. */
async function groundOf(frame: Frame): Promise<string> {
  const element = await frame.frameElement();
  return element.evaluate(readGround);
}

function readGround(start: Node): string {
  for (let node: Element | null = start as Element; node; ) {
    const { backgroundColor } = getComputedStyle(node);
    if (backgroundColor !== "rgba(0, 0, 0, 0)") return backgroundColor;
    const root = node.getRootNode();
    node = node.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  }
  return "Canvas";
}

function paint(ground: string): void {
  document.documentElement.style.background = ground;
}

/**
 * Sets the fill of texts to their colour where colours are forced: Chromium draws them so, but reports the fill that the
 * page would have otherwise, which axe-core believes.
 */
function paintFilledText(root: Document | ShadowRoot): void {
  if (!matchMedia("(forced-colors: active)").matches) return;
  for (const element of root.querySelectorAll<HTMLElement>("*")) {
    element.style.webkitTextFillColor = getComputedStyle(element).color;
    if (element.shadowRoot) paintFilledText(element.shadowRoot);
  }
}

type AxeRunner = { run(context: Document, options: object): Promise<AxeResults> };
