/** The host that a sheet of Apple Pay names. */
import { DomainError } from "../../platform/errors.ts";

// https://developer.apple.com/documentation/applepayontheweb/setting-up-your-server (2026): a strict list, of which this is the form.
const appleHost = /^(cn-)?apple-pay-gateway(-[a-z0-9]+)*\.apple\.com$/;

/** Returns the host of a validation URL. Throws `invalid_field` unless it is one of Apple's. */
export function appleHostOf(validationUrl: string): string {
  const url = URL.parse(validationUrl);
  const isApple = url?.protocol === "https:" && url.port === "" && !url.username && !url.password;
  if (isApple && appleHost.test(url.hostname)) return url.hostname;
  throw new DomainError("invalid_field", "It must be an address of Apple's, as its sheet gives it.", {
    field: "validationUrl",
  });
}
