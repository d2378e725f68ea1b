/**
 * The widget as a React component: `@switchyard/widget/react`. It decides only when the widget is mounted; payments are
 * the widget's.
 */
"use client";

import { createElement, forwardRef, useEffect, useImperativeHandle, useInsertionEffect, useRef } from "react";
import { type MountedWidget, type MountOptions, mount } from "./es-module.ts";

/** The options of mount without the container, which the component provides. */
export type SwitchyardWidgetProps = Omit<MountOptions, "container"> & {
  /** The class of the element around the widget. */
  readonly className?: string;
};

/** The value of a ref to the component once the widget is mounted. */
export type SwitchyardWidgetHandle = Pick<MountedWidget, "submit" | "focus">;

/**
 * The payment form. Callbacks may be new functions at each render. A new sessionId swaps in the fresh session, after
 * the running payment if there is one, and never after a success: the next order's component needs a different `key`. A
 * new apiBase, locale, appearance, fields or submitButton mounts anew. A wrong option is an error of the component, for
 * its error boundary.
 */
export const SwitchyardWidget = forwardRef<SwitchyardWidgetHandle, SwitchyardWidgetProps>(
  function SwitchyardWidget(props, ref) {
    const container = useRef<HTMLDivElement>(null);
    const widget = useRef<MountedWidget>(undefined);
    const shownSession = useRef<string>(undefined);
    const paid = useRef(false);
    const latest = useRef(props);
    useInsertionEffect(() => {
      latest.current = props;
    });

    const { className, apiBase, locale, submitButton, sessionId } = props;
    // An object that is created anew at each render is the same look.
    const look = JSON.stringify([props.appearance, props.fields]);
    // biome-ignore lint/correctness/useExhaustiveDependencies: These say when to mount; the rest is read by way of latest.
    useEffect(() => {
      const mounted = mount({ ...optionsOf(latest, { paid, shownSession }), container: container.current! });
      widget.current = mounted;
      shownSession.current = latest.current.sessionId;
      return () => {
        widget.current = undefined;
        mounted.unmount();
      };
    }, [apiBase, locale, submitButton, look]);

    useEffect(() => {
      let isCurrent = true;
      const show = () => {
        const mounted = widget.current;
        // Another form after a success could charge again.
        if (!isCurrent || !mounted || paid.current || shownSession.current === sessionId) return;
        if (mounted.running) return void mounted.submit().then(show);
        shownSession.current = sessionId;
        const { clientSecret, vault } = latest.current;
        // Failures are reported by onError.
        mounted.update({ sessionId, clientSecret, vault }).catch(() => undefined);
      };
      show();
      return () => {
        isCurrent = false;
      };
    }, [sessionId]);

    useImperativeHandle(ref, () => ({
      submit: () => widget.current?.submit() ?? Promise.resolve({ kind: "unmounted" }),
      focus: () => widget.current?.focus(),
    }));
    return createElement("div", { ref: container, className });
  },
);

/** Returns the current options, with callbacks that reach those of the latest render. */
function optionsOf(
  latest: { readonly current: SwitchyardWidgetProps },
  { paid, shownSession }: { paid: { current: boolean }; shownSession: { current: string | undefined } },
): Omit<MountOptions, "container"> {
  const { className: _, ...options } = latest.current;
  return {
    ...options,
    onSuccess(result) {
      paid.current = true;
      latest.current.onSuccess(result);
    },
    onDeclined: (result) => latest.current.onDeclined(result),
    // The widget offers another try only to a page that can provide a session for it.
    ...(options.getSession && {
      async getSession() {
        const fresh = await latest.current.getSession!();
        // The page may set it as a prop too; to show it again would empty the form.
        shownSession.current = fresh?.sessionId;
        return fresh;
      },
    }),
    onReady: () => latest.current.onReady?.(),
    onChange: (change) => latest.current.onChange?.(change),
    onError: (error) => latest.current.onError?.(error),
    onPending: () => latest.current.onPending?.(),
    onAuthentication: (step) => latest.current.onAuthentication?.(step),
    onExpired() {
      const { onExpired, onDeclined } = latest.current;
      if (onExpired) onExpired();
      else onDeclined({ declineCode: "session_expired" });
    },
  };
}
