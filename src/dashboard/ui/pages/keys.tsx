import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, ApiKey_Kind, ApiKeyService } from "../../../../gen/dashboard/v1/api_keys_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Confirm } from "../parts/confirm.tsx";
import { CopiedText } from "../parts/copied-text.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { LastUsed, Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { RestrictedKeys } from "./restricted-keys.tsx";
import { RolledKey, RollKey } from "./roll-key.tsx";

function describe(kind: ApiKey_Kind): { name: string; use: string } {
  if (kind === ApiKey_Kind.SECRET) {
    return { name: "Secret key", use: "Calls the API from your backend. Never put it into a page or an app." };
  }
  return { name: "Publishable key", use: "Identifies your account to the widget. It is safe in a page." };
}

export function KeysPage() {
  const { merchantId, environment, environmentName } = useScope();
  const { data, error, refetch } = useQuery(ApiKeyService.method.listApiKeys, { merchantId, environment });
  const keys = data?.apiKeys ?? [];
  return (
    <>
      <PageHead title="API keys">
        The keys of the {environmentName} environment. Only a hash of the secret key is stored, so this page shows only
        its first and last characters.
      </PageHead>
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The list of keys" />}
      {keys
        .filter(({ kind, endsAt }) => kind !== ApiKey_Kind.RESTRICTED && endsAt === undefined)
        .map((key) => (
          <KeyCard
            key={`${key.kind} ${environmentName}`}
            apiKey={key}
            rolled={keys.find(({ keyId, endsAt }) => keyId === key.keyId && endsAt !== undefined)}
            onChange={refetch}
          />
        ))}
      {data && (
        <RestrictedKeys
          key={environmentName}
          keys={keys.filter(({ kind }) => kind === ApiKey_Kind.RESTRICTED)}
          onChange={refetch}
        />
      )}
    </>
  );
}

type CardProps = { apiKey: ApiKey; rolled: ApiKey | undefined; onChange: () => unknown };

function KeyCard({ apiKey, rolled, onChange }: CardProps) {
  const { merchantId, environment, environmentName, role } = useScope();
  const { keyId, kind, prefix, last4, createdAt, lastUsedAt, key } = apiKey;
  const [made, setMade] = useState<string>();
  const { name, use } = describe(kind);
  const client = useClient(ApiKeyService);
  const regenerate = useMutation({
    mutationFn: () => client.regenerateApiKey({ merchantId, environment, kind }),
    onSuccess: (answer) => {
      setMade(answer.key);
      return onChange();
    },
    meta: { done: `The ${name.toLowerCase()} is replaced. The old one no longer works.` },
  });
  return (
    <section className="card" aria-labelledby={`key-${kind}`}>
      <div className="page-head">
        <div>
          <h2 id={`key-${kind}`}>{name}</h2>
          <p>{use}</p>
        </div>
        {includesRole(role, Role.OWNER) && (
          <div className="row">
            {kind === ApiKey_Kind.SECRET && !rolled && (
              <RollKey
                keyId={keyId}
                title={`A new secret key for ${environmentName}?`}
                onRolled={(next) => {
                  setMade(next);
                  return onChange();
                }}
              />
            )}
            <Confirm
              action="Regenerate"
              title={`A new ${name.toLowerCase()} for ${environmentName}?`}
              runs={regenerate}
            >
              {kind === ApiKey_Kind.SECRET
                ? "The current key stops working immediately, and so does one that a roll has left. Be ready to replace it."
                : "The current key stops working immediately. So does every checkout form that is open, unless your cards are in an external vault: its customer has to reload your page. Payments that were submitted go on."}
            </Confirm>
          </div>
        )}
      </div>
      {!includesRole(role, Role.OWNER) && <p className="small">Owners can replace it.</p>}
      <Refusal error={regenerate.error} />
      {made && key === "" ? (
        <ShownSecret label={`The new ${name.toLowerCase()}`} secret={made} />
      ) : (
        <div>
          {key ? (
            <CopiedText label={`the ${name.toLowerCase()}`} text={key} />
          ) : (
            <code>
              {prefix}…{last4}
            </code>
          )}
          <div className="soft small">
            Since <Moment at={createdAt} />
            {kind === ApiKey_Kind.SECRET && (
              <>
                {" "}
                · <LastUsed at={lastUsedAt} />
              </>
            )}
          </div>
        </div>
      )}
      {rolled && <RolledKey apiKey={rolled} mayRevoke={includesRole(role, Role.OWNER)} onChange={onChange} />}
    </section>
  );
}
