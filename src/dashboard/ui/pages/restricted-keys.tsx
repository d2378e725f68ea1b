/** Restricted keys: their list, and the form that creates one. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, ApiKeyService } from "../../../../gen/dashboard/v1/api_keys_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { formatAmount } from "../parts/amount.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { visible } from "../parts/copied-text.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { LastUsed, Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { rightNames } from "./right-words.ts";
import { RolledKey, RollKey } from "./roll-key.tsx";
import { findLimitProblem, readLimits } from "./setting-rules.ts";

type Shown = { readonly label: string; readonly key: string };
type Props = { keys: readonly ApiKey[]; onChange: () => unknown };

export function RestrictedKeys({ keys, onChange }: Props) {
  const { role } = useScope();
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState<Shown>();
  const show = async (made: Shown) => {
    setShown(made);
    setOpen(false);
    await onChange();
  };
  return (
    <section className="card" aria-labelledby="restricted-keys">
      <div className="page-head">
        <div>
          <h2 id="restricted-keys">Restricted keys</h2>
          <p>Each calls only what its rights allow. Give every system a key of its own.</p>
        </div>
        {includesRole(role, Role.OWNER) && !isOpen && (
          <Button onPress={() => setOpen(true)}>Create restricted key</Button>
        )}
      </div>
      {shown && <ShownSecret key={shown.key} label={shown.label} secret={shown.key} />}
      {isOpen && (
        <CreateForm
          onCreated={(key) => show({ label: "The new restricted key", key })}
          onCancel={() => setOpen(false)}
        />
      )}
      {keys.length === 0 ? (
        <p>No restricted key yet.</p>
      ) : (
        <KeyTable
          keys={keys}
          onChange={onChange}
          onRolled={(key) => show({ label: "The new key, which replaces the rolled one", key })}
        />
      )}
    </section>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Name" },
  { name: "Key" },
  { name: "Rights" },
  { name: "Refunds per day" },
  { name: "Ends" },
  { name: "Actions", isHidden: true },
];

function KeyTable({ keys, onChange, onRolled }: Props & { onRolled: (key: string) => unknown }) {
  const { role } = useScope();
  const current = keys.filter(({ endsAt }) => endsAt === undefined);
  const rows = current.map((key) => {
    const rolled = keys.find(({ keyId, endsAt }) => keyId === key.keyId && endsAt !== undefined);
    return {
      key: key.keyId,
      cells: [
        <bdi key="name">{visible(key.name)}</bdi>,
        <div key="key">
          <code>
            {key.prefix}…{key.last4}
          </code>
          <div className="soft small">
            <LastUsed at={key.lastUsedAt} />
          </div>
          {rolled && <RolledKey apiKey={rolled} mayRevoke={includesRole(role, Role.OWNER)} onChange={onChange} />}
        </div>,
        key.rights.join(", "),
        capOf(key),
        key.expiresAt ? <Moment key="ends" at={key.expiresAt} /> : "Never",
        <Actions key="actions" apiKey={key} isRolled={rolled !== undefined} onChange={onChange} onRolled={onRolled} />,
      ],
    };
  });
  return (
    <RecordTable
      label="Restricted keys"
      columns={!includesRole(role, Role.OWNER) ? columns.slice(0, -1) : columns}
      rows={rows}
      className="records keys"
    />
  );
}

function capOf({ rights, refundCap }: ApiKey): string {
  if (!rights.includes("refunds.create")) return "None";
  return refundCap.length === 0 ? "No limit" : refundCap.map(formatAmount).join(", ");
}

function Actions(props: {
  apiKey: ApiKey;
  isRolled: boolean;
  onChange: () => unknown;
  onRolled: (key: string) => unknown;
}) {
  const { keyId, name, expiresAt } = props.apiKey;
  const { merchantId, environment } = useScope();
  const client = useClient(ApiKeyService);
  const isOver = expiresAt !== undefined && timestampDate(expiresAt).getTime() <= Date.now();
  const revoke = useMutation({
    mutationFn: () => client.revokeApiKey({ merchantId, environment, keyId }),
    onSuccess: props.onChange,
    meta: { done: "The key is revoked." },
  });
  return (
    <div className="row">
      {!props.isRolled && !isOver && (
        <RollKey keyId={keyId} title={`A new key for ${visible(name)}?`} onRolled={props.onRolled} />
      )}
      <Confirm action="Revoke" title={`Revoke the key ${visible(name)}?`} runs={revoke}>
        It stops working immediately, and so does one that a roll has left.
      </Confirm>
      <Refusal error={revoke.error} />
    </div>
  );
}

const dayMs = 86_400_000;
const lengths = [
  ["", "Never"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In a year"],
] as const;

function CreateForm({ onCreated, onCancel }: { onCreated: (key: string) => unknown; onCancel: () => void }) {
  const { merchantId, environment } = useScope();
  const client = useClient(ApiKeyService);
  const { data } = useQuery(PaymentService.method.listCurrencies, { merchantId, environment });
  const [problem, setProblem] = useState<string>();
  const create = useMutation({
    mutationFn: (form: FormData) => {
      const days = Number(form.get("days"));
      return client.createRestrictedKey({
        merchantId,
        environment,
        name: String(form.get("name")),
        rights: form.getAll("right").map(String),
        refundCap: readLimits(capText(form), data?.currencies ?? []) ?? [],
        ...(days > 0 && { expiresAt: timestampFromDate(new Date(Date.now() + days * dayMs)) }),
      });
    },
    onSuccess: ({ key }) => onCreated(key),
  });
  const send = (form: FormData) => {
    const found = findLimitProblem(capText(form), data?.currencies ?? []);
    setProblem(found);
    if (found === undefined) create.mutate(form);
  };
  return (
    <DataForm onData={send}>
      <Field
        label="Name"
        name="name"
        hint="The system that uses it."
        isRequired
        autoFocus
        maxLength={80}
        autoComplete="off"
      />
      <fieldset className="event-types">
        <legend>Rights</legend>
        {rightNames.map(([right, what]) => (
          <label className="tick" key={right}>
            <input type="checkbox" name="right" value={right} />
            <span>
              <code>{right}</code> <span className="soft small">{what}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Refunds per day"
        name="cap"
        hint="For each currency, such as EUR 500.00; USD 200.00. Others are then not refunded. Without any, there is no limit."
        problem={problem}
        autoComplete="off"
      />
      <SelectField label="Ends" name="days" values={lengths} />
      <Refusal error={create.error} />
      <div className="row">
        <Button kind="main" type="submit" isPending={create.isPending} isDisabled={data === undefined}>
          Create key
        </Button>
        <Button onPress={onCancel}>Cancel</Button>
      </div>
    </DataForm>
  );
}

/** Returns the caps as the settings' limits are typed: a line each. */
function capText(form: FormData): string {
  return String(form.get("cap"))
    .split(";")
    .map((cap) => cap.trim())
    .filter((cap) => cap !== "")
    .join("\n");
}
