/** Unsaved changes: shown and saved at the foot of the page, with a question before the page is left. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { RoutingRuleService } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { ActionDialog } from "../parts/action-dialog.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { LeaveQuestion } from "../parts/leave-question.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { SaveBar } from "../parts/save-bar.tsx";
import { Moment } from "../parts/time.tsx";
import { codeOf, messageOf } from "../rpc.ts";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { anyPayment, contentOf, problemsOf, type RuleDraft, useRouteTest, whoSet } from "./routing-draft.ts";

export function RoutingSave({ draft }: { draft: RuleDraft }) {
  const { merchantId, environment, environmentName, role } = useScope();
  const client = useClient(RoutingRuleService);
  const queries = useQueryClient();
  const { data, error, isPlaceholderData } = useRouteTest(draft, anyPayment);
  const problems = problemsOf(draft);
  const save = useMutation({
    mutationFn: () => {
      const content = { ...contentOf(draft), expectedVersion: draft.base };
      return client.setRoutingRule({ merchantId, environment, ...content });
    },
    onSuccess: async () => {
      await queries.invalidateQueries();
      draft.discard();
    },
    // The change is kept with the call that waits.
    onError: (error) => {
      if (codeOf(error) === "approval_pending") draft.discard();
    },
    meta: { done: `Version ${draft.base + 1} of the rule is in use.` },
  });
  const changes = data?.changes.map((change) => <li key={change}>{nameGatewaysIn(change)}</li>);
  const action = `Save as version ${draft.base + 1}`;
  const isDisabled = problems.length > 0;
  const saving = { isPending: save.isPending, isDisabled };
  const describedBy = isDisabled ? "unsaved-changes" : undefined;
  const mayKeep = draft.isDefault && includesRole(role, Role.DEVELOPER);
  const isConflict = save.error !== null && codeOf(save.error) === "state_conflict";
  return (
    <>
      <LeaveQuestion isChanged={draft.isChanged} lost="The changes to the rule are lost." />
      {!draft.isChanged && mayKeep && (
        <p>
          <Button {...saving} onPress={() => save.mutate()}>
            Save the default rule as version 1
          </Button>
        </p>
      )}
      {!draft.isChanged && <Refusal error={save.error} />}
      {draft.isChanged && (
        <SaveBar
          changes={
            problems.length > 0 ? problems.map((problem) => <li key={problem}>{problem}</li>) : !error && changes
          }
          refusal={!isConflict && <Refusal error={save.error} />}
        >
          {environmentName === "live" ? (
            <Confirm
              {...saving}
              describedBy={describedBy}
              action={action}
              title="Change the routing of live payments?"
              onConfirm={() => save.mutate()}
              isMain
            >
              <ul className="changed">
                {error ? <li>{messageOf(error)}</li> : isPlaceholderData ? <li>Loading the changes.</li> : changes}
              </ul>
              <p>Live payments that are submitted from then on follow version {draft.base + 1}.</p>
            </Confirm>
          ) : (
            <Button {...saving} describedBy={describedBy} kind="main" onPress={() => save.mutate()}>
              {action}
            </Button>
          )}
          <Button
            onPress={() => {
              save.reset();
              draft.discard();
            }}
          >
            Discard
          </Button>
        </SaveBar>
      )}
      {isConflict && <Conflict error={save.error} draft={draft} onEnd={save.reset} />}
    </>
  );
}

/** Another person saved first: their name and the time, and the two ways to continue. */
function Conflict({ error, draft, onEnd }: { error: unknown; draft: RuleDraft; onEnd: () => void }) {
  const { merchantId, environment } = useScope();
  const client = useClient(RoutingRuleService);
  const queries = useQueryClient();
  const { data } = useQuery(
    RoutingRuleService.method.listRoutingRuleVersions,
    { merchantId, environment, pageSize: 5 },
    // The history is from before they saved.
    { staleTime: 0 },
  );
  const newer = data?.versions.filter(({ routingRule }) => (routingRule?.version ?? 0) > draft.base);
  const newest = newer?.[0]?.routingRule;
  const theirs = newer?.flatMap(({ changes }) => changes) ?? [];
  const takeTheirs = useMutation({
    mutationFn: () => queries.invalidateQueries(),
    onSuccess: () => {
      draft.discard();
      onEnd();
    },
  });
  const keepMine = useMutation({
    mutationFn: async () => {
      const { routingRule } = await client.getRoutingRule({ merchantId, environment });
      await queries.invalidateQueries();
      draft.rebase(routingRule?.version ?? 0);
    },
    onSuccess: onEnd,
  });
  return (
    <ActionDialog isOpen onClose={onEnd} title="The rule has changed" role="alertdialog" isDismissable>
      <p className="soft">
        {newest ? (
          <>
            Version {newest.version} was set by <bdi>{whoSet(newest)}</bdi>, <Moment at={newest.createdAt} />. Your
            changes are based on version {draft.base}.
          </>
        ) : (
          messageOf(error)
        )}
      </p>
      <ul className="small">
        {theirs.map((change) => (
          <li key={change}>{nameGatewaysIn(change)}</li>
        ))}
      </ul>
      <p className="soft">Your changes were not saved. Keep them to see their effect on the newest version.</p>
      <Refusal error={keepMine.error} />
      <div className="row">
        <Button kind="main" runs={keepMine} autoFocus>
          Keep my changes
        </Button>
        <Button runs={takeTheirs}>Discard mine</Button>
      </div>
    </ActionDialog>
  );
}
