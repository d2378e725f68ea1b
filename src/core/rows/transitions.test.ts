/** The guards of the schema and the diagrams of the docs have the transitions of the tables, and no other. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { committedSchema } from "../../migrations/schema-dump.ts";
import {
  attemptTransitions,
  authenticationBeginnings,
  authenticationTransitions,
  phaseTransitions,
  providedTransitions,
  sessionTransitions,
} from "./transitions.ts";

type Transitions = Readonly<Record<string, Readonly<Record<string, string>>>>;

const pairsOf = (transitions: Transitions) =>
  Object.entries(transitions).flatMap(([from, next]) => Object.keys(next).map((to) => `${from} ${to}`));

const { objects } = committedSchema("environment");
const definitionOf = (key: string) => objects.get(key)?.definition ?? `the schema has no ${key}`;

describe("the schema", () => {
  it.each([
    ["guard_attempt", attemptTransitions],
    ["guard_authentication", authenticationTransitions],
    ["guard_provided", providedTransitions],
  ])("lets rows pass by exactly the transitions of the table: %s", (name, transitions) => {
    const guard = definitionOf(
      `function partitions.${name}(${name === "guard_provided" ? "before record, after record" : ""})`,
    );
    const list = /\((?:OLD|before)\.status, (?:NEW|after)\.status\) NOT IN \(([^;]*?)\) THEN/.exec(guard)?.[1] ?? guard;
    const pairs = [...list.matchAll(/\('(\w+)','(\w+)'\)/g)].map(([, from, to]) => `${from} ${to}`);
    expect(pairs.toSorted()).toEqual(pairsOf(transitions).toSorted());
  });

  it.each([
    ["guard_session", "status", sessionTransitions],
    ["guard_session", "phase", phaseTransitions],
    ["guard_attempt", "status", attemptTransitions],
    ["guard_authentication", "status", authenticationTransitions],
  ])("knows the states of its table: %s, %s", (guard, column, transitions) => {
    const list = new RegExp(`NEW\\.${column} NOT IN \\(([^)]*)\\)`).exec(
      definitionOf(`function partitions.${guard}()`),
    )?.[1];
    const states = [...(list ?? "").matchAll(/'(\w+)'/g)].map(([, state]) => state);
    expect(states).toEqual(Object.keys(transitions));
  });

  it("lets an authentication begin as the table says", () => {
    const guard = definitionOf("function partitions.guard_authentication()");
    const list = /NEW\.flow = 'FRICTIONLESS' AND NOT NEW\.status IN \(([^)]*)\)/.exec(guard)?.[1] ?? guard;
    const ends = [...list.matchAll(/'(\w+)'/g)].map(([, status]) => status);
    expect(["AWAITING_CUSTOMER", ...ends]).toEqual(Object.keys(authenticationBeginnings));
  });

  it("ends a session permanently", () => {
    const finals = Object.entries(sessionTransitions).filter(([, next]) => Object.keys(next).length === 0);
    expect(finals.map(([status]) => status)).toEqual(Object.keys(sessionTransitions.CREATED));
  });
});

/** A diagram in Mermaid of all transitions of a table, which begins with its first state unless `begins` says otherwise. */
function draw(transitions: Transitions, begins: Readonly<Record<string, string>> = firstOf(transitions)): string {
  const line = (from: string, to: string, says: string) => `    ${from} --> ${to}${says === "" ? "" : `: ${says}`}`;
  const lines = Object.entries(transitions).flatMap(([from, next]) =>
    Object.entries(next).map(([to, says]) => line(from, to, says)),
  );
  const first = Object.entries(begins).map(([state, says]) => line("[*]", state, says));
  return ["```mermaid", "stateDiagram-v2", "    direction LR", ...first, ...lines, "```"].join("\n");
}

function firstOf(transitions: Transitions, says = "") {
  return { [Object.keys(transitions)[0]!]: says };
}

describe("docs/safety.md", () => {
  const page = readFileSync(new URL("../../../docs/safety.md", import.meta.url), "utf8");
  const diagrams = page.match(/```mermaid\nstateDiagram[\s\S]*?```/g);

  it("draws the tables and nothing else; what is expected here is what has to stand there", () => {
    expect(diagrams).toEqual([
      draw(sessionTransitions),
      draw(phaseTransitions),
      draw(attemptTransitions, firstOf(attemptTransitions, "committed before a byte leaves")),
      draw(authenticationTransitions, authenticationBeginnings),
      draw(providedTransitions, firstOf(providedTransitions, "a provider is asked first")),
    ]);
  });
});
