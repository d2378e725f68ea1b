import type { ServiceImpl } from "@connectrpc/connect";
import type { SignInService } from "../../gen/dashboard/v1/sign_in_pb.ts";
import { asOwner, countOwned, grantRoles } from "../accounts/members.ts";
import { firstCell } from "../platform/cells.ts";
import type { Queryable } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId, type MemberId } from "../platform/ids.ts";
import type { SignInParts } from "./enter.ts";
import { requireSecondFactor } from "./guard.ts";
import { openMerchant } from "./merchants-rpc.ts";
import { rpcContextOf } from "./rpc-context.ts";

// More than the brands and countries of a group, few enough to bound what one account can create.
const ownedMerchantsMax = 50;

export function openMerchantRpc(parts: SignInParts): ServiceImpl<typeof SignInService>["openMerchant"] {
  return async ({ name }, context) => {
    const rpcContext = rpcContextOf(context);
    const { member } = rpcContext.signIn;
    // The answer has keys of live.
    requireSecondFactor(parts, rpcContext.signIn);
    await requireOwner(parts.accounts, member.id);
    const opened = await openMerchant(parts, rpcContext, {
      name,
      cell: firstCell,
      also: async (tx, merchantId) => {
        await requireOwner(tx, member.id);
        await grantRoles(tx, merchantId, member.id, asOwner);
        const subject = encodeId("mer", merchantId);
        await rpcContext.audit(tx, { merchantId, subject, after: { name, owner: member.email } });
      },
    });
    return opened;
  };
}

async function requireOwner(queryable: Queryable, memberId: MemberId): Promise<void> {
  const owned = await countOwned(queryable, memberId);
  if (owned === 0) throw new DomainError("role_not_allowed", "Only an owner of a merchant can create another one.");
  if (owned >= ownedMerchantsMax) {
    const limit = `You own ${owned} merchants, the most that are possible. Your operator can create more.`;
    throw new DomainError("state_conflict", limit);
  }
}
