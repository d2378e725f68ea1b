/** Asks for confirmation before an action that cannot be undone, or that matters. */
import type { ReactNode } from "react";
import { Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from "react-aria-components";
import { Button } from "./button.tsx";

type Question = {
  /** The label of the buttons. */
  action: string;
  title: string;
  children: ReactNode;
  onConfirm: () => unknown;
  isPending?: boolean;
  /** False for an action that can be undone. */
  isDanger?: boolean;
};

/** A button that asks for confirmation. `describedBy` is the id of the reason why it is disabled. */
export function Confirm({
  isMain = false,
  isDisabled = false,
  describedBy,
  ...question
}: Question & {
  isMain?: boolean;
  isDisabled?: boolean;
  describedBy?: string | undefined;
}) {
  const { action, isPending = false, isDanger = !isMain } = question;
  const kind = isDanger ? "danger" : isMain ? "main" : undefined;
  return (
    <DialogTrigger>
      <Button kind={kind} describedBy={describedBy} isPending={isPending} isDisabled={isDisabled}>
        {action}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="dialog">
          <Asked {...question} isDanger={isDanger} />
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

/** The confirmation of an action that no button of its own begins. */
export function ConfirmDialog({ isOpen, onClose, ...question }: Question & { isOpen: boolean; onClose: () => void }) {
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => open || onClose()} isDismissable>
      <Modal className="dialog">
        <Asked {...question} />
      </Modal>
    </ModalOverlay>
  );
}

function Asked({ action, title, children, onConfirm, isDanger = true }: Question) {
  return (
    <Dialog role="alertdialog">
      {({ close }) => (
        <>
          <Heading slot="title">{title}</Heading>
          <div className="soft">{children}</div>
          <div className="row">
            <Button
              kind={isDanger ? "danger" : "main"}
              onPress={() => {
                close();
                onConfirm();
              }}
            >
              {action}
            </Button>
            <Button onPress={close} autoFocus>
              Cancel
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
