/** The dialog of an action about money, and the button that a second Enter presses in its question. */
import { type ReactNode, useEffect, useRef } from "react";
import { Dialog } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { Button } from "./button.tsx";

/** A dialog whose content begins anew each time that it opens. */
export function ActionDialog(props: { isOpen: boolean; onClose: () => void; children: ReactNode }) {
  return (
    <ModalOverlay className="overlay" isOpen={props.isOpen} onOpenChange={(open) => open || props.onClose()}>
      <Modal className="dialog">
        <Dialog>{props.children}</Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** A button with the focus, so that a second Enter confirms nothing. */
export function FocusedButton(props: { onPress: () => unknown; children: ReactNode }) {
  const ref = useRef<HTMLButtonElement>(null);
  // The dialog moves the focus of the field that has left, in the same frame.
  useEffect(() => {
    const frame = requestAnimationFrame(() => ref.current?.focus());
    return () => cancelAnimationFrame(frame);
  }, []);
  return <Button {...props} ref={ref} />;
}
