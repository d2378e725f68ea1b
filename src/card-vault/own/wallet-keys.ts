/** The client for the keys of wallets, which our own vault makes and keeps. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import {
  type WalletKey as Message,
  type VaultService,
  Wallet,
  WalletKey_State,
} from "../../../gen/vault/v1/vault_pb.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { DomainError } from "../../platform/errors.ts";
import type { CallOptions, GrpcClient } from "../../platform/grpc-client.ts";
import { encodeId } from "../../platform/ids.ts";
import type { WalletKey, WalletKeyVault } from "../card-vault.ts";
import { connectWaitMs } from "./stored-cards.ts";

// A member waits; a transaction of three round trips, and the making of a key.
const answerWithinMs = 5_000;

const wallets: Readonly<Record<WalletName, Wallet>> = {
  apple_pay: Wallet.APPLE_PAY,
  google_pay: Wallet.GOOGLE_PAY,
};

const states: Readonly<Partial<Record<WalletKey_State, WalletKey["state"]>>> = {
  [WalletKey_State.STAGED]: "STAGED",
  [WalletKey_State.ACTIVE]: "ACTIVE",
  [WalletKey_State.RETIRING]: "RETIRING",
};

/** Returns the keys of the vault behind this client; `metadata` authenticates each call. */
export function walletKeysOf(
  client: GrpcClient<typeof VaultService>,
  metadata: () => Record<string, string>,
): WalletKeyVault {
  const ask = async <Answer>(call: (options: CallOptions) => Promise<Answer>): Promise<Answer> => {
    if (!(await client.isConnected(connectWaitMs))) throw unavailable();
    return call({ timeoutMs: answerWithinMs, metadata: metadata() }).catch((error: ServiceError) => {
      throw asDomainError(error);
    });
  };
  return {
    async create({ merchantId, wallet, recipient }) {
      const asked = { merchantId: encodeId("mer", merchantId), wallet: wallets[wallet], recipient };
      return keyOf((await ask((options) => client.createWalletKey(asked, options))).key!);
    },
    async activate({ merchantId, id, certificate }) {
      const asked = { merchantId: encodeId("mer", merchantId), id, certificate: new Uint8Array(certificate) };
      return keyOf((await ask((options) => client.activateWalletKey(asked, options))).key!);
    },
    async list(merchantId) {
      const { keys } = await ask((options) =>
        client.listWalletKeys({ merchantId: encodeId("mer", merchantId) }, options),
      );
      return keys.map(keyOf);
    },
    async drop({ merchantId, id }) {
      await ask((options) => client.dropWalletKey({ merchantId: encodeId("mer", merchantId), id }, options));
    },
  };
}

function keyOf(key: Message): WalletKey {
  const { id, recipient, publicKey, signingRequest, createdAt, retiresAt, certificateEndsAt } = key;
  return {
    id,
    wallet: key.wallet === Wallet.APPLE_PAY ? "apple_pay" : "google_pay",
    state: states[key.state] ?? "DROPPED",
    recipient,
    publicKey,
    signingRequest,
    createdAt: timestampDate(createdAt!),
    retiresAt: retiresAt && timestampDate(retiresAt),
    certificateEndsAt: certificateEndsAt && timestampDate(certificateEndsAt),
  };
}

/** The vault's own words say what to change; they contain nothing of a key. */
function asDomainError(error: ServiceError): DomainError {
  switch (error.code) {
    case status.INVALID_ARGUMENT:
      return new DomainError("invalid_field", error.details);
    case status.NOT_FOUND:
      return new DomainError("not_found", error.details);
    case status.FAILED_PRECONDITION:
      return new DomainError("state_conflict", error.details);
    default:
      return unavailable(error);
  }
}

function unavailable(cause?: unknown): DomainError {
  return new DomainError("unavailable", "The card vault cannot answer at the moment.", { cause });
}
