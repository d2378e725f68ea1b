/** A merchant's Apple Pay and Google Pay: proto ↔ the set-up of its wallets. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { MerchantWalletKey_State, WalletKeyKind, type WalletsService } from "../../gen/dashboard/v1/wallets_pb.ts";
import { loadSettings } from "../accounts/merchant-settings.ts";
import { type AppleIdentity, loadWallets } from "../accounts/merchant-wallets.ts";
import type { WalletKey } from "../card-vault/card-vault.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { walletsInUse } from "../platform/wallets.ts";
import type { DashboardEnvironment } from "./dashboard-parts.ts";
import { type Scope, scopedContextOf } from "./rpc-context.ts";
import {
  activateIdentity,
  arePublished,
  createIdentity,
  dropIdentity,
  type KeyKind,
  noteDomain,
  publishKeys,
  requireKeys,
  setCountry,
  setDomainFile,
  type WalletParts,
} from "./wallets/set-up-wallets.ts";

const kinds: Readonly<Partial<Record<WalletKeyKind, KeyKind>>> = {
  [WalletKeyKind.APPLE_PAYMENT]: "apple_pay",
  [WalletKeyKind.APPLE_IDENTITY]: "apple_identity",
  [WalletKeyKind.GOOGLE]: "google_pay",
};

export function createWalletsService(): ServiceImpl<typeof WalletsService> {
  return {
    async getWallets(_request, context) {
      return { wallets: await describe(scopedContextOf(context)) };
    },

    async setWalletCountry({ countryCode }, context) {
      await changeAudited(context, { countryCode }, (tx, parts) => setCountry(tx, parts, countryCode));
      return { wallets: await describe(scopedContextOf(context)) };
    },

    async createWalletKey({ kind, recipient }, context) {
      const scope = scopedContextOf(context);
      const parts = partsOf(scope);
      const named = kindOf(kind);
      const { merchantId } = scope;
      const isOurs = named === "apple_identity";
      const made = isOurs ? undefined : await requireKeys(parts).create({ merchantId, wallet: named, recipient });
      await changeAudited(context, { kind: named, recipient, key: made?.id }, async (tx) => {
        if (made === undefined) await createIdentity(tx, parts, recipient);
      });
      return { wallets: await describe(scope) };
    },

    async activateWalletKey({ kind, id, certificate }, context) {
      const scope = scopedContextOf(context);
      const parts = partsOf(scope);
      const named = kindOf(kind);
      const { merchantId } = scope;
      const after = { kind: named, key: id, state: "ACTIVE" };
      if (named === "apple_identity") {
        await changeAudited(context, after, (tx) => activateIdentity(tx, parts, { id, certificate }));
      } else {
        await requireKeys(parts).activate({ merchantId, id, certificate });
        await publish(context, after);
      }
      return { wallets: await describe(scope) };
    },

    async dropWalletKey({ kind, id }, context) {
      const scope = scopedContextOf(context);
      const parts = partsOf(scope);
      const named = kindOf(kind);
      const { merchantId } = scope;
      const after = { kind: named, key: id, state: "DROPPED" };
      if (named === "apple_identity") await changeAudited(context, after, (tx) => dropIdentity(tx, parts, id));
      else {
        // A checkout must not offer a wallet whose key is deleted.
        await publish(context, after, { without: id });
        await requireKeys(parts).drop({ merchantId, id });
        await publish(context, after, { ifOther: true });
      }
      return { wallets: await describe(scope) };
    },

    async setDomainFile({ domainFile }, context) {
      const change = { domainFileCharacters: domainFile.length };
      await changeAudited(context, change, (tx, parts) => setDomainFile(tx, parts, domainFile));
      return { wallets: await describe(scopedContextOf(context)) };
    },

    async checkDomain({ origin }, context) {
      const scope = scopedContextOf(context);
      const { environment, merchantId } = scope;
      const { checkoutOrigins } = await loadSettings(environment.database, merchantId);
      if (!checkoutOrigins.includes(origin)) {
        throw new DomainError("invalid_field", "It must be one of the checkout origins in the settings.", {
          field: "origin",
        });
      }
      const { setUp } = await loadWallets(environment.database, merchantId);
      if (setUp.domainFile === undefined) throw new DomainError("state_conflict", "Paste the domain file first.");
      const { domainFile: checked } = setUp;
      const served = await environment.endpoints.egress.get(`${origin}${domainFilePath}`);
      const after = { origin, passed: served?.equals(Buffer.from(checked)) === true };
      await changeAudited(context, after, async (tx, parts) => {
        after.passed = await noteDomain(tx, parts, { ...after, checked });
      });
      return { wallets: await describe(scope), passed: after.passed };
    },
  };
}

const domainFilePath = "/.well-known/apple-developer-merchantid-domain-association";

function kindOf(kind: WalletKeyKind): KeyKind {
  const named = kinds[kind];
  if (named === undefined) throw new DomainError("missing_field", "Name the kind.", { field: "kind" });
  return named;
}

function partsOf({ merchantId, environment }: Scope): WalletParts {
  const { vault, sealing, runtime } = environment.core;
  return { merchantId, keys: vault.walletKeys, sealing, now: runtime.now() };
}

async function changeAudited(
  context: HandlerContext,
  after: object,
  work: (tx: Parameters<typeof setCountry>[0], parts: WalletParts) => Promise<unknown>,
): Promise<void> {
  const scope = scopedContextOf(context);
  await scope.change(async (tx) => {
    await work(tx, partsOf(scope));
    await scope.rpcContext.audit(tx, { subject: `${encodeId("mer", scope.merchantId)}/wallets`, after });
  });
}

// Each turn was overtaken by another call that changed the merchant's keys.
const turnsMax = 5;

/**
 * Writes the public halves of the vault's keys into what checkouts read. The call to the vault is outside of the
 * transaction, so it is repeated afterwards until checkouts read the vault's keys. With `ifOther`, writes nothing if
 * they do already.
 */
async function publish(
  context: HandlerContext,
  after: object,
  { without, ifOther = false }: { readonly without?: string; readonly ifOther?: boolean } = {},
): Promise<void> {
  const scope = scopedContextOf(context);
  const { merchantId, environment } = scope;
  const keys = requireKeys(partsOf(scope));
  for (let turn = 1; turn <= turnsMax; turn++) {
    const listed = await keys.list(merchantId);
    const { wallets } = await loadWallets(environment.database, merchantId);
    if ((turn > 1 || ifOther) && arePublished(wallets, listed, without)) return;
    await changeAudited(context, after, (tx, parts) => publishKeys(tx, parts, listed, without));
  }
  throw new DomainError("state_conflict", "Others change this merchant's keys at the same time. Try again.");
}

/** Returns everything that the page shows. While the vault does not answer, its keys are missing, and the call fails. */
async function describe({
  merchantId,
  environment,
}: {
  merchantId: Scope["merchantId"];
  environment: DashboardEnvironment;
}) {
  const { vault, runtime } = environment.core;
  const [{ wallets, setUp }, { checkoutOrigins }] = await Promise.all([
    loadWallets(environment.database, merchantId),
    loadSettings(environment.database, merchantId),
  ]);
  const keys = (await vault.walletKeys?.list(merchantId)) ?? [];
  return {
    countryCode: wallets.countryCode ?? "",
    keys: [
      ...keys.filter(({ state }) => state !== "DROPPED").map(keyMessage),
      ...(setUp.identities ?? []).map(identityMessage),
    ],
    domainFile: setUp.domainFile ?? "",
    domains: checkoutOrigins.map((origin) => {
      const checkedAt = wallets.domains?.[origin];
      return { origin, ...(checkedAt && { checkedAt: timestampFromDate(new Date(checkedAt)) }) };
    }),
    offered: walletsInUse(wallets, runtime.now()),
    supported: vault.walletKeys !== undefined,
  };
}

function keyMessage(key: WalletKey) {
  const isApple = key.wallet === "apple_pay";
  const { id, recipient, signingRequest, createdAt, retiresAt, certificateEndsAt } = key;
  return {
    id,
    recipient,
    signingRequest,
    kind: isApple ? WalletKeyKind.APPLE_PAYMENT : WalletKeyKind.GOOGLE,
    state: MerchantWalletKey_State[key.state],
    publicKey: isApple ? "" : key.publicKey,
    createdAt: timestampFromDate(createdAt),
    ...(retiresAt && { retiresAt: timestampFromDate(retiresAt) }),
    ...(certificateEndsAt && { certificateEndsAt: timestampFromDate(certificateEndsAt) }),
  };
}

function identityMessage({ id, merchantIdentifier, signingRequest, createdAt, endsAt }: AppleIdentity) {
  return {
    id,
    recipient: merchantIdentifier,
    signingRequest,
    kind: WalletKeyKind.APPLE_IDENTITY,
    state: endsAt ? MerchantWalletKey_State.ACTIVE : MerchantWalletKey_State.STAGED,
    createdAt: timestampFromDate(new Date(createdAt)),
    ...(endsAt && { certificateEndsAt: timestampFromDate(new Date(endsAt)) }),
  };
}
