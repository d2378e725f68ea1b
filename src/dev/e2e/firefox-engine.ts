/** Firefox as Debian has it, driven by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/). */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Companion, type EnginePage } from "./engine.ts";

type Answer = { readonly id?: number; readonly type: string; readonly message?: string; readonly result?: unknown };
type Tree = { readonly contexts: readonly Context[] };
type Context = { readonly context: string; readonly children: readonly Context[] | null };
type Evaluation = {
  readonly type: "success" | "exception";
  readonly result?: { readonly value?: string };
  readonly exceptionDetails?: { readonly text: string };
};

export async function startFirefox(): Promise<EnginePage> {
  const profile = await mkdtemp(join(tmpdir(), "firefox-"));
  const args = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
  const ready = /WebDriver BiDi listening on (ws:\S+)/;
  const { companion, found } = await Companion.start("firefox-esr", args, { ready, env: { HOME: profile } });
  const socket = new WebSocket(`${found}/session`);
  await once(socket, "open");
  const send = sender(socket);
  await send("session.new", { capabilities: {} });
  const tree = async () => ((await send("browsingContext.getTree", {})) as Tree).contexts[0]!;
  const { context } = await tree();
  const run = async <Result>(expression: string, where: string): Promise<Result> => {
    const answer = (await send("script.evaluate", {
      // A string, because BiDi has its own notation for everything else.
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`,
      target: { context: where },
      awaitPromise: true,
    })) as Evaluation;
    if (answer.type === "exception") throw new Error(answer.exceptionDetails?.text);
    return JSON.parse(answer.result?.value ?? "null");
  };
  return {
    open: async (url) => void (await send("browsingContext.navigate", { context, url, wait: "complete" })),
    reload: async () => void (await send("browsingContext.reload", { context, wait: "complete" })),
    run: (expression) => run(expression, context),
    async runInFrame(expression) {
      const [frame] = (await tree()).children ?? [];
      if (frame === undefined) throw new Error("the page has no frame");
      return run(expression, frame.context);
    },
    async runInLastFrame(expression) {
      let last = await tree();
      while (last.children?.length) last = last.children.at(-1)!;
      return run(expression, last.context);
    },
    async close() {
      socket.close();
      await companion.stop();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Sends commands by number and gives each its own answer. */
function sender(socket: WebSocket): (method: string, params: object) => Promise<unknown> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let sent = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, type, message, result } = JSON.parse(String(data)) as Answer;
    const answer = id === undefined ? undefined : waiting.get(id);
    if (type === "error") answer?.reject(new Error(message));
    else answer?.resolve(result);
  });
  return (method, params) => {
    const answer = Promise.withResolvers<unknown>();
    sent += 1;
    waiting.set(sent, answer);
    socket.send(JSON.stringify({ id: sent, method, params }));
    return answer.promise;
  };
}
