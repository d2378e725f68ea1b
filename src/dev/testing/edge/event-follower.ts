/**
 * A process that follows events by several streams, for tests that measure the server alone: `node event-follower.ts
 * ADDRESS KEY CURSOR COUNT STREAMS`. It sends "following" once each has its first message, "followed" after COUNT
 * events of each, and then, on request, the events' ids with the times of their arrival.
 */
import { watchEvents } from "../../../client/watch-events.ts";

const [address, key, cursor, count, streams] = process.argv.slice(2) as [string, string, string, string, string];
const arrived: [string, number][] = [];
let following = 0;

async function follow(): Promise<void> {
  let [isFollowing, seen] = [false, 0];
  for await (const { event } of watchEvents({ address, credential: () => key, cursor: cursor || undefined })) {
    if (!isFollowing) following++;
    if (!isFollowing && following === Number(streams)) process.send?.("following");
    isFollowing = true;
    if (event === undefined) continue;
    arrived.push([event.eventId, Date.now()]);
    seen++;
    if (seen >= Number(count)) return;
  }
}

await Promise.all(Array.from({ length: Number(streams) }, follow));
process.send?.("followed");
process.once("message", () => process.send?.(arrived, () => process.exit(0)));
