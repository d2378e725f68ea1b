/** What the payment core of one environment is given: its database, its keys, and where time and randomness come from. */
import type { Database } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import type { KeyRing, Secret } from "../platform/secrets.ts";
import type { ClientSecretKeys } from "./client-secret.ts";

/** JSON as the vault object holds it. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** What the widget needs to tokenize a card for a session; its members depend on the vault mode and mean nothing here. */
export type DescribeVault = (session: {
  sessionId: string;
  merchantId: string;
  publishableKey: string;
  checkoutOrigins: readonly string[];
  expiresAt: Date;
}) => Promise<JsonObject>;

/** One environment's core. Nothing in it tells which environment it is: the other side is not reachable from here. */
export type Core = {
  readonly database: Database;
  readonly entropy: Entropy;
  readonly clientSecretKeys: ClientSecretKeys;
  readonly sealing: KeyRing;
  readonly pageTokenKey: Secret;
  readonly describeVault: DescribeVault;
};
