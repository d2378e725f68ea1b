/** A merchant's set-up of Apple Pay and Google Pay in one environment. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { Fragment, useId } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import {
  type MerchantWalletKey,
  MerchantWalletKey_State as State,
  WalletKeyKind,
  type Wallets,
  WalletsService,
} from "../../../../gen/dashboard/v1/wallets_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { walletNames } from "../parts/brand.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { CopiedText, CopyButton } from "../parts/copied-text.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

const kinds = [
  {
    kind: WalletKeyKind.APPLE_PAYMENT,
    title: "Apple Pay: payment processing",
    use: "Decrypts the payments of Apple Pay. Apple issues a certificate for the key.",
    recipient: "Merchant identifier",
    hint: "From Apple’s developer account, such as merchant.com.example.",
  },
  {
    kind: WalletKeyKind.APPLE_IDENTITY,
    title: "Apple Pay: merchant identity",
    use: "Identifies you to Apple when a checkout opens Apple Pay. Apple issues a certificate for the key.",
    recipient: "Merchant identifier",
    hint: "The same identifier as for payment processing.",
  },
  {
    kind: WalletKeyKind.GOOGLE,
    title: "Google Pay",
    use: "Decrypts the payments of Google Pay. Register its public key in Google’s business console.",
    recipient: "Google merchant ID",
    hint: "From Google’s business console, such as BCR2DN4T263K6XYZ.",
  },
] as const;

const states: Readonly<Record<State, string>> = {
  [State.UNSPECIFIED]: "",
  [State.STAGED]: "Not used yet",
  [State.ACTIVE]: "In use",
  [State.RETIRING]: "Retiring",
  [State.DROPPED]: "Dropped",
};

export function WalletsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const asked = { merchantId, environment };
  const { data, error, refetch } = useQuery(WalletsService.method.getWallets, asked);
  const wallets = data?.wallets;
  const offered = wallets?.offered.map((name) => walletNames[name] ?? name).join(" and ");
  return (
    <>
      <PageHead title="Wallets">
        Apple Pay and Google Pay in the {environmentName} environment. Their private keys are created in the card vault
        and never leave it.
      </PageHead>
      {error && <Failure error={error} onRetry={refetch} />}
      {!wallets && !error && <Loading what="The set-up of wallets" />}
      {wallets?.supported === false && (
        <p className="banner">Wallets need the card vault of this installation. Yours is an external one.</p>
      )}
      {wallets?.supported && (
        <>
          <p className="banner">
            {offered ? `Checkouts offer ${offered}.` : "Checkouts offer no wallet yet."}
            {wallets.countryCode === "" && " Set the country first."}
          </p>
          <Country wallets={wallets} onChange={refetch} />
          {kinds.map((kind) => (
            <Fragment key={`${kind.kind} ${environmentName}`}>
              {kind.kind === WalletKeyKind.GOOGLE && <Domains wallets={wallets} onChange={refetch} />}
              <Keys {...kind} wallets={wallets} onChange={refetch} />
            </Fragment>
          ))}
        </>
      )}
    </>
  );
}

type Part = { readonly wallets: Wallets; readonly onChange: () => unknown };

function useWallets(onChange: () => unknown) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(WalletsService);
  return {
    client,
    asked: { merchantId, environment },
    mayChange: includesRole(role, Role.DEVELOPER),
    onSuccess: onChange,
  };
}

function Country({ wallets, onChange }: Part) {
  const { client, asked, mayChange, onSuccess } = useWallets(onChange);
  const save = useMutation({
    mutationFn: (countryCode: string) => client.setWalletCountry({ ...asked, countryCode }),
    onSuccess,
    meta: { done: "The country is saved." },
  });
  return (
    <section className="card wallets-card" aria-label="Country">
      <h2>Country</h2>
      <DataForm onData={(fields) => save.mutate(String(fields.get("country")).trim().toUpperCase())}>
        <Refusal error={save.error} />
        <Field
          label="Country of your business"
          hint="Two letters, such as DE. Both wallets show it to banks."
          name="country"
          defaultValue={wallets.countryCode}
          isReadOnly={!mayChange}
          maxLength={2}
          isRequired
        />
        {mayChange && <Button type="submit">Save</Button>}
      </DataForm>
    </section>
  );
}

const isApplePayment = ({ kind }: MerchantWalletKey) => kind === WalletKeyKind.APPLE_PAYMENT;

type KindProps = Part & (typeof kinds)[number];

function Keys({ kind, title, use, recipient, hint, wallets, onChange }: KindProps) {
  const id = useId();
  const { client, asked, mayChange, onSuccess } = useWallets(onChange);
  const create = useMutation({
    mutationFn: (named: string) => client.createWalletKey({ ...asked, kind, recipient: named }),
    onSuccess,
    meta: { done: "The key is made. It is not used yet." },
  });
  const keys = wallets.keys.filter((key) => key.kind === kind);
  // Both keys of Apple Pay are of one merchant.
  const known = keys[0] ?? (kind === WalletKeyKind.APPLE_IDENTITY ? wallets.keys.find(isApplePayment) : undefined);
  return (
    <section className="card wallets-card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p>{use}</p>
      {keys.map((key) => (
        <Key key={key.id} walletKey={key} mayChange={mayChange} onChange={onChange} />
      ))}
      {mayChange && (
        <DataForm onData={(fields) => create.mutate(String(fields.get("recipient")).trim())}>
          <Refusal error={create.error} />
          <Field label={recipient} hint={hint} name="recipient" defaultValue={known?.recipient ?? ""} isRequired />
          <Button type="submit" isPending={create.isPending}>
            {keys.length === 0 ? "Make a key" : "Make another key"}
          </Button>
        </DataForm>
      )}
    </section>
  );
}

function Key({
  walletKey,
  mayChange,
  onChange,
}: {
  walletKey: MerchantWalletKey;
  mayChange: boolean;
  onChange: () => unknown;
}) {
  const { id, kind, state, recipient, publicKey, signingRequest, createdAt, certificateEndsAt, retiresAt } = walletKey;
  const { client, asked, onSuccess } = useWallets(onChange);
  const isApple = kind !== WalletKeyKind.GOOGLE;
  const activate = useMutation({
    mutationFn: (text: string) =>
      client.activateWalletKey({ ...asked, kind, id, certificate: new TextEncoder().encode(text) }),
    onSuccess,
    meta: { done: "The key is in use." },
  });
  const drop = useMutation({
    mutationFn: () => client.dropWalletKey({ ...asked, kind, id }),
    onSuccess,
    meta: { done: "The key is erased." },
  });
  const isOpen = state === State.STAGED || (isApple && state === State.ACTIVE);
  return (
    <div className="wallet-key">
      <p>
        <strong>{states[state]}</strong>, for <bdi>{recipient}</bdi>
      </p>
      <p className="soft small">
        Made <Moment at={createdAt} />
        {certificateEndsAt && (
          <>
            . Certificate until <Moment at={certificateEndsAt} />
          </>
        )}
        {retiresAt && (
          <>
            . Decrypts until <Moment at={retiresAt} />
          </>
        )}
      </p>
      {publicKey && <CopiedText label="the public key" text={publicKey} />}
      {signingRequest && state === State.STAGED && (
        <details>
          <summary>Signing request for Apple</summary>
          <CopyButton label="the signing request" text={signingRequest} />
          <pre>{signingRequest}</pre>
        </details>
      )}
      <Refusal error={activate.error ?? drop.error} />
      {mayChange && isOpen && (
        <DataForm onData={(fields) => activate.mutate(String(fields.get("certificate") ?? ""))}>
          {isApple && (
            <LongText label={state === State.ACTIVE ? "Renewed certificate" : "Certificate"} name="certificate" />
          )}
          <Button type="submit" isPending={activate.isPending}>
            {state === State.ACTIVE ? "Replace the certificate" : isApple ? "Use this certificate" : "Use this key"}
          </Button>
        </DataForm>
      )}
      {mayChange && (
        <Confirm action="Erase" title="Erase this key?" runs={drop}>
          {state === State.ACTIVE
            ? "Checkouts stop offering the wallet immediately, and a sheet that is open cannot pay."
            : "What was encrypted for it cannot be read any more."}
        </Confirm>
      )}
    </div>
  );
}

/** A text in PEM. */
function LongText({ label, name, text }: { label: string; name: string; text?: string }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea id={id} name={name} rows={4} spellCheck="false" defaultValue={text} />
    </div>
  );
}

function Domains({ wallets, onChange }: Part) {
  const { client, asked, mayChange, onSuccess } = useWallets(onChange);
  const save = useMutation({
    mutationFn: (domainFile: string) => client.setDomainFile({ ...asked, domainFile }),
    onSuccess,
    meta: { done: "The domain file is saved." },
  });
  const check = useMutation({
    mutationFn: (origin: string) => client.checkDomain({ ...asked, origin }),
    onSuccess,
  });
  const checked = check.data && (check.data.passed ? "serves the file." : "does not serve this file, or redirects.");
  return (
    <section className="card wallets-card" aria-label="Domains of Apple Pay">
      <h2>Apple Pay: domains</h2>
      <p>
        Each host with a checkout serves Apple’s file at{" "}
        <code>/.well-known/apple-developer-merchantid-domain-association</code>. Live offers Apple Pay only on origins
        that pass the check.
      </p>
      {mayChange && (
        <DataForm onData={(fields) => save.mutate(String(fields.get("file") ?? ""))}>
          <Refusal error={save.error} />
          <LongText label="Domain file" name="file" text={wallets.domainFile} />
          <Button type="submit">Save</Button>
        </DataForm>
      )}
      <Refusal error={check.error} />
      <p role="status">{checked && `${check.variables} ${checked}`}</p>
      {wallets.domains.length === 0 && (
        <p>
          No host to check yet. <ScopeLink to="./settings">Add checkout origins</ScopeLink>
        </p>
      )}
      <ul>
        {wallets.domains.map(({ origin, checkedAt }) => (
          <li key={origin}>
            <bdi>{origin}</bdi>:{" "}
            {checkedAt ? (
              <>
                checked <Moment at={checkedAt} />
              </>
            ) : (
              "not checked"
            )}{" "}
            {mayChange && (
              <Button kind="plain" aria-label={`Check ${origin}`} onPress={() => check.mutate(origin)}>
                Check
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
