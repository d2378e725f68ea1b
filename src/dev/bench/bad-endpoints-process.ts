/** Runs bad endpoints of every kind in a separate process, so that their work does not slow the worker. */
import { TestAuthority } from "../testing/certificates.ts";
import { answerParent } from "../testing/child-process.ts";
import { badEndpoints, RunningBadEndpoint } from "../testing/events/bad-endpoints.ts";

async function start(): Promise<Record<string, string>> {
  const authority = new TestAuthority("Test Authority");
  const kinds = Object.entries(badEndpoints).filter(([, kind]) => kind.scheme === undefined && kind.host === undefined);
  const running = await Promise.all(
    kinds.map(async ([name, kind]) => [name, (await RunningBadEndpoint.start(kind, authority)).url] as const),
  );
  authority.close();
  return Object.fromEntries(running);
}

answerParent({ start });
