/** The core's client for the cards that our own vault stores. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { OpenCardRequest_Code, type VaultService } from "../../../gen/vault/v1/vault_pb.ts";
import { DomainError } from "../../platform/errors.ts";
import type { CallOptions, GrpcClient } from "../../platform/grpc-client.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { StoredCardVault } from "../card-vault.ts";

// A vault that restarts is back within a second or two. A payment may wait that long, and one of several vaults answers
// at once.
export const connectWaitMs = 2_000;
// A transaction of three round trips.
const answerWithinMs = 5_000;

const codes = { required: OpenCardRequest_Code.REQUIRED, none: OpenCardRequest_Code.NONE };

/** Returns the stored cards of the vault behind this client; `metadata` authenticates each call. */
export function storedCardsOf(
  client: GrpcClient<typeof VaultService>,
  metadata: () => Record<string, string>,
): StoredCardVault {
  const ask = async <Answer>(call: (options: CallOptions) => Promise<Answer>): Promise<Answer> => {
    if (!(await client.isConnected(connectWaitMs))) throw unavailable();
    return call({ timeoutMs: answerWithinMs, metadata: metadata() }).catch((error: ServiceError) => {
      throw asDomainError(error);
    });
  };
  return {
    async keep({ sessionId, merchantId, token, handle }) {
      const { card } = await ask((options) =>
        client.keepCard(
          { ...idsOf({ sessionId, merchantId }), token: token.expose(), handle: handle.expose() },
          options,
        ),
      );
      if (card === undefined) return "lost";
      const { brand, last4, expMonth, expYear, fingerprint: versions, isCounted } = card;
      return { brand, last4, expMonth, expYear, fingerprint: { versions, isCounted } };
    },
    async open({ sessionId, merchantId, handle, code }) {
      const { card } = await ask((options) =>
        client.openCard({ ...idsOf({ sessionId, merchantId }), handle: handle.expose(), code: codes[code] }, options),
      );
      if (card?.expiresAt === undefined) return "lost";
      return { token: new Secret(card.token), expiresAt: timestampDate(card.expiresAt) };
    },
    async erase(handleHash, merchantId) {
      await ask((options) => client.eraseCard({ handleHash, merchantId: encodeId("mer", merchantId) }, options));
    },
  };
}

function idsOf({ sessionId, merchantId }: Pick<Parameters<StoredCardVault["open"]>[0], "sessionId" | "merchantId">) {
  return { sessionId: encodeId("ps", sessionId), merchantId: encodeId("mer", merchantId) };
}

function asDomainError(error: ServiceError): DomainError {
  switch (error.code) {
    case status.RESOURCE_EXHAUSTED:
      return new DomainError("rate_limited", "Too many cards were chosen for this payment session. Start a new one.");
    case status.FAILED_PRECONDITION:
      return new DomainError("session_ended", "This payment session is over. Start a new one.");
    default:
      return unavailable(error);
  }
}

function unavailable(cause?: unknown): DomainError {
  return new DomainError("unavailable", "The card vault cannot answer at the moment.", { cause });
}
