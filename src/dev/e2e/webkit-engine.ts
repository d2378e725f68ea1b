/** WebKitGTK as Debian has it, driven by its WebDriver (https://www.w3.org/TR/webdriver2/), on its own display. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../demo/free-port.ts";
import { Companion, type EnginePage } from "./engine.ts";

const libraries = "/usr/lib/x86_64-linux-gnu";

// The frames in the document and in the widget's shadow tree.
const framesOfPage = `const roots = [document, ...[...document.querySelectorAll("*")].map((element) => element.shadowRoot)];
  const frames = roots.flatMap((root) => [...(root?.querySelectorAll("iframe") ?? [])]);`;
const findFrame = `${framesOfPage} return frames[0] ?? null;`;
const findLastFrame = `${framesOfPage} return frames.at(-1) ?? null;`;

export async function startWebKit(): Promise<EnginePage> {
  const screen = await Companion.start(
    "Xvfb",
    ["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
    {
      ready: /^(\d+)$/,
    },
  );
  const port = await freePort();
  const driver = await Companion.start(
    "sh",
    ["-c", `echo started; exec WebKitWebDriver --host=127.0.0.1 --port=${port}`],
    {
      ready: /(started)/,
      env: { DISPLAY: `:${screen.found}` },
    },
  );
  const ask = asker(`http://127.0.0.1:${port}`);
  const browserOptions = { binary: miniBrowser(), args: ["--automation"] };
  const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": browserOptions } };
  const { sessionId } = (await ask("POST", "/session", { capabilities })) as { sessionId: string };
  const session = `/session/${sessionId}`;
  const run = async <Result>(expression: string): Promise<Result> => {
    const script = `const done = arguments[0];
      Promise.resolve(${expression}).then((value) => done(JSON.stringify(value ?? null)), (error) => done(JSON.stringify({ thrown: String(error) })));`;
    const answer = JSON.parse(String(await ask("POST", `${session}/execute/async`, { script, args: [] })));
    if (answer?.thrown !== undefined) throw new Error(answer.thrown);
    return answer;
  };
  return {
    open: async (url) => void (await ask("POST", `${session}/url`, { url })),
    reload: async () => void (await ask("POST", `${session}/refresh`, {})),
    run,
    async runInFrame<Result>(expression: string) {
      // Elements in a shadow tree are found by script alone.
      const frame = await ask("POST", `${session}/execute/sync`, { script: findFrame, args: [] });
      if (frame === null) throw new Error("the page has no frame");
      await ask("POST", `${session}/frame`, { id: frame });
      try {
        return await run<Result>(expression);
      } finally {
        await ask("POST", `${session}/frame/parent`, {});
      }
    },
    async runInLastFrame<Result>(expression: string) {
      try {
        for (;;) {
          const frame = await ask("POST", `${session}/execute/sync`, { script: findLastFrame, args: [] });
          if (frame === null) return await run<Result>(expression);
          await ask("POST", `${session}/frame`, { id: frame });
        }
      } finally {
        await ask("POST", `${session}/frame`, { id: null });
      }
    },
    async close() {
      await ask("DELETE", session).catch(() => undefined);
      await driver.companion.stop();
      await screen.companion.stop();
    },
  };
}

function miniBrowser(): string {
  const folder = readdirSync(libraries).find((name) => name.startsWith("webkit2gtk-4"));
  return join(libraries, folder ?? "webkit2gtk-4.1", "MiniBrowser");
}

// The driver listens a moment after it has started.
const askAgainMs = 200;
const asksMax = 100;

function asker(origin: string): (method: string, path: string, body?: object) => Promise<unknown> {
  return async (method, path, body) => {
    for (let attempts = 1; ; attempts++) {
      try {
        const response = await fetch(origin + path, { method, ...(body && { body: JSON.stringify(body) }) });
        const { value } = (await response.json()) as { value: { message?: string } };
        if (response.ok) return value;
        throw new Error(`${method} ${path}: ${value.message}`);
      } catch (error) {
        if (!(error instanceof TypeError) || attempts === asksMax) throw error;
        await new Promise((resolve) => setTimeout(resolve, askAgainMs));
      }
    }
  };
}
