import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ApiKey_Kind,
  type ApiKeyService,
  type CreateRestrictedKeyRequest,
  CreateRestrictedKeyResponseSchema,
  ListApiKeysResponseSchema,
} from "../../gen/dashboard/v1/api_keys_pb.ts";
import { type KeyKind, listKeys, type RefundCap, type Restrictions, type ShownKey } from "../accounts/api-keys.ts";
import { issueKey, type KeyMaker } from "../accounts/issue-keys.ts";
import { findNameProblem } from "../accounts/names.ts";
import { createRestrictedKey, revokeKeyOf, rollKey } from "../accounts/restricted-keys.ts";
import { rights as knownRights, type Right } from "../accounts/rights.ts";
import { DomainError, type FieldProblem, problemsInWords } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { isCurrency } from "../platform/money.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { amountMessage } from "./payment-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

const kindMessages: Record<KeyKind, ApiKey_Kind> = {
  secret: ApiKey_Kind.SECRET,
  publishable: ApiKey_Kind.PUBLISHABLE,
  restricted: ApiKey_Kind.RESTRICTED,
};

export function createApiKeyService(parts: DashboardParts): ServiceImpl<typeof ApiKeyService> {
  const makerIn = ({ name, cell }: DashboardEnvironment): KeyMaker => ({
    runtime: parts.runtime,
    brand: parts.brand,
    environment: name,
    cell,
  });
  return {
    async listApiKeys(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const keys = await listKeys(environment.database, merchantId);
      return create(ListApiKeysResponseSchema, { apiKeys: keys.map(keyMessage) });
    },

    async regenerateApiKey(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const kind = request.kind === ApiKey_Kind.SECRET ? "secret" : "publishable";
      const key = await change(async (tx) => {
        const old = (await listKeys(tx, merchantId)).find((each) => each.kind === kind);
        const issued = await issueKey(tx, makerIn(environment), { merchantId, kind });
        await rpcContext.audit(tx, {
          subject: encodeId("mer", merchantId),
          before: { kind, last4: old?.last4 },
          after: { kind, last4: issued.expose().slice(-4) },
        });
        return issued;
      });
      return { key: key.expose() };
    },

    async createRestrictedKey(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const restrictions = restrictionsOf(request, parts.runtime.now());
      const { key, apiKey } = await change(async (tx) => {
        const { keyId, secret } = await createRestrictedKey(tx, makerIn(environment), { merchantId, ...restrictions });
        const key = secret.expose();
        await rpcContext.audit(tx, {
          subject: encodeId("key", keyId),
          after: { ...restrictions, last4: key.slice(-4) },
        });
        const apiKey = (await listKeys(tx, merchantId)).find((each) => each.keyId === keyId);
        return { key, apiKey: apiKey && keyMessage(apiKey) };
      });
      return create(CreateRestrictedKeyResponseSchema, { key, apiKey });
    },

    async rollApiKey(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const keyId = requireId("key", request.keyId, "key");
      const oldKeySeconds = Number(request.oldKeySeconds);
      const { key, endsAt } = await change(async (tx) => {
        const rolled = await rollKey(tx, makerIn(environment), { merchantId, keyId, oldKeySeconds });
        const { old, secret, oldEndsAt: endsAt } = rolled;
        const key = secret.expose();
        await rpcContext.audit(tx, {
          subject: request.keyId,
          before: { kind: old.kind, name: old.name, last4: old.last4 },
          after: { kind: old.kind, name: old.name, last4: key.slice(-4), oldKeyEndsAt: endsAt },
        });
        return { key, endsAt };
      });
      return { key, oldKeyEndsAt: timestampFromDate(endsAt) };
    },

    async revokeApiKey(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const keyId = requireId("key", request.keyId, "key");
      await change(async (tx) => {
        const revoked = await revokeKeyOf(tx, { merchantId, keyId, replacedOnly: request.replacedOnly });
        await rpcContext.audit(tx, { subject: request.keyId, before: { revoked } });
      });
      return {};
    },
  };
}

function keyMessage({ keyId, kind, prefix, last4, createdAt, clear, name, rights, refundCap, ...times }: ShownKey) {
  return {
    keyId: encodeId("key", keyId),
    kind: kindMessages[kind],
    prefix,
    last4,
    createdAt: timestampFromDate(createdAt),
    key: clear ?? "",
    name: name ?? "",
    rights: [...(rights ?? [])],
    refundCap: Object.entries(refundCap ?? {}).map(([currency, minor]) => amountMessage(minor, currency)),
    ...(times.expiresAt && { expiresAt: timestampFromDate(times.expiresAt) }),
    ...(times.endsAt && { endsAt: timestampFromDate(times.endsAt) }),
    ...(times.lastUsedAt && { lastUsedAt: timestampFromDate(times.lastUsedAt) }),
  };
}

const refunding: Right = "refunds.create";

/** Returns the restrictions of a new key. Throws `invalid_field` with every problem of the request. */
function restrictionsOf({ name, rights, expiresAt, refundCap }: CreateRestrictedKeyRequest, now: Date): Restrictions {
  const problems: FieldProblem[] = [];
  const report = (param: string, pointer: string, detail: string) =>
    problems.push({ param, pointer, code: "invalid_field", detail });
  const nameProblem = findNameProblem(name);
  if (nameProblem) report("name", "/name", nameProblem);
  for (const [index, right] of rights.entries()) {
    if (knownRights.some((known) => known === right)) continue;
    report(`rights[${index}]`, `/rights/${index}`, `must be one of ${knownRights.join(", ")}`);
  }
  const end = expiresAt && timestampDate(expiresAt);
  if (end && !(end > now)) report("expiresAt", "/expiresAt", "must be in the future");
  if (refundCap.length > 0 && !rights.includes(refunding)) {
    report("refundCap", "/refundCap", `must be empty without the right ${refunding}`);
  }
  for (const [index, { currency }] of refundCap.entries()) {
    const isTwice = refundCap.findIndex((one) => one.currency === currency) < index;
    if (isCurrency(currency) && !isTwice) continue;
    const detail = isTwice ? "is a currency that the list has already" : "is no currency of ISO 4217 in circulation";
    report(`refundCap[${index}].currency`, `/refundCap/${index}/currency`, detail);
  }
  if (problems.length > 0)
    throw new DomainError("invalid_field", problemsInWords(problems, "invalid_field"), { problems });
  return { name, rights, expiresAt: end ?? null, refundCap: refundCap.length > 0 ? capOf(refundCap) : null };
}

function capOf(amounts: CreateRestrictedKeyRequest["refundCap"]): RefundCap {
  return Object.fromEntries(amounts.map(({ currency, amountMinor }) => [currency, Number(amountMinor)]));
}
