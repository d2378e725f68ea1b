/** The order in which gateways are tried, changed by drag, keyboard or labelled buttons. */
import type { GatewayConnection } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { MoveButtons } from "../parts/move-buttons.tsx";
import { OrderList } from "../parts/order-list.tsx";
import { reordered } from "../parts/reorder.ts";

export type Connections = readonly GatewayConnection[];

/** Returns the names of gateways in their order, with the account where a gateway has several. */
export function namesOf(connectionIds: readonly string[], connections: Connections): string[] {
  return connectionIds.flatMap((id) => {
    const found = connections.find(({ connectionId }) => connectionId === id);
    if (found === undefined) return [];
    const isOnly = connections.filter(({ gateway }) => gateway === found.gateway).length === 1;
    return [isOnly ? nameOfGateway(found.gateway) : `${nameOfGateway(found.gateway)} (${found.account})`];
  });
}

type OrderProps = {
  labelledBy: string;
  connectionIds: readonly string[];
  connections: Connections;
  mayChange: boolean;
  onChange: (connectionIds: string[]) => void;
};

/** A list of gateways in their order, and the other gateways, which can be added. */
export function ConnectionOrder(props: OrderProps) {
  const { labelledBy, connectionIds, connections, mayChange, onChange } = props;
  const used = connectionIds.flatMap((id) => connections.find((each) => each.connectionId === id) ?? []);
  const others = connections.filter(({ connectionId }) => !connectionIds.includes(connectionId));
  return (
    <>
      {used.length === 0 && <p>No gateway is used. Add one below.</p>}
      <OrderList
        labelledBy={labelledBy}
        rows={used.map((connection) => ({
          id: connection.connectionId,
          name: `${nameOfGateway(connection.gateway)} (${connection.account})`,
          content: <OrderRow connection={connection} {...props} />,
        }))}
        mayChange={mayChange}
        onOrder={onChange}
      />
      {others.length > 0 && <LeftOut others={others} {...props} />}
    </>
  );
}

function OrderRow({
  connection,
  connectionIds,
  mayChange,
  onChange,
}: Pick<OrderProps, "connectionIds" | "mayChange" | "onChange"> & { connection: GatewayConnection }) {
  const { connectionId } = connection;
  const index = connectionIds.indexOf(connectionId);
  const name = `${nameOfGateway(connection.gateway)} (${connection.account})`;
  const move = (step: -1 | 1) => {
    const target = connectionIds[index + step];
    const place = step === -1 ? "before" : "after";
    if (target) onChange(reordered(connectionIds, new Set([connectionId]), { target, place }));
  };
  return (
    <>
      <span className="order-number">
        <span className="visually-hidden">Priority </span>
        {index + 1}
      </span>
      <AccountName connection={connection} />
      {mayChange && (
        <span className="order-actions">
          <MoveButtons name={name} place={index + 1} count={connectionIds.length} onMove={move} />
          <Button
            kind="plain"
            aria-label={`Leave out ${name}`}
            onPress={() => onChange(connectionIds.filter((id) => id !== connectionId))}
          >
            Leave out
          </Button>
        </span>
      )}
    </>
  );
}

function AccountName({ connection: { gateway, account, paused, verified } }: { connection: GatewayConnection }) {
  return (
    <span className="order-name">
      <strong>{nameOfGateway(gateway)}</strong> <bdi className="soft small">{account}</bdi>{" "}
      {paused && <Badge tone="warn">Paused</Badge>}
      {!verified && <Badge tone="bad">Not verified</Badge>}
    </span>
  );
}

function LeftOut({ others, labelledBy, connectionIds, mayChange, onChange }: OrderProps & { others: Connections }) {
  const id = `${labelledBy}-others`;
  return (
    <div className="form">
      <p className="others" id={id}>
        Not used
      </p>
      <ul className="order" aria-labelledby={id}>
        {others.map((connection) => (
          <li className="order-row" key={connection.connectionId}>
            <AccountName connection={connection} />
            {mayChange && connection.verified && (
              <span className="order-actions">
                <Button
                  aria-label={`Add ${nameOfGateway(connection.gateway)} (${connection.account})`}
                  onPress={() => onChange([...connectionIds, connection.connectionId])}
                >
                  Add
                </Button>
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
