/** Shows every webhook that any receiver of a test process takes in to both stock verifiers. */
import { observeRequests, type ReceivedRequest } from "./receiver.ts";
import { objectionsTo } from "./stock-verifiers.ts";

/** Sees webhooks until it is finished. */
export type WebhookWitness = {
  /** How many webhooks were shown to the verifiers so far. */
  seen(): number;
  /** Looks no more. Rejects with all that the verifiers objected to. */
  finish(): Promise<void>;
};

/** Who may have signed a webhook: for each endpoint that it may be for, the secrets that are in force at this moment. */
export type FindSecrets = (request: ReceivedRequest) => Promise<readonly (readonly string[])[]>;

/**
 * Watches the receivers of this process. A webhook is answered only after the verifiers have seen it, so that no test
 * changes a secret in between. It must please them as a webhook to one of the endpoints.
 */
export function witnessWebhooks(findSecrets: FindSecrets): WebhookWitness {
  const objections: string[] = [];
  let seen = 0;
  const look = async (request: ReceivedRequest) => {
    if (request.headers["webhook-id"] === undefined) return;
    seen += 1;
    try {
      const endpoints = await findSecrets(request);
      const views = endpoints.map((secrets) => objectionsTo(request, secrets));
      if (!views.some((view) => view.length === 0)) objections.push(...(views[0] ?? objectionsTo(request, [])));
    } catch (error) {
      objections.push(`${request.headers["webhook-id"]}: ${error}`);
    }
  };
  const stop = observeRequests(look);
  return {
    seen: () => seen,
    async finish() {
      stop();
      if (objections.length > 0) throw new Error(`the stock verifiers object:\n${objections.join("\n")}`);
    },
  };
}
