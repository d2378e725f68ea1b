/** What checkouts read of a merchant's keys while two members change them at once. */
import { describe, expect, it } from "vitest";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { loadWallets } from "../accounts/merchant-wallets.ts";
import type { WalletKey, WalletKeyVault } from "../card-vault/card-vault.ts";
import { startPayingDashboard } from "../dev/testing/dashboard/paying-dashboard.ts";
import { forFile } from "../dev/testing/for-file.ts";

const dashboard = await forFile(startPayingDashboard);
const { core, owner } = dashboard.payments;
const ada = (await dashboard.callAs("ada")).wallets;
const kind = "WALLET_KEY_KIND_GOOGLE" as const;

/** A vault of two keys of Google Pay. `afterList` runs once, when the vault has answered and before the answer is used. */
class FakeKeys implements WalletKeyVault {
  readonly states = new Map<string, WalletKey["state"]>([
    ["1", "STAGED"],
    ["2", "STAGED"],
  ]);
  afterList: (() => Promise<unknown>) | undefined;

  async list(): Promise<WalletKey[]> {
    const listed = [...this.states].map(([id, state]) => this.#keyOf(id, state));
    const after = this.afterList;
    this.afterList = undefined;
    await after?.();
    return listed;
  }
  async activate({ id }: { readonly id: string }): Promise<WalletKey> {
    for (const [other, state] of this.states) if (state === "ACTIVE") this.states.set(other, "RETIRING");
    this.states.set(id, "ACTIVE");
    return this.#keyOf(id, "ACTIVE");
  }
  async drop({ id }: { readonly id: string }): Promise<void> {
    this.states.set(id, "DROPPED");
  }
  #keyOf(id: string, state: WalletKey["state"]): WalletKey {
    return {
      id,
      wallet: "google_pay",
      state,
      recipient: "BCR2DN4T263K6XYZ",
      publicKey: `key ${id}`,
      signingRequest: "",
      createdAt: new Date(),
      retiresAt: undefined,
      certificateEndsAt: undefined,
    };
  }
  async create(): Promise<never> {
    throw new Error("no key is made here");
  }
}

const published = async () => (await loadWallets(core.database, owner.merchantId)).wallets.google?.publicKey;
const activate = (id: string) => ada.activateWalletKey({ ...dashboard.scope, kind, id });
const drop = (id: string) => ada.dropWalletKey({ ...dashboard.scope, kind, id });

describe("the keys of a merchant", () => {
  const start = async () => {
    await core.database.transaction((tx) => recordSettings(tx, { ...owner, statementDescriptor: null }));
    const keys = new FakeKeys();
    Object.assign(core.vault, { walletKeys: keys });
    return keys;
  };

  it("are published as the vault has them, also if another call has activated one meanwhile", async () => {
    const keys = await start();
    keys.afterList = () => activate("2");
    await activate("1");
    expect(await published()).toBe("key 2");
  });

  it("leave checkouts when they are dropped, also if another call has published one meanwhile", async () => {
    const keys = await start();
    await activate("1");
    keys.drop = async ({ id }) => {
      await activate(id);
      await FakeKeys.prototype.drop.call(keys, { id });
    };
    await drop("1");
    expect(await published()).toBeUndefined();
  });
});
