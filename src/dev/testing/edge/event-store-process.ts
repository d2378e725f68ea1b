/** A client that stores each event, and the cursor after each batch, in files, and continues from them when it starts again. */
import { existsSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { watchEvents } from "../../../client/watch-events.ts";
import { answerParent } from "../child-process.ts";

export type EventStoreOrder = {
  readonly address: string;
  readonly key: string;
  /** Used until a cursor is stored. */
  readonly firstCursor: string;
  /** A line for each event that arrives: its id, its session and its sequence. */
  readonly eventsFile: string;
  readonly cursorFile: string;
};

const batchEvents = 10;

/** Rejects if the server refuses. */
async function follow({ address, key, firstCursor, eventsFile, cursorFile }: EventStoreOrder): Promise<void> {
  const cursor = existsSync(cursorFile) ? readFileSync(cursorFile, "utf8") : firstCursor;
  const events = openSync(eventsFile, "a");
  let unstored = 0;
  for await (const { cursor: next, event } of watchEvents({ address, credential: () => key, cursor })) {
    if (event !== undefined) writeSync(events, `${event.eventId} ${event.sessionId} ${event.sequence}\n`);
    if (event !== undefined && ++unstored < batchEvents) continue;
    unstored = 0;
    // A kill leaves the cursor before or the cursor after, and nothing between.
    writeFileSync(`${cursorFile}.new`, next);
    renameSync(`${cursorFile}.new`, cursorFile);
  }
}

answerParent({ follow });
