/** The section of a configuration with accounts at gateways. Credentials are not part of it. */
import {
  type ConfiguredConnection,
  ConfiguredConnectionSchema,
  type ConnectionSection,
} from "../../../gen/dashboard/v1/configuration_pb.ts";
import type { Connection } from "../../gateways/connections.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId } from "../../platform/ids.ts";
import { accountName } from "../typed-text.ts";
import { connectedMessage } from "./configuration-message.ts";
import { type Change, changeOf } from "./plan-change.ts";

export type ConnectionPlan = {
  readonly changes: readonly Change[];
  /** The merchant's connections once those of the file are added and verified. */
  readonly connections: readonly Connection[];
  readonly paused: readonly Connection[];
  readonly resumed: readonly Connection[];
  /** Places whose credentials have to be verified before the configuration is applied. */
  readonly waiting: readonly string[];
};

type Making = { readonly newId: () => Connection["id"]; readonly knows: (gateway: string) => boolean };

export function planConnections(
  connections: readonly Connection[],
  { accounts }: ConnectionSection,
  making: Making,
): ConnectionPlan {
  const plans = accounts.map((wanted, index) => planOne(connections, wanted, { ...making, index, accounts }));
  const named = new Set(plans.map(({ connection }) => connection.id));
  // One that was never verified is not part of a file, and takes no payment.
  const left = connections
    .filter(({ id, paused, credentialVersion }) => !named.has(id) && !paused && credentialVersion !== null)
    .map(pausedBy("is not in the file"));
  const all = [...plans, ...left];
  return {
    changes: all.flatMap(({ change }) => change ?? []),
    connections: [...connections, ...plans.filter(({ isNew }) => isNew).map(({ connection }) => connection)],
    paused: all.filter(({ turns }) => turns === "paused").map(({ connection }) => connection),
    resumed: all.filter(({ turns }) => turns === "resumed").map(({ connection }) => connection),
    waiting: plans.filter(({ waits }) => waits).map(({ connection }) => pathOf(connection)),
  };
}

type OnePlan = {
  readonly connection: Connection;
  readonly change?: Change;
  readonly isNew?: boolean;
  readonly waits?: boolean;
  readonly turns?: "paused" | "resumed";
};

type Place = Making & { readonly index: number; readonly accounts: readonly ConfiguredConnection[] };

function planOne(connections: readonly Connection[], wanted: ConfiguredConnection, place: Place): OnePlan {
  const { index, accounts } = place;
  const { gateway, account, credentialsVersion, paused } = wanted;
  const refuse = (field: string, detail: string) => {
    throw new DomainError("invalid_field", detail, { field: `accounts[${index}].${field}` });
  };
  if (accounts.findIndex((one) => one.gateway === gateway && one.account === account) < index) {
    refuse("account", `${accountName(wanted)} is given twice.`);
  }
  if (!place.knows(gateway))
    refuse("gateway", `This installation has no connector for ${gateway} in this environment.`);
  const held = connections.find((one) => one.gateway === gateway && one.account === account);
  if (held === undefined) {
    if (credentialsVersion === undefined) refuse("credentialsVersion", "A new connection begins with version 1.");
    if (credentialsVersion !== 1) refuse("credentialsVersion", `A new connection begins with version 1.`);
    const added = { gateway, account, credentialVersion: 1, paused, acquirer: null };
    const connection = { ...added, id: place.newId(), merchantId: connections[0]?.merchantId } as Connection;
    const sentence = `${accountName(wanted)} is connected, with the credentials of the file.`;
    const change = { ...changeOf(pathOf(connection), ConfiguredConnectionSchema, { wanted }), sentences: [sentence] };
    return { connection, change, isNew: true, waits: true };
  }
  const version = held.credentialVersion ?? 0;
  if (version === 0) {
    refuse("account", `${accountName(wanted)} is connected and not verified yet: verify it on the page Gateways.`);
  }
  const wantedVersion = credentialsVersion ?? version;
  if (wantedVersion !== version && wantedVersion !== version + 1) {
    const rule = `The credentials in use have version ${version}: name it, or ${version + 1} to replace them.`;
    refuse("credentialsVersion", rule);
  }
  const rotates = wantedVersion > version;
  const sentences = [
    ...(rotates ? [`${accountName(wanted)} gets the credentials of the file.`] : []),
    ...(paused === held.paused ? [] : [turned(held, paused)]),
  ];
  if (sentences.length === 0) return { connection: held };
  const now = connectedMessage(held);
  return {
    connection: held,
    change: {
      ...changeOf(pathOf(held), ConfiguredConnectionSchema, {
        now,
        wanted: { ...wanted, credentialsVersion: wantedVersion },
      }),
      subject: encodeId("gc", held.id),
      sentences,
      removes: paused && !held.paused,
    },
    waits: rotates,
    ...(paused !== held.paused && { turns: paused ? "paused" : "resumed" }),
  };
}

function pausedBy(why: string) {
  return (connection: Connection): OnePlan => {
    const now = connectedMessage(connection);
    return {
      connection,
      turns: "paused",
      change: {
        ...changeOf(pathOf(connection), ConfiguredConnectionSchema, { now, wanted: { ...now, paused: true } }),
        subject: encodeId("gc", connection.id),
        sentences: [`${accountName(connection)} ${why}. ${turned(connection, true)}`],
        removes: true,
      },
    };
  };
}

function turned(connection: Connection, paused: boolean): string {
  const name = accountName(connection);
  return paused ? `${name} is paused: new payments do not use it.` : `${name} is resumed: new payments may use it.`;
}

function pathOf({ gateway, account }: Pick<Connection, "gateway" | "account">): string {
  return `connections.accounts[${gateway}:${account}]`;
}
