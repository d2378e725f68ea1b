/** The vault's time: a customer's clock may be years wrong, and the vault refuses an expired card by its own. */

/** Returns the time at which the vault wrote this page, and what has passed since. */
export function vaultNow(): Date {
  const written = document.querySelector<HTMLMetaElement>("meta[name=now]")!.content;
  return new Date(Number(written) + performance.now());
}
