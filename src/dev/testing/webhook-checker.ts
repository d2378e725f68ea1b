/** Shows every webhook to any receiver of a test process to both stock verifiers. */
import { observeRequests, type ReceivedRequest } from "./receiver.ts";
import { objectionsTo } from "./stock-verifiers.ts";

export type WebhookChecker = {
  seen(): number;
  /** Stops checking. Rejects with all objections of the verifiers. */
  finish(): Promise<void>;
};

/** The possible signers of a webhook: for each endpoint, the secrets that are in force. */
export type FindSecrets = (request: ReceivedRequest) => Promise<readonly (readonly string[])[]>;

/**
 * Observes the receivers of this process. A webhook is answered only after the verifiers have seen it, so that no test
 * changes a secret in between. They must accept it as a webhook to one of the endpoints.
 */
export function checkWebhooks(findSecrets: FindSecrets): WebhookChecker {
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
