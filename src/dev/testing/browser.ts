/** The browser of the tests: the system's Chromium, without its background requests. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const shellPath = "/usr/bin/chromium-headless-shell";
const fullPaths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * Starts Chromium without its own windows and services, which takes two thirds of the CPU time, with the caller's
 * switches after the default ones; close it when done. Where only the full browser is installed, that one is started.
 */
export function launchBrowser(switches: readonly string[] = []): Promise<Browser> {
  return launch([shellPath, ...fullPaths], switches);
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
