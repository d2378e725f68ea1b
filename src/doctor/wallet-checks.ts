/** Checks what wallets need: valid certificates, checked domains, a gateway that takes device numbers, and in the vault keys and Google's roots. */
import { gatewaysOfNetworkTokens } from "../gateways/network-tokens.ts";
import type { Queryable } from "../platform/database.ts";
import { encodeId, type MerchantId } from "../platform/ids.ts";
import type { KeyRing } from "../platform/secrets.ts";
import { findWalletSealingKeys } from "../platform/wallet-ring.ts";
import type { MerchantWallets } from "../platform/wallets.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const selectWallets = {
  name: "examine_wallets",
  text: `
    SELECT m.merchant_id AS "merchantId", m.wallets, m.checkout_origins AS "checkoutOrigins", (SELECT app.clock()) AS now,
      EXISTS (SELECT FROM connection c WHERE c.merchant_id = m.merchant_id AND c.gateway = ANY ($1)
        AND c.credential_version IS NOT NULL AND NOT c.paused) AS "hasTaker"
    FROM merchant_settings m WHERE m.wallets ? 'apple' OR m.wallets ? 'google' ORDER BY m.merchant_id`,
};

type Row = {
  readonly merchantId: MerchantId;
  readonly wallets: MerchantWallets;
  readonly checkoutOrigins: readonly string[];
  readonly now: Date;
  readonly hasTaker: boolean;
};

const soonMs = 30 * 24 * 60 * 60_000;

/** Returns findings on the wallets of an environment's merchants; none if no merchant has set up any. */
export async function examineWallets(environment: "test" | "live", database: Queryable): Promise<Finding[]> {
  const rows = await database.query<Row>(selectWallets, [gatewaysOfNetworkTokens]);
  const area = `wallets ${environment}`;
  const onPage = "on the dashboard's page Wallets of this merchant";
  const ends = ({ wallets: { apple } }: Row) => (apple ? [apple.endsAt, apple.identityEndsAt ?? apple.endsAt] : []);
  const endsBy = (row: Row, ms: number) => ends(row).some((end) => Date.parse(end) <= row.now.getTime() + ms);
  const lacksDomain = ({ wallets, checkoutOrigins }: Row) =>
    wallets.apple !== undefined && !checkoutOrigins.some((origin) => Object.hasOwn(wallets.domains ?? {}, origin));
  const found = [
    ...of(
      rows.filter((row) => endsBy(row, 0)),
      (who) =>
        problem(area, `a certificate of Apple Pay has ended: no checkout offers it for ${who}`, `renew it ${onPage}`),
    ),
    ...of(
      rows.filter((row) => !endsBy(row, 0) && endsBy(row, soonMs)),
      (who) => warning(area, `a certificate of Apple Pay ends within 30 days for ${who}`, `renew it ${onPage}`),
    ),
    ...of(
      rows.filter(({ wallets }) => wallets.countryCode === undefined),
      (who) => problem(area, `without a country no wallet is offered for ${who}`, `choose it ${onPage}`),
    ),
    ...(environment === "test"
      ? []
      : of(
          rows.filter(({ wallets: { apple } }) => apple && !apple.identityEndsAt),
          (who) =>
            problem(
              area,
              `without a merchant identity no sheet of Apple Pay opens for ${who}`,
              `make its key ${onPage}, and upload Apple's certificate`,
            ),
        )),
    ...(environment === "test"
      ? []
      : of(rows.filter(lacksDomain), (who) =>
          problem(
            area,
            `no checkout origin has passed the check of Apple Pay's domain file for ${who}`,
            `serve the file, and press Check ${onPage}`,
          ),
        )),
    ...of(
      rows.filter(({ hasTaker }) => !hasTaker),
      (who) =>
        warning(
          area,
          `no gateway takes device numbers for ${who}: Apple Pay is not offered, and Google Pay for authenticated cards only`,
          `connect or resume one of ${gatewaysOfNetworkTokens.join(", ")}`,
        ),
    ),
  ];
  if (found.length > 0 || rows.length === 0) return found;
  return [ok(area, `certificates, domains and gateways of ${rows.length} merchant(s) are in order`)];
}

function of(rows: readonly Row[], finding: (who: string) => Finding): Finding[] {
  const [first] = rows;
  if (first === undefined) return [];
  const name = encodeId("mer", first.merchantId);
  return [finding(rows.length === 1 ? name : `${rows.length} merchants, such as ${name}`)];
}

// Selects the keys in Google's own form, { keys: [{ protocolVersion, keyExpiration }] }, in milliseconds.
const selectVault = {
  name: "examine_wallet_keys",
  text: `
    SELECT count(*) FILTER (WHERE wallet = 'google_pay' AND state = 'ACTIVE')::int AS google, count(*)::int AS keys,
      (SELECT count(*)::int FROM wallet_root r, jsonb_array_elements(r.body::jsonb->'keys') k
       WHERE r.environment = $1 AND k->>'protocolVersion' = 'ECv2'
         AND (k->>'keyExpiration')::numeric > extract(epoch FROM clock_timestamp()) * 1000) AS roots
    FROM wallet_key WHERE environment = $1 AND state <> 'DROPPED'`,
};

/** Returns findings on the keys of wallets in the vault, and on Google's roots; none if it has no key. */
export async function examineWalletKeys(
  environment: "test" | "live",
  ring: KeyRing | undefined,
  database: Queryable,
): Promise<Finding[]> {
  const area = `wallets ${environment}`;
  const variable = `SWITCHYARD_${environment.toUpperCase()}_VAULT_KEYS_FILE`;
  const [row] = await database.query<{ google: number; keys: number; roots: number }>(selectVault, [environment]);
  const { google = 0, keys = 0, roots = 0 } = row ?? {};
  const sealing = await findWalletSealingKeys(database, environment, ring);
  const unopened = sealing.flatMap(({ keyId, unopened }) =>
    unopened === undefined
      ? []
      : [
          problem(
            area,
            `the key ${keyId} of the wallet ring, which seals keys of wallets, ${unopened} the file: their wallets answer 503`,
            `put it back into the file of ${variable} from your copy; without it, make new keys on the page Wallets`,
          ),
        ],
  );
  // Test has the emulators' roots as well.
  const rootless =
    environment === "live" && google > 0 && roots === 0
      ? [
          warning(
            area,
            "the vault has no valid root key of Google: until it has read one, payments by Google Pay get 503",
            "allow the vault to reach payments.developers.google.com; it reads the keys with the next token",
          ),
        ]
      : [];
  if (keys === 0 || unopened.length + rootless.length > 0) return [...unopened, ...rootless];
  return [ok(area, `the wallet ring opens each of ${keys} key(s) of wallets`)];
}
