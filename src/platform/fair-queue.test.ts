import { expect, it } from "vitest";
import { FairQueue } from "./fair-queue.ts";

/** Adds calls such as `n1 s1`, and returns the queue; each answers with its own name. */
function queueOf(calls: readonly string[], nowMs = 0, queue = new FairQueue<(name: string) => void>()) {
  for (const call of calls) {
    const [network] = call.split(" ");
    queue.join({ network, session: call }, nowMs, (tell) => tell(call));
  }
  return queue;
}

function namesOf(taken: readonly { answer: (tell: (name: string) => void) => void }[]): string[] {
  const names: string[] = [];
  for (const one of taken) one.answer((name) => names.push(name));
  return names;
}

it("takes networks by their calls, sessions within a network by theirs, and otherwise as they came", () => {
  const queue = queueOf(["a 1", "a 1", "a 2", "a 3", "b 1", "b 2", "c 1"]);
  expect(namesOf(queue.takeFirst(4))).toEqual(["c 1", "b 1", "b 2", "a 2"]);
  expect(namesOf(queue.takeFirst(9))).toEqual(["a 3", "a 1", "a 1"]);
});

it("counts calls that were taken: a network gains nothing by new sessions", () => {
  const queue = queueOf(["a 1", "a 2", "a 3"]);
  queue.takeFirst(3);
  expect(namesOf(queueOf(["a 4", "b 1", "b 1"], 1, queue).takeFirst(3))).toEqual(["b 1", "b 1", "a 4"]);
});

it("forgets calls after ten seconds, but not of what still waits", () => {
  const queue = queueOf(["a 1", "a 2", "a 3"]);
  expect(namesOf(queueOf(["b 1", "b 2", "a 4"], 10_000, queue).takeFirst(9))).toEqual([
    ...["a 4", "b 1", "b 2"],
    ...["a 1", "a 2", "a 3"],
  ]);
});

it("takes what is behind, and what has waited too long", () => {
  const queue = queueOf(["b 1"], 5, queueOf(["a 1", "a 2", "a 3"]));
  expect(namesOf(queue.takeBehind(3))).toEqual(["a 3"]);
  expect(namesOf(queue.takeBehind(3))).toEqual([]);
  expect(namesOf(queue.takeSince(4))).toEqual(["a 1", "a 2"]);
  expect([queue.size, namesOf(queue.takeFirst(9))]).toEqual([1, ["b 1"]]);
});
