/** Asks before a page with unsaved changes is left: for another page, another environment, or another site. */
import { useBlocker } from "@tanstack/react-router";
import { Dialog, Heading } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
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
    <ModalOverlay
      className="overlay"
      isOpen={status === "blocked"}
      onOpenChange={(isOpen) => isOpen || reset?.()}
      isDismissable
    >
      <Modal className="dialog">
        <Dialog role="alertdialog">
          <Heading slot="title">Leave without saving?</Heading>
          <p className="soft">{lost}</p>
          <div className="row">
            <Button kind="danger" onPress={() => proceed?.()}>
              Leave
            </Button>
            <Button onPress={() => reset?.()} autoFocus>
              Stay
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
