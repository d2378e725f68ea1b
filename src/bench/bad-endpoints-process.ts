/** Bad endpoints of every kind without TLS, in a process of their own, so that what they do costs the worker no more than it must. */
import { badEndpoints, RunningBadEndpoint } from "../events/testing/bad-endpoints.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { answerParent } from "../testing/child-process.ts";

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
