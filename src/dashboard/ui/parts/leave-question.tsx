/** Asks before a page with unsaved changes is left: for another page, another environment, or another site. */
import { useBlocker } from "@tanstack/react-router";
import { ActionDialog } from "./action-dialog.tsx";
import { Button } from "./button.tsx";

/** The question, shown only with unsaved changes; `lost` names what would be lost. */
export function LeaveQuestion({ isChanged, lost }: { isChanged: boolean; lost: string }) {
  const { status, proceed, reset } = useBlocker({
    // A tab of the same page keeps the changes.
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  return (
    <ActionDialog
      isOpen={status === "blocked"}
      onClose={() => reset?.()}
      title="Leave without saving?"
      role="alertdialog"
      isDismissable
    >
      <p className="soft">{lost}</p>
      <div className="row">
        <Button kind="danger" onPress={() => proceed?.()}>
          Leave
        </Button>
        <Button onPress={() => reset?.()} autoFocus>
          Stay
        </Button>
      </div>
    </ActionDialog>
  );
}
