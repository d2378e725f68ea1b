import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { knownBrowserLifetimeMs } from "../limits.ts";
import type { Runtime } from "../platform/runtime.ts";
import { findBrowser, markBrowser } from "./known-browsers.ts";

const ring = { current: "2", keys: { 1: randomBytes(32), 2: randomBytes(32) } };
const marked = { memberId: "0198c0de-0000-7000-8000-000000000001", proofVersion: 3 };
const start = Date.parse("2026-01-01T00:00:00Z");
const at = (ms: number): Pick<Runtime, "now" | "randomBytes"> => ({ now: () => new Date(start + ms), randomBytes });
const mark = (ms: number, earlier?: string, of = marked) => markBrowser(ring, at(ms), of, earlier).expose();
const found = (text: string, ms: number, of = marked) => findBrowser(ring, at(ms), text, of);

it("A mark is known exactly as long as its cookie lasts", () => {
  const made = mark(0);
  const name = found(made, 0);
  expect(name).toMatch(/^[\w-]{22}$/);
  expect(found(made, knownBrowserLifetimeMs - 1)).toBe(name);
  expect(found(made, knownBrowserLifetimeMs)).toBeUndefined();
});

it("A mark cannot claim another time than that of its creation", () => {
  const made = mark(0);
  const parts = made.split(".");
  const later = mark(knownBrowserLifetimeMs).split(".");
  expect(parts).toHaveLength(4);
  expect(found(parts.with(2, later[2]!).join("."), 0)).toBeUndefined();
  for (const time of ["", "x", "-1", "9".repeat(400)]) expect(found(parts.with(2, time).join("."), 0)).toBeUndefined();
});

it("A browser keeps its name with a new mark, and its lifetime starts again", () => {
  const made = mark(0);
  const again = mark(knownBrowserLifetimeMs - 1, made);
  expect(found(again, knownBrowserLifetimeMs)).toBe(found(made, 0));
  const tooLate = mark(knownBrowserLifetimeMs, made);
  expect(found(tooLate, knownBrowserLifetimeMs)).not.toBe(found(made, 0));
});

it("A browser loses its name for another member and after a new password", () => {
  const made = mark(0);
  for (const other of [
    { ...marked, memberId: "0198c0de-0000-7000-8000-000000000002" },
    { ...marked, proofVersion: 4 },
  ]) {
    expect(found(made, 0, other)).toBeUndefined();
    expect(found(mark(0, made, other), 0, other)).not.toBe(found(made, 0));
  }
});
