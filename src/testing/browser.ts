/** The browser of the tests: Chromium as the system has it, without the calls home. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Starts a browser, with switches of the caller's own after the usual ones; close it when done. */
export async function launchBrowser(switches: readonly string[] = []): Promise<Browser> {
  const executablePath = places.find((place) => existsSync(place));
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
