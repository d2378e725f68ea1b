import { expect, it } from "vitest";
import { outcomes } from "./locales/en-outcomes.ts";
import type { MountOptions } from "./options.ts";
import { emitResult, messageFor } from "./results.ts";
import type { Texts } from "./texts.ts";

it("calls nothing for a session that was replaced, so that two pages do not replace each other for ever", () => {
  const called: string[] = [];
  const options = Object.fromEntries(
    ["onSuccess", "onDeclined", "onExpired", "onError", "onPending", "getSession"].map((name) => [
      name,
      () => void called.push(name),
    ]),
  ) as unknown as MountOptions;
  const emit = (callback: ((...args: never[]) => void) | undefined) => callback?.();
  emitResult({ kind: "replaced" }, options, emit as never);
  expect(called).toEqual([]);
  emitResult({ kind: "expired" }, options, emit as never);
  expect(called).toEqual(["onExpired"]);
  for (const canRenew of [true, false]) {
    const message = messageFor({ kind: "replaced" }, outcomes as Texts, canRenew);
    expect(message).toEqual({ kind: "status", tone: "notice", text: outcomes.replaced });
  }
});
