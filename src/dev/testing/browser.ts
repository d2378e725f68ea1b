/** The browser of the tests: the system's Chromium, without its background requests. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { keptInWorker } from "./kept-in-worker.ts";

const shellPath = "/usr/bin/chromium-headless-shell";
const fullPaths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * Returns a Chromium without its own windows and services, which takes two thirds of the CPU time; if only the full
 * browser is installed, returns that. Close it when done. With the caller's switches it is a separate browser; without
 * any, it is the worker's shared one, of which `close` closes the caller's pages.
 */
export async function launchBrowser(switches: readonly string[] = []): Promise<Browser> {
  const paths = [shellPath, ...fullPaths];
  if (switches.length > 0) return launch(paths, switches);
  const browser = await keptInWorker("browser", () => launch(paths, []));
  const ours: BrowserContext[] = [];
  const shared: Pick<Browser, "newContext" | "newPage" | "close"> = {
    async newContext(options) {
      const context = await browser.newContext(options);
      ours.push(context);
      return context;
    },
    async newPage(options) {
      const page = await browser.newPage(options);
      ours.push(page.context());
      return page;
    },
    async close() {
      await Promise.all(ours.splice(0).map((context) => context.close()));
    },
  };
  return Object.assign(Object.create(browser), shared);
}

/** Starts the full browser: for what people see and measure, and for its own features, such as filling in cards. */
export function launchFullBrowser(switches: readonly string[] = []): Promise<Browser> {
  return launch(fullPaths, switches);
}

async function launch(paths: readonly string[], switches: readonly string[]): Promise<Browser> {
  const executablePath = paths.find((path) => existsSync(path));
  if (!executablePath) throw new Error("Browser tests need Chromium: apt-get install chromium");
  return chromium.launch({
    executablePath,
    args: [
      // Chromium refuses its sandbox to root, which containers mostly are.
      "--no-sandbox",
      "--headless",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      ...switches,
    ],
  });
}
