/** The block list in the settings: its entries, and a form that adds an e-mail address or a network. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type BlocklistEntry,
  BlocklistService,
  BlocklistEntry_Kind as Kind,
} from "../../../../gen/dashboard/v1/blocklist_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { visible } from "../parts/copied-text.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

export function Blocklist() {
  const { merchantId, environment, role } = useScope();
  const { data, error, refetch } = useQuery(BlocklistService.method.listBlocklist, { merchantId, environment });
  return (
    <>
      <p className="soft">
        A payment by a card, e-mail address or network on this list is declined before any gateway is called. The
        customer reads only that the card was declined. To block a card, open a payment by it.
      </p>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The block list" />}
      {data?.entries.length === 0 && <p>Nothing is blocked.</p>}
      {data && data.entries.length > 0 && <Entries entries={data.entries} onChange={refetch} />}
      {includesRole(role, Role.DEVELOPER) && <AddForm onChange={refetch} />}
    </>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Blocked" },
  { name: "Reason" },
  { name: "Added by" },
  { name: "Since" },
  { name: "Until" },
  { name: "Actions", isHidden: true },
];

type EntriesProps = { entries: readonly BlocklistEntry[]; onChange: () => Promise<unknown> };

function Entries({ entries, onChange }: EntriesProps) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(BlocklistService);
  const end = useMutation({
    mutationFn: (entryId: string) => client.endBlocklistEntry({ merchantId, environment, entryId }),
    onSettled: onChange,
    meta: { done: "The entry has ended. It blocks no payment any more." },
  });
  const rows = entries.map((entry) => ({
    key: entry.entryId,
    cells: [
      <Subject key="subject" entry={entry} />,
      <bdi key="reason">{visible(entry.reason)}</bdi>,
      <bdi key="by">{entry.addedBy.replace(/ \(\w+\)$/, "")}</bdi>,
      <Moment key="since" at={entry.addedAt} />,
      entry.endsAt ? <Moment key="until" at={entry.endsAt} /> : "Without end",
      <Confirm
        key="end"
        action="End"
        isDanger={false}
        title={`No longer block ${nameOf(entry)}?`}
        onConfirm={() => end.mutate(entry.entryId)}
        isPending={end.isPending && end.variables === entry.entryId}
      >
        The next payment goes to your gateways as any other.
      </Confirm>,
    ],
  }));
  return (
    <>
      <Refusal error={end.error} />
      <RecordTable
        label="Block list"
        columns={!includesRole(role, Role.DEVELOPER) ? columns.slice(0, -1) : columns}
        rows={rows}
      />
    </>
  );
}

/** Returns what an entry blocks, as the end of a sentence. */
function nameOf({ kind, network, cardLast4 }: BlocklistEntry): string {
  if (kind === Kind.NETWORK) return networkName(network);
  if (kind === Kind.EMAIL) return "this e-mail address";
  return cardLast4 ? `the card ending in ${cardLast4}` : "this card";
}

/** Returns a network without the length of an address. */
function networkName(network: string): string {
  return network.replace(/\/32$/, "");
}

const kinds: Readonly<Record<Kind, string>> = {
  [Kind.KIND_UNSPECIFIED]: "",
  [Kind.CARD]: "Card",
  [Kind.EMAIL]: "E-mail address",
  [Kind.NETWORK]: "Network",
};

function Subject({ entry }: { entry: BlocklistEntry }) {
  const { kind, network, cardLast4, sessionId } = entry;
  return (
    <>
      {kinds[kind]} {kind === Kind.NETWORK && <code>{networkName(network)}</code>}
      {kind === Kind.CARD && cardLast4 && `ending in ${cardLast4}`}
      {sessionId && (
        <div className="small">
          <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
            of this payment
          </ScopeLink>
        </div>
      )}
    </>
  );
}

const days = 86_400_000;
const lengths = [
  ["", "Without end"],
  ["1", "For a day"],
  ["30", "For 30 days"],
  ["365", "For a year"],
] as const;

/** Returns the reason and the end that `EntryFields` have. */
export function entryIn(form: FormData) {
  const length = Number(form.get("days"));
  const endsAt = length > 0 ? timestampFromDate(new Date(Date.now() + length * days)) : undefined;
  return { reason: String(form.get("reason")), ...(endsAt && { endsAt }) };
}

export function EntryFields() {
  return (
    <>
      <Field
        label="Reason"
        name="reason"
        hint="Your team reads it on each payment that is blocked. At most 200 characters."
        isRequired
        maxLength={200}
        autoComplete="off"
      />
      <SelectField label="For how long" name="days" values={lengths} />
    </>
  );
}

function AddForm({ onChange }: { onChange: () => Promise<unknown> }) {
  const { merchantId, environment } = useScope();
  const client = useClient(BlocklistService);
  const [added, setAdded] = useState(0);
  const add = useMutation({
    mutationFn: (form: FormData) => {
      const value = String(form.get("blocked")).trim();
      const blocked = { case: value.includes("@") ? ("email" as const) : ("network" as const), value };
      return client.addBlocklistEntry({ merchantId, environment, blocked, ...entryIn(form) });
    },
    onSuccess: async () => {
      await onChange();
      setAdded(added + 1);
    },
    meta: { done: "It is blocked from now on." },
  });
  return (
    <section className="card" aria-labelledby="block">
      <h3 id="block">Block an e-mail address or a network</h3>
      <DataForm key={added} onData={add.mutate}>
        <Field
          label="E-mail address or network"
          name="blocked"
          hint="A network is a public IPv4 address or its /24, or a /64 or /48 of IPv6. Of an e-mail address only a hash is stored, so the list cannot show it again."
          isRequired
          maxLength={254}
          autoComplete="off"
          spellCheck="false"
        />
        <EntryFields />
        <Refusal error={add.error} />
        <div className="row">
          <Button kind="main" type="submit" isPending={add.isPending}>
            Block
          </Button>
        </div>
      </DataForm>
    </section>
  );
}
