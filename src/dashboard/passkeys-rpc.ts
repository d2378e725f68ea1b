/** Passkeys: proto ↔ accounts. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { PasskeyService } from "../../gen/dashboard/v1/passkeys_pb.ts";
import { findBrowser } from "../accounts/known-browsers.ts";
import { type ChallengePurpose, offerChallenge, takeChallenge } from "../accounts/passkey-challenges.ts";
import {
  findPasskey,
  type HeldPasskey,
  insertPasskey,
  listPasskeys,
  lockPasskeys,
  notePasskeyUse,
  type Passkey,
  removePasskey,
  renamePasskey,
} from "../accounts/passkeys.ts";
import {
  countSignInAttempt,
  returnAttempt,
  type Throttled,
  throttledAddress,
  throttledBrowser,
} from "../accounts/sign-in-throttle.ts";
import { endOtherSignIns, forgetSecondFactor, noteSecondFactor } from "../accounts/sign-ins.ts";
import {
  type CreationAnswer,
  parseAnswer,
  type RelyingParty,
  type RequestAnswer,
  verifyCreation,
  verifyUse,
  writeCreation,
  writeRequest,
} from "../accounts/webauthn.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { SignInId } from "../platform/ids.ts";
import { mailBreakGlass, requireOwnWay } from "./company-sign-in/exclusive.ts";
import { addressOf, auditEntry, browserMarkOf, enter, keepProof, type SignInParts } from "./enter.ts";
import { rpcContextOf } from "./rpc-context.ts";

// Passkeys of a member: a few devices and their successors.
const passkeysMax = 20;

type PasskeyRpcs = ServiceImpl<typeof PasskeyService>;

export function createPasskeyService(parts: SignInParts): PasskeyRpcs {
  return { ...keepingRpcs(parts), ...addingRpcs(parts), ...signInRpcs(parts), ...proofRpcs(parts) };
}

function addingRpcs(parts: SignInParts): Pick<PasskeyRpcs, "offerPasskey" | "addPasskey"> {
  const { accounts } = parts;
  return {
    async offerPasskey(_, context) {
      const rpcContext = rpcContextOf(context);
      const { member, id } = rpcContext.signIn;
      const known = await listPasskeys(accounts, member.id);
      if (known.length >= passkeysMax) throw full();
      const challenge = await offerChallenge(parts.proving, { purpose: "REGISTER", signInId: id });
      rpcContext.leaveNoRow();
      const options = await writeCreation(partyOf(parts), { member, known, challenge });
      return { options };
    },

    async addPasskey({ credential, name }, context) {
      const rpcContext = rpcContextOf(context);
      const { member, id } = rpcContext.signIn;
      const answer = parseAnswer<CreationAnswer["response"]>(credential);
      const isAsked =
        answer && (await takeChallenge(accounts, answer.challenge, { purpose: "REGISTER", signInId: id }));
      const made = isAsked && (await verifyCreation(partyOf(parts), answer));
      if (!made) throw refused();
      const passkey = await rpcContext.changeAccounts(async (tx) => {
        await lockPasskeys(tx, member.id);
        if ((await listPasskeys(tx, member.id)).length >= passkeysMax) throw full();
        const added = await insertPasskey(tx, { ...made, memberId: member.id, name });
        if (added === undefined) throw new DomainError("state_conflict", "This passkey is already registered.");
        // The other sign-ins began without the passkey.
        const endedSignIns = await endOtherSignIns(tx, member.id, id);
        await noteSecondFactor(tx, id, "PASSKEY");
        await rpcContext.auditMember(tx, member, { after: { passkey: name, endedSignIns } });
        return added;
      });
      return { passkey: toMessage(passkey) };
    },
  };
}

function keepingRpcs({ accounts }: SignInParts): Pick<PasskeyRpcs, "listPasskeys" | "renamePasskey" | "removePasskey"> {
  return {
    async listPasskeys(_, context) {
      const passkeys = await listPasskeys(accounts, rpcContextOf(context).signIn.member.id);
      return { passkeys: passkeys.map(toMessage) };
    },

    async renamePasskey({ passkeyId, name }, context) {
      const rpcContext = rpcContextOf(context);
      const { member } = rpcContext.signIn;
      await rpcContext.changeAccounts(async (tx) => {
        const isRenamed = await renamePasskey(tx, member.id, { id: Buffer.from(passkeyId, "base64url"), name });
        if (!isRenamed) throw unknown();
        await rpcContext.auditMember(tx, member, { after: { passkey: name } });
      });
      return {};
    },

    async removePasskey({ passkeyId }, context) {
      const rpcContext = rpcContextOf(context);
      const { member } = rpcContext.signIn;
      await rpcContext.changeAccounts(async (tx) => {
        await lockPasskeys(tx, member.id);
        const name = await removePasskey(tx, member.id, Buffer.from(passkeyId, "base64url"));
        if (name === undefined) throw unknown();
        if ((await listPasskeys(tx, member.id)).length === 0) await forgetSecondFactor(tx, member.id, "PASSKEY");
        await rpcContext.auditMember(tx, member, { before: { passkey: name } });
      });
      return {};
    },
  };
}

function signInRpcs(parts: SignInParts): Pick<PasskeyRpcs, "beginPasskeySignIn" | "signInWithPasskey"> {
  return {
    async beginPasskeySignIn(_, context) {
      rpcContextOf(context).leaveNoRow();
      const about = { purpose: "SIGN_IN", address: addressOf(parts, context) } as const;
      const challenge = await offerChallenge(parts.proving, about);
      return {
        options: await writeRequest(partyOf(parts), { known: [], challenge }),
      };
    },

    async signInWithPasskey({ credential }, context) {
      const proving = parts.proving;
      const throttled = await throttledOf(parts, context, credential);
      await countSignInAttempt(proving, throttled);
      const { held, note } = await checkUse(parts, credential, { purpose: "SIGN_IN" });
      await returnAttempt(proving, throttled);
      const isBreakGlass = await requireOwnWay(parts, held.member.email);
      const member = await rpcContextOf(context).changeAccounts(async (tx) => {
        await note(tx);
        await auditEntry(tx, parts, context, held.member);
        return enter(tx, parts, context, { ...held, secondFactor: "PASSKEY" });
      });
      if (isBreakGlass) await mailBreakGlass(parts, held.member);
      return { member };
    },
  };
}

/** Returns the throttle key of a passkey sign-in: the browser that the member has used, else the address. */
async function throttledOf(parts: SignInParts, context: HandlerContext, credential: string): Promise<Throttled> {
  const mark = browserMarkOf(parts, context);
  const answer = mark === undefined ? undefined : parseAnswer<RequestAnswer["response"]>(credential);
  const held = answer && (await findPasskey(parts.accounts, answer.id));
  const marked = held && { memberId: held.member.id, proofVersion: held.proofVersion };
  const browser = marked && findBrowser(parts.signIns.sealing, parts.runtime, mark, marked);
  return browser === undefined ? throttledAddress(addressOf(parts, context)) : throttledBrowser(browser);
}

function proofRpcs(parts: SignInParts): Pick<PasskeyRpcs, "beginPasskeyProof" | "proveWithPasskey"> {
  return {
    async beginPasskeyProof(_, context) {
      const rpcContext = rpcContextOf(context);
      const { member, id } = rpcContext.signIn;
      const known = await listPasskeys(parts.accounts, member.id);
      if (known.length === 0) throw unknown();
      const challenge = await offerChallenge(parts.proving, { purpose: "PROVE", signInId: id });
      rpcContext.leaveNoRow();
      const options = await writeRequest(partyOf(parts), { known, challenge });
      return { options };
    },

    async proveWithPasskey({ credential }, context) {
      const { member, id } = rpcContextOf(context).signIn;
      const { held, note } = await checkUse(parts, credential, { purpose: "PROVE", signInId: id });
      if (held.member.id !== member.id) throw refused();
      await keepProof(parts, context, "PASSKEY", note);
      return {};
    },
  };
}

/**
 * Returns the member whose passkey answered; `note` runs in the transaction of the action it proves. Throws
 * `invalid_sign_in`.
 */
async function checkUse(
  parts: SignInParts,
  credential: string,
  about: { purpose: ChallengePurpose["purpose"]; signInId?: SignInId },
): Promise<{ held: HeldPasskey; note: (tx: Tx) => Promise<void> }> {
  const answer = parseAnswer<RequestAnswer["response"]>(credential);
  // Consumed by any answer that names it, even if the rest of the answer is invalid.
  const isAsked = answer && (await takeChallenge(parts.accounts, answer.challenge, about));
  const held = isAsked && (await findPasskey(parts.accounts, answer.id));
  const used = held && (await verifyUse(partyOf(parts), answer, held));
  if (!held || !used) throw refused();
  return {
    held,
    async note(tx) {
      if (!(await notePasskeyUse(tx, used))) throw refused();
    },
  };
}

function partyOf({ dashboardOrigin, brand }: SignInParts): RelyingParty {
  if (dashboardOrigin === undefined) throw new Error("the dashboard is served without its origin");
  return { origin: dashboardOrigin, name: `${brand[0]?.toUpperCase()}${brand.slice(1)}` };
}

function toMessage({ id, name, isSynced, createdAt, lastUsedAt }: Passkey) {
  return {
    passkeyId: id.toString("base64url"),
    name,
    synced: isSynced,
    createdAt: timestampFromDate(createdAt),
    ...(lastUsedAt && { lastUsedAt: timestampFromDate(lastUsedAt) }),
  };
}

function refused(): DomainError {
  return new DomainError(
    "invalid_sign_in",
    "This passkey is not registered here, or the request for it has expired. Try again.",
  );
}

function unknown(): DomainError {
  return new DomainError("not_found", "You have no such passkey.");
}

function full(): DomainError {
  return new DomainError("state_conflict", `You have ${passkeysMax} passkeys. Remove one first.`);
}
