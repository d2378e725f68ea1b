import { expect, it } from "vitest";
import type { Core } from "../core.ts";
import { createGatewayTurn } from "./gateway-turn.ts";

const core = { inFlight: new Set(), sleep: () => new Promise(() => {}) } as unknown as Core;

it("goes on with a row that is due again after a step that ended while the turn looked for others", async () => {
  const ended = Promise.withResolvers<void>();
  const due = ["look-up", "send"];
  const done: string[] = [];
  let begun = false;
  const turn = createGatewayTurn<{ connectionId: string; gateway: string; step: string }>(core, {
    async take() {
      // Another connection's look at the rows, from before the step ended, answers after it.
      if (begun) await ended.promise;
      const step = begun ? undefined : due.shift();
      begun = step !== undefined;
      return step === undefined ? undefined : { connectionId: "1", gateway: "STRIPE", step };
    },
    async work({ step }) {
      done.push(step);
      setImmediate(ended.resolve);
    },
  });
  const { signal } = new AbortController();
  while (await turn(signal));
  expect(done).toEqual(["look-up", "send"]);
});
