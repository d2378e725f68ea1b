/** The browser of the tests: the system's Chromium, without its background requests. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Starts a browser, with the caller's switches after the default ones; close it when done. */
export async function launchBrowser(switches: readonly string[] = []): Promise<Browser> {
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
