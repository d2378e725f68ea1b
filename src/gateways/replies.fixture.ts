/** Test fixture: what a gateway answers, and asking it again until it answers as expected. */
import type { GatewayReply } from "../platform/outbound-http.ts";

// On a busy machine most calls are late.
const triesMax = 300;

export const jsonReply = (body: object, status = 200, headers: GatewayHeaders = {}): GatewayReply => ({
  type: "answer",
  status,
  headers,
  body: Buffer.from(JSON.stringify(body)),
});
type GatewayHeaders = Extract<GatewayReply, { type: "answer" }>["headers"];

/** Asks until an answer has one of these types, and returns it. */
export async function untilAnswer<Answer extends { readonly type: string }>(
  types: readonly string[],
  ask: (nth: number) => Promise<Answer>,
): Promise<Answer> {
  for (let nth = 1; nth <= triesMax; nth++) {
    const answer = await ask(nth);
    if (types.includes(answer.type)) return answer;
  }
  throw new Error(`no answer among ${types.join(", ")} after ${triesMax} tries`);
}
