/** Asks for confirmation before an action that cannot be undone, or that matters. */
import { type ReactNode, useState } from "react";
import { ActionDialog } from "./action-dialog.tsx";
import { Button, type Runnable } from "./button.tsx";

type Question = {
  action: string;
  title: string;
  children: ReactNode;
  /** False for an action that can be undone. */
  isDanger?: boolean;
};

type ConfirmProps = Question & {
  /** The mutation that the confirmation runs, in place of `onConfirm` and `isPending`. */
  runs?: Runnable;
  onConfirm?: () => unknown;
  isPending?: boolean;
  isMain?: boolean;
  isDisabled?: boolean;
  describedBy?: string | undefined;
};

/** A button that asks for confirmation. `describedBy` is the id of the reason why it is disabled. */
export function Confirm({ isMain = false, isDisabled = false, describedBy, runs, ...given }: ConfirmProps) {
  const { isPending = runs?.isPending ?? false, onConfirm = () => runs?.mutate(), ...question } = given;
  const { action, isDanger = !isMain } = question;
  const kind = isDanger ? "caution" : isMain ? "main" : undefined;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        kind={kind}
        describedBy={describedBy}
        isPending={isPending}
        isDisabled={isDisabled}
        onPress={() => setOpen(true)}
      >
        {action}
      </Button>
      <ConfirmDialog {...question} {...{ isDanger, isOpen, onConfirm }} onClose={() => setOpen(false)} />
    </>
  );
}

/** The confirmation of an action that begins without its own button. */
export function ConfirmDialog(props: Question & { isOpen: boolean; onClose: () => void; onConfirm: () => unknown }) {
  const { isOpen, onClose, action, title, children, onConfirm, isDanger = true } = props;
  return (
    <ActionDialog isOpen={isOpen} onClose={onClose} title={title} role="alertdialog" isDismissable>
      <div className="soft">{children}</div>
      <div className="row">
        <Button
          kind={isDanger ? "danger" : "main"}
          onPress={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </Button>
        <Button onPress={onClose} autoFocus>
          Cancel
        </Button>
      </div>
    </ActionDialog>
  );
}
