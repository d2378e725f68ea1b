/**
 * The emulator's script on the merchant's page, by the contract of widget/vault-sdk/sdk.ts. The real vault has its own
 * script.
 */
(() => {
  const origin = new URL(document.currentScript.src).origin;

  const failure = (code, message) => Object.assign(new Error(message), { code });

  globalThis.SwitchyardVault = Object.freeze({
    mountCardFrame({ container, onChange, onSubmitRequest }) {
      const frame = document.createElement("iframe");
      frame.src = `${origin}/card-form`;
      frame.title = "Card details";
      Object.assign(frame.style, { display: "block", width: "100%", height: "241px", border: "0" });
      const { port1: port, port2 } = new MessageChannel();
      const ready = Promise.withResolvers();
      let open;
      port.onmessage = ({ data }) => {
        if (data.type === "ready") ready.resolve();
        if (data.type === "change") onChange?.(data.state);
        if (data.type === "submit") onSubmitRequest?.();
        if (data.type === "tokenized") open?.resolve(data.card);
        if (data.type === "failed") open?.reject(failure(data.code, data.message));
        if (data.type === "tokenized" || data.type === "failed") open = undefined;
      };
      frame.addEventListener("load", () => frame.contentWindow.postMessage("card-form", origin, [port2]), {
        once: true,
      });
      container.append(frame);
      return {
        ready: ready.promise,
        tokenize(sdkAuthorization) {
          if (!open) {
            open = Promise.withResolvers();
            port.postMessage({ type: "tokenize", sdkAuthorization });
          }
          return open.promise;
        },
        focus: () => frame.focus(),
        setDisabled: (disabled) => port.postMessage({ type: "setDisabled", disabled }),
        accept: () => {},
        destroy() {
          open?.reject(failure("destroyed", "The card form was removed."));
          port.close();
          frame.remove();
        },
      };
    },
  });
})();
