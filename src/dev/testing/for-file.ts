/** The one start and end of what all tests of a file share. */
import { afterAll } from "vitest";

// As long as Vitest's hooks may take: a hang must end.
const startMs = 120_000;

/** Starts what the tests of a file share, and closes it after them, the last first. Await it above the tests. */
export async function forFile<Thing extends { [name in Method]: () => unknown }, Method extends string = "close">(
  start: () => Promise<Thing> | Thing,
  method = "close" as Method,
): Promise<Thing> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing has started within ${startMs / 1_000} s`)), startMs);
  const thing = await Promise.race([start(), promise]).finally(() => clearTimeout(timer));
  afterAll(async () => {
    await thing[method]();
  });
  return thing;
}
