/** The webhook peer: undici posting bytes to the same receiver, without database and signature. */
import { Agent, request } from "undici";
import { answerParent, readUsage } from "../../testing/child-process.ts";

/** The posts to send: `count` times the same body, to each URL by turns, with a bound on concurrency. */
export type PostOrder = {
  readonly urls: readonly string[];
  readonly body: string;
  readonly count: number;
  readonly atOnce: number;
};

// The size of a signed webhook's headers.
const headers = {
  "content-type": "application/json",
  "user-agent": "Webhooks/1 (+https://www.standardwebhooks.com)",
  "webhook-timestamp": "1772446523",
  "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
};
const dispatcher = new Agent({ pipelining: 1 });
let posts = 0;

async function post({ urls, body, count, atOnce }: PostOrder): Promise<{ elapsedMs: number; failures: number }> {
  const startedAt = performance.now();
  let left = count;
  let failures = 0;
  const run = async () => {
    while (left-- > 0) {
      posts += 1;
      const url = urls[posts % urls.length]!;
      const options = { method: "POST" as const, headers: { ...headers, "webhook-id": `evt_${posts}` }, body };
      const answer = await request(url, { ...options, dispatcher });
      await answer.body.dump();
      if (answer.statusCode !== 204) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return { elapsedMs: performance.now() - startedAt, failures };
}

answerParent({ post, usage: readUsage });
