/** The one start and end of what all tests of a file share. */
import { afterAll } from "vitest";

// The limit of Vitest's hooks: a hang must end.
const startMs = 120_000;

const open = new Set<() => Promise<void>>();

/** Starts what the tests of a file share, and closes it after them, the last first. Await it above the tests. */
export async function forFile<Thing extends { [name in Method]: () => unknown }, Method extends string = "close">(
  start: () => Promise<Thing> | Thing,
  method = "close" as Method,
): Promise<Thing> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing has started within ${startMs / 1_000} s`)), startMs);
  const starting = Promise.resolve(start());
  const close = async () => {
    if (open.delete(close)) await (await starting)[method]();
  };
  open.add(close);
  try {
    const thing = await Promise.race([starting, promise]);
    afterAll(close);
    return thing;
  } catch (error) {
    starting.then(close, () => open.delete(close));
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Closes, the last first, the parts that a file has started if its tests never ran: Vitest calls no `afterAll` of such
 * a file.
 */
export async function closeStarted(): Promise<void> {
  for (const close of [...open].toReversed()) await close();
}
