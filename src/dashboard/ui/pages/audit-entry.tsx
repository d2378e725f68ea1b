/** The parts of an audit trail entry: its object, its actor and its changes, with ids as links. */
import type { JsonObject } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import type { AuditEntry } from "../../../../gen/dashboard/v1/audit_pb.ts";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Currency } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { changesOf } from "../parts/audit-changes.ts";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { ScopeLink, useScope } from "../scope.ts";

/** The changed object, as a link where it has a page. The merchant itself needs no name. */
export function Subject({ subject }: { subject: string }) {
  const [first = "", second = ""] = subject.split("/");
  if (first.startsWith("we_") && second.startsWith("evt_"))
    return (
      <ScopeLink to="./webhooks/deliveries/$endpointId/$eventId" params={{ endpointId: first, eventId: second }}>
        {second}
      </ScopeLink>
    );
  return <Id id={first} />;
}

function Id({ id }: { id: string }) {
  switch (id.split("_")[0]) {
    case "ps":
      return (
        <ScopeLink to="./payments/$sessionId" params={{ sessionId: id }}>
          {id}
        </ScopeLink>
      );
    case "att":
    case "pm":
    case "agr":
      return (
        <ScopeLink to="./payments" search={{ q: id }}>
          {id}
        </ScopeLink>
      );
    case "ref":
      return (
        <ScopeLink to="./refunds" search={{ reference: id }}>
          {id}
        </ScopeLink>
      );
    case "we":
      return (
        <ScopeLink to="./webhooks/deliveries" search={{ endpoint: id }}>
          {id}
        </ScopeLink>
      );
    case "gc":
      return <Connection connectionId={id} />;
    case "mbr":
    case "inv":
      return <ScopeLink to="./team">{id}</ScopeLink>;
    default:
      return id;
  }
}

/** A gateway's account by its name; by its id once it was removed. */
function Connection({ connectionId }: { connectionId: string }) {
  const { environment, merchantId } = useScope();
  const { data } = useQuery(
    GatewayConnectionService.method.listGatewayConnections,
    { merchantId, environment },
    { staleTime: 60_000 },
  );
  const connection = data?.connections.find((each) => each.connectionId === connectionId);
  return (
    <ScopeLink to="./gateways">
      {connection ? `${nameOfGateway(connection.gateway)} (${connection.account})` : connectionId}
    </ScopeLink>
  );
}

/** The name of an operator, or the address of a member, on one line; the id names them forever. */
export function Actor({ actor }: { actor: string }) {
  const [, name = actor, id = ""] = /^(.*) \((\w+)\)$/s.exec(actor) ?? [];
  return (
    <>
      <div className="one-line" title={actor}>
        <bdi>{name}</bdi>
      </div>
      {id.startsWith("op_") && <div className="soft small">operator</div>}
    </>
  );
}

const ids = /\b(?:ps|att|ref|we|gc|mbr|inv|pm|agr)_[0-9a-z]{26}\b/;

function Value({ text }: { text: string }) {
  const id = ids.exec(text)?.[0];
  if (id === undefined) return <bdi>{text}</bdi>;
  const [before = "", after = ""] = text.split(id, 2);
  return (
    <>
      {before}
      <Id id={id} />
      {after}
    </>
  );
}

/** Returns the versions of a routing rule alone: its differences are sentences. */
function versionsOf(facts: JsonObject | undefined): JsonObject | undefined {
  return facts && { version: facts.version ?? null, restoredFrom: facts.restoredFrom ?? null };
}

/** The changes of an entry: sentences of a routing rule, otherwise its fields before and after. */
export function Changes({ entry, currencies }: { entry: AuditEntry; currencies: readonly Currency[] }) {
  const isRule = entry.subject.endsWith("/routing-rule");
  const [before, after] = isRule ? [entry.before, entry.after].map(versionsOf) : [entry.before, entry.after];
  const fields = changesOf(before, after, (amountMinor, currency) => {
    const known = currencies.find(({ code }) => code === currency);
    return known && formatAmount({ amountMinor: BigInt(amountMinor), currency, exponent: known.exponent });
  });
  if (fields.length === 0 && entry.changes.length === 0) return <span className="soft">–</span>;
  return (
    <>
      {entry.changes.length > 0 && (
        <ul className="changed">
          {entry.changes.map((sentence) => (
            <li key={sentence}>{nameGatewaysIn(sentence)}</li>
          ))}
        </ul>
      )}
      <dl className="changed">
        {fields.map((field) => (
          <div key={field.name}>
            <dt>{field.name}</dt>
            <dd>
              {field.before !== undefined && (
                <del>
                  <Value text={field.before} />
                </del>
              )}
              {field.before !== undefined && field.after !== undefined && " → "}
              {field.after !== undefined && (
                <ins>
                  <Value text={field.after} />
                </ins>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
